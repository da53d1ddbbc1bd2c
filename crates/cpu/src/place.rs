//! Kernels that only move elements: a strided copy, a concatenation, an update of a region.

use crate::copy::Copy;
use crate::fill::full;
use crate::gather::Walk;
use crate::loops::{self, Found, Loop, Operand};
use crate::pointwise::Shared;
use crate::simd::Isa;
use forerun_base::{Layout, Team};
use forerun_ops::Point;
use forerun_plan::{Concat, Executable, Io, Program, Reg, Update};

/// Elements of a piece of work, about.
pub(crate) const PIECE: usize = 32 * 1024;
/// Copies of fewer elements are not worth handing out.
pub(crate) const WORTH_SPLITTING: usize = 256 * 1024;

/// Runs a copy, split over the team where that is worth it.
///
/// # Safety
/// As for [`Copy::run`].
pub(crate) unsafe fn spread(copy: &Copy, from: *const u8, to: *mut u8, size: usize, team: &dyn Team) {
    let (slices, each) = copy.slices();
    let per_piece = (PIECE / each.max(1)).max(1).next_multiple_of(copy.grain().max(32)).min(slices.max(1));
    if team.width() == 1 || copy.size() < WORTH_SPLITTING || slices <= per_piece {
        // SAFETY: the caller's promise is this one.
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
    /// The kernel, if the program is nothing but a copy of a strided input.
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
        // SAFETY: the caller's promise is this one.
        unsafe { spread(&self.copy, io.inputs[0], io.outputs[0], self.size, team) }
    }
}

/// A compiled concatenation: a copy an input, and where it goes, in elements.
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
                // SAFETY: parts of the output that do not overlap, which the caller promises.
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
    /// Input 1, cast a run at a time.
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
                let Found { run, lanes } = loops::find(isa, Point::Cast, value.dtype, update.dtype)
                    .unwrap_or_else(|| panic!("cast: no loop for {}", value.dtype));
                let from_size = value.dtype.size();
                With::Cast { run, from: Walk::new(&value.layout), from_size, step: lanes * from_size }
            }
        };
        Overwrite { size: update.dtype.size(), elements: update.size, region: update.region, with }
    }
}

impl Executable for Overwrite {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let (base, out) = (io.inputs[0], io.outputs[0]);
        let count = self.region.shape.size();
        // SAFETY: the caller promises base, region and value.
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
                With::Scalar => Walk::new(&self.region).runs(0, count, |offset, stride, _, length| {
                    let to = to.offset(offset * self.size as isize);
                    if stride == 1 {
                        full(io.scalars[1], self.size, to, length);
                    } else {
                        for i in 0..length as isize {
                            full(io.scalars[1], self.size, to.offset(i * stride * self.size as isize), 1);
                        }
                    }
                }),
                With::Cast { run, from, from_size, step } => {
                    let mut before = [[0u64; 2]; 512];
                    let mut after = [[0u64; 2]; 512];
                    let region = Walk::new(&self.region);
                    for start in (0..count).step_by(512) {
                        let n = 512.min(count - start);
                        from.gather(io.inputs[1], *from_size, start, n, before.as_mut_ptr().cast());
                        let operand = Operand { from: before.as_ptr().cast(), step: *step };
                        run(after.as_mut_ptr().cast(), &[operand, Operand::NONE, Operand::NONE], n);
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

/// Bytes of a piece of a transfer.
const CHUNK: usize = 1 << 20;

/// So many bytes, from one device of the host to another.
pub(crate) struct Transfer(pub(crate) usize);

impl Executable for Transfer {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let (from, to) = (Place(io.inputs[0].cast_mut()), Place(io.outputs[0]));
        team.split(self.0.div_ceil(CHUNK), &|piece| {
            let (from, to) = (&from, &to);
            let (start, end) = (piece * CHUNK, self.0.min((piece + 1) * CHUNK));
            // SAFETY: both reach so many bytes, as the caller promised, and pieces do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(from.0.add(start), to.0.add(start), end - start) };
        });
    }
}

/// An address that pieces share: each works on bytes of its own.
struct Place(*mut u8);

// SAFETY: as above.
unsafe impl Sync for Place {}
