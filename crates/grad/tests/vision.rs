//! Bilinear samples and pooling over regions against finite differences in float64; what is linear also in second order.

mod common;

use common::{array, check, check_first, numbers};
use forerun_array::{Arg, Array, ops};
use forerun_base::Loc;
use forerun_ops::regions::{Bins, Grid};
use forerun_ops::sampling::Extents;
use forerun_ops::{List, Point, Regions, Routine, Sampling};

fn call(routine: impl Into<Routine>, x: &[&Array], attributes: &impl forerun_ops::Attributes) -> Array {
    ops::routine(routine, x, attributes, Loc::default()).unwrap()
}

fn drawn(shape: &[usize], seed: u64, low: f64, high: f64) -> Array {
    array(shape, &numbers(shape.iter().product(), seed, low, high))
}

/// Something that is not linear.
fn squares(x: &Array) -> Array {
    ops::pointwise(Point::Square, &[Arg::Array(x)], Loc::default()).unwrap()
}

#[test]
fn samples() {
    // Away from pixels, where the slopes jump; some places lie partly or wholly beyond the images.
    let rows = [0.3, 1.7, -0.4, 2.6, -1.8, 2.2];
    let places = array(&[1, 2, 6], &[&rows[..], &[0.6, -0.7, 1.4, 0.2, 1.1, 3.4]].concat());
    let x = drawn(&[1, 2, 3, 4], 1, -1.0, 1.0);
    let sample = |x: &[Array]| squares(&call(Sampling::Sample, &[&x[0], &x[1]], &()));
    check("bilinear_sample of images", &|x| sample(&[x[0].clone(), places.clone()]), std::slice::from_ref(&x));
    check_first("bilinear_sample", &sample, &[x, places.clone()]);
    let extents = Extents { extents: List::from_slice(&[3, 4]) };
    let spread = |x: &[Array]| squares(&call(Sampling::Spread, &[&x[0], &x[1]], &extents));
    let grad = drawn(&[1, 2, 6], 2, -1.0, 1.0);
    check("bilinear_spread of a gradient", &|x| spread(&[x[0].clone(), places.clone()]), std::slice::from_ref(&grad));
    check_first("bilinear_spread", &spread, &[grad, places]);
}

#[test]
fn regions() {
    let images = ops::from_slice(&[1i64, 0, -1, 1], &[4], Loc::default()).unwrap();
    let corners = [0.2, 0.4, 2.6, 3.1, -1.0, 0.5, 3.0, 2.0, 0.0, 0.0, 2.0, 2.0, 1.2, 1.1, 1.4, 1.3];
    let boxes = array(&[4, 4], &corners);
    let x = drawn(&[2, 4, 3, 4], 3, -1.0, 1.0);
    let bins = Bins { bins: List::from_slice(&[2, 2]), scale: 1.0 };
    let pool = |x: &[Array]| squares(&call(Regions::Pool, &[&x[0], &x[0], &images, &boxes], &bins));
    check("roi_pool", &pool, std::slice::from_ref(&x));
    for (samples, aligned, own_channels) in [(2, false, false), (-1, true, false), (1, false, true)] {
        let grid = |extents: &[i64]| Grid {
            bins: List::from_slice(&[2, 2]),
            scale: 1.0,
            samples,
            aligned,
            own_channels,
            extents: List::from_slice(extents),
        };
        let name = format!("{samples} samples, aligned {aligned}, own channels {own_channels}");
        let align = |x: &[Array]| squares(&call(Regions::Align, &[&x[0], &images, &boxes], &grid(&[])));
        check(&format!("roi_align, {name}"), &align, std::slice::from_ref(&x));
        let grad = drawn(&[4, if own_channels { 1 } else { 4 }, 2, 2], 4, -1.0, 1.0);
        let back = |x: &[Array]| squares(&call(Regions::AlignBack, &[&x[0], &images, &boxes], &grid(&[2, 3, 4])));
        check(&format!("roi_align_back, {name}"), &back, &[grad]);
    }
}
