//! Pointwise kernels: a fused program over its whole iteration space.

use crate::partition;
use crate::single_op::SingleOp;
use crate::target::Target;
use crate::tile::Tiles;
use crate::weight::weight;
use forerun_base::Team;
use forerun_ops::Point;
use forerun_plan::{Executable, Instr, Io, Program};

/// The approximate number of elements per piece. It depends only on the program, so that pieces do not depend on the
/// thread.
const PIECE: usize = 32 * 1024;

/// Work below this many units (about 30 us) is not split.
const WORTH_SPLITTING: usize = 256 * 1024;

/// A compiled pointwise kernel.
pub(crate) enum Pointwise {
    SingleOp(SingleOp),
    Tiles(Box<Tiles>),
}

impl Pointwise {
    pub(crate) fn new(mut target: Target, program: &Program) -> Pointwise {
        // For a power without special cases, the interpreter's loop skips them per vector; machine code cannot. (Tests
        // that force machine code still get it.)
        if let ([Instr { op: Point::Power | Point::FloatPower, .. }], 1..) = (&program.code[..], target.emit_from) {
            target.emit_from = usize::MAX;
        }
        let size = program.shape.size();
        let whole = size < target.emit_from && size * weight(program).max(1) < WORTH_SPLITTING;
        match whole.then(|| SingleOp::new(target.isa, program)).flatten() {
            Some(op) => Pointwise::SingleOp(op),
            None => Pointwise::Tiles(Box::new(Tiles::with_nontemporal_stores(target, program))),
        }
    }
}

impl Executable for Pointwise {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        // SAFETY: the caller upholds the same contract.
        unsafe {
            match self {
                Pointwise::SingleOp(op) => op.run(io),
                Pointwise::Tiles(tiles) if tiles.small => tiles.run_small(io),
                Pointwise::Tiles(tiles) => run_range(tiles, io, 0, tiles.size, team),
            }
        }
    }
}

/// Runs a program over a part of its iteration space, split over the team if it is large enough.
///
/// # Safety
/// As for [`Executable::run`], for these elements.
pub(crate) unsafe fn run_range(tiles: &Tiles, io: Io<'_>, start: usize, end: usize, team: &dyn Team) {
    let (count, size) = (end - start, tiles.piece(PIECE));
    if team.width() == 1 || count * tiles.weight.max(1) < WORTH_SPLITTING || count <= size {
        // SAFETY: the caller upholds the same contract.
        return unsafe { tiles.run(io, start, end) };
    }
    let shared = Shared(io);
    partition::split(team, count.div_ceil(size), &|i| {
        let from = start + i * size;
        // SAFETY: pieces do not overlap, and the caller's guarantee covers each.
        unsafe { tiles.run(shared.get(), from, end.min(from + size)) }
    });
}

/// Addresses that the pieces of one run share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) T);

impl<T: Copy> Shared<T> {
    pub(crate) fn get(&self) -> T {
        self.0
    }
}

// SAFETY: pieces write disjoint elements, and the caller of the run guarantees that nobody else accesses them.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: pieces write disjoint elements, and the caller of the run guarantees that nobody else accesses them.
unsafe impl<T> Send for Shared<T> {}
