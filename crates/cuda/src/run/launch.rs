//! A kernel of a plan, ready to be launched on a device.

use super::fill::Filler;
use super::place::{Joiner, Overwrite};
use super::pointwise::{Pointwise, Transposition};
use super::product::Multiply;
use super::reduce::Reducer;
use super::rows::{Adder, Gatherer};
use crate::family;
use crate::gpu::{Gpu, Io};
use crate::lanes::Mark;
use forerun_base::Result;
use forerun_plan::Kernel;
use std::sync::Arc;

/// What one kind of kernel does when it is launched.
pub(crate) trait Run: Send + Sync {
    /// Queues the work on the compute lane.
    ///
    /// # Safety
    /// As for [`Launch::launch`].
    unsafe fn run(&self, gpu: &Gpu, io: Io<'_>) -> Result<()>;

    /// The same of the last launch before a mark. True if its kernel writes the mark itself.
    ///
    /// # Safety
    /// As for [`Launch::launch`].
    unsafe fn run_to(&self, gpu: &Gpu, io: Io<'_>, _mark: Mark) -> Result<bool> {
        // SAFETY: the caller's promise is this one.
        unsafe { self.run(gpu, io) }.map(|()| false)
    }

    /// Whether the kernel made for it is compiled.
    fn is_ready(&self) -> bool;

    /// Whether that or a slower one of its own is.
    fn serves(&self) -> bool {
        self.is_ready()
    }
}

/// A kernel, ready to be launched any number of times.
pub struct Launch {
    gpu: Arc<Gpu>,
    run: Box<dyn Run>,
}

impl Launch {
    pub(crate) fn new(gpu: Arc<Gpu>, kernel: &Kernel) -> Launch {
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
        Launch { gpu, run }
    }

    /// Queues the kernel on the compute lane. Waits at most for a compiler, and only where no other kernel can stand in.
    ///
    /// # Safety
    /// Every address must reach as many elements as the kernel's layouts say, outputs must overlap nothing but donated
    /// inputs, and nobody else may touch them until the lane has passed this launch.
    pub unsafe fn launch(&self, io: Io<'_>) -> Result<()> {
        self.gpu.enter()?;
        // SAFETY: the caller's promise is this one.
        unsafe { self.run.run(&self.gpu, io) }
    }

    /// The same of the last launch before a mark of the lane, by whoever marks it. True if its kernel writes the mark itself.
    ///
    /// # Safety
    /// As for [`Launch::launch`]; the device's context is this thread's.
    pub(crate) unsafe fn launch_to(&self, io: Io<'_>, mark: Mark) -> Result<bool> {
        // SAFETY: the caller's promise is this one.
        unsafe { self.run.run_to(&self.gpu, io, mark) }
    }

    /// Whether the kernel made for it is compiled; until then another stands in.
    pub fn is_ready(&self) -> bool {
        self.run.is_ready()
    }

    /// Whether a kernel of its own is compiled; a faster one may be on its way.
    pub fn serves(&self) -> bool {
        self.run.serves()
    }
}
