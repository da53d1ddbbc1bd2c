//! What a device of its own offers: memory, lanes that do what they are told in order, kernels for them.

use crate::{Io, Kernel};
use forerun_base::Result;
use forerun_ops::{Given, Routine};
use std::sync::Arc;

/// A place where commands are done in order. Every accelerator has these.
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
    /// How many there are.
    pub const COUNT: usize = 3;
    /// All of them.
    pub const ALL: [Lane; Lane::COUNT] = [Lane::Compute, Lane::In, Lane::Out];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Compute => "compute",
            Lane::In => "in",
            Lane::Out => "out",
        }
    }
}

/// Bytes on an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBlock {
    /// The first byte, as the device's kernels see it.
    pub address: *mut u8,
    /// How many there are, at least what was asked for.
    pub bytes: usize,
    /// Commands up to this ticket of the compute lane may still use them for what they held before: other lanes wait for it.
    pub since: u64,
}

// SAFETY: an address is a number; whoever uses it follows the accelerator's rules.
unsafe impl Send for DeviceBlock {}
// SAFETY: as above.
unsafe impl Sync for DeviceBlock {}

/// How kernels were launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// One by one.
    pub alone: u64,
    /// As parts of graphs.
    pub in_graphs: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Of those, as they were before.
    pub unchanged: u64,
}

/// A kernel, ready to be told to the accelerator that compiled it.
pub trait DeviceKernel: Send + Sync {
    /// Tells the compute lane to run it. Returns at once.
    ///
    /// # Safety
    /// As for [`crate::Executable::run`], at the time when the lane comes to it; addresses are the device's.
    unsafe fn launch(&self, io: Io<'_>) -> Result<()>;
}

/// A device of its own. Commands are told to it by one thread at a time; anybody may ask what has passed.
///
/// Every command takes the next ticket of its lane, counted from 1.
pub trait Accelerator: Send + Sync {
    /// What it is, for people.
    fn describe(&self) -> String;

    /// Bytes that values may take.
    fn capacity(&self) -> usize;

    /// At least so many bytes, for commands told from now on; `None` if there are none.
    fn alloc(&self, bytes: usize) -> Option<DeviceBlock>;

    /// Gives bytes back: commands told before may still use them, later ones do not. Called by any thread.
    fn free(&self, block: DeviceBlock);

    /// Bytes kept for the next [`Accelerator::alloc`].
    fn cached(&self) -> usize;

    /// Gives the kept bytes back to the device.
    fn empty_cache(&self);

    /// A kernel made ready. Called on a plan-cache miss only.
    fn compile(&self, kernel: &Kernel) -> Arc<dyn DeviceKernel>;

    /// Whether it has a kernel for a routine over these inputs; else the host runs it, between two transfers.
    fn runs(&self, routine: Routine, given: &[Given]) -> bool;

    /// Copies bytes from the host on the lane [`Lane::In`], or, where that is quicker, [`Lane::Compute`]; says which.
    ///
    /// # Safety
    /// Both addresses reach so many bytes, which nobody changes until the lane has passed the copy.
    unsafe fn copy_in(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane>;

    /// Copies bytes to the host on the lane [`Lane::Out`], or, where that is quicker, [`Lane::Compute`]; says which.
    ///
    /// # Safety
    /// As for [`Accelerator::copy_in`].
    unsafe fn copy_out(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane>;

    /// Which lane a copy of so many bytes will take: commands it has to wait for are told to it before.
    fn copy_lane(&self, direction: Lane, bytes: usize) -> Lane;

    /// What is told to `lane` from now on waits until `other` has passed the ticket.
    fn wait(&self, lane: Lane, other: Lane, ticket: u64);

    /// The ticket of the last command told to the lane.
    fn last_ticket(&self, lane: Lane) -> u64;

    /// The last ticket that the lane has passed. Never waits.
    fn passed(&self, lane: Lane) -> u64;

    /// What went wrong in a command that has passed, if anything did. Asked once.
    fn outcome(&self, lane: Lane, ticket: u64) -> Result<()>;

    /// Waits until a lane has passed its ticket of `tickets` (0 for none), until somebody nudges, or until so many microseconds are
    /// over.
    fn block(&self, tickets: &[u64], at_most: u64);

    /// Ends the wait of whoever blocks now, or of the next who does.
    fn nudge(&self);

    /// Whether products of float32 may keep fewer bits of their factors, where the device is faster that way.
    fn set_fast_products(&self, _on: bool) {}

    /// How kernels were launched so far.
    fn launches(&self) -> Launches {
        Launches::default()
    }

    /// Whether a profiler wants to know which commands belong together.
    fn shows_ranges(&self) -> bool {
        false
    }

    /// Commands told from now on belong to this label, until [`Accelerator::end_range`].
    fn begin_range(&self, _label: &str) {}

    /// The range of this thread ends.
    fn end_range(&self) {}

    /// Somebody waits: whatever was held back goes out, unless more is about to come with which it should go.
    fn flush(&self, _more: bool) {}

    /// The process ends: nothing may be under way in the background any more.
    fn stop(&self) {}

    /// Its number among the devices of CUDA, if other programs of this process can reach its memory that way.
    fn cuda_number(&self) -> Option<usize> {
        None
    }

    /// Blocks the caller until everything is done that anybody told the device so far, other libraries included. Where
    /// nobody else can tell it anything there is nothing to wait for.
    fn settle_all(&self) -> Result<()> {
        Ok(())
    }

    /// The process was forked, and this is the child: its threads and its connection to the device are gone.
    fn lose(&self);
}
