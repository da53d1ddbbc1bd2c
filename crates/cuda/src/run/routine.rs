//! Launches of routines: compiled units, scratch memory, argument words. The kernels are in [`crate::family`], one file
//! per family; the host runs routines of families without a file.

use super::kernel::Run;
use crate::compile::Unit;
use crate::family::kernel;
use crate::gpu::{DeviceIo, Gpu, Raised};
use forerun_base::{DType, Error, ErrorKind, Kind, Layout, Result, Shape};
use forerun_ops::samples::{Input, samples};
use forerun_ops::{Attributes, Encoded, Given, Routine};
use forerun_plan::RoutineCall;
use std::sync::Arc;

/// A call whose sources are compiled by the check of all sources: dtypes and shapes of the inputs, and attributes.
pub(crate) type CheckedCall = (Vec<Given>, Encoded);

/// The device kernels of a family.
pub(crate) trait DeviceKernel {
    /// The kernels, scratch and launches of the routine.
    fn plan(&self, call: &RoutineCall) -> Plan;

    /// Whether the device runs the routine with these inputs, if the libraries are available. By default: all dtypes
    /// except complex.
    fn runs(&self, given: &[Given]) -> bool {
        are_real(given)
    }

    /// Whether the required libraries are available.
    fn is_available(&self, _: &Gpu) -> bool {
        true
    }

    /// Creates the launchable routine.
    fn launcher(&self, gpu: &Gpu, call: &RoutineCall) -> Box<dyn Run> {
        Box::new(Caller::new(gpu, call, self.plan(call)))
    }

    /// The error of a raised status, with the same message as on the host.
    fn complaint(&self, call: &RoutineCall, raised: Raised) -> Error {
        Error::new(ErrorKind::Runtime, format!("{} raised {raised:?}", call.routine.name()))
    }

    /// Calls that together use every source of the routine; by default its samples.
    fn checked_calls(&self, routine: Routine) -> Vec<CheckedCall> {
        sample_calls(routine)
    }

    /// A description of the inputs that it leaves to the host, for the page of fallbacks.
    fn left_to_host(&self) -> Option<&'static str> {
        None
    }
}

/// Defines the lookup of a routine's kernels, for the families in the folder.
macro_rules! kernels {
    ($($family:ident)+) => {
        /// The device kernels of a routine's family, if any.
        pub(crate) fn kernel(routine: &forerun_ops::Routine) -> Option<&dyn crate::run::DeviceKernel> {
            match routine {
                $(forerun_ops::Routine::$family(routine) => Some(routine),)+
                #[allow(unreachable_patterns, reason = "every family may have kernels")]
                _ => None,
            }
        }
    };
}
pub(crate) use kernels;

/// Whether no input is complex.
pub(crate) fn are_real(given: &[Given]) -> bool {
    given.iter().all(|(dtype, _)| dtype.kind() != Kind::Complex)
}

/// Whether a routine with these inputs runs on the device, if the libraries are available.
pub fn runs(routine: Routine, given: &[Given]) -> bool {
    kernel(&routine).is_some_and(|kernel| kernel.runs(given))
}

/// A description of the inputs that a routine with device kernels leaves to the host.
pub fn left_to_host(routine: Routine) -> Option<&'static str> {
    kernel(&routine)?.left_to_host()
}

/// A checked call.
pub(crate) fn checked(given: &[(DType, &[usize])], attributes: impl Attributes) -> CheckedCall {
    (given.iter().map(|(dtype, dims)| (*dtype, Shape::of(dims))).collect(), attributes.encode())
}

/// The samples of a routine that the device runs.
pub(crate) fn sample_calls(routine: Routine) -> Vec<CheckedCall> {
    let mut all = Vec::new();
    for sample in samples().iter().filter(|sample| sample.op == routine.name() && sample.error.is_none()) {
        let Ok(encoded) = routine.encode(&sample.args) else { continue };
        for dtype in &sample.dtypes {
            let input = |input: &Input| (input.dtype.unwrap_or(*dtype), Shape::of(&input.shape));
            let given: Vec<Given> = sample.inputs.iter().map(input).collect();
            if routine.infer(&given, &encoded).is_ok() && runs(routine, &given) {
                all.push((given, encoded.clone()));
            }
        }
    }
    all
}

/// How a routine runs on the device.
pub(crate) struct Plan {
    /// The sources of its kernels.
    pub(crate) texts: Vec<String>,
    /// Scratch bytes.
    pub(crate) scratch: usize,
    /// Launches the kernels.
    pub(crate) steps: fn(&Job<'_>) -> Result<()>,
}

/// A launchable routine.
struct Caller {
    call: RoutineCall,
    units: Vec<Arc<Unit>>,
    scratch: usize,
    steps: fn(&Job<'_>) -> Result<()>,
}

impl Caller {
    fn new(gpu: &Gpu, call: &RoutineCall, plan: Plan) -> Caller {
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
pub(crate) struct Job<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) io: DeviceIo<'a>,
    pub(crate) call: &'a RoutineCall,
    units: &'a [Arc<Unit>],
    /// The address of its scratch memory; the contents are unspecified.
    pub(crate) scratch: u64,
}

/// The number of argument words of routine kernels.
const WORDS: usize = 32;

impl Job<'_> {
    /// Launches kernel `n` with one thread per element, or fewer threads that loop.
    pub(crate) fn each(&self, n: usize, count: usize, words: &[u64]) -> Result<()> {
        self.blocks(n, Gpu::grid(count, 256), 256, words)
    }

    /// Launches `grid` blocks of kernel `n`.
    pub(crate) fn blocks(&self, n: usize, grid: usize, threads: usize, words: &[u64]) -> Result<()> {
        let mut all = words.to_vec();
        all.resize(words.len().max(WORDS), 0);
        // SAFETY: the caller of `Run::run` guarantees the addresses in `io`, and the family's words match its sources.
        unsafe { self.gpu.launch_kernel(&self.units[n], grid, threads, &all) }
    }

    /// Copies the first input to the output, unless they are the same.
    pub(crate) fn copy_base(&self) -> Result<()> {
        let ((dtype, shape), from, to) = (&self.call.out, self.io.inputs[0], self.io.outputs[0]);
        let bytes = shape.size() * dtype.size();
        if bytes == 0 || from == to {
            return Ok(());
        }
        // SAFETY: base and output are dense and of equal size, which the caller guarantees.
        unsafe { self.gpu.copy_within(from, to, bytes) }
    }

    /// Zeroes a part of the scratch memory.
    pub(crate) fn clear(&self, first: u64, bytes: usize) -> Result<()> {
        // SAFETY: the memory belongs to this job.
        unsafe { self.gpu.set_bytes(first, 0, bytes) }
    }

    /// The attributes of the routine.
    pub(crate) fn attributes<A: Attributes>(&self) -> A {
        self.call.attributes()
    }

    /// An input's extents before, along and after the axis.
    pub(crate) fn extents(&self, i: usize) -> [usize; 3] {
        self.call.extents(i)
    }
}

/// A layout as argument words: its rank, then an extent and a stride per dimension.
pub(crate) fn walk(layout: &Layout) -> [u64; 17] {
    super::rows::walk(layout)
}
