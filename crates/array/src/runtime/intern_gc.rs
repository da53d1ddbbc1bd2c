//! Garbage collection of interned metas, signatures and recipes, so that the memory of a program over many shapes does
//! not grow with their number.
//!
//! | reference | how it is held |
//! |---|---|
//! | from views, tapes, captures, traces, per-thread caches | counted |
//! | from a signature to its metas, from a recipe to its signature | counted |
//! | from a record to its recipe | not counted; the window holds the recipe until the record is done ([`RecipeRefs`]) |
//! | from a slot to its meta, in use or not | not counted; a collection scans every slot |
//!
//! Submission therefore counts nothing: it finds a recipe in the memo, whose recipes the window holds, or looks it up
//! in the tables, which is slow. The thread whose insertion doubles a table since the last collection runs the next
//! one. Ids are never reused, so a memo or a plan may keep an id longer than the entry it names.

use crate::runtime::node::Node;
use crate::runtime::recipe;
use forerun_base::WordHash;
use forerun_plan::Meta;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Size at which a window begins another set: more than the memo has entries, so that a set that begins with those has
/// room.
const MOST_IN_SET: usize = 2048;

type Set = HashMap<usize, Arc<dyn Any + Send + Sync>, WordHash>;

/// Recipes that the records of a window refer to. The newest set grows. The previous set only ages, so that a recipe
/// held for a record that is not submitted yet (it follows at once, after the few views that it reads) is held for at
/// least [`MOST_IN_SET`] / 2 more additions. Older sets wait until every record that was submitted before they had aged is
/// done.
#[derive(Default)]
pub(crate) struct RecipeRefs {
    new: Set,
    aging: Set,
    /// Sets, each with one past the last record that may refer to them.
    waiting: VecDeque<(u64, Set)>,
}

impl RecipeRefs {
    /// Adds an entry; returns false if the newest set is full and the caller must begin another.
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, held: &Arc<T>) -> bool {
        self.new.entry(Arc::as_ptr(held) as usize).or_insert_with(|| held.clone());
        self.new.len() < MOST_IN_SET
    }

    /// Begins another set with the entries of the memo. `next` is the index of the next record.
    pub(crate) fn begin<T: Send + Sync + 'static>(&mut self, next: u64, named: impl Iterator<Item = Arc<T>>) {
        let begun: Set = named.map(|held| (Arc::as_ptr(&held) as usize, held as Arc<dyn Any + Send + Sync>)).collect();
        let aged = std::mem::replace(&mut self.aging, std::mem::replace(&mut self.new, begun));
        self.waiting.push_back((next, aged));
    }

    /// Drops sets that only records before `completed` refer to.
    pub(crate) fn release(&mut self, completed: u64) {
        while self.waiting.front().is_some_and(|(last, _)| *last <= completed) {
            self.waiting.pop_front();
        }
    }
}

/// The slots of all windows.
static SLABS: Mutex<Vec<&'static [Node]>> = Mutex::new(Vec::new());

fn slabs() -> MutexGuard<'static, Vec<&'static [Node]>> {
    SLABS.lock().unwrap_or_else(|e| e.into_inner())
}

/// Adds slots that may refer to metas.
pub(crate) fn add_slab(slab: &'static [Node]) {
    slabs().push(slab);
}

/// Takes the lock of the slot list before a fork.
pub(crate) fn lock_for_fork() -> Box<dyn Any> {
    Box::new(slabs())
}

/// Runs a collection whenever the tables have doubled.
pub(crate) fn watch() {
    forerun_plan::on_growth(collect);
}

fn collect() {
    recipe::forget_unheld();
    forerun_plan::forget_unheld(|found: &mut dyn FnMut(*const Meta)| {
        // A copy, so that threads that create slots do not wait for the scan. Missing a new slot is safe: the thread
        // that opens it holds its meta.
        let all = slabs().clone();
        all.into_iter().flatten().for_each(|node| found(node.meta_pointer()));
    });
}
