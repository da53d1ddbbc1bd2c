//! Restoring: an array whose newest value failed gets its last good one back.

use crate::array::Array;
use crate::array::attachments;
use crate::array::wait::Wait;
use crate::runtime::last_good::LastGood;
use crate::runtime::node::Node;
use crate::runtime::window::{Window, window};
use forerun_base::{Loc, Result};
use forerun_engine::Status;

impl Array {
    /// Waits, and if what was last written to the array failed, gives it back the value from before, the whole of it
    /// even through a view. Says how many writes it took back: 0 if the array is good.
    ///
    /// There is a value from before if the failed writes build on it: in-place arithmetic, writes to a part, updates
    /// of optimisers. An assignment to the whole does not; a kernel that broke down half-way may have written over it; and of
    /// writes that were cancelled behind one that was running there is none, nor on an accelerator. Then this fails, and the array stays as it is.
    #[track_caller]
    pub fn restore(&self) -> Result<u32> {
        self.restore_with(&Wait::at(Loc::caller(), "restore"))
    }

    /// The same, with a say in how to wait.
    pub fn restore_with(&self, wait: &Wait<'_>) -> Result<u32> {
        loop {
            let Err(error) = self.read(wait, |_| ()) else { return Ok(0) };
            let found = self.cell().with_current(|value| {
                let failed = value.status() == Status::Failed && value.error().same_failure(&error);
                failed.then(|| (value as *const Node, value.last_good()))
            });
            // Else it was the wait that failed, or another thread has written the array meanwhile.
            let Some((failed, last_good)) = found else { return Err(error) };
            let Some(last_good) = last_good else {
                return Err(error.for_op("restore", "no value from before the failure is left"));
            };
            attachments::before_write(&self.base(), "restore")?;
            let writes = last_good.writes;
            if self.put_back(failed, last_good) {
                return Ok(writes);
            }
        }
    }

    /// Whether the newest value failed and [`Array::restore`] has one from before. Does not wait.
    pub fn is_restorable(&self) -> bool {
        self.cell().with_current(|value| value.status() == Status::Failed && value.last_good().is_some())
    }

    /// Points the cell at a value that holds the kept bytes, unless it does not point at the failed one any more.
    fn put_back(&self, failed: *const Node, last_good: LastGood) -> bool {
        // SAFETY: our own window.
        let new = unsafe { window().take_node() };
        let generation = new.open(self.cell().meta(), 0, 0);
        self.cell().meta().note_copy();
        new.begin(generation);
        let (words, buffer) = last_good.into_parts();
        match buffer {
            Some(buffer) => new.set_buffer(buffer),
            // SAFETY: the value is small, so its bytes are in the node, as many as there are words; nobody reads it yet.
            None => unsafe { new.data().cast::<[u64; 4]>().write(words) },
        }
        new.publish_ready(generation);
        let done = self.cell().replace_current_if(failed, new);
        // SAFETY: nodes are never freed; whichever of the two the cell does not point at is let go once.
        let left: &Node = if done { unsafe { &*failed } } else { new };
        if left.let_go() {
            Window::retire(left);
        }
        done
    }
}
