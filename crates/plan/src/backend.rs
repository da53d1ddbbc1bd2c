//! The interface of a device to the plan: it compiles kernels into something that can run.

use crate::Kernel;
use forerun_base::{Result, Team};
use std::sync::Arc;

/// Compiles kernels for one device. Called only on a plan-cache miss.
pub trait Backend: Send + Sync {
    /// Compiles a kernel, which can then run any number of times.
    fn compile(&self, kernel: &Kernel) -> Arc<dyn Executable>;
}

/// The addresses of one run. Views are already resolved: an input's address is that of its first element. An output may
/// have the address of an input of the same size if that input is donated.
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
    /// Checks the inputs before anything is written, and fails if the kernel cannot run on them. Most kernels always
    /// can.
    ///
    /// # Safety
    /// As for [`Executable::run`]; the outputs are not accessed.
    unsafe fn check(&self, _io: Io<'_>) -> Result<()> {
        Ok(())
    }

    /// Runs the kernel. It must not run on inputs that [`Executable::check`] rejected.
    ///
    /// # Safety
    /// Every address must be valid for as many elements as the kernel's layouts state. Outputs must be writable and
    /// overlap nothing but donated inputs, and no other thread may access them meanwhile.
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team);

    /// Runs a kernel that may fail while it runs. Such a kernel reuses no input's buffer.
    ///
    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn attempt(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of `run`.
        unsafe { self.run(io, team) };
        Ok(())
    }

    /// Checks the inputs, and runs the kernel if they pass.
    ///
    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn check_and_run(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of `check` and `run`.
        unsafe {
            self.check(io)?;
            self.attempt(io, team)
        }
    }
}
