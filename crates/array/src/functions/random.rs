//! Random numbers, drawn from one stream per thread, which [`seed()`](crate::seed) resets. The numbers depend on the seed
//! and on the order of the calls, not on when or where they are computed. Parameters are numbers; the dtype is the default
//! float.

use crate::functions::by_name::{call, to_dtype};
use crate::methods::pairs::functions;
use crate::ops::terms::Terms;
use crate::{Array, ops};
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_ops::samples::Value;
use forerun_ops::{Beyond, Point, Promotion};

pub use crate::seed;

functions! {
    /// Normally distributed numbers with a mean and a standard deviation.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(*random::normal(0.0, 1.0, [2, 3]).shape(), [2, 3]);
    /// ```
    normal, try_normal(mean: f64, scale: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        ops::normal(size.as_ref(), mean, scale, DType::default_float(), loc)
    }
    /// Uniform numbers from `low` up to, excluding, `high`.
    uniform, try_uniform(low: f64, high: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        ops::uniform(size.as_ref(), low, high, DType::default_float(), loc)
    }
    /// Standard normal numbers.
    randn, try_randn(size: impl AsRef<[usize]>) -> Array |loc| {
        ops::normal(size.as_ref(), 0.0, 1.0, DType::default_float(), loc)
    }
    /// Uniform numbers from 0 up to, excluding, 1.
    rand, try_rand(size: impl AsRef<[usize]>) -> Array |loc| {
        ops::uniform(size.as_ref(), 0.0, 1.0, DType::default_float(), loc)
    }
    /// Integers from `low` up to, excluding, `high`, at most 2^32 apart.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = random::randint(0, 10, [100]);
    /// assert!(x.less(10).all().item::<bool>()? && x.greater_equal(0).all().item::<bool>()?);
    /// # Ok::<(), Error>(())
    /// ```
    randint, try_randint(low: i64, high: i64, size: impl AsRef<[usize]>) -> Array |loc| {
        integers(low, high, size.as_ref(), loc)
    }
    /// A random permutation of the integers below `n`.
    permutation, try_permutation(n: usize) -> Array |loc| {
        order(n, loc)
    }
    /// The rows of an array in random order.
    shuffled, try_shuffled(x: &Array) -> Array |loc| {
        let rows = x.shape().first().copied().unwrap_or(0);
        ops::take(x, &order(rows, loc)?, 0, Beyond::Raise, loc)
    }
    /// True with probability `p`.
    bernoulli, try_bernoulli(p: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        let t = Terms { op: "bernoulli", loc };
        if !(0.0..=1.0).contains(&p) {
            return Err(t.value(format!("p must lie between 0 and 1: {p}")));
        }
        t.two(Point::Less, &ops::uniform(size.as_ref(), 0.0, 1.0, DType::F64, loc)?, p)
    }
    /// Exponentially distributed numbers with mean `scale`.
    exponential, try_exponential(scale: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        let t = Terms { op: "exponential", loc };
        let drawn = t.one(Point::Log, &positive_uniform(t, size.as_ref())?)?;
        t.two(Point::Multiply, &drawn, -scale)
    }
    /// Numbers from Laplace distributions.
    laplace, try_laplace(mean: f64, scale: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        let t = Terms { op: "laplace", loc };
        let u = positive_uniform(t, size.as_ref())?;
        let below = t.one(Point::Log, &t.two(Point::Multiply, &u, 2.0)?)?;
        let rest = t.two(Point::Subtract, 2.0, &t.two(Point::Multiply, &u, 2.0)?)?;
        let above = t.one(Point::Negative, &t.one(Point::Log, &rest)?)?;
        let drawn = t.choose(&t.two(Point::Less, &u, 0.5)?, &below, &above)?;
        t.two(Point::Add, &t.two(Point::Multiply, &drawn, scale)?, mean)
    }
    /// Numbers whose logarithms are normally distributed.
    lognormal, try_lognormal(mean: f64, sigma: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        let drawn = ops::normal(size.as_ref(), mean, sigma, DType::default_float(), loc)?;
        Terms { op: "lognormal", loc }.one(Point::Exp, &drawn)
    }
    /// Numbers from gamma distributions of a shape parameter and a scale.
    gamma, try_gamma(shape: f64, scale: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        let drawn = sampled("random_gamma", &[shape], size.as_ref(), loc)?;
        Terms { op: "gamma", loc }.two(Point::Multiply, &to_dtype(&drawn, DType::default_float(), loc)?, scale)
    }
    /// Integers from Poisson distributions of mean `lam`.
    poisson, try_poisson(lam: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        sampled("random_poisson", &[lam], size.as_ref(), loc)
    }
    /// The numbers of successes of `n` trials with probability `p`.
    binomial, try_binomial(n: u64, p: f64, size: impl AsRef<[usize]>) -> Array |loc| {
        sampled("random_binomial", &[n as f64, p], size.as_ref(), loc)
    }
    /// Rows of an array, drawn with replacement.
    choice, try_choice(x: &Array, size: impl AsRef<[usize]>) -> Array |loc| {
        let rows = x.shape().first().copied().unwrap_or(0);
        ops::take(x, &integers(0, rows as i64, size.as_ref(), loc)?, 0, Beyond::Raise, loc)
    }
}

/// Integers from `low` up to, excluding, `high`.
fn integers(low: i64, high: i64, size: &[usize], loc: Loc) -> Result<Array> {
    let t = Terms { op: "randint", loc };
    if low >= high {
        return Err(t.value(format!("low >= high: {low} >= {high}")));
    }
    if high.abs_diff(low) > 1 << 32 || low.unsigned_abs().max(high.unsigned_abs()) > 1 << 52 {
        return Err(t.value(format!("the range from {low} to {high} is too large")));
    }
    let drawn = ops::uniform(size, low as f64, high as f64, DType::F64, loc)?;
    // Rounding may give the upper end itself.
    ops::cast(&t.two(Point::Minimum, &t.one(Point::Floor, &drawn)?, (high - 1) as f64)?, DType::I64, loc)
}

/// The integers below `n` in random order.
fn order(n: usize, loc: Loc) -> Result<Array> {
    call("random_order", Promotion::Given, &[], &[("shape", Value::from([n as i64]))], loc)
}

/// Uniform numbers above 0 and below 1.
fn positive_uniform(t: Terms, size: &[usize]) -> Result<Array> {
    let dtype = DType::default_float();
    // A number that was rounded to 0 lies below the next representable one.
    let least = if dtype == DType::F64 { 2f64.powi(-54) } else { 2f64.powi(-25) };
    t.two(Point::Maximum, &ops::uniform(size, 0.0, 1.0, dtype, t.loc)?, least)
}

/// Draws with a routine of the catalogue.
fn sampled(name: &'static str, parameters: &[f64], size: &[usize], loc: Loc) -> Result<Array> {
    let made = |number: &f64| ops::full(&[], Scalar::Float(*number), DType::F64, loc);
    let given = parameters.iter().map(made).collect::<Result<Vec<Array>>>()?;
    let shape: Vec<i64> = size.iter().map(|extent| *extent as i64).collect();
    call(name, Promotion::Given, &given.iter().collect::<Vec<_>>(), &[("shape", Value::from(shape))], loc)
}
