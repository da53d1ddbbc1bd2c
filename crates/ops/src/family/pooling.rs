//! Pooling over windows of images, in one to three dimensions, and its gradient.
//!
//! The second input of `max_pool` holds keys: the op selects the element of the first input at the largest key of each
//! window. `max_pool(x, x)` is the maximum. The op is linear in its first input, so its gradient is differentiable too.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, List, attributes, family, invalid, mistyped};
use crate::samples::{Input, Look, Sample, call, x};
use forerun_base::DType::{BF16, F16, F32, F64, I32};
use forerun_base::{Result, Shape};

family! {
    /// Reductions of each window of images to one element.
    Pooling {
        Max {
            name: "max_pool",
            inputs: [x, keys],
            attributes: Pool,
            fallible: false,
            doc: "of each window, the element with the first largest key; NaN is larger than every number",
        }
        MaxBack {
            name: "max_pool_back",
            inputs: [grad, keys],
            attributes: Pool,
            fallible: false,
            doc: "the gradient of max_pool: adds each element at the first largest key of its window",
        }
        Average {
            name: "average_pool",
            inputs: [x],
            attributes: Pool,
            fallible: false,
            doc: "the sum or mean of each window",
        }
        AverageBack {
            name: "average_pool_back",
            inputs: [grad],
            attributes: Pool,
            fallible: false,
            doc: "the gradient of average_pool for images of these extents",
        }
    }
}

attributes! {
    /// The windows and the reduction.
    Pool {
        /// The extents of a window, one per spatial axis; for adaptive pooling, those of the result.
        kernel: List<i64>,
        /// The distance between windows.
        stride: List<i64>,
        /// The padding before and after each spatial axis.
        padding: List<i64>,
        /// The spatial extents of the result of `average_pool_back`; otherwise empty.
        extents: List<i64>,
        /// The divisor of a sum: 0 none, 1 the number of elements of its window including padding, 2 excluding padding.
        divisor: i64,
        /// Whether there is a window that extends beyond the end.
        ceil: bool,
        /// Whether the extents of the result determine the windows.
        adaptive: bool,
        /// Whether channels are the last axis instead of the second.
        channels_last: bool,
    }
}

/// A window along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first element.
    pub begin: usize,
    /// One past the last element.
    pub end: usize,
    /// The divisor of a mean.
    pub count: usize,
}

/// The windows of a call, along three spatial axes; missing axes come first and have one window of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The number of images: the batch, times the channels unless they are the last axis.
    pub outer: usize,
    /// The number of adjacent channels.
    pub inner: usize,
    /// Spatial extents of the images.
    pub input: [usize; 3],
    /// The windows along each axis.
    pub spans: [Vec<Span>; 3],
}

/// Kernels, and extents of adaptive pooling, up to this are accepted on axes of any extent; more must not exceed the axis. A call has
/// a table with an entry per window.
const MOST_KERNEL: usize = 1 << 20;

fn spans(axis: usize, input: usize, pool: &Pool) -> Result<Vec<Span>> {
    let at = |list: &List<i64>, least: i64, name: &str| match list.get(axis) {
        Some(value) if *value >= least => Ok(*value as usize),
        Some(value) => invalid(format!("{name} must be at least {least}, got {value}")),
        None => invalid(format!("{name} {list:?} has no number for spatial axis {axis}")),
    };
    let (kernel, most) = (at(&pool.kernel, 1, "kernel")?, MOST_KERNEL.max(input));
    if kernel > most {
        return invalid(format!("{} {kernel} is more than {most}", if pool.adaptive { "extent" } else { "kernel" }));
    }
    if pool.adaptive {
        let span = |i: usize| {
            let (begin, end) = (i * input / kernel, ((i + 1) * input).div_ceil(kernel));
            Span { begin, end, count: end - begin }
        };
        return if input == 0 { invalid("an empty axis has no windows") } else { Ok((0..kernel).map(span).collect()) };
    }
    let (stride, padding) = (at(&pool.stride, 1, "stride")?, at(&pool.padding, 0, "padding")?);
    if padding >= kernel {
        return invalid(format!("padding {padding} must be less than the kernel {kernel}"));
    }
    let padded = input + 2 * padding;
    if input == 0 || kernel > padded {
        return invalid(format!("a kernel of extent {kernel} does not fit an axis of {input} with padding {padding}"));
    }
    let mut count = (padded - kernel) / stride + 1;
    // A window that extends beyond the end must begin within the data or the padding before it.
    if pool.ceil && !(padded - kernel).is_multiple_of(stride) && count * stride < input + padding {
        count += 1;
    }
    let span = |i: usize| {
        let start = i * stride;
        let (begin, end) = (start.saturating_sub(padding), (start + kernel - padding).min(input));
        let count = if pool.divisor == 1 { (start + kernel).min(input + 2 * padding) - start } else { end - begin };
        Span { begin, end, count }
    };
    Ok((0..count).map(span).collect())
}

