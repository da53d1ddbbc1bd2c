//! Convolutions of stacks of images, in one to three dimensions, and their gradients.
//!
//! The three ops are the derivatives of one trilinear form: `convolution` maps data and weight to a result,
//! `convolution_transpose` maps a result and a weight to data, and `convolution_weight` maps a result and data to a
//! weight. Each op is therefore a gradient of the others, and gradients of any order consist of these ops.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, List, attributes, family, invalid, mistyped};
use crate::samples::{Sample, call, x};
use forerun_base::DType::{self, BF16, F16, F32, F64, I32};
use forerun_base::{Result, Shape};

family! {
    /// Convolutions of stacks of images. The weight has the axes (filters, channels of a group, kernel), with channels
    /// last if they are the last axis of the data.
    Convolution {
        Forward {
            name: "convolution",
            inputs: [x, weight],
            attributes: Window,
            fallible: false,
            doc: "sums of products of a weight with the windows of images, for each filter; extents is empty",
        }
        Transpose {
            name: "convolution_transpose",
            inputs: [x, weight],
            attributes: Window,
            fallible: false,
            doc: "the transposed convolution: each element adds a multiple of the weight to a window of images of these extents",
        }
        Weight {
            name: "convolution_weight",
            inputs: [grad, x],
            attributes: Window,
            fallible: false,
            doc: "the gradient of a convolution for its weight, whose kernel has these extents",
        }
    }
}

attributes! {
    /// The windows of a convolution.
    Window {
        /// The distance between windows, one per spatial axis.
        stride: List<i64>,
        /// The number of zeros added before and after each spatial axis.
        padding: List<i64>,
        /// The distance between the elements of a window.
        dilation: List<i64>,
        /// The spatial extents of the result, if the inputs do not determine them.
        extents: List<i64>,
        /// The number of groups of channels that are convolved separately.
        groups: i64,
        /// Whether channels are the last axis instead of the second.
        channels_last: bool,
    }
}

/// The extents and options of a convolution, with three spatial axes; missing axes come first and have extent 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of images.
    pub batch: usize,
    /// The number of groups of channels.
    pub groups: usize,
    /// The number of channels of the data in a group.
    pub channels: usize,
    /// The number of filters (channels of the result) in a group.
    pub filters: usize,
    /// Spatial extents of the data.
    pub input: [usize; 3],
    /// Spatial extents of the result.
    pub output: [usize; 3],
    /// Spatial extents of the kernel.
    pub kernel: [usize; 3],
    /// The distance between windows.
    pub stride: [usize; 3],
    /// The number of zeros added before and after.
    pub padding: [usize; 3],
    /// The distance between the elements of a window.
    pub dilation: [usize; 3],
    /// Whether channels are the last axis.
    pub channels_last: bool,
}

impl Geometry {
    /// The number of multiply-adds.
    pub fn work(&self) -> usize {
        let pixels: usize = self.output.iter().product();
        let taps: usize = self.kernel.iter().product();
        [self.batch, self.groups, self.filters, self.channels, pixels, taps].into_iter().fold(1, usize::saturating_mul)
    }
}

/// Padding up to this is accepted on axes of any extent; more must not exceed the axis or the kernel. Kernels copy images
/// with their padding, and have tables of positions in them.
const MOST_PADDING: usize = 1 << 20;
/// The maximum number of elements of all images with their padding.
const MOST_PADDED: usize = 1 << 56;

/// The number of windows along an axis.
fn windows(input: usize, kernel: usize, stride: usize, padding: usize, dilation: usize) -> Option<usize> {
    let padded = input.checked_add(padding.checked_mul(2)?)?;
    let reach = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
    Some(padded.checked_sub(reach)? / stride + 1)
}

/// Batch, channels and spatial extents of images.
fn parts(shape: &Shape, channels_last: bool) -> (usize, usize, Vec<usize>) {
    let last = shape.rank() - 1;
    if channels_last {
        (shape[0], shape[last], shape[1..last].to_vec())
    } else {
        (shape[0], shape[1], shape[2..].to_vec())
    }
}

fn joined(first: usize, channels: usize, spatial: &[usize], channels_last: bool) -> Result<Shape> {
    let mut dims = vec![first];
    if channels_last {
        dims.extend(spatial);
        dims.push(channels);
    } else {
        dims.push(channels);
        dims.extend(spatial);
    }
    Shape::new(&dims)?.checked()
}

fn widened(values: &[usize], missing: usize) -> [usize; 3] {
    let mut all = [missing; 3];
    all[3 - values.len()..].copy_from_slice(values);
    all
}

