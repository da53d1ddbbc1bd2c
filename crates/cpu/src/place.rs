//! Kernels that only move elements: a strided copy, a concatenation, an update of a region.

use crate::copy::Copy;
use crate::fill::full;
use crate::gather::Walk;
use crate::loops::{self, Loop, LoopInput, VectorLoop};
use crate::pointwise::Shared;
use crate::simd::Isa;
use forerun_base::{Layout, Team};
use forerun_ops::Point;
use forerun_plan::{Concat, Executable, Io, Program, Reg, Update};

/// The approximate number of elements per piece.
pub(crate) const PIECE: usize = 32 * 1024;
/// Copies of fewer elements are not split.
pub(crate) const WORTH_SPLITTING: usize = 256 * 1024;

/// Runs a copy, split over the team if it is large enough.
///
/// # Safety
/// As for [`Copy::run`].
pub(crate) unsafe fn spread(copy: &Copy, from: *const u8, to: *mut u8, size: usize, team: &dyn Team) {
    let (slices, each) = copy.slices();
    let per_piece = (PIECE / each.max(1)).max(1).next_multiple_of(copy.grain().max(32)).min(slices.max(1));
    if team.width() == 1 || copy.size() < WORTH_SPLITTING || slices <= per_piece {
        // SAFETY: the caller upholds the same contract.
        return unsafe { copy.run(from, to, size, 0, slices) };
    }
    let shared = Shared((from, to));
    team.split(slices.div_ceil(per_piece), &|i| {
        let (from, to) = shared.get();
        // SAFETY: slices do not overlap in the target.
        unsafe { copy.run(from, to, size, i * per_piece, slices.min((i + 1) * per_piece)) }
    });
}

/// A strided copy: the pointwise program that is one `copy`.
pub(crate) struct Rearrange {
    copy: Copy,
    size: usize,
}

impl Rearrange {
    /// The kernel, if the program consists of a single copy of a strided input.
    pub(crate) fn new(program: &Program) -> Option<Rearrange> {
        let ([instr], [input], [_]) = (&program.code[..], &program.inputs[..], &program.outputs[..]) else {
            return None;
        };
        let plain = instr.op == Point::Copy && instr.args[0] == Reg::Input(0) && instr.dst == Reg::Out(0);
        if !plain || input.layout.is_dense() || program.shape.size() <= 64 {
            return None;
        }
        Some(Rearrange { copy: Copy::to_dense(&input.layout), size: input.dtype.size() })
    }
}

impl Executable for Rearrange {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        // SAFETY: the caller upholds the same contract.
        unsafe { spread(&self.copy, io.inputs[0], io.outputs[0], self.size, team) }
    }
}

/// A compiled concatenation: one copy per input, with its offset in the output in elements.
pub(crate) struct Joiner {
    parts: Vec<(Copy, usize)>,
    size: usize,
}

impl Joiner {
    pub(crate) fn new(concat: &Concat) -> Joiner {
        let whole = Layout::dense(concat.shape);
        let mut before = 0;
        let parts = concat
            .inputs
            .iter()
            .map(|layout| {
                let copy = Copy::into_part(layout, layout.shape, whole.strides());
                let first = before * whole.strides()[concat.axis] as usize;
                before += layout.shape[concat.axis];
                (copy, first)
            })
            .collect();
        Joiner { parts, size: concat.dtype.size() }
    }
}

impl Executable for Joiner {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        for ((copy, first), &from) in self.parts.iter().zip(io.inputs) {
            if copy.size() > 0 {
                // SAFETY: disjoint parts of the output, which the caller guarantees.
                unsafe { spread(copy, from, io.outputs[0].add(first * self.size), self.size, team) };
            }
        }
    }
}

/// A compiled update of a region.
pub(crate) struct Overwrite {
    size: usize,
    elements: usize,
    region: Layout,
    with: With,
}

#[expect(clippy::large_enum_variant, reason = "part of a kernel, made once")]
enum With {
    /// Input 1, of the same dtype.
    Value(Copy),
    /// Input 1, cast in runs.
    Cast { run: Loop, from: Walk, from_size: usize, step: usize },
    /// Scalar 1.
    Scalar,
}

