//! Optimiser updates, for many weights in one call. Rates are scalars in the records, so a new rate needs no new plan.
//! Each weight and state is written in place by one record per step: if a gradient failed, `restore` returns the value
//! before the step and not an intermediate one.

use crate::array::{Arg, Array};
use crate::ops::write::in_place_of;
use crate::ops::{in_place, pointwise};
use forerun_base::{Error, ErrorKind, Loc, Result, Scalar};
use forerun_ops::Point;

/// How gradients are prepared before use.
#[derive(Clone, Copy, Debug)]
pub struct Preparation {
    /// Factor applied to the gradient.
    pub rescale: f64,
    /// Limit of the absolute value after rescaling.
    pub clip: Option<f64>,
}

fn number(value: f64) -> Arg<'static> {
    Arg::Scalar(Scalar::Float(value))
}

fn two(point: Point, a: &Array, b: Arg<'_>, loc: Loc) -> Result<Array> {
    pointwise(point, &[Arg::Array(a), b], loc)
}

/// The gradient, rescaled, clipped, and with the weight decay added.
fn prepare(grad: &Array, weight: &Array, decay: f64, how: Preparation, loc: Loc) -> Result<Array> {
    let mut grad =
        if how.rescale == 1.0 { grad.clone() } else { two(Point::Multiply, grad, number(how.rescale), loc)? };
    if let Some(limit) = how.clip {
        grad = two(Point::Minimum, &grad, number(limit), loc)?;
        grad = two(Point::Maximum, &grad, number(-limit), loc)?;
    }
    if decay != 0.0 {
        let pull = two(Point::Multiply, weight, number(decay), loc)?;
        grad = two(Point::Add, &grad, Arg::Array(&pull), loc)?;
    }
    Ok(grad)
}

fn check(op: &'static str, weights: &[&Array], others: &[usize]) -> Result<()> {
    if others.iter().any(|n| *n != weights.len()) {
        let text = format!("{} weights, but {others:?} gradients, states and rates", weights.len());
        return Err(Error::new(ErrorKind::Value, text).in_op(op));
    }
    Ok(())
}

/// Stochastic gradient descent: `m = momentum m + rate (g + decay w)`, `w -= m`; without momenta `w -= rate (g + decay
/// w)`.
#[allow(clippy::too_many_arguments, reason = "one call updates everything")]
pub fn sgd_update(
    weights: &[&Array],
    grads: &[&Array],
    momenta: Option<&[&Array]>,
    rates: &[f64],
    decays: &[f64],
    momentum: f64,
    how: Preparation,
    loc: Loc,
) -> Result<()> {
    check("sgd_update", weights, &[grads.len(), momenta.map_or(weights.len(), <[_]>::len), rates.len(), decays.len()])?;
    for (i, weight) in weights.iter().enumerate() {
        let plain = how.clip.is_none() && decays[i] == 0.0;
        // With nothing in between, both factors are folded into one.
        let (prepared, rate) = if plain {
            (grads[i].clone(), rates[i] * how.rescale)
        } else {
            (prepare(grads[i], weight, decays[i], how, loc)?, rates[i])
        };
        let step = two(Point::Multiply, &prepared, number(rate), loc)?;
        match momenta {
            Some(momenta) => {
                in_place_of(Point::MultiplyAdd, momenta[i], &[number(momentum), Arg::Array(&step)], loc)?;
                in_place(Point::Subtract, weight, Arg::Array(momenta[i]), loc)?;
            }
            None => in_place(Point::Subtract, weight, Arg::Array(&step), loc)?,
        }
    }
    Ok(())
}

/// Adam: `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `w -= rate m / (sqrt(v) + epsilon)`, with decay in `g`.
/// The caller includes the bias correction in the rates.
#[allow(clippy::too_many_arguments, reason = "one call updates everything")]
pub fn adam_update(
    weights: &[&Array],
    grads: &[&Array],
    means: &[&Array],
    variances: &[&Array],
    rates: &[f64],
    decays: &[f64],
    betas: (f64, f64),
    epsilon: f64,
    how: Preparation,
    loc: Loc,
) -> Result<()> {
    check("adam_update", weights, &[grads.len(), means.len(), variances.len(), rates.len(), decays.len()])?;
    for (i, weight) in weights.iter().enumerate() {
        let grad = prepare(grads[i], weight, decays[i], how, loc)?;
        let moving = |state: &Array, sample: &Array, beta: f64| {
            let share = two(Point::Multiply, sample, number(1.0 - beta), loc)?;
            in_place_of(Point::MultiplyAdd, state, &[number(beta), Arg::Array(&share)], loc)
        };
        moving(means[i], &grad, betas.0)?;
        let square = pointwise(Point::Square, &[Arg::Array(&grad)], loc)?;
        moving(variances[i], &square, betas.1)?;
        let spread = two(Point::Add, &pointwise(Point::Sqrt, &[Arg::Array(variances[i])], loc)?, number(epsilon), loc)?;
        let direction = two(Point::Divide, means[i], Arg::Array(&spread), loc)?;
        let step = two(Point::Multiply, &direction, number(rates[i]), loc)?;
        in_place(Point::Subtract, weight, Arg::Array(&step), loc)?;
    }
    Ok(())
}
