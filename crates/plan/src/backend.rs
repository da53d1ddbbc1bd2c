//! What a device offers to the plan: it turns a kernel into something that can be run.

use crate::Kernel;
use forerun_base::{Result, Team};
use std::sync::Arc;

/// Compiles kernels for one device. Called on a plan-cache miss only.
pub trait Backend: Send + Sync {
    /// The kernel, ready to run any number of times.
    fn compile(&self, kernel: &Kernel) -> Arc<dyn Executable>;
}

/// The addresses one run works on. Views are already resolved: an input's address is that of its first
/// element. An output may have the address of an input of the same size when that input is donated.
#[derive(Clone, Copy)]
pub struct Io<'a> {
    /// First element of each input, in the kernel's order.
    pub inputs: &'a [*const u8],
    /// First element of each output, in the kernel's order.
    pub outputs: &'a [*mut u8],
    /// The scalars, as element bits in the dtype the kernel declares.
    pub scalars: &'a [u64],
}

/// A compiled kernel.
pub trait Executable: Send + Sync {
    /// Looks at the inputs before anything is written, and says whether they are such that it can run. Most kernels
    /// always can.
    ///
    /// # Safety
    /// As for [`Executable::run`]; the outputs are not looked at.
    unsafe fn check(&self, _io: Io<'_>) -> Result<()> {
        Ok(())
    }

    /// Runs it. What [`Executable::check`] refused must not be run.
    ///
    /// # Safety
    /// Every address must reach as many elements as the kernel's layouts say, outputs must be writable
    /// and overlap nothing but donated inputs, and nobody else may touch them meanwhile.
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team);

    /// Runs it, if it can be known only on the way whether it comes to anything. Such a kernel takes over no input's buffer.
    ///
    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn attempt(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        // SAFETY: the caller's promise is this one.
        unsafe { self.run(io, team) };
        Ok(())
    }

    /// Looks at the inputs, and runs it if it can.
    ///
    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn check_and_run(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        // SAFETY: the caller's promise is this one.
        unsafe {
            self.check(io)?;
            self.attempt(io, team)
        }
    }
}
