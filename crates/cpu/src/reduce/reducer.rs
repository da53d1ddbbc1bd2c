//! The kernel of a reduction; see the parent module for the order of additions.

use super::fold::{Element, Fold, Largest, LargestNumber, Product, Smallest, SmallestNumber, Sum};
use super::search::{self, Searched};
use super::{columns, rows, truth};
use crate::partition;
use crate::pointwise::Shared;
use crate::simd::{Baseline, Isa, Lanes, Memory, Piece, Set, by_set};
use crate::target::Target;
use crate::tile::{Machine, Tiles};
use forerun_base::{DType, Kind, Team};
use forerun_ops::{Num, Point};
use forerun_plan::{Executable, Instr, Io, Program, Reduce, ReduceKind, Reg};
use std::marker::PhantomData;

/// The approximate number of elements per piece.
pub(crate) const PIECE: usize = 64 * 1024;
/// Work below this many element-instructions (about 30 us) is not split.
pub(super) const WORTH_SPLITTING: usize = 256 * 1024;
/// The maximum number of chunks that one row, or one strip of columns, is split into.
pub(crate) const CHUNKS: usize = 64;

/// A compiled reduction.
pub(crate) struct Reducer {
    pub(super) tiles: Tiles,
    /// The reduced register; for a dense input of a program without code, the input's index.
    pub(super) arg: Reg,
    pub(super) direct: Option<usize>,
    pub(super) outer: usize,
    pub(super) reduced: usize,
    pub(super) inner: usize,
    pub(super) run: Run,
}

pub(super) type Run = unsafe fn(&Reducer, Io<'_>, &dyn Team);

impl Reducer {
    pub(crate) fn new(target: Target, reduce: &Reduce) -> Reducer {
        let mut program = reduce.program.clone();
        let mut arg = reduce.arg;
        if let Reg::Scalar(_) = arg {
            // A scalar register holds one vector of copies; the reduction reads a full tile, so copy it to a temporary.
            let dst = Reg::Temp(program.temps);
            program.temps += 1;
            program.code.push(Instr { op: Point::Copy, dtype: reduce.dtype, out: reduce.dtype, dst, args: [arg; 3] });
            arg = dst;
        }
        // Sums of cast truth values count instead, and narrow integers are widened as they are loaded.
        let (mut summed, long) = (reduce.dtype, reduce.reduced > rows::SHORT);
        if let (ReduceKind::Sum, DType::I64 | DType::U64, 1) = (reduce.kind, reduce.dtype, reduce.inner)
            && let Some(Instr { op: Point::Cast, dtype, dst, args, .. }) = program.code.last()
            && *dst == arg
            && matches!(dst, Reg::Temp(_))
            && (*dtype == DType::Bool && matches!(args[0], Reg::Input(_) | Reg::Temp(_))
                || long && dtype.kind() == Kind::Int && is_only_cast(&program, args[0]))
        {
            (arg, summed) = (args[0], *dtype);
            program.code.pop();
        }
        let direct = match arg {
            Reg::Input(n) if is_direct(&program, n) => Some(n as usize),
            _ => None,
        };
        // Totals are 64-bit, so the result must be too.
        let exact =
            reduce.kind == ReduceKind::Sum && reduce.inner == 1 && matches!(reduce.dtype, DType::I64 | DType::U64);
        let exact = exact && (long || summed == DType::Bool);
        Reducer {
            tiles: Tiles::new(target, &program, Some(arg)),
            arg,
            direct,
            outer: reduce.outer,
            reduced: reduce.reduced,
            inner: reduce.inner,
            run: if exact { total(target.isa, summed) } else { find(target.isa, reduce.kind, reduce.dtype) },
        }
    }

    /// Whether the reduction is large enough to split over this team.
    pub(super) fn splits(&self, team: &dyn Team) -> bool {
        let elements = self.outer * self.reduced * self.inner;
        team.width() > 1 && elements * self.tiles.weight.max(1) >= WORTH_SPLITTING
    }
}

impl Executable for Reducer {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        if self.outer * self.inner > 0 {
            // SAFETY: the caller upholds the same contract; the backend has checked the instruction set.
            unsafe { (self.run)(self, io, team) }
        }
    }
}

/// The source of elements for pieces of work.
pub(super) struct Source<'m, 'a> {
    pub(super) machine: &'m mut Machine<'a>,
    pub(super) arg: Reg,
}

impl Source<'_, '_> {
    /// Elements `start .. start + count`, at most one tile.
    ///
    /// # Safety
    /// They must be within the iteration space.
    #[inline(always)]
    pub(super) unsafe fn read<T>(&mut self, start: usize, count: usize) -> *const T {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.machine.tile(start, count) };
        self.machine.register(self.arg).cast()
    }
}

impl Reducer {
    /// Runs a piece of a reduction, which must be `#[inline(always)]`, with the features of an instruction set.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`].
    #[inline(always)]
    pub(super) unsafe fn piece(&self, set: impl Set, io: Io<'_>, mut work: impl FnMut(&mut Source<'_, '_>)) {
        // SAFETY: the caller's promise is this one.
        unsafe {
            self.tiles.with_machine(io, |machine| {
                set.vectorize(Piece(
                    #[inline(always)]
                    || work(&mut Source { machine: &mut *machine, arg: self.arg }),
                ));
            });
        }
    }
}

