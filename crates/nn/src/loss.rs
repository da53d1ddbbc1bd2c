//! Losses: one number a sample, the mean over all dimensions but the first.

use crate::terms::{extents, one, two, value};
use forerun_array::Array;
use forerun_array::ops::{self, Activation};
use forerun_base::{Loc, Result};
use forerun_ops::{Beyond, Point};

/// Half the squared difference.
#[track_caller]
pub fn l2_loss(prediction: &Array, label: &Array) -> Result<Array> {
    let loc = Loc::caller();
    let off = two(Point::Subtract, prediction, &like("l2_loss", label, prediction, loc)?, loc)?;
    per_sample(&two(Point::Multiply, &one(Point::Square, &off, loc)?, 0.5, loc)?, loc)
}

/// The difference, without its sign.
#[track_caller]
pub fn l1_loss(prediction: &Array, label: &Array) -> Result<Array> {
    let loc = Loc::caller();
    let off = two(Point::Subtract, prediction, &like("l1_loss", label, prediction, loc)?, loc)?;
    per_sample(&one(Point::Abs, &off, loc)?, loc)
}

/// How unexpected each label is, given unnormalised logarithms of probabilities along the last dimension. Labels are the
/// numbers of classes, and lack that dimension or have extent 1 there. One that is no class fails when it is read.
#[track_caller]
pub fn softmax_cross_entropy(prediction: &Array, label: &Array) -> Result<Array> {
    let loc = Loc::caller();
    let logarithms = ops::log_softmax(prediction, -1, loc).map_err(|e| e.in_op("softmax_cross_entropy"))?;
    let picked = ops::pick(&logarithms, label, -1, true, Beyond::Refuse, loc)?;
    per_sample(&one(Point::Negative, &picked, loc)?, loc)
}

/// How unexpected each truth value is, given the logarithms of its odds.
#[track_caller]
pub fn sigmoid_bce(prediction: &Array, label: &Array) -> Result<Array> {
    let loc = Loc::caller();
    let label = like("sigmoid_bce", label, prediction, loc)?;
    // log(1 + e^x) - x l is both branches, -log(sigmoid(x)) and -log(1 - sigmoid(x)), without their roundings.
    let both = ops::activation(Activation::Softrelu, prediction, loc)?;
    let agreed = two(Point::Multiply, prediction, &label, loc)?;
    per_sample(&two(Point::Subtract, &both, &agreed, loc)?, loc)
}

/// The labels in the shape of the predictions.
fn like(op: &'static str, label: &Array, prediction: &Array, loc: Loc) -> Result<Array> {
    let shape = prediction.shape();
    if label.shape() == shape {
        return Ok(label.clone());
    }
    if label.size() != prediction.size() {
        let text = format!("labels of shape {} do not fit predictions of shape {shape}", label.shape());
        return Err(value(op, text));
    }
    ops::reshape(label, &extents(&shape), loc)
}

fn per_sample(loss: &Array, loc: Loc) -> Result<Array> {
    if loss.ndim() < 2 {
        return Ok(loss.clone());
    }
    let axes: Vec<isize> = (1..loss.ndim() as isize).collect();
    ops::mean(loss, Some(&axes), false, loc)
}
