//! Pointwise programs. The fused kernel runs once it is compiled. Until then a kernel that handles one element per
//! thread stands in; it is available sooner, because it is linked from PTX, or compiled from shorter C if the program
//! uses ops without PTX. Until that one is available, the generic kernel runs.

use super::kernel::Run;
use super::mover::Mover;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::streams::MarkWord;
use crate::text::{Evaluator, encode, plain_ptx, pointwise_text};
use forerun_base::{Layout, Result};
use forerun_ops::Point;
use forerun_plan::{Program, Reg};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A pointwise kernel.
pub(super) struct Pointwise {
    program: Program,
    size: usize,
    packed: (Evaluator, Arc<Unit>),
    /// For unaligned addresses, and for all addresses until the other kernel is compiled.
    plain: (Evaluator, Arc<Unit>),
}

/// Threads per block of the fused and the generic kernel.
const THREADS: usize = 256;
const GENERIC_THREADS: usize = 128;

impl Pointwise {
    pub(super) fn new(gpu: &Gpu, program: &Program) -> Pointwise {
        let (plain, packed) = (Evaluator::plain(program, None), Evaluator::new(program, None, 0));
        // Requested first, so that it serves as both if the vector width is one element.
        let soon = gpu.compiler.unit_soon(pointwise_text(&plain), || plain_ptx(program, &plain, gpu.arch()));
        let unit = gpu.compiler.unit(pointwise_text(&packed));
        gpu.generic();
        Pointwise { size: program.shape.size(), packed: (packed, unit), plain: (plain, soon), program: program.clone() }
    }
}

/// A program that is a copy of a strided input, done through tiles.
pub(super) struct Transposition(Mover);

impl Transposition {
    /// The transposing copy that a program consists of, if any.
    pub(super) fn of(gpu: &Gpu, program: &Program) -> Option<Transposition> {
        let ([instr], [input], [_]) = (&program.code[..], &program.inputs[..], &program.outputs[..]) else {
            return None;
        };
        let plain = instr.op == Point::Copy && instr.args[0] == Reg::Input(0) && instr.dst == Reg::Out(0);
        if !plain || input.layout.is_dense() {
            return None;
        }
        Mover::transposing(gpu, input.dtype.size(), &input.layout, &Layout::dense(program.shape)).map(Transposition)
    }
}

impl Run for Transposition {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        // SAFETY: the caller guarantees both addresses.
        unsafe { self.0.run(gpu, io.inputs[0], io.outputs[0]) }
    }

    fn is_ready(&self) -> bool {
        self.0.is_ready()
    }
}

impl Pointwise {
    /// Launches the program. A grid of one block writes the mark itself; returns whether it does.
    ///
    /// # Safety
    /// As for [`Run::run`].
    unsafe fn launch_marked(&self, gpu: &Gpu, io: DeviceIo<'_>, mark: Option<MarkWord>) -> Result<bool> {
        if self.size == 0 {
            return Ok(false);
        }
        let fastest = self.packed.1.is_ready() && self.packed.0.takes(io);
        let (evaluator, unit) = if fastest { &self.packed } else { &self.plain };
        // SAFETY: the caller guarantees the addresses.
        if !unit.is_ready() && unsafe { run_generic(gpu, &self.program, io)? } {
            return Ok(false);
        }
        let grid = Gpu::grid(self.size, THREADS * evaluator.pack);
        let mark = mark.filter(|_| grid == 1);
        let mut words = evaluator.bind(io);
        words.extend(mark.map_or([0, 0], |mark| [mark.address, mark.mark]));
        // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
        unsafe { gpu.launch_kernel(unit, grid, THREADS, &words)? };
        Ok(mark.is_some())
    }
}

impl Run for Pointwise {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        // SAFETY: the caller guarantees the addresses.
        unsafe { self.launch_marked(gpu, io, None) }.map(drop)
    }

    unsafe fn run_marked(&self, gpu: &Gpu, io: DeviceIo<'_>, mark: MarkWord) -> Result<bool> {
        // SAFETY: the caller guarantees the addresses.
        unsafe { self.launch_marked(gpu, io, Some(mark)) }
    }

    fn is_ready(&self) -> bool {
        self.packed.1.is_ready()
    }

    fn serves(&self) -> bool {
        self.packed.1.is_ready() || self.plain.1.is_ready()
    }
}

/// Runs a program with the generic kernel. Returns false if the program is too large for it, or if it is not yet
/// compiled.
///
/// # Safety
/// As for [`Run::run`].
pub(super) unsafe fn run_generic(gpu: &Gpu, program: &Program, io: DeviceIo<'_>) -> Result<bool> {
    let generic = gpu.generic();
    if !generic.is_ready() {
        return Ok(false);
    }
    let Some(words) = encode(program, io) else { return Ok(false) };
    gpu.compiler.generic.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller guarantees the addresses; the generic kernel takes the words that `encode` gives.
    unsafe { gpu.launch_kernel(generic, Gpu::grid(program.shape.size(), GENERIC_THREADS), GENERIC_THREADS, &words)? };
    Ok(true)
}