/// Checks a list with one number per spatial axis, each at least `least`.
fn list(name: &str, values: &[i64], rank: usize, least: i64) -> Result<Vec<usize>> {
    if values.len() != rank {
        return invalid(format!("{name} {values:?} does not have {rank} numbers"));
    }
    if let Some(bad) = values.iter().find(|value| **value < least) {
        return invalid(format!("{name} must be at least {least}, got {bad}"));
    }
    Ok(values.iter().map(|value| *value as usize).collect())
}

impl Convolution {
    /// The number of multiply-adds.
    fn work(self, given: &[Given], attributes: &[i64]) -> usize {
        Window::read(attributes).and_then(|window| self.geometry(given, &window)).map_or(0, |g| g.0.work())
    }

    /// The geometry of a call, and the shape of its result.
    pub fn geometry(self, given: &[Given], window: &Window) -> Result<(Geometry, Shape)> {
        let (a, b) = (given[0].1, given[1].1);
        let names = [["data", "weight"], ["data", "weight"], ["gradient", "data"]][self as usize];
        if !(3..=5).contains(&a.rank()) || a.rank() != b.rank() {
            return invalid(format!("needs {} and {} of 3 to 5 dimensions, got {a} and {b}", names[0], names[1]));
        }
        let last = window.channels_last;
        let rank = a.rank() - 2;
        let stride = list("stride", &window.stride, rank, 1)?;
        let padding = list("padding", &window.padding, rank, 0)?;
        let dilation = list("dilation", &window.dilation, rank, 1)?;
        let extents = match self {
            Convolution::Forward => list("extents", &window.extents, 0, 0)?,
            _ => list("extents", &window.extents, rank, 1)?,
        };
        let Ok(groups @ 1..) = usize::try_from(window.groups) else {
            return invalid(format!("groups must be positive, got {}", window.groups));
        };
        let ((n, ca, sa), (nb, cb, sb)) = (parts(&a, last), parts(&b, last));
        // The channels of the data and the filters of all groups, and the spatial extents of data, result and kernel.
        let (channels, filters, input, output, kernel) = match self {
            Convolution::Forward => (ca, nb, sa, None, sb),
            Convolution::Transpose => (cb.saturating_mul(groups), nb, extents, Some(sa), sb),
            Convolution::Weight => (cb, ca, sb, Some(sa), extents),
        };
        if channels % groups != 0 || filters % groups != 0 {
            return invalid(format!(
                "{groups} groups do not divide {channels} channels and {filters} filters: {} and {}",
                given[0].1, given[1].1
            ));
        }
        let fits = match self {
            Convolution::Forward => cb * groups == ca,
            Convolution::Transpose => nb == ca,
            Convolution::Weight => nb == n,
        };
        if !fits {
            return invalid(format!(
                "{} of shape {b} does not fit {} of shape {a} in {groups} groups",
                names[1], names[0]
            ));
        }
        let mut counts = Vec::new();
        let (mut stride, mut dilation) = (stride, dilation);
        let mut padded = n.saturating_mul(channels.max(filters));
        for axis in 0..rank {
            let (input, kernel) = (input[axis], kernel[axis]);
            let most = MOST_PADDING.max(input).max(kernel);
            if padding[axis] > most {
                return invalid(format!("padding {} of axis {axis} is more than {most}: {a} and {b}", padding[axis]));
            }
            padded = padded.saturating_mul(input.saturating_add(2 * padding[axis]));
            let count = windows(input, kernel, stride[axis], padding[axis], dilation[axis]);
            let Some(count) = count.filter(|_| kernel > 0) else {
                return invalid(format!(
                    "a kernel of extent {kernel} with dilation {} does not fit an axis of {input} with padding {}: {a} and {b}",
                    dilation[axis], padding[axis]
                ));
            };
            if output.as_ref().is_some_and(|output| output[axis] != count) {
                return invalid(format!(
                    "extents {:?} give {count} windows along axis {axis}, not {}: {a} and {b}",
                    window.extents,
                    output.as_ref().map_or(0, |output| output[axis])
                ));
            }
            // What has no effect must not make the tables of windows large.
            if count == 1 {
                stride[axis] = 1;
            }
            if kernel == 1 {
                dilation[axis] = 1;
            }
            counts.push(count);
        }
        if padded > MOST_PADDED {
            return invalid(format!("padding {padding:?} makes the images too large: {a} and {b}"));
        }
        let shape = match self {
            Convolution::Forward => joined(n, filters, &counts, last)?,
            Convolution::Transpose => joined(n, channels, &input, last)?,
            Convolution::Weight => joined(filters, channels / groups, &kernel, last)?,
        };
        let geometry = Geometry {
            batch: n,
            groups,
            channels: channels / groups,
            filters: filters / groups,
            input: widened(&input, 1),
            output: widened(&counts, 1),
            kernel: widened(&kernel, 1),
            stride: widened(&stride, 1),
            padding: widened(&padding, 0),
            dilation: widened(&dilation, 1),
            channels_last: last,
        };
        Ok((geometry, shape))
    }
}

