//! The interface of an accelerator: memory, in-order lanes, and kernels for them.

use crate::{Io, Kernel};
use forerun_base::{Error, ErrorKind, Result};
use forerun_ops::user_kernel::KernelSource;
use forerun_ops::{Given, Routine};
use std::sync::Arc;

/// An in-order command queue. Every accelerator has all of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Lane {
    /// Kernels.
    Compute,
    /// Copies from the host.
    In,
    /// Copies to the host.
    Out,
}

impl Lane {
    /// Number of lanes.
    pub const COUNT: usize = 3;
    /// All lanes.
    pub const ALL: [Lane; Lane::COUNT] = [Lane::Compute, Lane::In, Lane::Out];

    /// The lane's name.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Compute => "compute",
            Lane::In => "in",
            Lane::Out => "out",
        }
    }
}

/// A block of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBlock {
    /// Device address of the first byte.
    pub address: *mut u8,
    /// Size in bytes, at least what was requested.
    pub bytes: usize,
    /// Commands up to this ticket of the compute lane may still use the previous contents: other lanes must wait for
    /// it.
    pub since: u64,
}

// SAFETY: an address is only a number; code that uses it follows the accelerator's rules.
unsafe impl Send for DeviceBlock {}
// SAFETY: a shared block is only read, and its address is only a number.
unsafe impl Sync for DeviceBlock {}

/// Counters of kernel launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Single launches.
    pub alone: u64,
    /// Launches as nodes of graphs.
    pub in_graphs: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Graph launches that needed no update of the graph.
    pub unchanged: u64,
}

/// A kernel that can be launched on the accelerator that compiled it.
pub trait Launchable: Send + Sync {
    /// Enqueues the kernel on the compute lane. Returns immediately.
    ///
    /// # Safety
    /// As for [`crate::Executable::run`], at the time when the lane reaches the kernel; addresses are device addresses.
    unsafe fn launch(&self, io: Io<'_>) -> Result<()>;
}

/// An accelerator. One thread at a time enqueues commands; any thread may ask which tickets have passed.
///
/// Every command takes the next ticket of its lane, counted from 1.
pub trait Accelerator: Send + Sync {
    /// A human-readable description.
    fn describe(&self) -> String;

    /// Bytes of memory that values may use.
    fn capacity(&self) -> usize;

    /// Allocates at least `bytes`, for commands enqueued from now on; `None` if there is no memory.
    fn alloc(&self, bytes: usize) -> Option<DeviceBlock>;

    /// Frees a block: commands enqueued before may still use it, later ones do not. Called by any thread.
    fn free(&self, block: DeviceBlock);

    /// Bytes kept for the next [`Accelerator::alloc`].
    fn cached(&self) -> usize;

    /// Releases the cached bytes to the device.
    fn empty_cache(&self);

    /// Compiles a kernel. Called only on a plan-cache miss.
    fn compile(&self, kernel: &Kernel) -> Arc<dyn Launchable>;

    /// Whether it has a kernel for a routine with these inputs; otherwise the host runs it, between two transfers.
    fn runs(&self, routine: Routine, given: &[Given]) -> bool;

    /// Compiles a user's kernel now, so that its launches need not. Fails with the compiler's log, or if the device runs no
    /// CUDA C.
    fn check_user_kernel(&self, _: &KernelSource) -> Result<()> {
        let text = format!("{} cannot run kernels in CUDA C", self.describe());
        Err(Error::new(ErrorKind::Runtime, text))
    }

    /// Copies bytes from the host on [`Lane::In`], or on [`Lane::Compute`] where that is faster; returns the lane.
    ///
    /// # Safety
    /// Both addresses are valid for `bytes` bytes, which do not change until the lane has passed the copy.
    unsafe fn copy_in(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane>;

    /// Copies bytes to the host on [`Lane::Out`], or on [`Lane::Compute`] where that is faster; returns the lane.
    ///
    /// # Safety
    /// As for [`Accelerator::copy_in`].
    unsafe fn copy_out(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane>;

    /// The lane that a copy of this size will use, so that the caller can enqueue the waits it needs first.
    fn copy_lane(&self, direction: Lane, bytes: usize) -> Lane;

    /// Makes later commands of `lane` wait until `other` has passed the ticket.
    fn wait(&self, lane: Lane, other: Lane, ticket: u64);

    /// The ticket of the last command enqueued on the lane.
    fn last_ticket(&self, lane: Lane) -> u64;

    /// The last ticket that the lane has passed. Never blocks.
    fn passed(&self, lane: Lane) -> u64;

    /// The error of a command that has passed, if it failed. Called once per command.
    fn outcome(&self, lane: Lane, ticket: u64) -> Result<()>;

    /// Blocks until a lane has passed its ticket in `tickets` (0 for lanes to ignore), `nudge` is called, or `at_most`
    /// microseconds are over.
    fn block(&self, tickets: &[u64], at_most: u64);

    /// Ends the current call of `block`, or the next one.
    fn nudge(&self);

    /// Sets whether float32 products may round their factors to fewer bits where that is faster.
    fn set_fast_products(&self, _on: bool) {}

    /// Counters of kernel launches.
    fn launches(&self) -> Launches {
        Launches::default()
    }

    /// Whether a profiler wants to know which commands belong together.
    fn shows_ranges(&self) -> bool {
        false
    }

    /// Labels the commands enqueued from now on, until [`Accelerator::end_range`].
    fn begin_range(&self, _label: &str) {}

    /// Ends the range of this thread.
    fn end_range(&self) {}

    /// Submits batched commands, because a thread waits for them. With `more`, they may be kept to batch them with
    /// commands that are about to come.
    fn flush(&self, _more: bool) {}

    /// Stops compiling in the background, because this thread is about to exit the process. Afterwards, until the exit
    /// handlers run, only this thread may still compile; a launch by another thread that needs a new kernel may fail.
    fn stop(&self) {}

    /// Its CUDA device number, if other libraries in this process can access its memory that way.
    fn cuda_number(&self) -> Option<usize> {
        None
    }

    /// Blocks until all work submitted to the device so far is done, including that of other libraries. A device that
    /// no other library can use has nothing to wait for.
    fn settle_all(&self) -> Result<()> {
        Ok(())
    }

    /// Called in a forked child, where its threads and its connection to the device are gone.
    fn lose(&self);
}
