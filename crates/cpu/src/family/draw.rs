//! Random draws by rejection: each element consumes its own random bits until a candidate is accepted.

use super::order::sort_in_place;
use crate::philox::{BATCH, Words};
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use crate::routine::source::Source;
use crate::simd::{Isa, Set, Work, by_set};
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::Draw;
use forerun_plan::RoutineCall;
use std::f64::consts::PI;

/// The minimum number of elements per piece.
const PIECE: usize = 1 << 10;
/// From this mean on, use rejection instead of sequential search.
const LARGE: f64 = 10.0;

impl HostKernel for Draw {
    fn body(&self) -> Body {
        match self {
            Draw::Bits => |args, team| {
                bits(args, team);
                Ok(())
            },
            Draw::Order => |args, team| {
                order(args, team);
                Ok(())
            },
            Draw::Gamma => |args, team| {
                let alpha = parameter(args, 0, |a| a >= 0.0, "alpha must not be negative")?;
                each(args, team, &|source: &mut Source, i| gamma(source, alpha.at(i)));
                Ok(())
            },
            Draw::Poisson => |args, team| {
                // Larger means would overflow the integer counts.
                let lam = parameter(
                    args,
                    0,
                    |lam| (0.0..=9.2e18).contains(&lam),
                    "lam must be neither negative nor too large",
                )?;
                each(args, team, &|source: &mut Source, i| poisson(source, lam.at(i)) as i64);
                Ok(())
            },
            Draw::Binomial => |args, team| {
                let n = parameter(
                    args,
                    0,
                    |n| (0.0..=9e15).contains(&n) && n.fract() == 0.0,
                    "n must be a nonnegative integer",
                )?;
                let p = parameter(args, 1, |p| (0.0..=1.0).contains(&p), "p must lie between 0 and 1")?;
                each(args, team, &|source: &mut Source, i| binomial(source, n.at(i), p.at(i)) as i64);
                Ok(())
            },
            Draw::Multinomial => multinomial,
        }
    }

    fn scratch(&self, call: &RoutineCall, _: usize) -> usize {
        if *self == Draw::Order { call.out.1.size().saturating_mul(24) } else { 0 }
    }
}

/// A parameter: one for all elements, or one per element.
struct Parameter<'a>(&'a [f64]);

impl Parameter<'_> {
    fn at(&self, i: usize) -> f64 {
        self.0[if self.0.len() == 1 { 0 } else { i }]
    }
}

/// Validates a parameter before anything is written.
fn parameter<'a>(args: &'a Args<'_>, i: usize, good: fn(f64) -> bool, text: &'static str) -> Result<Parameter<'a>> {
    let values = args.input::<f64>(i);
    match values.iter().find(|value| !good(**value)) {
        Some(value) => Err(Error::new(ErrorKind::Value, format!("{text}: {value}"))),
        None => Ok(Parameter(values)),
    }
}

fn each<T: crate::routine::call::Element>(
    args: &Args<'_>,
    team: &dyn Team,
    make: &(dyn Fn(&mut Source, usize) -> T + Sync),
) {
    let (key, first) = (args.scalar(0), args.scalar(1));
    let to = args.output::<T>();
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    team.split(size.div_ceil(PIECE), &|piece| {
        for i in piece * PIECE..size.min((piece + 1) * PIECE) {
            let mut source = Source::new(key, first.wrapping_add(i as u64));
            // SAFETY: pieces write disjoint elements within the output.
            unsafe { target.get().add(i).write(make(&mut source, i)) };
        }
    });
}

/// The first 64 bits of each element's block.
fn bits(args: &Args<'_>, team: &dyn Team) {
    let (key, first, isa) = (args.scalar(0), args.scalar(1), args.isa);
    let to = args.output::<i64>();
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    team.split(size.div_ceil(PIECE), &|piece| {
        let start = piece * PIECE;
        // SAFETY: pieces write disjoint elements within the output.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(start), PIECE.min(size - start)) };
        fill_bits(key, first.wrapping_add(start as u64), to, isa);
    });
}

/// Like [`bits`], for consecutive blocks.
fn fill_bits(key: u64, first: u64, to: &mut [i64], isa: Isa) {
    for (batch, to) in to.chunks_mut(BATCH).enumerate() {
        let block = first.wrapping_add((batch * BATCH) as u64);
        let words = by_set!(isa, set => set.vectorize(Batch(key, block, set)));
        for (b, to) in to.iter_mut().enumerate() {
            *to = ((words[1][b] as u64) << 32 | words[0][b] as u64) as i64;
        }
    }
}

/// Generates a batch of blocks.
struct Batch<S>(u64, u64, S);

impl<S: Set> Work for Batch<S> {
    type Out = Words;
    #[inline(always)]
    unsafe fn run(self) -> Words {
        self.2.philox(self.0, self.1)
    }
}

/// A random permutation: sorts random bits that have the index in their low bits, so that each key is one word. With
/// this many random bits, ties are very unlikely.
fn order(args: &Args<'_>, team: &dyn Team) {
    bits(args, team);
    let to = args.output::<i64>();
    let low = (to.len().max(1).next_power_of_two() - 1) as i64;
    to.iter_mut().enumerate().for_each(|(i, to)| *to = *to & !low | i as i64);
    sort_in_place(to, args.isa, team);
    to.iter_mut().for_each(|to| *to &= low);
}

/// One standard normal number.
fn normal(source: &mut Source) -> f64 {
    let (u, v) = (source.open(), source.uniform());
    (-2.0 * u.ln()).sqrt() * (2.0 * PI * v).cos()
}

