//! Upper bounds on the scratch memory of kernels, including allocations of libraries. Families of routines declare
//! their own. The bound is reserved while the kernel runs (see [`crate::reserve`]).

use crate::family::kernel;
use crate::pool;
use crate::reserve::{Reserve, SMALL};
use crate::routine::call::most_elements;
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_plan::{Executable, Io, Kernel, Product, RoutineCall};
use std::sync::Arc;

/// The approximate size of the packed operands in a library's product; it depends on the caches.
pub(crate) const PACKED: usize = 4 << 20;
/// The size of the operand panels that are copied to row-major order.
const PANELS: usize = 28 << 20;
/// Fixed overhead: counts, tables, lists of pieces.
const BESIDE: usize = 1 << 20;

/// A kernel that reserves its scratch memory while it runs.
struct Reserved {
    kernel: Arc<dyn Executable>,
    /// Scratch bytes of one thread.
    bytes: usize,
    /// The largest number of bytes that each further thread adds.
    more: usize,
}

impl Reserved {
    fn hold(&self, threads: usize) -> Result<Reserve> {
        let bytes = self.more.saturating_mul(threads - 1).saturating_add(self.bytes);
        let held = Reserve::hold(bytes).or_else(|| {
            pool::trim_all();
            Reserve::hold(bytes)
        });
        held.ok_or_else(|| Error::new(ErrorKind::Memory, format!("cannot allocate {bytes} bytes of scratch memory")))
    }
}

impl Executable for Reserved {
    unsafe fn check(&self, io: Io<'_>) -> Result<()> {
        let _held = self.hold(1)?;
        // SAFETY: the caller upholds the same contract.
        unsafe { self.kernel.check(io) }
    }

    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let _held = self.hold(team.width());
        // SAFETY: the caller upholds the same contract.
        unsafe { self.kernel.run(io, team) }
    }

    unsafe fn attempt(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        let _held = self.hold(team.width())?;
        // SAFETY: the caller upholds the same contract.
        unsafe { self.kernel.attempt(io, team) }
    }
}

/// Wraps the kernel so that its scratch memory is reserved while it runs, unless it is small.
pub(crate) fn reserved(kernel: Arc<dyn Executable>, of: &Kernel) -> Arc<dyn Executable> {
    let needs = |threads: usize| match of {
        Kernel::Product(product) => of_product(product, threads),
        Kernel::Routine(call) => of_routine(call, threads),
        _ => 0,
    };
    // The second thread adds the most; no further one adds more.
    let (bytes, both) = (needs(1), needs(2));
    if both < SMALL { kernel } else { Arc::new(Reserved { kernel, bytes, more: both - bytes }) }
}

fn of_product(product: &Product, threads: usize) -> usize {
    let Product { m, n, k, .. } = *product;
    let operands = (m.saturating_add(n)).saturating_mul(k).saturating_mul(product.dtype.size().max(4));
    // Small operands are not packed, or packed at once.
    operands.saturating_mul(3).min(threads * (PACKED + PANELS))
}

fn of_routine(call: &RoutineCall, threads: usize) -> usize {
    let out = call.out.1.size();
    if out == 0 {
        return 0;
    }
    let bytes = kernel(&call.routine).scratch(call, threads);
    if most_elements(call).max(out) < 1024 { bytes } else { bytes.saturating_add(BESIDE) }
}