impl Pooling {
    /// The windows of a call.
    pub fn windows(self, given: &[Given], pool: &Pool) -> Result<Windows> {
        let shape = match self {
            Pooling::Max | Pooling::MaxBack => given[1].1,
            Pooling::Average => given[0].1,
            Pooling::AverageBack => sized(&given[0].1, pool)?,
        };
        if !(3..=5).contains(&shape.rank()) {
            return invalid(format!("needs data of 3 to 5 dimensions, got {shape}"));
        }
        let rank = shape.rank() - 2;
        for (name, list) in [("kernel", &pool.kernel), ("stride", &pool.stride), ("padding", &pool.padding)] {
            if list.len() != rank && !(pool.adaptive && name != "kernel") {
                return invalid(format!("{name} {list:?} does not have {rank} numbers for {shape}"));
            }
        }
        if !(0..=2).contains(&pool.divisor) {
            return invalid(format!("divisor must be 0, 1 or 2, got {}", pool.divisor));
        }
        let (outer, inner, first) = match pool.channels_last {
            true => (shape[0], shape[rank + 1], 1),
            false => (shape[0] * shape[1], 1, 2),
        };
        let mut input = [1; 3];
        let one = vec![Span { begin: 0, end: 1, count: 1 }];
        let mut all = [one.clone(), one.clone(), one];
        for axis in 0..rank {
            input[3 - rank + axis] = shape[first + axis];
            all[3 - rank + axis] =
                spans(axis, shape[first + axis], pool).or_else(|e| invalid(format!("{e}: {shape}")))?;
        }
        Ok(Windows { outer, inner, input, spans: all })
    }
}

/// Replaces the spatial extents of a shape.
fn with_spatial(shape: &Shape, spatial: impl Iterator<Item = usize>, channels_last: bool) -> Result<Shape> {
    let mut dims = shape.to_vec();
    let first = if channels_last { 1 } else { 2 };
    spatial.enumerate().for_each(|(axis, extent)| dims[first + axis] = extent);
    Shape::new(&dims)?.checked()
}

/// The shape of the images whose gradient is computed.
fn sized(grad: &Shape, pool: &Pool) -> Result<Shape> {
    if pool.extents.len() + 2 != grad.rank() || pool.extents.iter().any(|extent| *extent < 1) {
        return invalid(format!("extents {:?} do not fit {grad}", pool.extents));
    }
    with_spatial(grad, pool.extents.iter().map(|extent| *extent as usize), pool.channels_last)
}

