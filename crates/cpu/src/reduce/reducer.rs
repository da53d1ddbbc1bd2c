//! Reductions, with the pointwise program that feeds them evaluated tile by tile and never stored.
//!
//! Invariant: the order of additions is a function of the extents alone. Elements are folded in blocks of fixed length
//! at fixed places, and the blocks in a binary tree by their number, whatever thread folds which of them.

use super::fold::{Element, Fold, Largest, Product, Smallest, Sum};
use super::{columns, rows, truth};
use crate::pointwise::Shared;
use crate::simd::{Baseline, Isa, Lanes, Memory, Set, Work};
use crate::stretch;
use crate::target::Target;
use crate::tile::{Machine, Tiles};
use forerun_base::{DType, Team};
use forerun_ops::{Num, Point};
use forerun_plan::{Executable, Instr, Io, Reduce, ReduceKind, Reg};
use std::marker::PhantomData;

/// Elements of a piece of work, about.
pub(super) const PIECE: usize = 64 * 1024;
/// Work below this many element-instructions (about 30 us) is not worth handing out.
pub(super) const WORTH_SPLITTING: usize = 256 * 1024;
/// The most pieces that one row, or one strip of columns, is cut into.
pub(super) const CHUNKS: usize = 64;

/// A compiled reduction.
pub(crate) struct Reducer {
    pub(super) tiles: Tiles,
    /// The register that is reduced; where it is a dense input of a program without code, the input's number.
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
            // Whoever reads a register after a tile wants all of its elements.
            let dst = Reg::Temp(program.temps);
            program.temps += 1;
            program.code.push(Instr { op: Point::Copy, dtype: reduce.dtype, out: reduce.dtype, dst, args: [arg; 3] });
            arg = dst;
        }
        // Truth values that are cast to be added up are counted instead.
        let mut counts = false;
        if let (ReduceKind::Sum, DType::I64, 1) = (reduce.kind, reduce.dtype, reduce.inner)
            && let Some(Instr { op: Point::Cast, dtype: DType::Bool, dst, args, .. }) = program.code.last()
            && *dst == arg
            && matches!((dst, args[0]), (Reg::Temp(_), Reg::Input(_) | Reg::Temp(_)))
        {
            (arg, counts) = (args[0], true);
            program.code.pop();
        }
        let direct = match arg {
            Reg::Input(n) if program.code.is_empty() && program.inputs[n as usize].layout.is_dense() => {
                Some(n as usize)
            }
            _ => None,
        };
        Reducer {
            tiles: Tiles::new(target, &program, Some(arg)),
            arg,
            direct,
            outer: reduce.outer,
            reduced: reduce.reduced,
            inner: reduce.inner,
            run: if counts { counting(target.isa) } else { find(target.isa, reduce.kind, reduce.dtype) },
        }
    }

    /// Whether it is worth handing out, to this team.
    pub(super) fn splits(&self, team: &dyn Team) -> bool {
        let elements = self.outer * self.reduced * self.inner;
        team.width() > 1 && elements * self.tiles.weight.max(1) >= WORTH_SPLITTING
    }
}

impl Executable for Reducer {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        if self.outer * self.inner > 0 {
            // SAFETY: the caller's promise is this one; the backend has checked the instruction set.
            unsafe { (self.run)(self, io, team) }
        }
    }
}

/// Where pieces of work find the elements to fold.
pub(super) struct Source<'m, 'a> {
    pub(super) machine: &'m mut Machine<'a>,
    pub(super) arg: Reg,
}

impl Source<'_, '_> {
    /// Elements `start .. start + count`, at most a tile.
    ///
    /// # Safety
    /// They must be within the iteration space.
    #[inline(always)]
    pub(super) unsafe fn read<T>(&mut self, start: usize, count: usize) -> *const T {
        // SAFETY: the caller's promise is this one.
        unsafe { self.machine.tile(start, count) };
        self.machine.register(self.arg).cast()
    }
}

/// A piece of a reduction, to be run with an instruction set's features.
pub(super) struct Piece<W>(pub(super) W);

