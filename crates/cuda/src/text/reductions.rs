//! Reductions as CUDA C, with the program that feeds them, and their partition over a device.

use super::bodies::c_type;
use super::prelude;
use super::programs::Evaluator;
use forerun_base::DType;
use forerun_plan::{Reduce, ReduceKind};

/// Argument words of the reduction, after those of the evaluator.
pub(crate) const OWN_WORDS: usize = 10;

/// Programs up to this many instructions are unrolled.
const SHORT: usize = 4;

/// The class of a reduction's source, and the partition of a reduction with given extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    columns: bool,
    /// Threads per group, and partial results per thread.
    threads: usize,
    each: usize,
    outer: usize,
    reduced: usize,
    inner: usize,
}

/// The number of groups, steps and chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) blocks: usize,
    pub(crate) chunks: usize,
    pub(crate) steps: usize,
    pub(crate) span_log: usize,
    pub(crate) tiles: usize,
    /// Thread blocks of the first kernel.
    pub(crate) grid: usize,
}

/// One round of folding the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// The offset of its partial results, and the offset of the folded ones, among all partial results.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) chunks: usize,
    pub(crate) left: usize,
    pub(crate) grid: usize,
    pub(crate) threads: usize,
}

/// The number of thread blocks for a large reduction: many times the capacity of a device, so that the last blocks
/// leave little of it idle.
const BUSY: usize = 16384;

/// Chunks folded into one per round.
const fn fan(columns: bool) -> usize {
    if columns { 16 } else { 256 }
}

impl Shape {
    pub(crate) fn new(reduce: &Reduce, pack: usize) -> Shape {
        let columns = reduce.inner != 1;
        let rows_each = if reduce.dtype.size() == 8 { 2 } else { 4 };
        let (threads, each) = if columns {
            (reduce.inner.div_ceil(pack).next_power_of_two().clamp(4, 32), pack)
        } else {
            (64 / rows_each, rows_each)
        };
        let (outer, reduced, inner) = (reduce.outer, reduce.reduced, reduce.inner);
        Shape { columns, threads, each, outer, reduced, inner }
    }

    fn blocks(&self) -> usize {
        self.reduced.div_ceil(if self.columns { 8 } else { 512 }).max(1)
    }

    fn tiles(&self) -> usize {
        if self.columns { self.inner.div_ceil(self.threads * self.each) } else { 1 }
    }

    fn units(&self) -> usize {
        self.outer * self.tiles()
    }

    pub(crate) fn share(&self) -> Share {
        let (blocks, tiles, units) = (self.blocks(), self.tiles(), self.units());
        let groups = 256 / self.threads;
        let mut share = Share { blocks, chunks: 1, steps: 1, span_log: 0, tiles, grid: 0 };
        if blocks < groups {
            let span = blocks.next_power_of_two();
            share.span_log = span.ilog2() as usize;
            share.grid = units.div_ceil(groups / span);
            return share;
        }
        share.span_log = groups.ilog2() as usize;
        let steps = blocks.div_ceil(groups);
        let wanted = BUSY.div_ceil(units.max(1));
        share.steps = steps.div_ceil(wanted).next_power_of_two();
        share.chunks = steps.div_ceil(share.steps);
        share.grid = units * share.chunks;
        share
    }

    /// The rounds that fold the chunks, and the total number of partial results.
    pub(crate) fn rounds(&self, share: &Share) -> (Vec<Round>, usize) {
        let each = self.outer * if self.columns { self.inner } else { 64 };
        let (mut rounds, mut chunks, mut from) = (Vec::new(), share.chunks, 0);
        while chunks > 1 {
            let left = chunks.div_ceil(fan(self.columns));
            let (grid, threads) =
                if self.columns { ((each * left).div_ceil(256), 256) } else { (self.outer * left, 1024) };
            let to = from + each * chunks;
            rounds.push(Round { from, to, chunks, left, grid, threads });
            (chunks, from) = (left, to);
        }
        let total = if rounds.is_empty() { 0 } else { from + each };
        (rounds, total)
    }

    /// The argument words of a round.
    pub(crate) fn round_words(&self, round: &Round, out: u64, partials: u64, size: usize) -> [u64; 7] {
        let at = |place: usize| partials + (place * size) as u64;
        let n = |value: usize| value as u64;
        [out, at(round.from), at(round.to), n(self.outer), n(self.inner), n(round.chunks), n(round.left)]
    }

    /// The reduction's own argument words.
    pub(crate) fn words(&self, share: &Share, out: u64, partials: u64) -> [u64; OWN_WORDS] {
        let n = |value: usize| value as u64;
        [
            out,
            partials,
            n(self.outer),
            n(self.reduced),
            n(self.inner),
            n(share.blocks),
            n(share.chunks),
            n(share.steps),
            n(share.span_log),
            n(share.tiles),
        ]
    }
}

/// Bytes of a partial result.
pub(crate) fn partial_size(reduce: &Reduce) -> usize {
    if is_index(reduce.kind) { 16 } else { reduce.dtype.size() }
}

