//! How much work a waiter runs inline, record by record, before it spawns tasks.
//!
//! A thread that reads a value has nothing else to do. Spawning tasks and waking a worker takes about two microseconds.
//! A few records that take less, or one that is too short to split over two cores, finish sooner on the waiting thread.
//! Fusion would save passes over memory, so this covers at most [`MOST`] records.
//!
//! Work is counted in elements of a plain pass over memory, roughly a tenth of a nanosecond each.

use crate::runtime::planner::Planner;
use crate::runtime::recipe::Recipe;
use crate::runtime::window::Window;
use forerun_base::DType;
use forerun_ops::symbol::script;
use forerun_ops::{Op, Point};
use std::sync::LazyLock;

/// Maximum number of records that a waiter runs one by one.
const MOST: usize = 3;
/// Maximum work in one record: above it two cores are faster, including the cost of tasks.
const WORK: usize = 192 * 1024;
/// Maximum work in several records: above it a fused pass is faster, including the cost of a task.
const SHARED_WORK: usize = 40 * 1024;

/// Number of pointwise steps that take as long as reading and writing the elements.
const STEPS_PER_PASS: usize = 16;

/// The element limit below which a waiter runs the records from `head` to `tail` inline, or `tiny` if they are too much
/// work.
pub(crate) fn limit(planner: &Planner, window: &Window, head: u64, tail: u64, tiny: usize) -> usize {
    if tiny == 0 || tail - head > 2 * MOST as u64 {
        return tiny;
    }
    let (mut index, mut records, mut total, mut largest) = (head, 0, 0usize, 0);
    while index < tail {
        index = planner.reader(window, index);
        // SAFETY: between head and tail, under the planner's lock.
        let recipe = unsafe { window.ring.peek(index) }.recipe;
        let work = work(recipe);
        records += 1;
        total = total.saturating_add(work);
        largest = recipe.cost.max(largest);
        index += 1;
    }
    let fits = match records {
        1 => total <= WORK,
        _ => records <= MOST && total <= SHARED_WORK,
    };
    if fits { largest.max(tiny) } else { tiny }
}

fn work(recipe: &Recipe) -> usize {
    static STEPS: LazyLock<Vec<usize>> = LazyLock::new(|| {
        let steps = |point: &Point| script(*point, DType::F32).map_or(0, |script| script.steps.len());
        Point::ALL.iter().map(steps).collect()
    });
    match recipe.op() {
        Op::Point(point) => recipe.cost.saturating_mul(1 + STEPS[point as usize] / STEPS_PER_PASS),
        // Their costs are in nanoseconds, on one core.
        Op::Routine(_) | Op::Matmul => recipe.cost.saturating_mul(8),
        _ => recipe.cost,
    }
}
