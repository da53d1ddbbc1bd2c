//! Pooling over rectangular regions of images, and what flows back through it.
//!
//! As in max pooling, a maximum is picked by keys: `roi_pool(x, x, ...)` is the maximum of each bin, and the op is linear in its first
//! input. `roi_align` is linear too. So their gradients have gradients.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, List, attributes, family, invalid, mistyped};
use crate::samples::{Input, Look, Sample, Values, at, call, x};
use forerun_base::DType::{BF16, F16, F32, F64, I32, I64};
use forerun_base::{Result, Shape};

family! {
    /// Regions are given by the number of an image and a box in its coordinates: left, top, right and bottom. A region with a negative
    /// number is empty.
    Regions {
        Pool {
            name: "roi_pool",
            inputs: [x, keys, images, boxes],
            attributes: Bins,
            fallible: true,
            doc: "of each bin of each region, the element whose key is the first largest; zero if the bin is empty",
        }
        PoolBack {
            name: "roi_pool_back",
            inputs: [grad, keys, images, boxes],
            attributes: Bins,
            fallible: true,
            doc: "what flows back through roi_pool: each element is added where its bin has the first largest key",
        }
        Align {
            name: "roi_align",
            inputs: [x, images, boxes],
            attributes: Grid,
            fallible: true,
            doc: "the mean of bilinear samples on a grid in each bin of each region",
        }
        AlignBack {
            name: "roi_align_back",
            inputs: [grad, images, boxes],
            attributes: Grid,
            fallible: true,
            doc: "what flows back through roi_align to images of these extents",
        }
    }
}

attributes! {
    /// The attributes of `roi_pool`.
    Bins {
        /// Rows and columns that each region is divided into.
        bins: List<i64>,
        /// What boxes are multiplied by.
        scale: f64,
    }
    /// The attributes of `roi_align`.
    Grid {
        /// Rows and columns that each region is divided into.
        bins: List<i64>,
        /// What boxes are multiplied by.
        scale: f64,
        /// Samples per bin and axis; one per pixel that the bin covers if below 1.
        samples: i64,
        /// Whether boxes are shifted by half a pixel, so that pixels are areas, not points.
        aligned: bool,
        /// Whether each bin has channels of its own.
        own_channels: bool,
        /// The number, rows and columns of the images that something flows back to; else empty.
        extents: List<i64>,
    }
}

/// The largest number of bins along an axis, so that their products do not overflow.
const MOST_BINS: i64 = 1 << 16;
/// The largest number of samples in a bin along an axis: each is visited.
const MOST_SAMPLES: i64 = 1 << 10;

/// The rows and columns of bins.
pub fn bins(list: &[i64]) -> Result<(usize, usize)> {
    match list {
        [rows, columns] if (1..=MOST_BINS).contains(rows) && (1..=MOST_BINS).contains(columns) => {
            Ok((*rows as usize, *columns as usize))
        }
        _ => invalid(format!("bins must be two numbers from 1 to {MOST_BINS}, got {list:?}")),
    }
}

/// Checks boxes and the numbers of their images, and returns how many there are.
fn regions(images: &Given, boxes: &Given) -> Result<usize> {
    let ((number, numbers), (_, shape)) = (images, boxes);
    if *number != I64 {
        return mistyped(format!("numbers of images must be int64, not {number}"));
    }
    match (&numbers[..], &shape[..]) {
        ([count], [boxes, 4]) if count == boxes => Ok(*count),
        _ => invalid(format!("needs boxes of shape (regions, 4), got {numbers} images and {shape} boxes")),
    }
}

/// The channels of the result of `roi_align` for images of so many channels, or the other way round.
fn channels(count: usize, grid: &Grid, back: bool) -> Result<usize> {
    let (rows, columns) = bins(&grid.bins)?;
    if grid.samples > MOST_SAMPLES {
        return invalid(format!("samples must be at most {MOST_SAMPLES}, got {}", grid.samples));
    }
    match grid.own_channels {
        false => Ok(count),
        true if back => Ok(count.saturating_mul(rows * columns)),
        true if count.is_multiple_of(rows * columns) => Ok(count / (rows * columns)),
        true => invalid(format!("{count} channels cannot be divided among {rows} x {columns} bins")),
    }
}

