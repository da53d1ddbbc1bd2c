//! What a raised status says, in the host's words.

use super::routine;
use crate::gpu::Raised;
use forerun_base::{Error, ErrorKind};
use forerun_plan::Kernel;
use std::sync::Arc;

/// The error of a raised status.
pub type Complain = dyn Fn(Raised) -> Error + Send + Sync;

/// What a raised status of a kernel says; nothing for one that raises none.
pub fn complaint(kernel: &Kernel) -> Option<Arc<Complain>> {
    match kernel {
        Kernel::Take(rows) | Kernel::ScatterAdd(rows) if rows.beyond.may_fail() => {
            let (axis, extent) = (rows.axis, rows.base.shape[rows.axis]);
            Some(Arc::new(move |raised| beyond(raised.index, axis, extent)))
        }
        Kernel::Routine(call) if !call.routine.row().infallible => {
            let call = call.clone();
            Some(Arc::new(move |raised| routine::complaint(&call, raised)))
        }
        _ => None,
    }
}

/// An index beyond the ends of an axis.
pub(super) fn beyond(index: i64, axis: usize, extent: usize) -> Error {
    Error::new(ErrorKind::Index, format!("index {index} is out of bounds for axis {axis} with size {extent}"))
}