/// The spatial extents of images or of a weight.
fn spatial(shape: &Shape, window: &Window) -> List<i64> {
    parts(shape, window.channels_last).2.into_iter().map(|extent| extent as i64).collect()
}

/// The number of multiply-adds per nanosecond that the cost estimate assumes.
const TOGETHER: usize = 32;

impl Family for Convolution {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let window = Window::read(attributes)?;
        let (dtype, other) = (given[0].0, given[1].0);
        if dtype != other {
            return mistyped(format!("dtypes differ: {dtype} {} and {other} {}", given[0].1, given[1].1));
        }
        if !matches!(dtype, F16 | BF16 | F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        Ok((dtype, self.geometry(given, &window)?.1))
    }

    fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize {
        out.1.size().saturating_add(self.work(given, attributes) / TOGETHER)
    }

    fn flops(self, given: &[Given], attributes: &[i64]) -> usize {
        self.work(given, attributes).saturating_mul(2)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        Some(Needs::input(1 - i as u8))
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let window = Window::read(attributes)?;
        let sized = |extents: List<i64>| Window { extents, ..window.clone() };
        let of = |i: usize| spatial(&b.given(i).1, &window);
        let grad = b.grad();
        let first = b.if_wanted(0, || match self {
            Convolution::Forward => b.routine(Convolution::Transpose, &[grad, b.input(1)], sized(of(0))),
            Convolution::Transpose => b.routine(Convolution::Forward, &[grad, b.input(1)], sized(List::new())),
            Convolution::Weight => b.routine(Convolution::Forward, &[b.input(1), grad], sized(List::new())),
        })?;
        let second = b.if_wanted(1, || match self {
            Convolution::Forward => b.routine(Convolution::Weight, &[grad, b.input(0)], sized(of(1))),
            Convolution::Transpose => b.routine(Convolution::Weight, &[b.input(0), grad], sized(of(1))),
            Convolution::Weight => b.routine(Convolution::Transpose, &[b.input(0), grad], sized(of(1))),
        })?;
        Ok(vec![first, second])
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        for case in CASES {
            all.extend(case.samples());
        }
        all.push(window(2, 1, 0, 1).on([x([0, 2, 4, 4]), x([3, 2, 3, 3])]).of(HELD));
        let fails = |sample: Sample, text: &str| sample.of([F32]).fails(text);
        let (data, weight) = (x([1, 4, 5, 5]), x([6, 2, 3, 3]));
        all.push(fails(
            window(2, 1, 0, 3).on([data.clone(), weight.clone()]),
            "convolution: 3 groups do not divide 4 channels and 6 filters",
        ));
        all.push(fails(
            window(2, 1, 0, 1).on([data.clone(), weight.clone()]),
            "convolution: weight of shape (6, 2, 3, 3) does not fit data of shape (1, 4, 5, 5) in 1 groups",
        ));
        all.push(fails(
            window(2, 1, 0, 2).on([x([1, 4, 5, 2]), weight.clone()]),
            "convolution: a kernel of extent 3 with dilation 1 does not fit an axis of 2 with padding 0: (1, 4, 5, 2) and (6, 2, 3, 3)",
        ));
        all.push(fails(
            window(2, 0, 0, 2).on([data.clone(), weight.clone()]),
            "convolution: stride must be at least 1, got 0",
        ));
        all.push(fails(
            window(2, 1, 0, 2).on([data.clone(), weight.clone().dtype(F64)]),
            "convolution: dtypes differ: float32 (1, 4, 5, 5) and float64 (6, 2, 3, 3)",
        ));
        all.push(
            window(2, 1, 0, 2).on([data.clone(), weight.clone()]).of([I32]).fails("convolution: not defined for int32"),
        );
        all.push(fails(
            window(2, 1, 0, 1).on([x([2, 3]), x([3, 3])]),
            "convolution: needs data and weight of 3 to 5 dimensions, got (2, 3) and (3, 3)",
        ));
        let mut wrong = window(2, 2, 0, 1).with("extents", [9, 9]).on([x([1, 3, 2, 2]), x([3, 2, 3, 3])]);
        wrong.op = "convolution_transpose";
        wrong.args.remove(3);
        let text =
            "convolution_transpose: extents [9, 9] give 4 windows along axis 0, not 2: (1, 3, 2, 2) and (3, 2, 3, 3)";
        all.push(fails(wrong.clone(), text));
        wrong.op = "convolution_weight";
        wrong.inputs = vec![x([2, 3, 4, 4]), x([1, 2, 9, 9])];
        let text =
            "convolution_weight: data of shape (1, 2, 9, 9) does not fit gradient of shape (2, 3, 4, 4) in 1 groups";
        all.push(fails(wrong, text));
        all
    }
}