impl Family for Regions {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if !matches!(dtype, F16 | BF16 | F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        let last = given.len() - 1;
        if let Some((other, named)) = given.iter().enumerate().find(|(i, g)| i + 1 != last && g.0 != dtype).map(|g| g.1)
        {
            return mistyped(format!("dtypes differ: {dtype} {shape} and {other} {named}"));
        }
        if shape.rank() != 4 {
            return invalid(format!("needs data of 4 dimensions, got {shape}"));
        }
        let count = regions(&given[last - 1], &given[last])?;
        let dims = match self {
            Regions::Pool | Regions::PoolBack => {
                let Bins { bins: list, scale } = Bins::read(attributes)?;
                let ((rows, columns), keys) = (bins(&list)?, given[1].1);
                positive(scale)?;
                if keys.rank() != 4 {
                    return invalid(format!("needs keys of 4 dimensions, got {keys}"));
                }
                let pooled = [count, keys[1], rows, columns];
                let wanted = if self == Regions::Pool { &keys[..] } else { &pooled[..] };
                if shape[..] != *wanted {
                    return invalid(format!(
                        "data of shape {shape} do not fit keys of shape {keys} and {count} regions"
                    ));
                }
                if self == Regions::Pool { pooled.to_vec() } else { keys.to_vec() }
            }
            Regions::Align => {
                let grid = Grid::read(attributes)?;
                let (rows, columns) = bins(&grid.bins)?;
                positive(grid.scale)?;
                vec![count, channels(shape[1], &grid, false)?, rows, columns]
            }
            Regions::AlignBack => {
                let grid = Grid::read(attributes)?;
                let (rows, columns) = bins(&grid.bins)?;
                positive(grid.scale)?;
                if shape[0] != count || shape[2..] != [rows, columns] {
                    return invalid(format!(
                        "a gradient of shape {shape} does not fit {count} regions of {rows} x {columns} bins"
                    ));
                }
                let [images, height, width] = grid.extents[..] else {
                    return invalid(format!("extents {:?} are not a number of images, rows and columns", grid.extents));
                };
                if images < 0 || height < 0 || width < 0 {
                    return invalid(format!("extents must not be negative, got {:?}", grid.extents));
                }
                vec![images as usize, channels(shape[1], &grid, true)?, height as usize, width as usize]
            }
        };
        Ok((dtype, Shape::new(&dims)?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize {
        let bins = match self {
            Regions::Pool | Regions::Align => out.1.size(),
            Regions::PoolBack | Regions::AlignBack => given[0].1.size(),
        };
        let per_bin = match self {
            Regions::Pool | Regions::PoolBack => 16,
            Regions::Align | Regions::AlignBack => {
                let samples = Grid::read(attributes).map_or(1, |grid| grid.samples.clamp(2, 1 << 10) as usize);
                4 * samples * samples
            }
        };
        bins.saturating_mul(per_bin).saturating_add(out.1.size())
    }

    fn needs(self, i: usize) -> Option<Needs> {
        let rest = match self {
            Regions::Pool | Regions::PoolBack => Needs::input(1).and(Needs::input(2)).and(Needs::input(3)),
            Regions::Align | Regions::AlignBack => Needs::input(1).and(Needs::input(2)),
        };
        (i == 0).then_some(rest)
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let grad = b.grad();
        let flow = match self {
            Regions::Pool => {
                b.encoded(Regions::PoolBack.into(), &[grad, b.input(1), b.input(2), b.input(3)], attributes)?
            }
            Regions::PoolBack => {
                b.encoded(Regions::Pool.into(), &[grad, b.input(1), b.input(2), b.input(3)], attributes)?
            }
            Regions::Align => {
                let shape = b.given(0).1;
                let extents = [shape[0], shape[2], shape[3]].iter().map(|extent| *extent as i64).collect();
                let grid = Grid { extents, ..Grid::read(attributes)? };
                b.routine(Regions::AlignBack, &[grad, b.input(1), b.input(2)], grid)?
            }
            Regions::AlignBack => {
                let grid = Grid { extents: List::new(), ..Grid::read(attributes)? };
                b.routine(Regions::Align, &[grad, b.input(1), b.input(2)], grid)?
            }
        };
        let mut flows = vec![Some(flow)];
        flows.resize_with(if matches!(self, Regions::Pool | Regions::PoolBack) { 4 } else { 3 }, || None);
        Ok(flows)
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let pool = |op: &'static str, rows: i64, columns: i64, scale: f64| {
            call(op).with("bins", [rows, columns]).with("scale", scale)
        };
        let (data, made) = (x([2, 3, 5, 4]), x([6, 3, 2, 3]));
        for (boxes, scale) in [(x([6, 4]), 1.0), (x([6, 4]).values(Values::Positive), 0.75)] {
            let rest = |first: Vec<Input>| [first, vec![at([6], 2), boxes.clone()]].concat();
            let floats = [F16, BF16, F32, F64];
            let tied = vec![data.clone(), data.clone().look(Look::Tied)];
            all.push(pool("roi_pool", 2, 3, scale).on(rest(tied)).of(floats));
            all.push(pool("roi_pool", 2, 3, scale).on(rest(vec![data.clone(), data.clone()])).of([F32, F64]));
            all.push(pool("roi_pool_back", 2, 3, scale).on(rest(vec![made.clone(), data.clone()])).of([F32, F64]));
            for (samples, aligned) in [(-1, false), (2, true), (3, false)] {
                let grid = |op: &'static str, extents: &[i64]| {
                    let sample = pool(op, 2, 3, scale).with("samples", samples).with("aligned", aligned);
                    sample.with("own_channels", false).with("extents", extents.to_vec())
                };
                all.push(grid("roi_align", &[]).on(rest(vec![data.clone()])).of([F32, F64]));
                all.push(grid("roi_align_back", &[2, 5, 4]).on(rest(vec![made.clone()])).of([F32, F64]));
            }
            let grid = |op: &'static str, extents: &[i64]| {
                let sample = pool(op, 2, 2, scale).with("samples", 2).with("aligned", false);
                sample.with("own_channels", true).with("extents", extents.to_vec())
            };
            all.push(grid("roi_align", &[]).on(rest(vec![x([2, 8, 5, 4])])).of([F32, F64]));
            all.push(grid("roi_align_back", &[2, 5, 4]).on(rest(vec![x([6, 2, 2, 2])])).of([F32, F64]));
            let text = "roi_align: 3 channels cannot be divided among 2 x 2 bins";
            all.push(grid("roi_align", &[]).on(rest(vec![data.clone()])).of([F32]).fails(text));
        }
        let grid = |op: &'static str, extents: &[i64]| {
            let sample = pool(op, 2, 3, 1.0).with("samples", 1).with("aligned", false);
            sample.with("own_channels", false).with("extents", extents.to_vec())
        };
        let beyond = || x([6]).values(Values::Beyond(2)).dtype(I64);
        let (boxes, bad) = (x([6, 4]), "image 2 of region 1 does not exist: there are 2");
        let inputs = |first: &Input, images: Input| vec![first.clone(), images, boxes.clone()];
        let tied = |images: Input, boxes: Input| vec![data.clone(), data.clone(), images, boxes];
        all.push(
            pool("roi_pool", 2, 3, 1.0).on(tied(beyond(), boxes.clone())).of([F32]).fails(format!("roi_pool: {bad}")),
        );
        let back = pool("roi_pool_back", 2, 3, 1.0).on(vec![made.clone(), data.clone(), beyond(), boxes.clone()]);
        all.push(back.of([F32]).fails(format!("roi_pool_back: {bad}")));
        all.push(grid("roi_align", &[]).on(inputs(&data, beyond())).of([F32]).fails(format!("roi_align: {bad}")));
        let back = grid("roi_align_back", &[2, 5, 4]).on(inputs(&made, beyond()));
        all.push(back.of([F32]).fails(format!("roi_align_back: {bad}")));
        let text = "roi_pool: needs boxes of shape (regions, 4), got (6,) images and (6, 3) boxes";
        all.push(pool("roi_pool", 2, 3, 1.0).on(tied(at([6], 2), x([6, 3]))).of([F32]).fails(text));
        let text = "roi_pool: bins must be two numbers from 1 to 65536, got [0, 3]";
        all.push(pool("roi_pool", 0, 3, 1.0).on(tied(at([6], 2), x([6, 4]))).of([F32]).fails(text));
        let text = "roi_pool: scale must be a positive number, got -1";
        all.push(pool("roi_pool", 2, 3, -1.0).on(tied(at([6], 2), x([6, 4]))).of([F32]).fails(text));
        let text = "roi_align: needs data of 4 dimensions, got (2, 3)";
        all.push(grid("roi_align", &[]).on(inputs(&x([2, 3]), at([6], 2))).of([F32]).fails(text));
        let text = "roi_align: not defined for int32";
        all.push(grid("roi_align", &[]).on(inputs(&data, at([6], 2))).of([I32]).fails(text));
        let text = "roi_align_back: a gradient of shape (2, 3, 5, 4) does not fit 6 regions of 2 x 3 bins";
        all.push(grid("roi_align_back", &[2, 5, 4]).on(inputs(&data, at([6], 2))).of([F32]).fails(text));
        all
    }
}

fn positive(scale: f64) -> Result<()> {
    if scale > 0.0 && scale.is_finite() {
        return Ok(());
    }
    invalid(format!("scale must be a positive number, got {scale}"))
}
