//! Rows brought to a scale.

use super::job::{Job, Plan};
use crate::text::{computed, define, function_text, routine_text};
use forerun_base::Result;
use forerun_ops::{Given, Normalise, Point};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../../kernels/normalise.cuh");
/// Elements up to which a row is worth its threads however few rows there are, and rows that are enough for longer ones.
const SHORT: usize = 4096;
const MANY: usize = 1024;

/// Whether rows are many or short: reductions cut a few long ones into more parts.
pub(super) fn runs((_, shape): &Given) -> bool {
    shape.last().is_some_and(|row| *row <= SHORT || shape.size() / row >= MANY)
}

pub(super) fn plan(routine: Normalise, call: &RoutineCall) -> Plan {
    let dtype = call.inputs[0].0;
    let functions = [("EXP", Point::Exp), ("LOG", Point::Log)].map(|(name, op)| function_text(name, op, dtype));
    let defines = [computed(dtype), functions.concat(), define("KIND", routine as usize)].concat();
    Plan { texts: vec![routine_text(&defines, &[TEXT])], scratch: 0, steps }
}

fn steps(job: &Job<'_>) -> Result<()> {
    let (shape, io) = (job.call.inputs[0].1, &job.io);
    let count = shape.last().copied().unwrap_or(1);
    let rows = shape.size() / count.max(1);
    let address = |i: usize| io.inputs.get(i).copied().unwrap_or(0);
    let words = [rows as u64, count as u64, io.inputs[0], io.outputs[0], address(1), address(2), job.word(0) as u64];
    job.blocks(0, rows.div_ceil(4).min(1 << 20), 256, &words)
}