impl Family for Pooling {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let pool = Pool::read(attributes)?;
        let (dtype, shape) = given[0];
        if !matches!(dtype, F16 | BF16 | F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        if let Some((other, keys)) = given.get(1).filter(|(other, _)| *other != dtype) {
            return mistyped(format!("dtypes differ: {dtype} {shape} and {other} {keys}"));
        }
        let windows = self.windows(given, &pool)?;
        let rank = given[given.len() - 1].1.rank() - 2;
        let counts = windows.spans[3 - rank..].iter().map(Vec::len);
        Ok(match self {
            Pooling::Max if given[1].1 != shape => {
                return invalid(format!("keys of shape {} do not fit data of shape {shape}", given[1].1));
            }
            Pooling::Max | Pooling::Average => (dtype, with_spatial(&shape, counts, pool.channels_last)?),
            Pooling::MaxBack | Pooling::AverageBack => {
                let images = if self == Pooling::MaxBack { given[1].1 } else { sized(&shape, &pool)? };
                let made = with_spatial(&images, counts, pool.channels_last)?;
                if made != shape {
                    return invalid(format!("a gradient of shape {shape} does not fit windows of shape {made}"));
                }
                (dtype, images)
            }
        })
    }

    fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize {
        let largest = given.iter().map(|(_, shape)| shape.size()).max().unwrap_or(0).max(out.1.size());
        let smallest = given[0].1.size().min(out.1.size());
        let taps = Pool::read(attributes).map_or(1, |pool| match pool.adaptive {
            true => 1,
            false => pool.kernel.iter().map(|extent| *extent as usize).fold(1, usize::saturating_mul),
        });
        largest.saturating_add(smallest.saturating_mul(taps))
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match self {
            Pooling::Max | Pooling::MaxBack => (i == 0).then(|| Needs::input(1)),
            Pooling::Average | Pooling::AverageBack => Some(Needs { inputs: 0, output: false }),
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let pool = Pool::read(attributes)?;
        let flow = match self {
            Pooling::Max => b.routine(Pooling::MaxBack, &[b.grad(), b.input(1)], pool)?,
            Pooling::MaxBack => b.routine(Pooling::Max, &[b.grad(), b.input(1)], pool)?,
            Pooling::Average => {
                let shape = b.given(0).1;
                let first = if pool.channels_last { 1 } else { 2 };
                let extents = shape[first..first + shape.rank() - 2].iter().map(|extent| *extent as i64).collect();
                b.routine(Pooling::AverageBack, &[b.grad()], Pool { extents, ..pool })?
            }
            Pooling::AverageBack => b.routine(Pooling::Average, &[b.grad()], Pool { extents: List::new(), ..pool })?,
        };
        Ok(match self {
            Pooling::Max | Pooling::MaxBack => vec![Some(flow), None],
            Pooling::Average | Pooling::AverageBack => vec![Some(flow)],
        })
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        for case in CASES {
            all.extend(case.samples());
        }
        let (data, made) = (x([1, 2, 3, 3]), x([1, 2, 2, 2]));
        let fails = |op: &'static str, inputs: Vec<Input>, pool: Pool, text: &str| {
            named(call(op), &pool).on(inputs).of([F32]).fails(format!("{op}: {text}"))
        };
        let pool = CASES[0].pool(&[2, 2], false);
        let backed = Pool { extents: List::from_slice(&[3, 3]), ..pool.clone() };
        all.push(fails(
            "max_pool",
            vec![data.clone(), made.clone()],
            pool.clone(),
            "keys of shape (1, 2, 2, 2) do not fit data of shape (1, 2, 3, 3)",
        ));
        let large = Pool { kernel: List::from_slice(&[4, 4]), ..pool.clone() };
        let text = "a kernel of extent 4 does not fit an axis of 3 with padding 0: (1, 2, 3, 3)";
        all.push(fails("average_pool", vec![data.clone()], large, text));
        let wide = Pool { padding: List::from_slice(&[2, 2]), ..pool.clone() };
        all.push(fails("average_pool", vec![data.clone()], wide, "padding 2 must be less than the kernel 2"));
        all.push(fails(
            "max_pool_back",
            vec![data.clone(), data.clone()],
            pool.clone(),
            "a gradient of shape (1, 2, 3, 3) does not fit windows of shape (1, 2, 1, 1)",
        ));
        all.push(fails(
            "average_pool_back",
            vec![made],
            backed.clone(),
            "a gradient of shape (1, 2, 2, 2) does not fit windows of shape (1, 2, 1, 1)",
        ));
        all.push(fails("average_pool", vec![x([2, 3])], pool.clone(), "needs data of 3 to 5 dimensions, got (2, 3)"));
        all.push(
            named(call("max_pool"), &pool).on([data.clone(), data]).of([I32]).fails("max_pool: not defined for int32"),
        );
        all
    }
}

