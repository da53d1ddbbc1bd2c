//! `bincount` and `histogram`.
//!
//! Each piece counts into its own table, and the tables are added. Integer sums do not depend on how the elements are
//! split.

use super::search::places_of;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel};
use crate::simd::with_features;
use forerun_base::{DType, Error, ErrorKind, Result, Team};
use forerun_ops::Count;
use forerun_ops::count::Widths;
use forerun_plan::RoutineCall;
use std::ops::Range;

/// The minimum number of elements per piece.
const PIECE: usize = 1 << 15;
/// Elements whose bins are searched at a time.
const BLOCK: usize = 256;

impl HostKernel for Count {
    fn body(&self) -> Body {
        match self {
            Count::Numbers => |args, team| match args.dtype(0) {
                DType::Bool | DType::U8 => numbers::<u8>(args, team),
                DType::I8 => numbers::<i8>(args, team),
                DType::I16 => numbers::<i16>(args, team),
                DType::U16 => numbers::<u16>(args, team),
                DType::I32 => numbers::<i32>(args, team),
                DType::U32 => numbers::<u32>(args, team),
                DType::U64 => numbers::<u64>(args, team),
                _ => numbers::<i64>(args, team),
            },
            Count::Intervals => |args, team| match args.dtype(0) {
                DType::F32 => intervals::<f32>(args, team),
                _ => intervals::<f64>(args, team),
            },
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        // One table per thread.
        call.out.1.size().saturating_mul(16).saturating_mul(threads)
    }
}

/// Calls `count(range, table)` for pieces of the elements and adds the tables to `to`. Returns the results of the
/// calls.
fn in_tables<R: Copy + Send + Sync + Default>(
    elements: usize,
    to: &mut [i64],
    team: &dyn Team,
    count: impl Fn(Range<usize>, &mut [i64]) -> R + Sync,
) -> Vec<R> {
    // Use fewer pieces if the tables would be more work than the elements.
    let pieces = team.width().min(elements / PIECE.max(4 * to.len())).max(1);
    let (per_piece, size) = (elements.div_ceil(pieces), to.len());
    let mut tables = vec![0i64; (pieces - 1) * size];
    let mut made = vec![R::default(); pieces];
    to.fill(0);
    let (first, others, results) = (Shared(to.as_mut_ptr()), Shared(tables.as_mut_ptr()), Shared(made.as_mut_ptr()));
    team.split(pieces, &|piece| {
        let range = piece * per_piece..elements.min((piece + 1) * per_piece);
        // SAFETY: each piece has its own table and result.
        unsafe {
            let table = match piece {
                0 => first.get(),
                _ => others.get().add((piece - 1) * size),
            };
            results.get().add(piece).write(count(range, std::slice::from_raw_parts_mut(table, size)));
        }
    });
    for table in tables.chunks_exact(size.max(1)) {
        to.iter_mut().zip(table).for_each(|(to, count)| *to += count);
    }
    made
}

/// An integer as u64. Negative numbers become larger than any valid index.
trait Whole: Element {
    fn wide(self) -> u64;
}

macro_rules! whole {
    ($($type:ty)*) => {
        $(impl Whole for $type {
            #[inline(always)]
            fn wide(self) -> u64 { self as i64 as u64 }
        })*
    };
}

whole!(u8 i8 u16 i16 u32 i32 u64 i64);

fn numbers<T: Whole>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (from, to, isa) = (args.input::<T>(0), args.output::<i64>(), args.isa);
    let (largest, to) = to.split_last_mut().expect("inference adds an element for it");
    let made = in_tables(from.len(), to, team, |range, table| {
        let (from, mut most) = (&from[range], 0);
        with_features(
            isa,
            #[inline(always)]
            || most = from.iter().fold(0, |most, x| most.max(x.wide())),
        );
        if (most as usize) < table.len() {
            for x in from {
                table[x.wide() as usize] += 1;
            }
        }
        most
    });
    let most = made.into_iter().max().unwrap_or(0);
    if most > i64::MAX as u64 {
        let least = from.iter().map(|x| x.wide() as i64).min().unwrap_or(0);
        return Err(Error::new(ErrorKind::Value, format!("numbers must not be negative: {least}")));
    }
    *largest = if from.is_empty() { 0 } else { most as i64 + 1 };
    if *largest > to.len() as i64 {
        // Discard the counts of pieces whose integers all fit.
        to.fill(0);
    }
    Ok(())
}

/// A float type with bins.
trait Float: crate::routine::keys::Ordered {
    fn from_count(count: usize) -> Self;
    /// The bin of a number in evenly spaced bins, limited to `0 .. bins`.
    fn steps(self, low: Self, per_unit: Self, bins: usize) -> usize;
    fn per_unit(bins: usize, low: Self, high: Self) -> Self;
}

macro_rules! floats {
    ($($float:ty)*) => {
        $(impl Float for $float {
            #[inline(always)]
            fn from_count(count: usize) -> $float { count as $float }
            #[inline(always)]
            fn steps(self, low: $float, per_unit: $float, bins: usize) -> usize {
                // NaN and numbers below the first bin give 0.
                (((self - low) * per_unit) as i64).clamp(0, bins as i64 - 1) as usize
            }
            #[inline(always)]
            fn per_unit(bins: usize, low: $float, high: $float) -> $float { <$float>::from_count(bins) / (high - low) }
        })*
    };
}

floats!(f32 f64);

/// Each interval includes its lower edge; the last one includes both. Elements outside are not counted.
fn intervals<T: Float>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (edges, from, to) = (args.input::<T>(0), args.input::<T>(1), args.output::<i64>());
    let (bins, isa) = (to.len(), args.isa);
    let (first, last) = (edges[0], edges[bins]);
    let is_even = args.attributes::<Widths>().even;
    let per_unit = T::per_unit(bins, first, last);
    in_tables(from.len(), to, team, |range, table| {
        let from = &from[range];
        if is_even {
            for x in from {
                if !(*x >= first && *x <= last) {
                    continue;
                }
                // Rounding may be off by one bin, or by more where edges are equal.
                let mut bin = x.steps(first, per_unit, bins);
                while *x < edges[bin] {
                    bin -= 1;
                }
                while bin + 1 < bins && *x >= edges[bin + 1] {
                    bin += 1;
                }
                table[bin] += 1;
            }
            return;
        }
        let mut places = [0; BLOCK];
        for from in from.chunks(BLOCK) {
            let places = &mut places[..from.len()];
            places_of::<T, true>(edges, from, places, false, isa);
            for (x, place) in from.iter().zip(places) {
                let bin = if *x == last { bins as i64 - 1 } else { *place - 1 };
                if let Some(count) = usize::try_from(bin).ok().and_then(|bin| table.get_mut(bin)) {
                    *count += 1;
                }
            }
        }
    });
    Ok(())
}
