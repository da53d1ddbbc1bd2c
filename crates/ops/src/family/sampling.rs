//! Bilinear interpolation of images at fractional places, and what flows back through it.
//!
//! `bilinear_sample` is linear in the images, and `bilinear_spread` is its adjoint. `bilinear_slopes` is the gradient of both for the
//! places; it has no gradient of its own.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, List, attributes, family, invalid, mistyped};
use crate::samples::{Look, Sample, Values, call, x};
use forerun_base::DType::{BF16, F16, F32, F64, I32};
use forerun_base::{Result, Shape};

family! {
    /// Images read at places between pixels. Images have shape (batch, channels, rows, columns). Places have shape (batch, 2, count):
    /// rows, then columns, in pixels; what lies beyond the images is zero.
    Sampling {
        Sample {
            name: "bilinear_sample",
            inputs: [x, places],
            attributes: (),
            fallible: false,
            doc: "bilinear interpolation of images at places: rows, then columns, in pixels",
        }
        Spread {
            name: "bilinear_spread",
            inputs: [grad, places],
            attributes: Extents,
            fallible: false,
            doc: "what flows back through bilinear_sample to images of these extents",
        }
        Slopes {
            name: "bilinear_slopes",
            inputs: [grad, x, places],
            attributes: (),
            fallible: false,
            doc: "what flows back through bilinear_sample to the places",
        }
    }
}

attributes! {
    /// The attributes of `bilinear_spread`.
    Extents {
        /// Rows and columns of the images.
        extents: List<i64>,
    }
}

/// Checks that places fit images of this batch, and returns how many there are.
fn places(images: &Shape, places: &Shape) -> Result<usize> {
    match places[..] {
        [batch, 2, count] if batch == images[0] => Ok(count),
        _ => invalid(format!("places of shape {places} do not fit {images}: (batch, 2, count) is needed")),
    }
}

/// Checks that 32 bits can number the pixels of an image.
fn pixels(rows: usize, columns: usize) -> Result<()> {
    if rows.saturating_mul(columns) <= u32::MAX as usize {
        return Ok(());
    }
    invalid(format!("images of {rows} x {columns} pixels are too large"))
}

fn images(shape: &Shape, name: &str, rank: usize) -> Result<()> {
    if shape.rank() == rank {
        return Ok(());
    }
    invalid(format!("{name} needs {rank} dimensions, got {shape}"))
}

