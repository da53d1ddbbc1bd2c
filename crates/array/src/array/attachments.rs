//! What others keep about a cell: a tape's note of where its value came from. Kept beside the cells, in a table, so
//! that cells without one pay nothing.

use crate::array::Array;
use crate::runtime::node::Node;
use forerun_base::{Result, WordHash};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Something kept about a cell, for as long as the cell lives or until another takes its place.
pub trait Attachment: Any + Send + Sync {
    /// The cell is about to be written. May refuse, and may ask to be forgotten.
    fn before_write(&self, write: Write) -> Result<Verdict>;
}

/// How a cell is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// All of it, not a part.
    pub whole: bool,
    /// Through a detached handle.
    pub detached: bool,
}

/// What becomes of an attachment when its cell is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    Keep,
    /// It says nothing about the new value.
    Forget,
}

const SHARDS: usize = 16;

type Shard = Mutex<HashMap<usize, Arc<dyn Attachment>, WordHash>>;

static TABLE: LazyLock<[Shard; SHARDS]> = LazyLock::new(Default::default);

fn shard(cell: &Node) -> (&'static Shard, usize) {
    let key = cell as *const Node as usize;
    (&TABLE[(key >> 7) % SHARDS], key)
}

/// The locks, held for a fork.
pub(crate) fn lock_for_fork() -> Vec<Box<dyn Any>> {
    TABLE.iter().map(|shard| Box::new(shard.lock()) as Box<dyn Any>).collect()
}

/// The cell is dead, or its attachment says nothing any more.
#[cold]
pub(crate) fn remove(cell: &Node) {
    let (shard, key) = shard(cell);
    // Dropped outside of the lock: it may hold arrays, whose cells may have attachments.
    let removed = shard.lock().remove(&key);
    drop(removed);
}

/// The array or view is about to be written by an op.
pub(crate) fn before_write(x: &Array, op: &'static str) -> Result<()> {
    before_write_of(x, !x.is_view(), op)
}

/// The same where only some elements of the array may be written.
pub(crate) fn before_write_of(x: &Array, whole: bool, op: &'static str) -> Result<()> {
    let Some(attachment) = x.attachment() else { return Ok(()) };
    let write = Write { whole, detached: x.is_detached() };
    if attachment.before_write(write).map_err(|e| e.in_op(op))? == Verdict::Forget {
        x.attach(None);
    }
    Ok(())
}

impl Array {
    /// What is kept about the array's cell.
    pub fn attachment(&self) -> Option<Arc<dyn Attachment>> {
        let cell = self.cell();
        if !cell.is_attached() {
            return None;
        }
        let (shard, key) = shard(cell);
        shard.lock().get(&key).cloned()
    }

    /// Keeps something about the array's cell, in place of what was kept so far.
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
