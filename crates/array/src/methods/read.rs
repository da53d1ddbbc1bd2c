//! Waiting, and reading without a copy.

use crate::Array;
use crate::array::read::Snapshot;
use crate::array::wait::Wait;
use forerun_base::{Loc, Result};

impl Array {
    /// Waits until the array can be read. Fails with the cause if the op that produces it failed.
    #[track_caller]
    pub fn wait_to_read(&self) -> Result<()> {
        self.wait_to_read_with(&Wait::at(Loc::caller(), "wait_to_read"))
    }

    /// Waits and returns the elements without copying them.
    #[track_caller]
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.snapshot_with(&Wait::at(Loc::caller(), "snapshot"))
    }
}