impl Overwrite {
    pub(crate) fn new(isa: Isa, update: &Update) -> Overwrite {
        let with = match &update.value {
            None => With::Scalar,
            Some(value) if value.dtype == update.dtype => With::Value(Copy::new(&value.layout, &update.region)),
            Some(value) => {
                let VectorLoop { run, lanes } = loops::find(isa, Point::Cast, value.dtype, update.dtype)
                    .unwrap_or_else(|| panic!("cast: no loop for {}", value.dtype));
                let from_size = value.dtype.size();
                With::Cast { run, from: Walk::new(&value.layout), from_size, step: lanes * from_size }
            }
        };
        Overwrite { size: update.dtype.size(), elements: update.size, region: update.region, with }
    }
}

impl Overwrite {
    /// Writes one value to the region, split over the team if it is large enough.
    ///
    /// # Safety
    /// `to` must be the address of the region's first element, and nobody else may access the memory between its first
    /// and last element.
    unsafe fn fill(&self, bits: u64, to: *mut u8, team: &dyn Team) {
        let (count, walk, target) = (self.region.shape.size(), Walk::new(&self.region), Shared(to));
        // Between the elements of one row there may be elements of the region that another piece writes.
        let split = team.width() > 1 && count >= WORTH_SPLITTING;
        let alone = !split || walk.is_line();
        let piece = |first: usize, count: usize| {
            walk.runs(first, count, |offset, stride, _, length| {
                // SAFETY: elements of the region, which the caller guarantees; pieces have disjoint elements.
                unsafe {
                    let to = target.get().offset(offset * self.size as isize);
                    match stride {
                        1 => full(bits, self.size, to, length),
                        _ => spaced(bits, self.size, to, (stride, alone), length),
                    }
                }
            });
        };
        if !split {
            return piece(0, count);
        }
        team.split(count.div_ceil(PIECE), &|i| piece(i * PIECE, PIECE.min(count - i * PIECE)));
    }
}

/// Writes one value to strided elements.
///
/// # Safety
/// `count` elements of `size` bytes, `stride` elements apart, must be writable. With `alone`, nobody else may access
/// the memory between them.
unsafe fn spaced(bits: u64, size: usize, to: *mut u8, (stride, alone): (isize, bool), count: usize) {
    #[inline(always)]
    unsafe fn each<T: std::marker::Copy>(value: T, to: *mut T, stride: isize, count: usize) {
        // SAFETY: the caller upholds the same contract.
        (0..count as isize).for_each(|i| unsafe { to.offset(i * stride).write(value) });
    }
    let period = stride.unsigned_abs() * size;
    // SAFETY: guaranteed by the caller; the sizes match the types.
    unsafe {
        let dense = alone && stride > 0 && PERIODS.contains(&period);
        let done = if dense { combed(bits, size, to, period, count) } else { 0 };
        let (to, count) = (to.add(done * period), count - done);
        match size {
            1 => each(bits as u8, to, stride, count),
            2 => each(bits as u16, to.cast(), stride, count),
            4 => each(bits as u32, to.cast(), stride, count),
            8 => each(bits, to.cast(), stride, count),
            // A complex128 number with imaginary part 0.
            _ => each([bits, 0], to.cast(), stride, count),
        }
    }
}

/// Strides in bytes so small that reading, changing and writing full words is faster than writing single elements.
const PERIODS: [usize; 4] = [2, 4, 8, 16];

/// Writes one value to elements that are `period` bytes apart, in blocks of 64 bytes; returns the number of elements
/// written. It never writes the last element, because the memory after it may be invalid.
///
/// # Safety
/// As for [`spaced`] with `alone`; `period` must be one of [`PERIODS`].
unsafe fn combed(bits: u64, size: usize, to: *mut u8, period: usize, count: usize) -> usize {
    const BLOCK: usize = 64;
    let (mut keep, mut set) = ([u64::MAX; BLOCK / 8], [0u64; BLOCK / 8]);
    let mask = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
    for at in (0..BLOCK).step_by(period) {
        let (word, shift) = (at / 8, 8 * (at % 8));
        keep[word] &= !(mask << shift);
        set[word] |= (bits & mask) << shift;
    }
    let blocks = count.saturating_sub(1) / (BLOCK / period);
    for block in 0..blocks {
        // SAFETY: words between the first and the last element, which the caller guarantees.
        unsafe {
            let at = to.add(block * BLOCK).cast::<[u64; BLOCK / 8]>();
            let held = at.read_unaligned();
            at.write_unaligned(std::array::from_fn(|k| held[k] & keep[k] | set[k]));
        }
    }
    blocks * (BLOCK / period)
}

