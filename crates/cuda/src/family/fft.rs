//! Fourier transforms with cuFFT, which takes contiguous lines; other lines are copied first.

use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::run::{DeviceKernel, Mover, Plan, Run};
use crate::sys::{Fourier, fourier_code as code};
use crate::text::{computed, routine_text};
use forerun_base::{DType, Error, ErrorKind, Layout, Result, Shape};
use forerun_ops::fft::{BackTransform, HalfTransform, Transform, factor};
use forerun_ops::{Fft, Given};
use forerun_plan::Lane;
use forerun_plan::RoutineCall;
use std::sync::{Arc, OnceLock};

impl DeviceKernel for Fft {
    /// The kernel that scales the results of cuFFT.
    fn plan(&self, call: &RoutineCall) -> Plan {
        let texts = vec![scale_text(call.inputs[0].0.to_real())];
        Plan { texts, scratch: 0, steps: |job| unreachable!("cuFFT runs {}", job.call.routine.name()) }
    }

    fn runs(&self, _: &[Given]) -> bool {
        true
    }

    fn is_available(&self, gpu: &Gpu) -> bool {
        gpu.fourier().is_ok()
    }

    fn launcher(&self, gpu: &Gpu, call: &RoutineCall) -> Box<dyn Run> {
        Box::new(Transformer::new(gpu, *self, call))
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("where cuFFT is not found")
    }
}

/// The source of the kernel that scales floats.
fn scale_text(dtype: DType) -> String {
    routine_text(&computed(dtype), &[include_str!("../kernels/scale.cuh")])
}

/// The layout of lines: the number of lines before the axis, the points of a line in and out, and the elements after
/// the axis.
#[derive(Clone, Copy)]
struct Lines {
    outer: usize,
    taken: usize,
    given: usize,
    inner: usize,
}

impl Lines {
    fn of(call: &RoutineCall) -> Lines {
        let (from, to) = (&call.inputs[0].1, &call.out.1);
        let axis = call.axis(0);
        let inner = from[axis + 1..].iter().product();
        Lines { outer: from[..axis].iter().product(), taken: from[axis], given: to[axis], inner }
    }

    fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// The layout of lines with this many points in the array, and contiguously.
    fn layouts(&self, points: usize) -> [Layout; 2] {
        let shape = Shape::of(&[self.outer, self.inner, points]);
        let strides = [(points * self.inner) as isize, 1, self.inner as isize];
        [Layout::strided(shape, &strides), Layout::dense(shape)]
    }
}

/// A cuFFT plan and its workspace size in bytes.
struct Planned {
    library: &'static Fourier,
    plan: i32,
    work: usize,
}

impl Drop for Planned {
    fn drop(&mut self) {
        // SAFETY: nobody uses the plan any more.
        unsafe { (self.library.destroy)(self.plan) };
    }
}

fn check(error: i32, what: &str) -> Result<()> {
    match error {
        0 => Ok(()),
        error => Err(Error::new(ErrorKind::Runtime, format!("{what} failed with {error}"))),
    }
}

/// A transform of lines.
struct Transformer {
    routine: Fft,
    lines: Lines,
    /// Bytes of a point in and out.
    sizes: [usize; 2],
    double: bool,
    back: bool,
    by: f64,
    movers: Option<[Mover; 2]>,
    scale: Arc<Unit>,
    planned: OnceLock<Result<Planned>>,
}

/// The alignment that cuFFT requires.
const ALIGNED: u64 = 16;

impl Transformer {
    fn new(gpu: &Gpu, routine: Fft, call: &RoutineCall) -> Transformer {
        let (lines, dtype) = (Lines::of(call), call.inputs[0].0.to_real());
        let (points, scale, back) = match routine {
            Fft::Complete => {
                let Transform { back, scale, .. } = call.attributes();
                (lines.taken, scale, back)
            }
            Fft::Half => (lines.taken, call.attributes::<HalfTransform>().scale, false),
            Fft::Back => (lines.given, call.attributes::<BackTransform>().scale, true),
        };
        let sizes = [call.inputs[0].0.size(), call.out.0.size()];
        let movers = (lines.inner > 1).then(|| {
            let ([from, near], [to, made]) = (lines.layouts(lines.taken), lines.layouts(lines.given));
            [Mover::new(gpu, sizes[0], &from, &near), Mover::new(gpu, sizes[1], &made, &to)]
        });
        Transformer {
            routine,
            lines,
            sizes,
            double: dtype == DType::F64,
            back,
            by: factor(scale, points),
            movers,
            scale: gpu.compiler.unit(scale_text(dtype)),
            planned: OnceLock::new(),
        }
    }