/// A sample with the attributes of a pool.
fn named(sample: Sample, pool: &Pool) -> Sample {
    sample
        .with("kernel", pool.kernel.to_vec())
        .with("stride", pool.stride.to_vec())
        .with("padding", pool.padding.to_vec())
        .with("extents", pool.extents.to_vec())
        .with("divisor", pool.divisor)
        .with("ceil", pool.ceil)
        .with("adaptive", pool.adaptive)
        .with("channels_last", pool.channels_last)
}

/// Windows that the samples of all four ops use.
struct Case {
    input: &'static [usize],
    kernel: i64,
    stride: i64,
    padding: i64,
    divisor: i64,
    ceil: bool,
    adaptive: bool,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { input: &[6, 7], kernel: 2, stride: 2, padding: 0, divisor: 1, ceil: false, adaptive: false },
    Case { input: &[9], kernel: 3, stride: 2, padding: 1, divisor: 2, ceil: true, adaptive: false },
    Case { input: &[6, 40], kernel: 3, stride: 2, padding: 1, divisor: 1, ceil: true, adaptive: false },
    Case { input: &[4, 5, 6], kernel: 3, stride: 1, padding: 1, divisor: 0, ceil: false, adaptive: false },
    Case { input: &[5, 7], kernel: 3, stride: 1, padding: 0, divisor: 2, ceil: false, adaptive: true },
    Case { input: &[4, 4], kernel: 4, stride: 1, padding: 0, divisor: 1, ceil: false, adaptive: false },
];

impl Case {
    fn pool(&self, kernel: &[i64], channels_last: bool) -> Pool {
        let all = |value: i64| List::from_elem(value, kernel.len());
        Pool {
            kernel: List::from_slice(kernel),
            stride: all(self.stride),
            padding: all(self.padding),
            extents: List::new(),
            divisor: self.divisor,
            ceil: self.ceil,
            adaptive: self.adaptive,
            channels_last,
        }
    }

    fn samples(&self) -> Vec<Sample> {
        let mut all = Vec::new();
        for channels_last in [false, true] {
            let pool = self.pool(&vec![self.kernel; self.input.len()], channels_last);
            let shape = |spatial: &[usize]| {
                let mut input = x([]);
                input.shape = vec![2];
                input.shape.extend(spatial);
                input.shape.insert(if channels_last { 1 + spatial.len() } else { 1 }, 3);
                input
            };
            let counts: Vec<usize> = (self.input.iter().enumerate())
                .map(|(axis, input)| spans(axis, *input, &pool).map_or(0, |spans| spans.len()))
                .collect();
            let (data, made) = (shape(self.input), shape(&counts));
            let extents: List<i64> = self.input.iter().map(|extent| *extent as i64).collect();
            let back = Pool { extents, ..pool.clone() };
            for (op, inputs, pool) in [
                ("max_pool", vec![data.clone(), data.clone().look(Look::Tied)], &pool),
                ("max_pool", vec![data.clone(), data.clone()], &pool),
                ("max_pool_back", vec![made.clone(), data.clone()], &pool),
                ("average_pool", vec![data], &pool),
                ("average_pool_back", vec![made], &back),
            ] {
                // Other implementations round means of half floats several times.
                let halves = op.starts_with("max") || self.divisor == 0;
                let sample = named(call(op), pool).on(inputs);
                all.push(if halves { sample.of([F16, BF16, F32, F64]) } else { sample.of([F32, F64]) });
            }
        }
        all
    }
}
