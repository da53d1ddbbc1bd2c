//! The origin of a value: the op that produces it and the line that submitted it. Values do not store it; it is read
//! from their record or flight, and only for a long wait or an error message.

use crate::runtime::node::Node;
use crate::runtime::planner::Planner;
use crate::runtime::record::Record;
use crate::runtime::runtime;
use crate::runtime::window::{self, Window};
use forerun_base::Loc;

/// An op and the line that submitted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The op; empty if it is not known any more.
    pub op: &'static str,
    /// The line that submitted it.
    pub loc: Loc,
}

impl Origin {
    /// The origin of a value, if this record produces it.
    fn of(record: &Record, node: &Node) -> Option<Origin> {
        let makes = std::ptr::eq(record.out, node) && record.generation == node.generation();
        makes.then(|| Origin { op: record.recipe.op().name(), loc: Loc::from_id(record.loc) })
    }
}

/// The origin of a value of the calling thread, if it is recent.
pub(crate) fn own(node: &Node) -> Option<Origin> {
    let window = window::current();
    if window.is_null() || !std::ptr::eq(node.window(), window) {
        return None;
    }
    // SAFETY: windows are never freed, and it is our own: we are its only producer.
    let record = unsafe { (*window).ring.recent(node.born().checked_sub(1)?) }?;
    Origin::of(&record, node)
}

/// The origin of a value, if it can be found without waiting.
pub(crate) fn of(node: &Node) -> Option<Origin> {
    own(node).or_else(|| runtime().planner.try_lock().and_then(|planner| planned(&planner, node)))
}

/// The origin of a value that is not settled.
pub(crate) fn planned(planner: &Planner, node: &Node) -> Option<Origin> {
    if node.is_settled() {
        return None;
    }
    // SAFETY: windows are never freed.
    let window: &'static Window = unsafe { &*node.window() };
    let index = node.born().checked_sub(1)?;
    if index >= window.ring.head() && index < window.ring.tail() {
        // SAFETY: between head and tail, under the planner's lock.
        return Origin::of(unsafe { window.ring.peek(index) }, node);
    }
    planner.flights.origin(node)
}
