//! Restores the last good value of an array whose newest value failed.

use crate::array::Array;
use crate::array::attachments;
use crate::array::wait::Wait;
use crate::runtime::last_good::LastGood;
use crate::runtime::node::Node;
use crate::runtime::window::{Window, window};
use forerun_base::{Loc, Result};
use forerun_engine::Status;

impl Array {
    /// Waits and, if the last write to the array failed, restores the previous value, the whole of it even through a
    /// view. Returns the number of writes that were undone: 0 if the array is good.
    ///
    /// There is a previous value if the failed writes depend on it: in-place arithmetic, writes to a part, optimiser
    /// updates. There is none after an assignment to the whole array, after a kernel that failed halfway and may have
    /// overwritten it, after cancelled writes behind a running one, or on an accelerator. Then this fails and leaves
    /// the array as it is.
    #[track_caller]
    pub fn restore(&self) -> Result<u32> {
        self.restore_with(&Wait::at(Loc::caller(), "restore"))
    }

    /// The same with options for the wait.
    pub fn restore_with(&self, wait: &Wait<'_>) -> Result<u32> {
        loop {
            let Err(error) = self.read(wait, |_| ()) else { return Ok(0) };
            let found = self.cell().with_current(|value| {
                let failed = value.status() == Status::Failed && value.error().same_failure(&error);
                failed.then(|| (value as *const Node, value.last_good()))
            });
            // Otherwise the wait itself failed, or another thread has written the array meanwhile.
            let Some((failed, last_good)) = found else { return Err(error) };
            let Some(last_good) = last_good else {
                return Err(error.for_op("restore", "no value from before the failed write is available"));
            };
            attachments::before_write(&self.base(), "restore")?;
            let writes = last_good.writes;
            if self.put_back(failed, last_good) {
                return Ok(writes);
            }
        }
    }

    /// Whether the newest value failed and [`Array::restore`] has a previous one. Does not wait.
    pub fn is_restorable(&self) -> bool {
        self.cell().with_current(|value| value.status() == Status::Failed && value.last_good().is_some())
    }

    /// Points the cell at a value with the kept bytes, if it still points at the failed one.
    fn put_back(&self, failed: *const Node, last_good: LastGood) -> bool {
        // SAFETY: the calling thread owns this window.
        let new = unsafe { window().take_node() };
        let generation = new.open(self.cell().meta(), 0, 0);
        self.cell().meta().note_copy();
        new.begin(generation);
        let (words, buffer) = last_good.into_parts();
        match buffer {
            Some(buffer) => new.set_buffer(buffer),
            // SAFETY: the value is small, so its bytes are in the node, which has room for these words; no thread reads
            // it yet.
            None => unsafe { new.data().cast::<[u64; 4]>().write(words) },
        }
        new.publish_ready(generation);
        let done = self.cell().replace_current_if(failed, new);
        // SAFETY: nodes are never freed; the one that the cell does not point at is released once.
        let left: &Node = if done { unsafe { &*failed } } else { new };
        if left.let_go() {
            Window::retire(left);
        }
        done
    }
}
