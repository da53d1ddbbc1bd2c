//! The gradients of recurrent scans, attention and losses over alignments against finite differences in float64.

mod common;

use common::{array, check, check_first, numbers};
use forerun_array::{Array, Index, ops};
use forerun_base::Loc;
use forerun_grad::{Differentiable, gradients, record};
use forerun_ops::attention::Scores;
use forerun_ops::ctc::Blank;
use forerun_ops::recurrent::Recurrence;
use forerun_ops::{Attention, Ctc, Recurrent};

const EXTENTS: [usize; 3] = [3, 2, 3];

/// The float inputs of a scan of this mode; without a projection if that is 0.
fn inputs(mode: usize, projection: usize) -> Vec<Array> {
    let [steps, batch, hidden] = EXTENTS;
    let (width, state) = ([1, 1, 4, 3][mode] * hidden, if projection > 0 { projection } else { hidden });
    let mut shapes = vec![vec![steps, batch, width], vec![batch, state], vec![width, state], vec![width]];
    if mode == 2 {
        shapes.push(vec![batch, hidden]);
    }
    if projection > 0 {
        shapes.push(vec![projection, hidden]);
    }
    let make =
        |(n, shape): (usize, &Vec<usize>)| array(shape, &numbers(shape.iter().product(), 11 + n as u64, -0.9, 0.9));
    shapes.iter().enumerate().map(make).collect()
}

fn scan(mode: usize, reverse: bool, lengths: &[i64], x: &[Array]) -> Array {
    let nothing = array(&[0], &[]);
    let lengths = ops::from_slice(lengths, &[lengths.len()], Loc::default()).unwrap();
    let cells = if mode == 2 { &x[4] } else { &nothing };
    let projection = if mode == 2 { x.get(5).unwrap_or(&nothing) } else { &nothing };
    let how = Recurrence { mode: mode as i64, reverse };
    let all = [&x[0], &x[1], cells, &x[2], &x[3], projection, &lengths];
    ops::routine(Recurrent::Forward, &all, &how, Loc::default()).unwrap()
}

#[test]
fn scans() {
    for mode in 0..4 {
        for reverse in [false, true] {
            for lengths in [&[][..], &[2, 3], &[0, 1]] {
                let name = format!("mode {mode}, reverse {reverse}, lengths {lengths:?}");
                check_first(&name, &|x| scan(mode, reverse, lengths, x), &inputs(mode, 0));
            }
        }
    }
    for lengths in [&[][..], &[2, 3]] {
        check_first("projected", &|x| scan(2, false, lengths, x), &inputs(2, 2));
        check_first("projected, reverse", &|x| scan(2, true, lengths, x), &inputs(2, 2));
    }
}

/// Outputs alone, the last state alone, and both: what flows to parts of the packed result.
#[test]
fn parts_of_a_scan() {
    let [steps, batch, hidden] = EXTENTS;
    let (first, end) = (batch * hidden, (steps + 1) * batch * hidden);
    let part = |x: &Array, range: std::ops::Range<usize>| {
        let slice = Index::Slice { start: Some(range.start as isize), stop: Some(range.end as isize), step: 1 };
        ops::index(x, &[slice]).unwrap()
    };
    for mode in 0..4 {
        check_first("outputs", &|x| part(&scan(mode, false, &[], x), first..end), &inputs(mode, 0));
        check_first("last state", &|x| part(&scan(mode, false, &[], x), end - first..end), &inputs(mode, 0));
        let both = |x: &[Array]| {
            let packed = scan(mode, false, &[], x);
            let parts = [part(&packed, 0..end), part(&packed, end - first..end), part(&packed, 2..5)];
            ops::concatenate(&parts.iter().collect::<Vec<_>>(), 0, Loc::default()).unwrap()
        };
        check_first("overlapping parts", &both, &inputs(mode, 0));
    }
}

#[test]
fn attention() {
    let stack = |shape: [usize; 3], seed: u64| array(&shape, &numbers(shape.iter().product(), seed, -0.9, 0.9));
    let inputs = [stack([2, 3, 4], 1), stack([2, 5, 4], 2), stack([2, 5, 2], 3)];
    // The second query of the last mask sees no key.
    let mut hidden = numbers(15, 6, -0.9, 0.9);
    hidden[5..10].fill(f64::NEG_INFINITY);
    for mask in [array(&[0], &[]), stack([1, 3, 5], 4), stack([2, 1, 5], 5), array(&[1, 3, 5], &hidden)] {
        for causal in [false, true] {
            let call = |x: &[Array]| {
                let how = Scores { scale: 0.5, causal };
                let packed =
                    ops::routine(Attention::Forward, &[&x[0], &x[1], &x[2], &mask], &how, Loc::default()).unwrap();
                // The logarithm of no sum is infinite: differences cannot be formed.
                let part = Index::Slice { start: None, stop: Some(2 * 3 * 2 + 1), step: 1 };
                ops::index(&packed, &[part]).unwrap()
            };
            check("attention", &call, &inputs);
        }
    }
}

#[test]
fn losses_over_alignments() {
    let x = array(&[5, 2, 4], &numbers(40, 9, -0.9, 0.9));
    let whole = |values: &[i64], shape: &[usize]| ops::from_slice(values, shape, Loc::default()).unwrap();
    let (labels, steps, lengths) = (whole(&[0, 1, 1, 2, 0, 0], &[2, 3]), whole(&[5, 4], &[2]), whole(&[3, 2], &[2]));
    let call = |x: &[Array]| {
        let all = [&x[0], &labels, &steps, &lengths];
        let packed = ops::routine(Ctc::Loss, &all, &Blank { blank: 3 }, Loc::default()).unwrap();
        ops::index(&packed, &[Index::Slice { start: None, stop: Some(2), step: 1 }]).unwrap()
    };
    check_first("ctc_loss", &call, &[x]);
}

#[test]
fn a_second_derivative_is_an_error() {
    let x = inputs(2, 0);
    x[2].attach_grad();
    let error = record(|| {
        let y = scan(2, false, &[], &x);
        let first = gradients(&[&y], &[&x[2]], &[], true, true, Loc::default())?;
        gradients(&[&first[0]], &[&x[2]], &[], false, false, Loc::default())
    })
    .expect_err("a fused scan has no second derivative");
    assert!(error.to_string().contains("no second derivative; unroll its cells instead"), "{error}");
}
