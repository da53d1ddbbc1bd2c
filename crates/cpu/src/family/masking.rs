//! Selection by a mask. The first pass counts the selected elements of each piece, so that each piece knows where its
//! output begins.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel, line_scratch};
use crate::simd::Isa;
use forerun_base::{Complex, Error, ErrorKind, Result, Team};
use forerun_ops::Masking;
use forerun_plan::RoutineCall;

/// Mask elements per piece.
const PIECE: usize = 1 << 15;

impl HostKernel for Masking {
    fn body(&self) -> Body {
        match self {
            Masking::Nonzero => nonzero,
            // Elements are only moved, so only their size matters.
            Masking::Compress => |args, team| match args.dtype(0).size() {
                1 => compress::<u8>(args, team),
                2 => compress::<u16>(args, team),
                4 => compress::<u32>(args, team),
                8 => compress::<u64>(args, team),
                16 => compress::<Complex<f64>>(args, team),
                size => unreachable!("no elements of {size} bytes"),
            },
            Masking::Fill => |args, team| match args.dtype(0).size() {
                1 => fill::<u8>(args, team),
                2 => fill::<u16>(args, team),
                4 => fill::<u32>(args, team),
                8 => fill::<u64>(args, team),
                16 => fill::<Complex<f64>>(args, team),
                size => unreachable!("no elements of {size} bytes"),
            },
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let length = if *self == Masking::Nonzero { call.inputs[0].1.size() } else { call.inputs[1].1.size() };
        line_scratch(call, length, threads)
    }
}

fn pieces(mask: &[u8]) -> usize {
    mask.len().div_ceil(PIECE)
}

fn piece(mask: &[u8], i: usize) -> std::ops::Range<usize> {
    i * PIECE..mask.len().min((i + 1) * PIECE)
}

/// The number of true elements. Sums are kept in bytes for up to 255 elements, then widened.
fn count_chosen(mask: &[u8]) -> usize {
    let mut total = 0;
    for block in mask.chunks(255 * 64) {
        let mut sums = [0u8; 64];
        let lines = block.chunks_exact(64);
        total += lines.remainder().iter().map(|chosen| (*chosen != 0) as usize).sum::<usize>();
        for line in lines {
            sums.iter_mut().zip(line).for_each(|(sum, chosen)| *sum += (*chosen != 0) as u8);
        }
        total += sums.iter().map(|sum| *sum as usize).sum::<usize>();
    }
    total
}

/// The number of selected elements before each piece, and in total.
fn before(mask: &[u8], team: &dyn Team) -> Vec<usize> {
    let mut counts = vec![0; pieces(mask) + 1];
    let shared = Shared(counts.as_mut_ptr());
    team.split(pieces(mask), &|i| {
        let count = count_chosen(&mask[piece(mask, i)]);
        // SAFETY: each piece writes its own count, and there is one more count than pieces.
        unsafe { shared.get().add(i + 1).write(count) };
    });
    for i in 1..counts.len() {
        counts[i] += counts[i - 1];
    }
    counts
}

/// Calls `each(n, i)` for the `n`-th selected element, at index `i` of the mask, in one piece.
#[inline(always)]
fn chosen(mask: &[u8], range: std::ops::Range<usize>, first: usize, mut each: impl FnMut(usize, usize)) {
    let mut n = first;
    for i in range {
        if mask[i] != 0 {
            each(n, i);
            n += 1;
        }
    }
}

/// Writes `of(i)` for every selected element of a piece, contiguously. Every element is written, but the output
/// position advances only for selected ones, so there is no unpredictable branch.
///
/// # Safety
/// The caller must have exclusive access to `places` of the output.
unsafe fn pack<T>(
    mask: &[u8],
    range: std::ops::Range<usize>,
    places: std::ops::Range<usize>,
    to: *mut T,
    of: impl Fn(usize) -> T,
) {
    let (mut i, mut n) = (range.start, places.start);
    while n < places.end {
        // SAFETY: `n` is one of the places; a piece has as many selected elements as places, so `i` stays in range.
        unsafe { to.add(n).write(of(i)) };
        n += (mask[i] != 0) as usize;
        i += 1;
    }
}

/// Like [`pack`] for the indices of the mask, with the widest vectors available.
///
/// # Safety
/// As for [`pack`].
unsafe fn pack_places(
    isa: Isa,
    mask: &[u8],
    range: std::ops::Range<usize>,
    places: std::ops::Range<usize>,
    to: *mut i64,
) {
    #[cfg(target_arch = "x86_64")]
    if isa.is_avx512() {
        // SAFETY: the caller's promise; the instruction set is the proof of its features.
        return unsafe { crate::routine::pack::places(mask, range, places, to) };
    }
    #[cfg(target_arch = "x86_64")]
    let (range, places) = match packs_eight(isa) {
        // SAFETY: guaranteed by the caller; the backend has checked the instruction set.
        true => unsafe { crate::routine::pack_avx2::places(mask, range, places, to) },
        false => (range, places),
    };
    _ = isa;
    // SAFETY: the caller upholds the same contract.
    unsafe { pack(mask, range, places, to, |i| i as i64) }
}

/// Like [`pack`] for elements of `from`, with the widest vectors available.
///
/// # Safety
/// As for [`pack`].
unsafe fn pack_elements<T: Element>(
    isa: Isa,
    mask: &[u8],
    from: &[T],
    range: std::ops::Range<usize>,
    places: std::ops::Range<usize>,
    to: *mut T,
) {
    #[cfg(target_arch = "x86_64")]
    if isa.is_avx512() {
        // SAFETY: the caller's promise; the instruction set is the proof of its features, and the sizes are those of the types.
        unsafe {
            match size_of::<T>() {
                4 => return crate::routine::pack::words(mask, from.as_ptr().cast(), range, places, to.cast()),
                8 => return crate::routine::pack::longs(mask, from.as_ptr().cast(), range, places, to.cast()),
                _ => {}
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: guaranteed by the caller; the backend has checked the instruction set, and the sizes match the types.
    let (range, places) = unsafe {
        match size_of::<T>() {
            4 if packs_eight(isa) => {
                crate::routine::pack_avx2::words(mask, from.as_ptr().cast(), range, places, to.cast())
            }
            8 if packs_eight(isa) => {
                crate::routine::pack_avx2::longs(mask, from.as_ptr().cast(), range, places, to.cast())
            }
            _ => (range, places),
        }
    };
    _ = isa;
    // SAFETY: the caller upholds the same contract.
    unsafe { pack(mask, range, places, to, |i| from[i]) }
}

/// Whether eight elements are packed at a time.
#[cfg(target_arch = "x86_64")]
fn packs_eight(isa: Isa) -> bool {
    matches!(isa, Isa::Avx2(_))
}

fn miscounted(said: usize, found: Option<&usize>) -> Result<()> {
    let text = format!("the mask is true {} times, not {said}", found.unwrap_or(&0));
    Err(Error::new(ErrorKind::Value, text))
}

fn nonzero(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (mask, shape, to) = (args.input::<u8>(0), args.call.inputs[0].1, args.output::<i64>());
    let (before, count) = (before(mask, team), args.call.out.1[1]);
    if before.last() != Some(&count) {
        return miscounted(count, before.last());
    }
    let (target, isa) = (Shared(to.as_mut_ptr()), args.isa);
    team.split(pieces(mask), &|p| {
        let to = target.get();
        if shape.rank() == 1 {
            // SAFETY: as below.
            return unsafe { pack_places(isa, mask, piece(mask, p), before[p]..before[p + 1], to) };
        }
        chosen(mask, piece(mask, p), before[p], |n, i| {
            let mut left = i;
            for d in (0..shape.rank()).rev() {
                // SAFETY: the output has one row of `count` per dimension; pieces have disjoint ranges of `n`.
                unsafe { to.add(d * count + n).write((left % shape[d]) as i64) };
                left /= shape[d];
            }
        });
    });
    Ok(())
}

/// The first dimension that the mask covers; for a zero-dimensional mask, one past the last.
fn axis(args: &Args<'_>) -> usize {
    args.call.routine.axis(&args.call.encoded).unwrap_or(0) as usize
}

/// The extents before and after the mask's dimensions.
fn around(args: &Args<'_>) -> (usize, usize) {
    let (shape, mask, first) = (args.call.inputs[0].1, args.call.inputs[1].1, axis(args));
    (shape[..first].iter().product(), shape[first + mask.rank()..].iter().product())
}

fn compress<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (from, mask, to) = (args.input::<T>(0), args.input::<u8>(1), args.output::<T>());
    let (before, (outer, inner)) = (before(mask, team), around(args));
    let count = args.call.out.1[axis(args)];
    if before.last() != Some(&count) {
        return miscounted(count, before.last());
    }
    let (target, isa) = (Shared(to.as_mut_ptr()), args.isa);
    team.split(outer * pieces(mask), &|work| {
        let (o, p, to) = (work / pieces(mask), work % pieces(mask), target.get());
        if inner == 1 {
            let from = &from[o * mask.len()..][..mask.len()];
            // SAFETY: as below.
            return unsafe {
                pack_elements(isa, mask, from, piece(mask, p), before[p]..before[p + 1], to.add(o * count))
            };
        }
        chosen(mask, piece(mask, p), before[p], |n, i| {
            let (from, at) = (&from[(o * mask.len() + i) * inner..][..inner], (o * count + n) * inner);
            // SAFETY: pieces write disjoint rows within the output.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.add(at), inner) };
        });
    });
    Ok(())
}

fn fill<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (base, mask, values) = (args.input::<T>(0), args.input::<u8>(1), args.input::<T>(2));
    let (before, (outer, inner)) = (before(mask, team), around(args));
    let count = args.call.inputs[2].1[axis(args)];
    if before.last() != Some(&count) {
        let places = before.last().unwrap_or(&0);
        let text = format!("cannot assign {count} input values to the {places} places where the mask is true");
        return Err(Error::new(ErrorKind::Value, text));
    }
    let to = args.output::<T>();
    let target = Shared(to.as_mut_ptr());
    team.split(outer * pieces(mask), &|work| {
        let (o, p, to) = (work / pieces(mask), work % pieces(mask), target.get());
        let range = piece(mask, p);
        let (first, rows) = ((o * mask.len() + range.start) * inner, range.len() * inner);
        // SAFETY: pieces write disjoint rows within the output.
        unsafe { std::ptr::copy_nonoverlapping(base[first..][..rows].as_ptr(), to.add(first), rows) };
        chosen(mask, range, before[p], |n, i| {
            let (from, at) = (&values[(o * count + n) * inner..][..inner], (o * mask.len() + i) * inner);
            // SAFETY: pieces write disjoint rows within the output.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.add(at), inner) };
        });
    });
    Ok(())
}