// `FnMut`, not `FnOnce`: a closure is called once through a function of the compiler's, which is not always inlined, and
// then the closure is compiled without the features.
impl<W: FnMut()> Work for Piece<W> {
    type Out = ();
    #[inline(always)]
    fn run(mut self) {
        (self.0)()
    }
}

pub(super) unsafe fn fold_all<S: Set, V: Memory<Elem: Element> + Num, F: Fold>(
    r: &Reducer,
    io: Io<'_>,
    team: &dyn Team,
) {
    // SAFETY: the caller's promise is this one.
    unsafe { if r.inner == 1 { rows::fold::<S, V, F>(r, io, team) } else { columns::fold::<S, V, F>(r, io, team) } }
}

pub(super) unsafe fn index_all<S: Set, V: Memory<Elem: Element> + Num, F: Fold>(
    r: &Reducer,
    io: Io<'_>,
    team: &dyn Team,
) {
    // SAFETY: the caller's promise is this one.
    unsafe { if r.inner == 1 { rows::index::<S, V, F>(r, io, team) } else { columns::index::<S, V, F>(r, io, team) } }
}

/// Truth values over the last dimension have a scan of their own.
unsafe fn truth_all<S: Set, Q: truth::Question, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    // SAFETY: the caller's promise is this one.
    unsafe { if r.inner == 1 { truth::fold::<S, Q>(r, io, team) } else { columns::fold::<S, S::Bool, F>(r, io, team) } }
}

fn counting(isa: Isa) -> Run {
    match isa {
        Isa::Baseline => truth::fold::<Baseline, truth::Count>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => truth::fold::<crate::simd::Avx2, truth::Count>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => truth::fold::<crate::simd::Avx512, truth::Count>,
        #[cfg(not(target_arch = "x86_64"))]
        _ => truth::fold::<Baseline, truth::Count>,
    }
}

pub(super) fn find(isa: Isa, kind: ReduceKind, dtype: DType) -> Run {
    fn of_kind<S: Set, V: Memory<Elem: Element> + Num>(kind: ReduceKind) -> Run {
        match kind {
            ReduceKind::Sum => fold_all::<S, V, Sum>,
            ReduceKind::Prod => fold_all::<S, V, Product>,
            ReduceKind::Max => fold_all::<S, V, Largest>,
            ReduceKind::Min => fold_all::<S, V, Smallest>,
            ReduceKind::ArgMax => index_all::<S, V, Largest>,
            ReduceKind::ArgMin => index_all::<S, V, Smallest>,
        }
    }
    fn of_set<S: Set>(kind: ReduceKind, dtype: DType) -> Run {
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
    match isa {
        Isa::Baseline => of_set::<Baseline>(kind, dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => of_set::<crate::simd::Avx2>(kind, dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => of_set::<crate::simd::Avx512>(kind, dtype),
        #[cfg(not(target_arch = "x86_64"))]
        _ => of_set::<Baseline>(kind, dtype),
    }
}

/// Splits `pieces` over the team, or runs them here if that is not worth it.
pub(super) fn split(r: &Reducer, team: &dyn Team, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
    if pieces > 1 && r.splits(team) { stretch::split(team, pieces, piece) } else { (0..pieces).for_each(piece) }
}

/// Results of chunks, written by whoever folds them and read when all are done.
pub(super) struct Partials<T>(*mut T, PhantomData<T>);

// SAFETY: each chunk writes its own place, and reading starts when all chunks are done.
unsafe impl<T> Sync for Partials<T> {}

impl<T> Partials<T> {
    pub(super) fn new(first: *mut T) -> Self {
        Partials(first, PhantomData)
    }
    pub(super) fn at(&self, n: usize) -> *mut T {
        self.0.wrapping_add(n)
    }
}

/// Whole blocks a chunk, a power of two: chunks are then subtrees of the tree over all blocks, and show in no bit.
pub(super) fn blocks_per_chunk(blocks: usize, at_least: usize) -> usize {
    blocks.div_ceil(CHUNKS).max(at_least).next_power_of_two()
}

pub(super) fn shared(io: Io<'_>) -> Shared<Io<'_>> {
    Shared(io)
}