fn is_index(kind: ReduceKind) -> bool {
    matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin)
}

fn bounds(dtype: DType) -> (&'static str, &'static str) {
    match dtype {
        DType::Bool => ("false", "true"),
        DType::I32 => ("(int)0x80000000", "0x7fffffff"),
        DType::I64 => ("(i64)0x8000000000000000ULL", "0x7fffffffffffffffLL"),
        DType::U64 => ("(u64)0", "0xffffffffffffffffULL"),
        DType::F32 => ("__int_as_float(0xff800000)", "__int_as_float(0x7f800000)"),
        DType::F64 => ("__longlong_as_double(0xfff0000000000000LL)", "__longlong_as_double(0x7ff0000000000000LL)"),
        DType::C64 | DType::C128 => unreachable!("complex numbers are reduced by their parts"),
        DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32 | DType::F16 | DType::BF16 => {
            unreachable!("inference reduces {dtype} in {}", dtype.carrier())
        }
    }
}

/// The definitions of the fold operation.
fn fold_text(kind: ReduceKind, dtype: DType, columns: bool) -> String {
    let (lowest, highest) = bounds(dtype);
    let nan = match dtype {
        DType::F32 => Some("__int_as_float(0x7fc00000)"),
        DType::F64 => Some("__longlong_as_double(0x7ff8000000000000LL)"),
        _ => None,
    };
    let (start, fold, less) = match kind {
        ReduceKind::Sum => ("(E)0", "n_add(a, b)", "false"),
        ReduceKind::Prod => ("(E)1", "n_mul(a, b)", "false"),
        ReduceKind::Max => (lowest, "n_max(a, b)", "false"),
        ReduceKind::Min => (highest, "n_min(a, b)", "false"),
        ReduceKind::ArgMax => (lowest, "", "n_lt(a, b)"),
        ReduceKind::ArgMin => (highest, "", "n_lt(b, a)"),
        ReduceKind::NanMax => (nan.unwrap_or(lowest), "((b) == (b) ? (a) == (a) ? n_max(a, b) : (b) : (a))", "false"),
        ReduceKind::NanMin => (nan.unwrap_or(highest), "((b) == (b) ? (a) == (a) ? n_min(a, b) : (b) : (a))", "false"),
    };
    format!(
        "typedef {} E;\n#define START {start}\n#define FOLD(a, b) {fold}\n#define LESS(a, b) {less}\n#define INDEXED {}\n\
         #define COLUMNS {}\n{}",
        c_type(dtype),
        is_index(kind) as u8,
        columns as u8,
        include_str!("../kernels/fold.cuh")
    )
}

/// The kernel of a reduction.
pub(crate) fn reduce_text(reduce: &Reduce, evaluator: &Evaluator, shape: &Shape) -> String {
    let mut text = evaluator.opening(OWN_WORDS);
    text.push_str(&evaluator.text(&reduce.program, reduce.arg, reduce.dtype));
    text.push_str(&fold_text(reduce.kind, reduce.dtype, shape.columns));
    text.push_str(&format!(
        "#define THREADS {}\n#define EACH {}\n#define UNROLL {}\n",
        shape.threads,
        shape.each,
        if reduce.program.code.len() <= SHORT { 8 } else { 1 },
    ));
    text.push_str(include_str!("../kernels/reduce.cuh"));
    prelude::open(&text)
}

/// The kernel that folds the chunks of a reduction; it does not depend on the program.
pub(crate) fn finish_text(reduce: &Reduce) -> String {
    let fold = fold_text(reduce.kind, reduce.dtype, reduce.inner != 1);
    prelude::open(&format!(
        "#define OWN 0\n#define FAN {}\n{fold}{}",
        fan(reduce.inner != 1),
        include_str!("../kernels/finish.cuh")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(outer: usize, reduced: usize) -> Shape {
        Shape { columns: false, threads: 16, each: 4, outer, reduced, inner: 1 }
    }

    #[test]
    fn every_block_is_in_one_chunk() {
        for reduced in [0, 1, 511, 512, 513, 5000, 8192, 8193, 1 << 20, (1 << 27) + 3] {
            for outer in [1, 3, 2000] {
                let share = rows(outer, reduced).share();
                let covered = |chunks: usize| (chunks * share.steps) << share.span_log;
                assert!(covered(share.chunks) >= share.blocks, "{outer} {reduced} {share:?}");
                assert!(share.chunks == 1 || covered(share.chunks - 1) < share.blocks);
                assert!(share.steps.is_power_of_two());
                let (rounds, total) = rows(outer, reduced).rounds(&share);
                assert_eq!(total > 0, share.chunks > 1);
                assert!(rounds.last().is_none_or(|last| last.left == 1 && last.to + outer * 64 == total));
            }
        }
    }

    #[test]
    fn short_rows_share_a_thread_block() {
        let share = rows(1000, 700).share();
        assert_eq!((share.span_log, share.grid, share.chunks), (1, 125, 1));
    }
}
