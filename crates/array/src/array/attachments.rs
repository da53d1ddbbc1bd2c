//! Attachments of cells, such as a tape's note of how a value was computed. They are stored in a separate table, so
//! that cells without one pay nothing.

use crate::array::Array;
use crate::runtime::node::Node;
use forerun_base::Mutex;
use forerun_base::{Result, WordHash};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Data attached to a cell until the cell dies or the attachment is replaced.
pub trait Attachment: Any + Send + Sync {
    /// Called before the cell is written. May reject the write, and may request its own removal.
    fn before_write(&self, write: Write) -> Result<Verdict>;
}

/// Describes a write to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Whether all of it is written.
    pub whole: bool,
    /// Whether the write goes through a detached handle.
    pub detached: bool,
}

/// What happens to an attachment when its cell is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    Keep,
    /// It is removed, because it does not describe the new value.
    Forget,
}

const SHARDS: usize = 16;

type Shard = Mutex<HashMap<usize, Arc<dyn Attachment>, WordHash>>;

static TABLE: LazyLock<[Shard; SHARDS]> = LazyLock::new(Default::default);

fn shard(cell: &Node) -> (&'static Shard, usize) {
    let key = cell as *const Node as usize;
    (&TABLE[(key >> 7) % SHARDS], key)
}

/// Takes the locks before a fork.
pub(crate) fn lock_for_fork() -> Vec<Box<dyn Any>> {
    TABLE.iter().map(|shard| Box::new(shard.lock()) as Box<dyn Any>).collect()
}

/// Removes the attachment of a cell that is dead or whose attachment is outdated.
#[cold]
pub(crate) fn remove(cell: &Node) {
    let (shard, key) = shard(cell);
    // Dropped after the lock is released: it may hold arrays whose cells have attachments.
    let removed = shard.lock().remove(&key);
    drop(removed);
}

/// Called before an op writes the array or view.
pub(crate) fn before_write(x: &Array, op: &'static str) -> Result<()> {
    before_write_of(x, !x.is_view(), op)
}

/// The same for a write that may cover only some elements of the array.
pub(crate) fn before_write_of(x: &Array, whole: bool, op: &'static str) -> Result<()> {
    let Some(attachment) = x.attachment() else { return Ok(()) };
    let write = Write { whole, detached: x.is_detached() };
    if attachment.before_write(write).map_err(|e| e.in_op(op))? == Verdict::Forget {
        x.attach(None);
    }
    Ok(())
}

impl Array {
    /// The attachment of the array's cell.
    pub fn attachment(&self) -> Option<Arc<dyn Attachment>> {
        let cell = self.cell();
        if !cell.is_attached() {
            return None;
        }
        let (shard, key) = shard(cell);
        shard.lock().get(&key).cloned()
    }

    /// Sets or removes the attachment of the array's cell.
    pub fn attach(&self, attachment: Option<Arc<dyn Attachment>>) {
        let cell = self.cell();
        let (shard, key) = shard(cell);
        let mut table = shard.lock();
        cell.set_attached(attachment.is_some());
        let former = match attachment {
            Some(attachment) => table.insert(key, attachment),
            None => table.remove(&key),
        };
        drop(table);
        drop(former);
    }
}