impl Family for Sampling {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let dtype = given[0].0;
        if !matches!(dtype, F16 | BF16 | F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        if let Some((other, shape)) = given.iter().find(|(other, _)| *other != dtype) {
            return mistyped(format!("dtypes differ: {dtype} {} and {other} {shape}", given[0].1));
        }
        let shape = &given[0].1;
        let dims = match self {
            Sampling::Sample => {
                images(shape, "data", 4)?;
                pixels(shape[2], shape[3])?;
                vec![shape[0], shape[1], places(shape, &given[1].1)?]
            }
            Sampling::Spread => {
                images(shape, "a gradient", 3)?;
                let extents = Extents::read(attributes)?.extents;
                let [rows, columns] = extents[..] else {
                    return invalid(format!("extents {extents:?} are not rows and columns"));
                };
                if rows < 0 || columns < 0 {
                    return invalid(format!("extents must not be negative, got {extents:?}"));
                }
                pixels(rows as usize, columns as usize)?;
                if places(shape, &given[1].1)? != shape[2] {
                    return invalid(format!("a gradient of shape {shape} does not fit places of shape {}", given[1].1));
                }
                vec![shape[0], shape[1], rows as usize, columns as usize]
            }
            Sampling::Slopes => {
                let data = &given[1].1;
                images(data, "data", 4)?;
                pixels(data[2], data[3])?;
                let count = places(data, &given[2].1)?;
                if shape[..] != [data[0], data[1], count] {
                    return invalid(format!("a gradient of shape {shape} does not fit {count} places in {data}"));
                }
                given[2].1.to_vec()
            }
        };
        Ok((dtype, Shape::new(&dims)?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let samples = if self == Sampling::Sample { out.1.size() } else { given[0].1.size() };
        samples.saturating_mul(4).saturating_add(out.1.size())
    }

    fn needs(self, i: usize) -> Option<Needs> {
        let both = Needs::input(0).and(Needs::input(1));
        match (self, i) {
            (Sampling::Sample | Sampling::Spread, 0) => Some(Needs::input(1)),
            (Sampling::Sample | Sampling::Spread, _) => Some(both),
            (Sampling::Slopes, _) => None,
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, _: &[i64]) -> Flows<B> {
        let grad = b.grad();
        let slopes = |grad: &B::Value, x: &B::Value| b.routine(Sampling::Slopes, &[grad, x, b.input(1)], ());
        match self {
            Sampling::Sample => {
                let shape = b.given(0).1;
                let extents = List::from_slice(&[shape[2] as i64, shape[3] as i64]);
                let spread = || b.routine(Sampling::Spread, &[grad, b.input(1)], Extents { extents });
                Ok(vec![b.if_wanted(0, spread)?, b.if_wanted(1, || slopes(grad, b.input(0)))?])
            }
            Sampling::Spread => {
                let sample = || b.routine(Sampling::Sample, &[grad, b.input(1)], ());
                Ok(vec![b.if_wanted(0, sample)?, b.if_wanted(1, || slopes(b.input(0), grad))?])
            }
            Sampling::Slopes => unreachable!("slopes are never on the tape"),
        }
    }

    fn samples() -> Vec<Sample> {
        let spread = |rows: i64, columns: i64| call("bilinear_spread").with("extents", [rows, columns]);
        let floats = [F16, BF16, F32, F64];
        let mut all = Vec::new();
        // Places from -3 to 3, and from 0.5 to 3.5: beyond the images, between their pixels, and at the end.
        for at in [x([2, 2, 9]), x([2, 2, 9]).values(Values::Positive)] {
            let data = x([2, 3, 4, 3]);
            all.push(call("bilinear_sample").on([data.clone(), at.clone()]).of(floats));
            all.push(call("bilinear_sample").on([data.clone().look(Look::Transposed), at.clone()]).of([F32, F64]));
            all.push(spread(4, 3).on([x([2, 3, 9]), at.clone()]).of([F32, F64]));
            all.push(call("bilinear_slopes").on([x([2, 3, 9]), data, at]).of([F32, F64]));
        }
        all.push(call("bilinear_sample").on([x([1, 2, 1, 1]), x([1, 2, 5])]).of([F32, F64]));
        all.push(call("bilinear_sample").on([x([1, 2, 0, 3]), x([1, 2, 5])]).of([F32]));
        all.push(call("bilinear_sample").on([x([1, 2, 3, 3]), x([1, 2, 0])]).of([F32]));
        all.push(spread(0, 3).on([x([1, 2, 5]), x([1, 2, 5])]).of([F32]));
        all.push(spread(2, 3).on([x([1, 2, 0]), x([1, 2, 0])]).of([F32]));
        all.push(call("bilinear_slopes").on([x([1, 0, 5]), x([1, 0, 3, 3]), x([1, 2, 5])]).of([F32]));
        let text = "bilinear_sample: places of shape (2, 3, 9) do not fit (2, 3, 4, 3): (batch, 2, count) is needed";
        all.push(call("bilinear_sample").on([x([2, 3, 4, 3]), x([2, 3, 9])]).of([F32]).fails(text));
        let text = "bilinear_sample: data needs 4 dimensions, got (2, 3)";
        all.push(call("bilinear_sample").on([x([2, 3]), x([2, 2, 9])]).of([F32]).fails(text));
        let text = "bilinear_sample: not defined for int32";
        all.push(call("bilinear_sample").on([x([2, 3, 4, 3]), x([2, 2, 9])]).of([I32]).fails(text));
        let text = "bilinear_sample: dtypes differ: float32 (2, 3, 4, 3) and float64 (2, 2, 9)";
        all.push(call("bilinear_sample").on([x([2, 3, 4, 3]), x([2, 2, 9]).dtype(F64)]).of([F32]).fails(text));
        let text = "bilinear_spread: a gradient of shape (2, 3, 8) does not fit places of shape (2, 2, 9)";
        all.push(spread(4, 3).on([x([2, 3, 8]), x([2, 2, 9])]).of([F32]).fails(text));
        let text = "bilinear_slopes: a gradient of shape (2, 3, 8) does not fit 9 places in (2, 3, 4, 3)";
        let slopes = call("bilinear_slopes").on([x([2, 3, 8]), x([2, 3, 4, 3]), x([2, 2, 9])]);
        all.push(slopes.of([F32]).fails(text));
        all
    }
}
