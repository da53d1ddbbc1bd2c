//! Collecting: interned metas, signatures and recipes that nobody needs any more are forgotten, so that a program over many
//! shapes does not grow with their number.
//!
//! | who names what | how it is held |
//! |---|---|
//! | views, tapes, captures, traces, memories of threads | counted |
//! | a signature its metas, a recipe its signature | counted |
//! | a record its recipe | not counted; its window holds the recipe until the record is done ([`RecipeRefs`]) |
//! | a slot its meta, in use or not | not counted; a collection looks at every slot |
//!
//! So submitting counts nothing: what it names is either found in the memo, whose recipes the window holds, or asked of
//! the tables, which is the slow way. A table is collected by whoever made it twice as large as the last collection left it.
//! Ids are never used again: a memo or a plan may be kept under the id of something that is gone.

use crate::runtime::node::Node;
use crate::runtime::recipe;
use forerun_base::WordHash;
use forerun_plan::Meta;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// A window begins another set when one has so many: more than the memo has entries, so that a set that begins with
/// those has room.
const MOST: usize = 2048;

type Set = HashMap<usize, Arc<dyn Any + Send + Sync>, WordHash>;

/// What the records of a window name. The newest set grows; the one before it only ages, so that whatever is held for a
/// record that is not submitted yet (it follows at once, after the few views that it reads) stays for [`MOST`] / 2 more
/// at least; the others wait until every record that was submitted before they had aged is done.
#[derive(Default)]
pub(crate) struct RecipeRefs {
    new: Set,
    aging: Set,
    /// With one past the last record that may name what is in them.
    waiting: VecDeque<(u64, Set)>,
}

impl RecipeRefs {
    /// Adds something; false if the newest set is full now, and another has to be begun.
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, held: &Arc<T>) -> bool {
        self.new.entry(Arc::as_ptr(held) as usize).or_insert_with(|| held.clone());
        self.new.len() < MOST
    }

    /// Begins another set, with what the memo names. `next` is the index of the next record.
    pub(crate) fn begin<T: Send + Sync + 'static>(&mut self, next: u64, named: impl Iterator<Item = Arc<T>>) {
        let begun: Set = named.map(|held| (Arc::as_ptr(&held) as usize, held as Arc<dyn Any + Send + Sync>)).collect();
        let aged = std::mem::replace(&mut self.aging, std::mem::replace(&mut self.new, begun));
        self.waiting.push_back((next, aged));
    }

    /// Lets go what only records before `completed` name.
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

/// The slots from here on may name metas.
pub(crate) fn add_slab(slab: &'static [Node]) {
    slabs().push(slab);
}

/// The lock of the list of slots, held for a fork.
pub(crate) fn lock_for_fork() -> Box<dyn Any> {
    Box::new(slabs())
}

/// Collects whenever the tables have doubled.
pub(crate) fn watch() {
    forerun_plan::on_growth(collect);
}

fn collect() {
    recipe::forget_unheld();
    forerun_plan::forget_unheld(|found: &mut dyn FnMut(*const Meta)| {
        // Copied, so that who makes slots does not wait for the search: a new slot is opened by someone who holds its meta.
        let all = slabs().clone();
        all.into_iter().flatten().for_each(|node| found(node.meta_pointer()));
    });
}
