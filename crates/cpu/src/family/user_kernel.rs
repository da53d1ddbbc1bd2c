//! Kernels in CUDA C, which the host cannot run, and the arrays that they packed.

use crate::routine::call::{Args, Body, HostKernel};
use forerun_base::{Error, ErrorKind, Result};
use forerun_ops::UserKernel;
use forerun_ops::user_kernel::KernelOutput;
use forerun_plan::RoutineCall;

impl HostKernel for UserKernel {
    fn body(&self) -> Body {
        match self {
            UserKernel::Launch | UserKernel::LaunchPacked => |args, _| refuse(args),
            UserKernel::Output => |args, _| {
                let from = args.attributes::<KernelOutput>().offset as usize;
                let to = args.output_bytes();
                to.copy_from_slice(&args.input::<u8>(0)[from..from + to.len()]);
                Ok(())
            },
        }
    }

    fn check(&self, args: &Args<'_>) -> Result<()> {
        if *self == UserKernel::Launch { refuse(args) } else { Ok(()) }
    }

    fn scratch(&self, _: &RoutineCall, _: usize) -> usize {
        0
    }
}

fn refuse(_: &Args<'_>) -> Result<()> {
    Err(Error::new(ErrorKind::Runtime, "a kernel in CUDA C needs an NVIDIA GPU"))
}
