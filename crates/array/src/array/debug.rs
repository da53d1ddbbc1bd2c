//! Describes an array without its elements, so that `{:?}` never waits.

use crate::array::Array;
use forerun_engine::Status;
use std::fmt;

impl fmt::Debug for Array {
    /// Formats the shape, the dtype, the device and the state: pending, ready or failed. Never waits; `{}` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.cell().with_current(|value| value.status()) {
            Status::Ready => "ready",
            Status::Failed => "failed",
            Status::Pending | Status::Enqueued { .. } => "pending",
        };
        let (shape, dtype, device) = (self.extents(), self.dtype(), self.device());
        write!(f, "Array {{ shape: {shape}, dtype: {dtype}, device: {device}, state: {state} }}")
    }
}