    fn make(&self, gpu: &Gpu) -> Result<Planned> {
        let library = gpu.fourier()?;
        let which = usize::from(self.double);
        let (kind, points) = match self.routine {
            Fft::Complete => (code::COMPLETE[which], self.lines.taken),
            Fft::Half => (code::HALF[which], self.lines.taken),
            Fft::Back => (code::BACK[which], self.lines.given),
        };
        let (mut plan, none) = (0, std::ptr::null_mut());
        // SAFETY: the pointer is to a local number, the only memory that the call writes.
        check(unsafe { (library.create)(&mut plan) }, "cufftCreate")?;
        let mut planned = Planned { library, plan, work: 0 };
        let (mut extent, batch) = (points as i64, self.lines.count() as i64);
        // SAFETY: one extent, and one number to write; without embeddings, lines are contiguous.
        unsafe {
            check((library.set_auto_allocation)(plan, 0), "cufftSetAutoAllocation")?;
            let work = &raw mut planned.work;
            let made = (library.make_many)(plan, 1, &mut extent, none, 1, 0, none, 1, 0, kind, batch, work);
            check(made, "cufftMakePlanMany64")?;
            check((library.set_stream)(plan, gpu.streams.get(Lane::Compute)), "cufftSetStream")?;
        }
        Ok(planned)
    }
}

impl Run for Transformer {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let lines = self.lines;
        if lines.count() == 0 {
            return Ok(());
        }
        let planned = self.planned.get_or_init(|| self.make(gpu)).as_ref().map_err(Error::clone)?;
        let bytes = [lines.count() * lines.taken * self.sizes[0], lines.count() * lines.given * self.sizes[1]];
        let (from, to, moves) = (io.inputs[0], io.outputs[0], self.movers.is_some());
        // The complex-to-real transform overwrites its input.
        let near = moves || self.routine == Fft::Back || !from.is_multiple_of(ALIGNED);
        let far = moves || !to.is_multiple_of(ALIGNED);
        let mut scratch = 0;
        let mut place = |bytes: usize, wanted: bool| {
            let first = scratch as u64;
            scratch += if wanted { bytes.next_multiple_of(256) } else { 0 };
            wanted.then_some(first)
        };
        let (line, made) = (place(bytes[0], near), place(bytes[1], far));
        // Copied lines are moved point by point, which works with any alignment of a point.
        let before = place(bytes[0], moves && !from.is_multiple_of(ALIGNED));
        let after = place(bytes[1], moves && !to.is_multiple_of(ALIGNED));
        let work = place(planned.work, true).unwrap_or(0);
        let first = gpu.memory.scratch(scratch)?;
        let at = |place: Option<u64>, or: u64| place.map_or(or, |place| first + place);
        let way = Way {
            from,
            before: at(before, from),
            line: at(line, from),
            made: at(made, to),
            after: at(after, to),
            to,
            work: first + work,
        };
        let done = self.transform(gpu, planned, &way, bytes);
        gpu.memory.give_scratch(first, scratch)?;
        done
    }

    fn is_ready(&self) -> bool {
        let moved = self.movers.as_ref().is_none_or(|movers| movers.iter().all(Mover::is_ready));
        self.lines.count() == 0 || self.planned.get().is_some() && self.scale.is_ready() && moved
    }
}

/// The buffers between the steps, and the workspace of cuFFT.
struct Way {
    from: u64,
    before: u64,
    line: u64,
    made: u64,
    after: u64,
    to: u64,
    work: u64,
}

impl Transformer {
    fn transform(&self, gpu: &Gpu, planned: &Planned, way: &Way, bytes: [usize; 2]) -> Result<()> {
        let copy = |from: u64, to: u64, bytes: usize| match from == to {
            true => Ok(()),
            // SAFETY: the buffers are disjoint and hold all lines.
            false => unsafe { gpu.copy_within(from, to, bytes) },
        };
        match &self.movers {
            Some(movers) => {
                copy(way.from, way.before, bytes[0])?;
                // SAFETY: the buffers hold all lines.
                unsafe { movers[0].run(gpu, way.before, way.line)? };
            }
            None => copy(way.from, way.line, bytes[0])?,
        }
        let direction = if self.back { code::INVERSE } else { code::FORWARD };
        // SAFETY: the plan is for lines of these lengths, and the workspace has the size it requested.
        unsafe {
            check((planned.library.set_work)(planned.plan, way.work), "cufftSetWorkArea")?;
            check((planned.library.run)(planned.plan, way.line, way.made, direction), "cufftXtExec")?;
        }
        if self.by != 1.0 {
            let floats = bytes[1] / if self.double { 8 } else { 4 };
            let mut words = [0; 32];
            words[..3].copy_from_slice(&[floats as u64, way.made, self.by.to_bits()]);
            // SAFETY: the transform wrote this many floats there.
            unsafe { gpu.launch_kernel(&self.scale, Gpu::grid(floats, 256), 256, &words)? };
        }
        match &self.movers {
            Some(movers) => {
                // SAFETY: the buffers hold all lines.
                unsafe { movers[1].run(gpu, way.made, way.after)? };
                copy(way.after, way.to, bytes[1])
            }
            None => copy(way.made, way.to, bytes[1]),
        }
    }
}
