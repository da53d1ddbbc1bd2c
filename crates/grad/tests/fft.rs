//! Fourier transforms against finite differences in float64, first and second order.

mod common;

use common::{array, check, composed, numbers, parts};
use forerun_array::{Arg, Array, ops};
use forerun_base::Loc;
use forerun_ops::{Fft, Point, Routine};

fn call(routine: Fft, x: &Array, attributes: &[i64]) -> Array {
    ops::routine_encoded(Routine::Fft(routine), &[x], attributes, Loc::default()).unwrap()
}

/// A nonlinear function.
fn squares(x: &Array) -> Array {
    ops::pointwise(Point::Square, &[Arg::Array(x)], Loc::default()).unwrap()
}

fn drawn(shape: &[usize], seed: u64) -> Array {
    array(shape, &numbers(shape.iter().product(), seed, -1.0, 1.0))
}

#[test]
fn every_transform() {
    for n in [1, 2, 3, 4] {
        for scale in [0, 1, 2] {
            for axis in [0, 1, -1, -2] {
                let name = format!("{n} points, axis {axis}, scale {scale}");
                let along = |points: usize| if axis % 2 == 0 { [points, 2] } else { [2, points] };
                let (whole, half) = (along(n), along(n / 2 + 1));
                for back in [0, 1] {
                    let words = [axis, back, scale];
                    let f = |x: &[Array]| parts(&squares(&call(Fft::Complete, &composed(&x[0], &x[1]), &words)));
                    check(&name, &f, &[drawn(&whole, 31), drawn(&whole, 32)]);
                }
                check(&name, &|x| parts(&squares(&call(Fft::Half, &x[0], &[axis, scale]))), &[drawn(&whole, 33)]);
                let words = [axis, n as i64, scale];
                let f = |x: &[Array]| squares(&call(Fft::Back, &composed(&x[0], &x[1]), &words));
                check(&name, &f, &[drawn(&half, 34), drawn(&half, 35)]);
            }
        }
    }
}

#[test]
fn a_filter() {
    let f = |x: &[Array]| {
        let spectrum = call(Fft::Half, &x[0], &[0, 0]);
        let kept = ops::pointwise(Point::Multiply, &[Arg::Array(&spectrum), Arg::Array(&x[1])], Loc::default());
        squares(&call(Fft::Back, &kept.unwrap(), &[0, 6, 1]))
    };
    check("filter", &f, &[drawn(&[6], 36), drawn(&[4], 37)]);
}