/// The dtypes in which convolutions compute without widening.
const HELD: [DType; 2] = [F32, F64];

/// A sample whose lists have the same number for every axis.
fn window(rank: usize, stride: i64, padding: i64, groups: i64) -> Sample {
    let all = |value: i64| vec![value; rank];
    call("convolution")
        .with("stride", all(stride))
        .with("padding", all(padding))
        .with("dilation", all(1))
        .with("extents", Vec::<i64>::new())
        .with("groups", groups)
        .with("channels_last", false)
}

/// A convolution that the samples of all three ops use.
struct Case {
    batch: usize,
    channels: usize,
    filters: usize,
    groups: usize,
    input: &'static [usize],
    kernel: &'static [usize],
    stride: usize,
    padding: usize,
    dilation: usize,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { batch: 2, channels: 3, filters: 5, groups: 1, input: &[7], kernel: &[3], stride: 1, padding: 1, dilation: 1 },
    Case { batch: 3, channels: 2, filters: 70, groups: 1, input: &[5, 6], kernel: &[3, 3], stride: 1, padding: 1, dilation: 1 },
    Case { batch: 2, channels: 4, filters: 6, groups: 2, input: &[8, 7], kernel: &[3, 2], stride: 2, padding: 1, dilation: 1 },
    Case { batch: 2, channels: 3, filters: 3, groups: 3, input: &[6, 9], kernel: &[3, 3], stride: 1, padding: 0, dilation: 2 },
    Case { batch: 1, channels: 17, filters: 20, groups: 1, input: &[5, 5], kernel: &[1, 1], stride: 2, padding: 0, dilation: 1 },
    Case { batch: 1, channels: 2, filters: 3, groups: 1, input: &[9, 9], kernel: &[4, 3], stride: 3, padding: 2, dilation: 2 },
    Case { batch: 2, channels: 2, filters: 3, groups: 1, input: &[4, 5, 4], kernel: &[2, 3, 2], stride: 2, padding: 1, dilation: 1 },
    Case { batch: 1, channels: 1, filters: 4, groups: 1, input: &[12, 12], kernel: &[7, 7], stride: 2, padding: 3, dilation: 1 },
];

impl Case {
    fn samples(&self) -> Vec<Sample> {
        let mut all = Vec::new();
        // Other implementations add long sums in another order; the difference is below the precision of half floats.
        let dtypes: &[DType] = if self.filters > 32 { &[F16, BF16] } else { &[F16, BF16, F32, F64] };
        for channels_last in [false, true] {
            let Case { batch, channels, filters, groups, input, kernel, stride, padding, dilation } = *self;
            let output: Vec<usize> = (input.iter().zip(kernel))
                .map(|(input, kernel)| windows(*input, *kernel, stride, padding, dilation).unwrap_or(0))
                .collect();
            let shape = |first: usize, channels: usize, spatial: &[usize]| {
                let mut input = x([]);
                input.shape = vec![first];
                input.shape.extend(spatial);
                input.shape.insert(if channels_last { 1 + spatial.len() } else { 1 }, channels);
                input
            };
            let (data, made) = (shape(batch, channels, input), shape(batch, filters, &output));
            let weight = shape(filters, channels / groups, kernel);
            let extents = |values: &[usize]| values.iter().map(|value| *value as i64).collect::<Vec<_>>();
            for (op, inputs, extents) in [
                ("convolution", [data.clone(), weight.clone()], Vec::new()),
                ("convolution_transpose", [made.clone(), weight], extents(input)),
                ("convolution_weight", [made, data], extents(kernel)),
            ] {
                let every = |value: usize| vec![value as i64; input.len()];
                all.push(
                    call(op)
                        .with("stride", every(stride))
                        .with("padding", every(padding))
                        .with("dilation", every(dilation))
                        .with("extents", extents)
                        .with("groups", groups as i64)
                        .with("channels_last", channels_last)
                        .on(inputs)
                        .of(dtypes),
                );
            }
        }
        all
    }
}
