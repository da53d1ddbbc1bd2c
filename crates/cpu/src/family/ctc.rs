//! The CTC loss: one task per sequence, computed in float64.
//!
//! The states of an alignment are the labels, with a blank before, between and after them. A state is reached from
//! itself, from the state before it, and, if it is a label that differs from the label before, from that label.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel};
use forerun_base::{DType, Error, ErrorKind, Result, Team};
use forerun_ops::Ctc;
use forerun_ops::ctc::Blank;
use forerun_plan::RoutineCall;

impl HostKernel for Ctc {
    fn body(&self) -> Body {
        |args, team| match args.dtype(0) {
            DType::F64 => losses::<f64>(args, team, |x| x, |x| x),
            _ => losses::<f32>(args, team, f64::from, |x| x as f32),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let (data, labels) = (&call.inputs[0].1, &call.inputs[1].1);
        let states = labels[1].saturating_mul(2) + 1;
        data[0].saturating_mul(data[2] + 2 * states).saturating_mul(8).saturating_mul(threads)
    }
}

fn losses<T: Element>(args: &Args<'_>, team: &dyn Team, widen: fn(T) -> f64, round: fn(f64) -> T) -> Result<()> {
    let (data, labels) = (&args.call.inputs[0].1, &args.call.inputs[1].1);
    let (steps, batch, classes, width) = (data[0], data[1], data[2], labels[1]);
    let (x, labels) = (args.input::<T>(0), args.input::<i64>(1));
    let (data_lengths, label_lengths) = (args.input::<i64>(2), args.input::<i64>(3));
    let blank = args.attributes::<Blank>().blank;
    let fail = |text: String| Err(Error::new(ErrorKind::Value, text).in_op(args.call.routine.name()));
    for n in 0..batch {
        for (length, most) in [(data_lengths[n], steps), (label_lengths[n], width)] {
            if !(0..=most as i64).contains(&length) {
                return fail(format!("length {length} of sequence {n} is not between 0 and {most}"));
            }
        }
        let own = &labels[n * width..n * width + label_lengths[n] as usize];
        if let Some(label) = own.iter().find(|label| **label == blank || !(0..classes as i64).contains(*label)) {
            return fail(format!("label {label} of sequence {n} is not one of {classes} classes but the blank"));
        }
    }
    let out = args.output::<T>();
    let (loss, grad) = out.split_at_mut(batch);
    grad.fill(T::default());
    let (loss, grad) = (Shared(loss.as_mut_ptr()), Shared(grad.as_mut_ptr()));
    team.split(batch, &|n| {
        let length = data_lengths[n] as usize;
        let own = &labels[n * width..n * width + label_lengths[n] as usize];
        let mut logs = vec![0.0; length * classes];
        for (t, row) in logs.chunks_exact_mut(classes).enumerate() {
            let from = &x[(t * batch + n) * classes..][..classes];
            row.iter_mut().zip(from).for_each(|(to, x)| *to = widen(*x));
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum = most + row.iter().map(|x| (x - most).exp()).sum::<f64>().ln();
            row.iter_mut().for_each(|x| *x -= sum);
        }
        let mut slopes = vec![0.0; length * classes];
        let made = align(&logs, classes, own, blank, &mut slopes);
        // SAFETY: tasks write the loss and the rows of different sequences.
        unsafe {
            loss.get().add(n).write(round(made));
            for (t, row) in slopes.chunks_exact(classes).enumerate() {
                let to = grad.get().add((t * batch + n) * classes);
                row.iter().enumerate().for_each(|(c, slope)| to.add(c).write(round(*slope)));
            }
        }
    });
    Ok(())
}

/// `log(exp(a) + exp(b))`, without overflow.
fn log_add(a: f64, b: f64) -> f64 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    if less == f64::NEG_INFINITY { more } else { more + (less - more).exp().ln_1p() }
}

/// The loss of one sequence, from the logarithms of its probabilities. Writes the gradient for the activations to
/// `slopes`: zero if no alignment is possible.
fn align(logs: &[f64], classes: usize, labels: &[i64], blank: i64, slopes: &mut [f64]) -> f64 {
    const NEVER: f64 = f64::NEG_INFINITY;
    let (steps, states) = (logs.len() / classes, 2 * labels.len() + 1);
    let class = |state: usize| if state % 2 == 1 { labels[state / 2] } else { blank } as usize;
    let skips = |state: usize| state % 2 == 1 && state >= 3 && labels[state / 2] != labels[state / 2 - 1];
    if steps == 0 {
        return if labels.is_empty() { 0.0 } else { f64::INFINITY };
    }
    // Forward and backward variables: log-probabilities of alignments up to a state at a step, and from it to the end.
    let (mut to, mut from) = (vec![NEVER; steps * states], vec![NEVER; steps * states]);
    for state in 0..states.min(2) {
        to[state] = logs[class(state)];
        from[steps * states - 1 - state] = 0.0;
    }
    for t in 1..steps {
        for state in 0..states {
            let before = &to[(t - 1) * states..t * states];
            let mut sum = before[state];
            if state >= 1 {
                sum = log_add(sum, before[state - 1]);
            }
            if skips(state) {
                sum = log_add(sum, before[state - 2]);
            }
            to[t * states + state] = sum + logs[t * classes + class(state)];
        }
    }
    for t in (0..steps - 1).rev() {
        for state in 0..states {
            let next = |state: usize| from[(t + 1) * states + state] + logs[(t + 1) * classes + class(state)];
            let mut sum = next(state);
            if state + 1 < states {
                sum = log_add(sum, next(state + 1));
            }
            if state + 2 < states && skips(state + 2) {
                sum = log_add(sum, next(state + 2));
            }
            from[t * states + state] = sum;
        }
    }
    let total = (0..states).fold(NEVER, |sum, state| log_add(sum, to[state] + from[state]));
    if total == NEVER {
        return f64::INFINITY;
    }
    for t in 0..steps {
        let slopes = &mut slopes[t * classes..(t + 1) * classes];
        slopes.iter_mut().zip(&logs[t * classes..]).for_each(|(slope, log)| *slope = log.exp());
        for state in 0..states {
            slopes[class(state)] -= (to[t * states + state] + from[t * states + state] - total).exp();
        }
    }
    -total
}
