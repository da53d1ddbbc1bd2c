//! Kernels that users give as text, and the arrays that they packed.

use crate::compile::{Source, Unit};
use crate::gpu::{DeviceIo, Gpu};
use crate::run::{DeviceKernel, Plan, Run};
use forerun_base::Result;
use forerun_ops::user_kernel::{KernelArgument, KernelLaunch, KernelOutput, packed_offsets, source};
use forerun_ops::{Given, UserKernel};
use forerun_plan::RoutineCall;
use std::sync::Arc;

impl DeviceKernel for UserKernel {
    fn plan(&self, _: &RoutineCall) -> Plan {
        // The sources are the user's: none is checked ahead, and launches have their own launcher.
        Plan { texts: Vec::new(), scratch: 0, steps: |_| Ok(()) }
    }

    fn runs(&self, _: &[Given]) -> bool {
        true
    }

    fn launcher(&self, gpu: &Gpu, call: &RoutineCall) -> Box<dyn Run> {
        let bytes = |(dtype, shape): &Given| shape.size() * dtype.size();
        if *self == UserKernel::Output {
            let offset = call.attributes::<KernelOutput>().offset as u64;
            return Box::new(TakeOutput { offset, bytes: bytes(&call.out) });
        }
        let launch: KernelLaunch = call.attributes();
        let written = &call.inputs[..launch.written as usize];
        let places = packed_offsets(written).0.into_iter().zip(written.iter().map(bytes)).collect();
        let source = source(launch.kernel).expect("inference found the kernel");
        let unit = gpu.compiler.unit(Source::of_user(source));
        Box::new(Launcher { unit, launch, places })
    }
}

/// Launches of one kernel with one configuration.
struct Launcher {
    unit: Arc<Unit>,
    launch: KernelLaunch,
    /// Offset and size of each written array in the result.
    places: Vec<(usize, usize)>,
}

/// The dimensions of a grid or block, which inference checked.
fn sizes(list: &[i64]) -> [u32; 3] {
    std::array::from_fn(|axis| list[axis] as u32)
}

impl Run for Launcher {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let place = |n: usize| self.places.get(n).map(|(offset, _)| io.outputs[0] + *offset as u64);
        for (n, (_, bytes)) in self.places.iter().enumerate() {
            let (from, to) = (io.inputs[n], place(n).expect("it is a written array"));
            if *bytes > 0 && from != to {
                // SAFETY: the caller guarantees both arrays, which are of this size.
                unsafe { gpu.copy_within(from, to, *bytes)? };
            }
        }
        let word = |argument| match argument {
            KernelArgument::Input(n) => place(n).unwrap_or_else(|| io.inputs[n]),
            KernelArgument::Scalar(bits) => bits,
        };
        let words: Vec<u64> = self.launch.arguments().map(word).collect();
        let (grid, block) = (sizes(&self.launch.grid), sizes(&self.launch.block));
        // SAFETY: the caller guarantees the addresses. The compiler has compared the parameters with the function's.
        unsafe { gpu.launch_user_kernel(&self.unit, grid, block, self.launch.shared as u32, &words) }
    }

    fn is_ready(&self) -> bool {
        self.unit.is_ready()
    }
}

/// Copies one array out of the packed ones.
struct TakeOutput {
    offset: u64,
    bytes: usize,
}

impl Run for TakeOutput {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: inference checked the range, and the caller guarantees the addresses.
        unsafe { gpu.copy_within(io.inputs[0] + self.offset, io.outputs[0], self.bytes) }
    }

    fn is_ready(&self) -> bool {
        true
    }
}
