//! Fourier transforms against finite differences in float64, first and second order.

mod common;

use common::{array, check, numbers};
use forerun_array::{Arg, Array, ops};
use forerun_base::Loc;
use forerun_ops::{Fft, Point, Routine};

/// A transform, then something that is not linear.
fn call(routine: Fft, x: &Array, words: &[i64]) -> Array {
    let y = ops::routine(Routine::Fft(routine), &[x], words, Loc::default()).unwrap();
    ops::pointwise(Point::Square, &[Arg::Array(&y)], Loc::default()).unwrap()
}

fn drawn(shape: &[usize]) -> Array {
    array(shape, &numbers(shape.iter().product(), 31, -1.0, 1.0))
}

#[test]
fn every_transform() {
    for n in [1, 2, 3, 4] {
        for scale in [0, 1, 2] {
            for axis in [0, 1, -1, -2] {
                let name = format!("{n} points, axis {axis}, scale {scale}");
                let along = |points: usize| if axis % 2 == 0 { [points, 2] } else { [2, points] };
                let [a, b] = along(n);
                for back in [0, 1] {
                    check(&name, &|x| call(Fft::Complete, &x[0], &[axis, back, scale]), &[drawn(&[a, b, 2])]);
                }
                check(&name, &|x| call(Fft::Half, &x[0], &[axis, scale]), &[drawn(&[a, b])]);
                let [a, b] = along(n / 2 + 1);
                check(&name, &|x| call(Fft::Back, &x[0], &[axis, n as i64, scale]), &[drawn(&[a, b, 2])]);
            }
        }
    }
}
