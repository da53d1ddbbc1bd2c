//! Where a value comes from: the op that makes it and the line that submitted it. Values do not carry that; it is read
//! off their record or their flight, and only by those who ask: a wait that lasts, a refusal.

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
    /// The origin of a value, if this record makes it.
    fn of(record: &Record, node: &Node) -> Option<Origin> {
        let makes = std::ptr::eq(record.out, node) && record.generation == node.generation();
        makes.then(|| Origin { op: record.recipe.op().name(), loc: Loc::from_id(record.loc) })
    }
}

/// Where a value of the calling thread comes from, unless that is long ago.
pub(crate) fn own(node: &Node) -> Option<Origin> {
    let window = window::current();
    if window.is_null() || !std::ptr::eq(node.window(), window) {
        return None;
    }
    // SAFETY: windows are never freed, and it is our own: we are its only producer.
    let record = unsafe { (*window).ring.recent(node.born().checked_sub(1)?) }?;
    Origin::of(&record, node)
}

/// Where a value comes from, as far as that can be told without waiting.
pub(crate) fn of(node: &Node) -> Option<Origin> {
    own(node).or_else(|| runtime().planner.try_lock().and_then(|planner| planned(&planner, node)))
}

/// Where a value that is not settled comes from.
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
