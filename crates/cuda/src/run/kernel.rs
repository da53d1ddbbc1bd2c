//! A kernel of a plan, ready to be enqueued on a device.

use super::fill::Filler;
use super::place::{Joiner, Overwrite};
use super::pointwise::{Pointwise, Transposition};
use super::product::Multiply;
use super::reduce::Reducer;
use super::rows::{Adder, Gatherer};
use crate::family;
use crate::gpu::{DeviceIo, Gpu};
use crate::streams::MarkWord;
use forerun_base::Result;
use forerun_plan::Kernel;
use std::sync::Arc;

/// How one kind of kernel is enqueued.
pub(crate) trait Run: Send + Sync {
    /// Enqueues the work on the compute stream.
    ///
    /// # Safety
    /// As for [`LaunchableKernel::enqueue`].
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()>;

    /// Like [`Run::run`], for the last launch before a mark. Returns whether the kernel writes the mark itself.
    ///
    /// # Safety
    /// As for [`LaunchableKernel::enqueue`].
    unsafe fn run_marked(&self, gpu: &Gpu, io: DeviceIo<'_>, _mark: MarkWord) -> Result<bool> {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.run(gpu, io) }.map(|()| false)
    }

    /// Whether its kernel is compiled.
    fn is_ready(&self) -> bool;
}

/// A kernel that can be enqueued any number of times.
pub struct LaunchableKernel {
    gpu: Arc<Gpu>,
    run: Box<dyn Run>,
}

impl LaunchableKernel {
    pub(crate) fn new(gpu: Arc<Gpu>, kernel: &Kernel) -> LaunchableKernel {
        let run: Box<dyn Run> = match kernel {
            Kernel::Pointwise(program) => match Transposition::of(&gpu, program) {
                Some(copy) => Box::new(copy),
                None => Box::new(Pointwise::new(&gpu, program)),
            },
            Kernel::Reduce(reduce) => Box::new(Reducer::new(&gpu, reduce)),
            Kernel::Product(product) => Box::new(Multiply::new(&gpu, product)),
            Kernel::Concat(concat) => Box::new(Joiner::new(&gpu, concat)),
            Kernel::Update(update) => Box::new(Overwrite::new(&gpu, update)),
            Kernel::Take(rows) => Box::new(Gatherer::new(&gpu, rows)),
            Kernel::ScatterAdd(rows) => Box::new(Adder::new(&gpu, rows)),
            Kernel::Fill(fill) => Box::new(Filler::new(&gpu, fill)),
            Kernel::Routine(call) => family::kernel(&call.routine).expect("the device runs it").launcher(&gpu, call),
            Kernel::Transfer(_) => unreachable!("transfers are copies, not kernels"),
        };
        LaunchableKernel { gpu, run }
    }

    /// Enqueues the kernel on the compute stream. Blocks only until the kernel is compiled.
    ///
    /// # Safety
    /// Every address must be valid for the elements of the kernel's layouts, outputs must overlap nothing but donated
    /// inputs, and nobody else may access them until the stream has completed this launch.
    pub unsafe fn enqueue(&self, io: DeviceIo<'_>) -> Result<()> {
        self.gpu.enter()?;
        // SAFETY: the caller guarantees the addresses, and the context was made current.
        unsafe { self.run.run(&self.gpu, io) }
    }

    /// Like [`LaunchableKernel::enqueue`], for the last launch before a mark. Returns whether the kernel writes the
    /// mark itself.
    ///
    /// # Safety
    /// As for [`LaunchableKernel::enqueue`]; the device's context must be current on this thread.
    pub(crate) unsafe fn enqueue_marked(&self, io: DeviceIo<'_>, mark: MarkWord) -> Result<bool> {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.run.run_marked(&self.gpu, io, mark) }
    }

    /// Whether its kernel is compiled; until then a launch waits for it.
    pub fn is_ready(&self) -> bool {
        self.run.is_ready()
    }
}
