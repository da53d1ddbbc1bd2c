//! How much work a waiter runs itself before it spawns tasks.
//!
//! A thread that reads a value has nothing else to do. Spawning tasks and waking a worker takes about two microseconds. A
//! few records that take less, or one that is too short to split over two cores, finish sooner on the waiting thread, record
//! by record. Fusion saves passes over memory, so this covers at most [`MOST_BY_WAITER`] records. More are planned; a plan that is too
//! short to split over two cores runs on the waiting thread too, without tasks.
//!
//! In the seeded mode the seed decides whether the waiter runs such work itself or spawns tasks, so that different seeds test both.
//!
//! Work is counted in elements of a plain pass over memory, roughly a tenth of a nanosecond each.

use crate::runtime::planner::Planner;
use crate::runtime::recipe::Recipe;
use crate::runtime::segment::SegmentBuilder;
use crate::runtime::window::Window;
use forerun_base::DType;
use forerun_ops::symbol::script;
use forerun_ops::{Op, Point};
use forerun_plan::{Group, Plan};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Maximum number of records that a waiter runs one by one.
const MOST_BY_WAITER: usize = 3;
/// Maximum work in one record or in one plan: above it two cores are faster, including the cost of tasks.
const WORK: usize = 192 * 1024;
/// Maximum work in several records: above it a fused pass is faster, including the cost of a task.
const SHARED_WORK: usize = 40 * 1024;

/// Maximum size of all results of a plan that a waiter runs itself.
const RESULT_BYTES: usize = 2 << 20;

/// Number of pointwise steps that take as long as reading and writing the elements.
const STEPS_PER_PASS: usize = 16;

/// The element limit below which a waiter runs the records from `head` to `tail` inline, or `tiny` if they are too much
/// work.
pub(crate) fn limit(planner: &Planner, window: &Window, head: u64, tail: u64, tiny: usize) -> usize {
    if tiny == 0 || tail - head > 2 * MOST_BY_WAITER as u64 {
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
        _ => records <= MOST_BY_WAITER && total <= SHARED_WORK,
    };
    if fits { largest.max(tiny) } else { tiny }
}

/// Whether a waiter runs all kernels of a plan itself. Fused records share one pass over memory. The results bypass the
/// admission to the memory budget, so they must be small.
pub(crate) fn runs_at_once(plan: &Plan, draft: &SegmentBuilder) -> bool {
    let cost = |group: &Group| {
        let works = || group.records.iter().map(|r| work(draft.submitted[*r as usize].record.recipe));
        works().max().unwrap_or(0).saturating_add(works().fold(0, usize::saturating_add) / 8)
    };
    let bytes = |r: &u16| draft.submitted[*r as usize].record.recipe.signature.out.bytes;
    let results = plan.groups.iter().flat_map(|group| group.outputs.iter().map(bytes)).fold(0, usize::saturating_add);
    results <= RESULT_BYTES && plan.groups.iter().map(cost).fold(0, usize::saturating_add) <= WORK
}

fn work(recipe: &Recipe) -> usize {
    match recipe.op() {
        Op::Point(point) => recipe.cost.saturating_mul(1 + steps(point) / STEPS_PER_PASS),
        // Their costs are in nanoseconds, on one core.
        Op::Routine(_) | Op::Matmul => recipe.cost.saturating_mul(8),
        _ => recipe.cost,
    }
}

/// Steps of a pointwise body. Counted when they are first asked for: recording a long body takes tens of microseconds.
fn steps(point: Point) -> usize {
    static STEPS: [AtomicU32; Point::ALL.len()] = [const { AtomicU32::new(0) }; Point::ALL.len()];
    let counted = &STEPS[point as usize];
    if counted.load(Relaxed) == 0 {
        let steps = script(point, DType::F32).map_or(0, |script| script.steps.len());
        counted.store(1 + steps as u32, Relaxed);
    }
    counted.load(Relaxed) as usize - 1
}