impl Executable for Overwrite {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let (base, out) = (io.inputs[0], io.outputs[0]);
        let count = self.region.shape.size();
        // SAFETY: the caller guarantees base, region and value.
        unsafe {
            if base != out.cast_const() && self.elements > 0 {
                let flat = Layout::dense(forerun_base::Shape::of(&[self.elements.div_ceil(PIECE)]));
                let pieces = flat.shape[0];
                let shared = Shared((base, out));
                let piece = |i: usize| {
                    let (base, out) = shared.get();
                    let first = i * PIECE * self.size;
                    let bytes = (PIECE * self.size).min(self.elements * self.size - first);
                    std::ptr::copy_nonoverlapping(base.add(first), out.add(first), bytes);
                };
                if self.elements >= WORTH_SPLITTING { team.split(pieces, &piece) } else { (0..pieces).for_each(piece) }
            }
            if count == 0 {
                return;
            }
            let to = out.offset(io.scalars[0] as i64 as isize * self.size as isize);
            match &self.with {
                With::Value(copy) => spread(copy, io.inputs[1], to, self.size, team),
                With::Scalar => self.fill(io.scalars[1], to, team),
                With::Cast { run, from, from_size, step } => {
                    let mut before = [[0u64; 2]; 512];
                    let mut after = [[0u64; 2]; 512];
                    let region = Walk::new(&self.region);
                    for start in (0..count).step_by(512) {
                        let n = 512.min(count - start);
                        from.gather(io.inputs[1], *from_size, start, n, before.as_mut_ptr().cast());
                        let operand = LoopInput { from: before.as_ptr().cast(), step: *step };
                        run(after.as_mut_ptr().cast(), &[operand, LoopInput::NONE, LoopInput::NONE], n);
                        let after = after.as_ptr().cast::<u8>();
                        region.runs(start, n, |offset, stride, done, length| {
                            for i in 0..length as isize {
                                let to = to.offset((offset + i * stride) * self.size as isize);
                                std::ptr::copy_nonoverlapping(
                                    after.add((done + i as usize) * self.size),
                                    to,
                                    self.size,
                                );
                            }
                        });
                    }
                }
            }
        }
    }
}

/// Bytes per piece of a transfer.
const CHUNK: usize = 1 << 20;

/// A copy of this many bytes between two host devices.
pub(crate) struct Transfer(pub(crate) usize);

impl Executable for Transfer {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let (from, to) = (Place(io.inputs[0].cast_mut()), Place(io.outputs[0]));
        team.split(self.0.div_ceil(CHUNK), &|piece| {
            let (from, to) = (&from, &to);
            let (start, end) = (piece * CHUNK, self.0.min((piece + 1) * CHUNK));
            // SAFETY: the caller guarantees this many bytes at both addresses, and pieces do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(from.0.add(start), to.0.add(start), end - start) };
        });
    }
}

/// An address shared by pieces, each of which accesses its own bytes.
struct Place(*mut u8);

// SAFETY: it is an address, and pieces access disjoint bytes.
unsafe impl Sync for Place {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaced_elements_alone_are_written() {
        for size in [1usize, 2, 4, 8, 16] {
            for stride in [-3isize, -2, 2, 3, 4, 8, 16] {
                for count in [1usize, 2, 5, 16, 17, 64, 100] {
                    for alone in [true, false] {
                        let room = (count - 1) * stride.unsigned_abs() + 1;
                        let mut to = vec![[0xa5u8; 16]; room].concat();
                        to.truncate(room * size);
                        let first = if stride < 0 { room - 1 } else { 0 };
                        let bits = 0x0102_0304_0506_0708u64;
                        // SAFETY: the buffer has room for the elements.
                        unsafe { spaced(bits, size, to.as_mut_ptr().add(first * size), (stride, alone), count) };
                        let value = [bits.to_le_bytes(), [0; 8]].concat();
                        for (i, element) in to.chunks_exact(size).enumerate() {
                            let written = first.abs_diff(i).is_multiple_of(stride.unsigned_abs());
                            let expected = if written { &value[..size] } else { &[0xa5; 16][..size] };
                            assert_eq!(element, expected, "element {i} of {room}, {size} bytes, stride {stride}");
                        }
                    }
                }
            }
        }
    }
}
