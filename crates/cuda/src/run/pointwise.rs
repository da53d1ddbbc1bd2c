//! Pointwise programs: one kernel each, which the driver links from PTX.

use super::kernel::Run;
use super::mover::Mover;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::streams::MarkWord;
use crate::text::{Evaluator, pointwise_ptx};
use forerun_base::{Layout, Result};
use forerun_ops::Point;
use forerun_plan::{Program, Reg};
use std::sync::Arc;

/// A pointwise kernel.
pub(super) struct Pointwise {
    size: usize,
    evaluator: Evaluator,
    unit: Arc<Unit>,
}

/// Threads of a block.
const THREADS: usize = 256;

impl Pointwise {
    pub(super) fn new(gpu: &Gpu, program: &Program) -> Pointwise {
        let (evaluator, text) = pointwise_ptx(program);
        let unit = gpu.compiler.linked_unit(text);
        Pointwise { size: program.shape.size(), evaluator, unit }
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
        let pack = self.evaluator.pack;
        let whole = if self.evaluator.takes(io) { self.size / pack * pack } else { 0 };
        let grid = Gpu::grid(self.size, THREADS * pack);
        let mark = mark.filter(|_| grid == 1);
        let mut words = self.evaluator.bind(io);
        words.push(whole as u64);
        words.extend(mark.map_or([0, 0], |mark| [mark.address, mark.mark]));
        // SAFETY: the caller promises the addresses; the words are those of the source.
        unsafe { gpu.launch_kernel(&self.unit, grid, THREADS, &words)? };
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
        self.unit.is_ready()
    }
}
