//! Activation checkpoints: the same gradients as without, from inputs and from arrays outside.

use forerun_array::{Arg, Array, Wait, ops, seed};
use forerun_base::{DType, Loc, Result, Scalar, Shape};
use forerun_grad::{Differentiable, GradReq, Recomputed, attach_grad, checkpoint, gradient_of, is_recording, record};
use forerun_ops::Point;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn variable(values: &[f32]) -> Array {
    let x = ops::from_slice(values, &[values.len()], Loc::caller()).unwrap();
    attach_grad(&x, GradReq::Write, Loc::caller()).unwrap();
    x
}

fn values(x: &Array) -> Vec<f32> {
    let bytes = x.snapshot_with(&Wait::at(Loc::caller(), "test")).unwrap().to_bytes();
    bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn grad(x: &Array) -> Vec<f32> {
    values(&gradient_of(x).unwrap().0)
}

/// The only output of a checkpoint of one input.
fn one(x: &Array, function: Arc<Recomputed>) -> Result<Array> {
    Ok(checkpoint(&[x], function, Loc::caller())?.remove(0))
}

fn two(point: Point, x: &Array, y: &Array) -> Result<Array> {
    ops::pointwise(point, &[Arg::Array(x), Arg::Array(y)], Loc::caller())
}

#[test]
fn gradients_reach_inputs_and_arrays_from_outside() {
    let (x, w) = (variable(&[1.0, 2.0, 3.0]), variable(&[4.0, 5.0, 6.0]));
    let calls = Arc::new(AtomicUsize::new(0));
    let (outside, counted) = (std::sync::Mutex::new(w.clone()), calls.clone());
    let function = Arc::new(move |inputs: Vec<Array>| {
        counted.fetch_add(1, Relaxed);
        let w = outside.lock().unwrap().clone();
        Ok(vec![two(Point::Multiply, &two(Point::Multiply, &inputs[0], &w)?, &inputs[0])?])
    });
    let y = record(|| one(&x, function.clone())).unwrap();
    assert_eq!((values(&y), calls.load(Relaxed)), (vec![4.0, 20.0, 54.0], 1));
    y.backward().unwrap();
    assert_eq!(calls.load(Relaxed), 2);
    assert_eq!(grad(&x), [8.0, 20.0, 36.0]);
    assert_eq!(grad(&w), [1.0, 4.0, 9.0]);
    assert!(!is_recording());
}

#[test]
fn the_same_random_numbers_are_drawn_and_later_ones_do_not_change() {
    let run = |kept: bool| {
        seed(11);
        let x = variable(&[1.0; 64]);
        let function = Arc::new(|inputs: Vec<Array>| {
            let noise = ops::uniform(&[64], 0.0, 1.0, DType::F32, Loc::caller())?;
            Ok(vec![two(Point::Multiply, &inputs[0], &noise)?])
        });
        let y = match kept {
            true => record(|| function(vec![x.clone()])).unwrap().remove(0),
            false => record(|| one(&x, function.clone())).unwrap(),
        };
        y.backward().unwrap();
        let later = ops::uniform(&[4], 0.0, 1.0, DType::F32, Loc::caller()).unwrap();
        assert_eq!(values(&y), grad(&x));
        (values(&y), values(&later))
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn writes_to_arrays_from_outside_take_effect_once() {
    let (x, count) = (variable(&[1.0]), ops::full(&[], Scalar::Float(0.0), DType::F32, Loc::caller()).unwrap());
    let counter = std::sync::Mutex::new(count.clone());
    let function = Arc::new(move |inputs: Vec<Array>| {
        ops::in_place(Point::Add, &counter.lock().unwrap(), Arg::Scalar(Scalar::Float(1.0)), Loc::caller())?;
        Ok(vec![two(Point::Multiply, &inputs[0], &inputs[0])?])
    });
    let y = record(|| one(&x, function.clone())).unwrap();
    y.backward().unwrap();
    assert_eq!((values(&count), grad(&x)), (vec![1.0], vec![2.0]));
    assert_eq!(count.shape(), Shape::SCALAR);
}
