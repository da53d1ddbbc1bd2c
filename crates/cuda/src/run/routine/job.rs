//! From a routine to its launches: units, scratch memory, words.

use super::families::plan;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::run::kernel::Run;
use forerun_base::{Layout, Result};
use forerun_plan::RoutineCall;
use std::sync::Arc;

/// How a routine is done on the device.
pub(crate) struct Plan {
    /// The texts of its kernels.
    pub(crate) texts: Vec<String>,
    /// Bytes it needs for itself.
    pub(super) scratch: usize,
    /// What is launched.
    pub(super) steps: fn(&Job<'_>) -> Result<()>,
}

/// A routine ready to be launched.
pub(in crate::run) struct Caller {
    call: RoutineCall,
    units: Vec<Arc<Unit>>,
    scratch: usize,
    steps: fn(&Job<'_>) -> Result<()>,
}

impl Caller {
    pub(in crate::run) fn new(gpu: &Gpu, call: &RoutineCall) -> Caller {
        let plan = plan(call);
        let units = plan.texts.into_iter().map(|text| gpu.compiler.unit(text)).collect();
        Caller { call: call.clone(), units, scratch: plan.scratch, steps: plan.steps }
    }
}

impl Run for Caller {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let scratch = if self.scratch > 0 { gpu.memory.scratch(self.scratch)? } else { 0 };
        let done = (self.steps)(&Job { gpu, io, call: &self.call, units: &self.units, scratch });
        if self.scratch > 0 {
            gpu.memory.give_scratch(scratch, self.scratch)?;
        }
        done
    }

    fn is_ready(&self) -> bool {
        self.units.iter().all(|unit| unit.is_ready())
    }
}

/// One run of a routine.
pub(super) struct Job<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) io: DeviceIo<'a>,
    pub(super) call: &'a RoutineCall,
    units: &'a [Arc<Unit>],
    /// The first byte of its own memory, of which nothing is known.
    pub(super) scratch: u64,
}

/// Words that kernels of routines take.
const WORDS: usize = 32;

impl Job<'_> {
    /// Launches the n-th text with as many threads as there are elements, or with fewer that take several.
    pub(super) fn each(&self, n: usize, count: usize, words: &[u64]) -> Result<()> {
        self.blocks(n, Gpu::grid(count, 256), 256, words)
    }

    /// Launches so many blocks of the n-th text.
    pub(super) fn blocks(&self, n: usize, grid: usize, threads: usize, words: &[u64]) -> Result<()> {
        let mut all = words.to_vec();
        all.resize(words.len().max(WORDS), 0);
        // SAFETY: the caller of `Run::run` promises the addresses in `io`, and the family's words are those of its sources.
        unsafe { self.gpu.launch_kernel(&self.units[n], grid, threads, &all) }
    }

    /// Copies the first input to the output, unless it is there.
    pub(super) fn copy_base(&self) -> Result<()> {
        let ((dtype, shape), from, to) = (&self.call.out, self.io.inputs[0], self.io.outputs[0]);
        let bytes = shape.size() * dtype.size();
        if bytes == 0 || from == to {
            return Ok(());
        }
        // SAFETY: base and output are dense and of one size, which the caller promises.
        unsafe { self.gpu.copy_within(from, to, bytes) }
    }

    /// Makes bytes of its own memory zero.
    pub(super) fn clear(&self, first: u64, bytes: usize) -> Result<()> {
        // SAFETY: the memory is this job's.
        unsafe { self.gpu.set_bytes(first, 0, bytes) }
    }

    /// The n-th word, 0 where there is none.
    pub(super) fn word(&self, n: usize) -> i64 {
        word(self.call, n)
    }

    /// An input's extents before, along and after the axis that the first word names.
    pub(super) fn extents(&self, i: usize) -> [usize; 3] {
        extents(self.call, i)
    }
}

pub(super) fn word(call: &RoutineCall, n: usize) -> i64 {
    call.words.get(n).copied().unwrap_or(0)
}

pub(super) fn extents(call: &RoutineCall, i: usize) -> [usize; 3] {
    let shape = call.inputs[i].1;
    let axis = shape.axis(word(call, 0) as isize).expect("inference looked at it");
    [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
}

/// A layout as a kernel walks it: its rank and, a dimension, an extent and a stride.
pub(super) fn walk(layout: &Layout) -> [u64; 17] {
    crate::run::rows::walk(layout)
}
