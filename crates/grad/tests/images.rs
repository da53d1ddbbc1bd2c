//! Convolutions and pooling against finite differences in float64, first and second order.

mod common;

use common::{array, check, numbers};
use forerun_array::{Arg, Array, ops};
use forerun_base::{Loc, Scalar};
use forerun_ops::batch_norm::Apply;
use forerun_ops::convolution::Window;
use forerun_ops::pooling::Pool;
use forerun_ops::{AlongAxis, BatchNorm, Convolution, List, Point, Pooling, ReduceKind, Routine};

fn call(routine: impl Into<Routine>, x: &[&Array], attributes: &impl forerun_ops::Attributes) -> Array {
    ops::routine(routine, x, attributes, Loc::default()).unwrap()
}

fn drawn(shape: &[usize], seed: u64) -> Array {
    array(shape, &numbers(shape.iter().product(), seed, -1.0, 1.0))
}

/// Something that is not linear.
fn squares(x: &Array) -> Array {
    ops::pointwise(Point::Square, &[Arg::Array(x)], Loc::default()).unwrap()
}

fn shaped(first: usize, channels: usize, spatial: &[usize], last: bool) -> Vec<usize> {
    let mut dims = vec![first];
    dims.extend(spatial);
    dims.insert(if last { dims.len() } else { 1 }, channels);
    dims
}

#[test]
fn convolutions() {
    /// Data, kernel, stride, padding, dilation, groups.
    type Case = (&'static [usize], &'static [usize], i64, i64, i64, usize);
    let cases: [Case; 5] = [
        (&[5], &[3], 1, 1, 1, 1),
        (&[4, 3], &[3, 2], 2, 1, 1, 2),
        (&[3, 4], &[2, 2], 1, 0, 2, 1),
        (&[3, 3], &[1, 1], 2, 0, 1, 1),
        (&[2, 3, 2], &[2, 2, 1], 1, 1, 1, 1),
    ];
    for (input, kernel, stride, padding, dilation, groups) in cases {
        for last in [false, true] {
            let (channels, filters) = (2, 2);
            let every = |number: i64| List::from_elem(number, input.len());
            let window = |extents: &[usize]| Window {
                stride: every(stride),
                padding: every(padding),
                dilation: every(dilation),
                extents: extents.iter().map(|extent| *extent as i64).collect(),
                groups: groups as i64,
                channels_last: last,
            };
            let reach = |k: usize| dilation as usize * (k - 1) + 1;
            let output: Vec<usize> = (input.iter().zip(kernel))
                .map(|(n, k)| (n + 2 * padding as usize - reach(*k)) / stride as usize + 1)
                .collect();
            let x = drawn(&shaped(1, channels, input, last), 1);
            let w = drawn(&shaped(filters, channels / groups, kernel, last), 2);
            let y = drawn(&shaped(1, filters, &output, last), 3);
            let name = format!("{input:?} {kernel:?} channels_last {last}");
            for (kind, inputs, extents) in [
                (Convolution::Forward, [x.clone(), w.clone()], &[][..]),
                (Convolution::Transpose, [y.clone(), w], input),
                (Convolution::Weight, [y, x], kernel),
            ] {
                let f = |x: &[Array]| squares(&call(kind, &[&x[0], &x[1]], &window(extents)));
                check(&format!("{} {name}", Routine::from(kind).name()), &f, &inputs);
            }
        }
    }
}

#[test]
fn pools() {
    /// Data, kernel, stride, padding, ceil, adaptive.
    type Case = (&'static [usize], i64, i64, i64, bool, bool);
    let cases: [Case; 4] = [
        (&[7], 3, 2, 1, true, false),
        (&[4, 5], 2, 2, 0, false, false),
        (&[3, 2, 3], 2, 1, 1, false, false),
        (&[5, 4], 3, 1, 0, false, true),
    ];
    for (input, kernel, stride, padding, ceil, adaptive) in cases {
        for last in [false, true] {
            let every = |number: i64| List::from_elem(number, input.len());
            for divisor in 0..3 {
                let (kernel, stride, padding, extents) = (every(kernel), every(stride), every(padding), List::new());
                let pool = Pool { kernel, stride, padding, extents, divisor, ceil, adaptive, channels_last: last };
                let x = drawn(&shaped(2, 2, input, last), 5 + divisor as u64);
                let name = format!("{input:?} channels_last {last} divisor {divisor}");
                let f = |x: &[Array]| squares(&call(Pooling::Average, &[&x[0]], &pool));
                check(&format!("average_pool {name}"), &f, std::slice::from_ref(&x));
                let f = |x: &[Array]| squares(&call(Pooling::Max, &[&x[0], &x[0]], &pool));
                check(&format!("max_pool {name}"), &f, std::slice::from_ref(&x));
            }
        }
    }
}

#[test]
fn batch_norms() {
    for (shape, axis) in [(&[2, 2, 3][..], 1), (&[5, 2], -1)] {
        for fix_gamma in [false, true] {
            let x = drawn(shape, 9);
            let (gamma, beta) = (drawn(&[2], 10), drawn(&[2], 11));
            let how = Apply { axis, epsilon: 0.1, fix_gamma };
            let f = |x: &[Array]| {
                let moments = call(BatchNorm::Moments, &[&x[0]], &AlongAxis { axis });
                let y = call(BatchNorm::Apply, &[&x[0], &x[1], &x[2], &moments], &how);
                // With a fixed gamma nothing would flow back to it.
                let gamma = ops::pointwise(Point::Square, &[Arg::Array(&x[1])], Loc::default()).unwrap();
                let gamma = ops::reduce(ReduceKind::Sum, &gamma, None, false, Loc::default()).unwrap();
                ops::pointwise(Point::Add, &[Arg::Array(&squares(&y)), Arg::Array(&gamma)], Loc::default()).unwrap()
            };
            check(&format!("batch_norm {shape:?} {fix_gamma}"), &f, &[x, gamma, beta]);
        }
        let moments = array(&[2, 2], &[0.1, -0.2, 0.5, 0.7]);
        let f = |x: &[Array]| squares(&call(BatchNorm::Sums, &[&x[0], &x[1], &x[2]], &AlongAxis { axis }));
        check("batch_norm_sums", &f, &[drawn(shape, 12), drawn(shape, 13), moments]);
    }
}

#[test]
fn the_first_of_equal_elements_takes_what_flows_back() {
    let x = ops::full(&[1, 1, 3], Scalar::Int(1), forerun_base::DType::F64, Loc::default()).unwrap();
    let every = |number: i64| List::from_elem(number, 1);
    let (kernel, stride, padding, extents) = (every(2), every(1), every(0), List::new());
    let pool =
        Pool { kernel, stride, padding, extents, divisor: 0, ceil: false, adaptive: false, channels_last: false };
    let grad = array(&[1, 1, 2], &[3.0, 4.0]);
    assert_eq!(call(Pooling::MaxBack, &[&grad, &x], &pool).to_vec::<f64>().unwrap(), [3.0, 4.0, 0.0]);
}
