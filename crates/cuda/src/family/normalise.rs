//! Softmax, log-softmax and layer norm over the last axis.

use crate::run::{CheckedCall, DeviceKernel, Job, Plan, checked};
use crate::text::{computed, define, function_text, routine_text};
use forerun_base::{DType, Result};
use forerun_ops::normalise::Layer;
use forerun_ops::{Given, Normalise, Point, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/normalise.cuh");
/// Rows of up to this many elements are always worthwhile; longer ones only if there are enough rows.
const SHORT: usize = 4096;
const MANY: usize = 1024;

impl DeviceKernel for Normalise {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let dtype = call.inputs[0].0;
        let functions = [("EXP", Point::Exp), ("LOG", Point::Log)].map(|(name, op)| function_text(name, op, dtype));
        let defines = [computed(dtype), functions.concat(), define("KIND", *self as usize)].concat();
        Plan { texts: vec![routine_text(&defines, &[TEXT])], scratch: 0, steps }
    }

    /// Whether rows are many or short: for a few long rows, reductions use more threads.
    fn runs(&self, given: &[Given]) -> bool {
        let shape = &given[0].1;
        shape.last().is_some_and(|row| *row <= SHORT || shape.size() / row >= MANY)
    }

    fn checked_calls(&self, routine: Routine) -> Vec<CheckedCall> {
        let inputs = routine.row().inputs.len();
        let call = |dtype: DType| {
            let given = &[(dtype, &[4, 5][..]), (dtype, &[5]), (dtype, &[5])][..inputs];
            if *self == Normalise::Layer { checked(given, Layer { epsilon: 0.0 }) } else { checked(given, ()) }
        };
        [DType::F32, DType::F64].map(call).into()
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("few rows of more than 4096 elements, which are reduced by other kernels of the device; complex numbers")
    }
}

fn steps(job: &Job<'_>) -> Result<()> {
    let (shape, io) = (job.call.inputs[0].1, &job.io);
    let count = shape.last().copied().unwrap_or(1);
    let rows = shape.size() / count.max(1);
    let address = |i: usize| io.inputs.get(i).copied().unwrap_or(0);
    let epsilon = match job.call.routine {
        Routine::Normalise(Normalise::Layer) => job.attributes::<Layer>().epsilon,
        _ => 0.0,
    };
    let words = [rows as u64, count as u64, io.inputs[0], io.outputs[0], address(1), address(2), epsilon.to_bits()];
    job.blocks(0, rows.div_ceil(4).min(1 << 20), 256, &words)
}