/// # Safety
/// As for [`rows::fold`].
pub(super) unsafe fn fold_all<S: Set, V: Memory<Elem: Element> + Num, F: Fold>(
    r: &Reducer,
    io: Io<'_>,
    team: &dyn Team,
) {
    // SAFETY: the caller upholds the same contract.
    unsafe { if r.inner == 1 { rows::fold::<S, V, F>(r, io, team) } else { columns::fold::<S, V, F>(r, io, team) } }
}

/// # Safety
/// As for [`rows::fold`].
pub(super) unsafe fn index_all<S: Set, V: Searched, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    // SAFETY: the caller upholds the same contract.
    unsafe { if r.inner == 1 { search::index::<S, V, F>(r, io, team) } else { columns::index::<S, V, F>(r, io, team) } }
}

/// Reductions of truth values over the last dimension have their own scan.
///
/// # Safety
/// As for [`rows::fold`].
unsafe fn truth_all<S: Set, Q: truth::Question, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    // SAFETY: the caller upholds the same contract.
    unsafe { if r.inner == 1 { truth::fold::<S, Q>(r, io, team) } else { columns::fold::<S, S::Bool, F>(r, io, team) } }
}

/// Whether an input is dense and the program has no instructions.
fn is_direct(program: &Program, n: u8) -> bool {
    program.code.is_empty() && program.inputs[n as usize].layout.is_dense()
}

/// Whether the program is a single instruction that reads a dense input.
fn is_only_cast(program: &Program, from: Reg) -> bool {
    matches!(from, Reg::Input(n) if program.code.len() == 1 && program.inputs[n as usize].layout.is_dense())
}

/// The exact sum of truth values or integers over the last dimension, in 64 bits.
fn total(isa: Isa, dtype: DType) -> Run {
    fn of_set<S: Set>(_: S, dtype: DType) -> Run {
        match dtype {
            DType::Bool => truth::fold::<S, truth::Count>,
            DType::I8 => truth::fold::<S, truth::Total<i8>>,
            DType::I16 => truth::fold::<S, truth::Total<i16>>,
            DType::I32 => truth::fold::<S, truth::Total<i32>>,
            DType::U8 => truth::fold::<S, truth::Total<u8>>,
            DType::U16 => truth::fold::<S, truth::Total<u16>>,
            DType::U32 => truth::fold::<S, truth::Total<u32>>,
            DType::U64 => truth::fold::<S, truth::Total<u64>>,
            _ => truth::fold::<S, truth::Total<i64>>,
        }
    }
    by_set!(isa, set => of_set(set, dtype))
}

pub(super) fn find(isa: Isa, kind: ReduceKind, dtype: DType) -> Run {
    fn of_kind<S: Set, V: Searched>(kind: ReduceKind) -> Run {
        match kind {
            ReduceKind::Sum => fold_all::<S, V, Sum>,
            ReduceKind::Prod => fold_all::<S, V, Product>,
            ReduceKind::Max => fold_all::<S, V, Largest>,
            ReduceKind::Min => fold_all::<S, V, Smallest>,
            ReduceKind::ArgMax => index_all::<S, V, Largest>,
            ReduceKind::ArgMin => index_all::<S, V, Smallest>,
            ReduceKind::NanMax => fold_all::<S, V, LargestNumber>,
            ReduceKind::NanMin => fold_all::<S, V, SmallestNumber>,
        }
    }
    fn of_set<S: Set>(_: S, kind: ReduceKind, dtype: DType) -> Run {
        match (dtype, kind) {
            (DType::Bool, ReduceKind::Max) => return truth_all::<S, truth::Any, Largest>,
            (DType::Bool, ReduceKind::Min) => return truth_all::<S, truth::All, Smallest>,
            _ => {}
        }
        match dtype {
            DType::Bool => of_kind::<S, S::Bool>(kind),
            DType::I32 => of_kind::<S, S::I32>(kind),
            DType::I64 => of_kind::<S, S::I64>(kind),
            DType::F32 => of_kind::<S, S::F32>(kind),
            DType::F64 => of_kind::<S, S::F64>(kind),
            DType::U64 => of_kind::<Baseline, Lanes<u64, 8>>(kind),
            DType::C64 | DType::C128 => unreachable!("complex numbers are reduced by their parts"),
            DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32 | DType::F16 | DType::BF16 => {
                unreachable!("inference reduces {dtype} in {}", dtype.carrier())
            }
        }
    }
    by_set!(isa, set => of_set(set, kind, dtype))
}

/// Splits `pieces` over the team, or runs them on this thread if there is too little work.
pub(super) fn split(r: &Reducer, team: &dyn Team, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
    if pieces > 1 && r.splits(team) { partition::split(team, pieces, piece) } else { (0..pieces).for_each(piece) }
}

/// Partial results of chunks, read after all chunks are done.
pub(crate) struct Partials<T>(*mut T, PhantomData<T>);

// SAFETY: each chunk writes its own slot, and reading starts after all chunks are done.
unsafe impl<T> Sync for Partials<T> {}

impl<T> Partials<T> {
    pub(crate) fn new(first: *mut T) -> Self {
        Partials(first, PhantomData)
    }
    pub(crate) fn at(&self, n: usize) -> *mut T {
        self.0.wrapping_add(n)
    }
}

/// Blocks per chunk, a power of two: chunks are then subtrees of the tree over all blocks, so they do not affect the
/// bits.
pub(crate) fn blocks_per_chunk(blocks: usize, at_least: usize) -> usize {
    blocks.div_ceil(CHUNKS).max(at_least).next_power_of_two()
}

pub(super) fn shared(io: Io<'_>) -> Shared<Io<'_>> {
    Shared(io)
}