/// The method of Marsaglia and Tsang.
fn gamma(source: &mut Source, alpha: f64) -> f64 {
    if alpha == 0.0 || alpha.is_infinite() {
        return alpha;
    }
    if alpha < 1.0 {
        let small = source.open().powf(1.0 / alpha);
        return gamma(source, alpha + 1.0) * small;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(source);
        let v = (1.0 + c * x).powi(3);
        let u = source.open();
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// Products of uniform numbers for a small mean, Hörmann's transformed rejection for a large one.
fn poisson(source: &mut Source, lam: f64) -> f64 {
    if lam < LARGE {
        let (least, mut product, mut count) = ((-lam).exp(), source.uniform(), 0.0);
        while product > least {
            product *= source.uniform();
            count += 1.0;
        }
        return count;
    }
    let b = 0.931 + 2.53 * lam.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse = 1.1239 + 1.1328 / (b - 3.4);
    let most = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (source.uniform() - 0.5, source.open());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + lam + 0.43).floor();
        if us >= 0.07 && v <= most {
            return k;
        }
        if k < 0.0 || us < 0.013 && v > us {
            continue;
        }
        if v.ln() + inverse.ln() - (a / (us * us) + b).ln() <= k * lam.ln() - lam - log_factorial(k) {
            return k;
        }
    }
}

/// Sequential summation of probabilities for a small mean, Hörmann's transformed rejection for a large one.
fn binomial(source: &mut Source, n: f64, p: f64) -> f64 {
    if p > 0.5 {
        return n - binomial(source, n, 1.0 - p);
    }
    let q = 1.0 - p;
    if n * p < LARGE {
        let ratio = p / q;
        loop {
            let (mut u, mut probability, mut count) = (source.uniform(), (n * (-p).ln_1p()).exp(), 0.0);
            while u > probability && count <= n {
                u -= probability;
                count += 1.0;
                probability *= (n + 1.0) * ratio / count - ratio;
            }
            // Rounding may leave a remainder beyond the last outcome.
            if count <= n {
                return count;
            }
        }
    }
    let spread = (n * p * q).sqrt();
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let most = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * spread;
    let mode = ((n + 1.0) * p).floor();
    let h = log_factorial(mode) + log_factorial(n - mode);
    loop {
        let (u, v) = (source.uniform() - 0.5, source.open());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + n * p + 0.5).floor();
        if us >= 0.07 && v <= most && (0.0..=n).contains(&k) {
            return k;
        }
        if !(0.0..=n).contains(&k) {
            continue;
        }
        let bound = h - log_factorial(k) - log_factorial(n - k) + (k - mode) * (p / q).ln();
        if (v * alpha / (a / (us * us) + b)).ln() <= bound {
            return k;
        }
    }
}

/// Each outcome is a binomial draw from the remaining trials.
fn multinomial(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let n = parameter(args, 0, |n| (0.0..=9e15).contains(&n) && n.fract() == 0.0, "n must be a nonnegative integer")?;
    let p = args.input::<f64>(1);
    let outcomes = args.call.out.1.last().copied().unwrap_or(1);
    if p.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::new(ErrorKind::Value, "p must lie between 0 and 1"));
    }
    let rows = p.chunks(outcomes.max(1));
    // The last probability is ignored, because the last outcome gets the remaining trials.
    if rows.clone().any(|p| p[..p.len().saturating_sub(1)].iter().sum::<f64>() > 1.0 + 1e-6) {
        return Err(Error::new(ErrorKind::Value, "the sum of p must not exceed 1"));
    }
    let (key, first) = (args.scalar(0), args.scalar(1));
    let to = args.output::<i64>();
    if to.is_empty() {
        return Ok(());
    }
    let (lines, target) = (to.len() / outcomes, Shared(to.as_mut_ptr()));
    let per_piece = (PIECE / outcomes).max(1);
    team.split(lines.div_ceil(per_piece), &|piece| {
        for line in piece * per_piece..lines.min((piece + 1) * per_piece) {
            let start = line * outcomes;
            let probabilities = if p.len() == outcomes { p } else { &p[start..start + outcomes] };
            let (mut left, mut rest) = (n.at(if n.0.len() == 1 { 0 } else { start }), 1.0);
            for (k, p) in probabilities.iter().enumerate() {
                let mut source = Source::new(key, first.wrapping_add((start + k) as u64));
                let share = if k + 1 == outcomes || *p >= rest { 1.0 } else { *p / rest };
                let count = if left > 0.0 { binomial(&mut source, left, share) } else { 0.0 };
                (left, rest) = (left - count, rest - p);
                // SAFETY: pieces write disjoint lines within the output.
                unsafe { target.get().add(start + k).write(count as i64) };
            }
        }
    });
    Ok(())
}

/// The logarithm of a factorial: a product for small numbers, Stirling's series for larger ones.
fn log_factorial(k: f64) -> f64 {
    if k < 16.0 {
        return (2..=k as u64).map(|i| i as f64).product::<f64>().ln();
    }
    let x = k + 1.0;
    let square = 1.0 / (x * x);
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + (1.0 / 12.0 - (1.0 / 360.0 - square / 1260.0) * square) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials() {
        let mut sum = 0.0f64;
        for k in 1..60 {
            sum += (k as f64).ln();
            assert!((log_factorial(k as f64) - sum).abs() < 1e-12 * sum.max(1.0), "{k}");
        }
        assert_eq!(log_factorial(0.0), 0.0);
    }

    #[test]
    fn ends_of_the_gamma_distributions() {
        let draw = |alpha: f64| gamma(&mut Source::new(7, 9), alpha);
        assert_eq!((draw(0.0), draw(f64::INFINITY)), (0.0, f64::INFINITY));
        assert!(draw(0.5) > 0.0 && draw(1e300).is_finite());
    }
}
