//! Linear algebra by elimination: determinants, inverses, solutions, Cholesky factors.

use crate::gpu::Raised;
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, are_real};
use crate::text::{computed, define, routine_text};
use forerun_base::{DType, Error, ErrorKind, Result, Shape};
use forerun_ops::linalg::{Inversion, Stack, Triangle, Triangular};
use forerun_ops::{Encoded, Given, Linalg, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/linalg.cuh");
/// Matrices of up to this many rows are handled by one block.
const SMALL: usize = 96;

impl DeviceKernel for Linalg {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let (dtype, shape) = call.inputs[0];
        let stack = Stack::of(&shape);
        let text = |part: usize| {
            let cholesky = define("CHOLESKY", (*self == Linalg::Cholesky) as usize);
            routine_text(&[computed(dtype), cholesky, define("PART", part)].concat(), &[TEXT])
        };
        if *self == Linalg::SolveTriangular {
            return Plan { texts: vec![text(6)], scratch: 0, steps: solve_triangular };
        }
        let mut parts = if stack.rows <= SMALL { vec![0] } else { vec![1, 2] };
        parts.extend(match self {
            Linalg::Det | Linalg::Slogdet => &[5][..],
            Linalg::Solve => &[4],
            _ => &[4, 3],
        });
        let room = Room::new(0, &stack, dtype.size());
        Plan { texts: parts.into_iter().map(text).collect(), scratch: room.end as usize, steps: eliminate }
    }

    fn runs(&self, given: &[Given]) -> bool {
        let by_elimination = match self {
            Linalg::Cholesky | Linalg::Det | Linalg::Slogdet | Linalg::Inv => true,
            Linalg::Solve | Linalg::SolveTriangular => true,
            Linalg::Qr | Linalg::Svd | Linalg::Svdvals | Linalg::Eigh | Linalg::Eigvalsh => false,
            Linalg::Eig | Linalg::Eigvals => false,
        };
        by_elimination && are_real(given)
    }

    fn complaint(&self, call: &RoutineCall, raised: Raised) -> Error {
        let failure = if raised.index == 0 { "is singular" } else { "is not positive definite" };
        let text = format!("{} {failure}", matrix(&call.inputs[0].1, raised.place as usize));
        Error::new(ErrorKind::Linear, text)
    }

    fn checked_calls(&self, routine: Routine) -> Vec<CheckedCall> {
        let inputs = routine.row().inputs.len();
        // All attributes are flags.
        let flags: Encoded = routine.attributes().iter().map(|_| 0).collect();
        let call = |dtype: DType, n: usize| (vec![(dtype, Shape::of(&[n, n])); inputs], flags.clone());
        [DType::F32, DType::F64].into_iter().flat_map(|dtype| [call(dtype, 8), call(dtype, 100)]).collect()
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("complex numbers")
    }
}

/// The name of matrix `i` of a stack in messages.
fn matrix(shape: &Shape, i: usize) -> String {
    let lead = &shape[..shape.rank() - 2];
    let mut rest = i;
    let mut place: Vec<String> = Vec::new();
    for extent in lead.iter().rev() {
        place.insert(0, (rest % extent).to_string());
        rest /= extent;
    }
    if place.is_empty() { "the matrix".to_owned() } else { format!("matrix [{}]", place.join(", ")) }
}

/// The working copy of the matrices, and the notes about each.
struct Room {
    matrices: u64,
    failed: u64,
    odd: u64,
    end: u64,
}

impl Room {
    fn new(matrices: u64, stack: &Stack, size: usize) -> Room {
        let bytes = |n: usize| n.next_multiple_of(256) as u64;
        let failed = matrices + bytes(stack.count * stack.rows * stack.columns * size);
        let odd = failed + bytes(stack.count);
        Room { matrices, failed, odd, end: odd + bytes(stack.count) }
    }
}

fn eliminate(job: &Job<'_>) -> Result<()> {
    let Routine::Linalg(routine) = job.call.routine else { unreachable!("linear algebra") };
    let ((dtype, shape), io) = (job.call.inputs[0], &job.io);
    let stack = Stack::of(&shape);
    if stack.count == 0 {
        return Ok(());
    }
    let room = Room::new(job.scratch, &stack, dtype.size());
    let (n, bytes) = (stack.rows, shape.size() * dtype.size());
    let beside = match routine {
        Linalg::Inv => n,
        Linalg::Solve => Stack::of(&job.call.inputs[1].1).columns,
        _ => 0,
    };
    let out = io.outputs[0];
    let flag = match routine {
        Linalg::Cholesky => job.attributes::<Triangle>().upper,
        Linalg::Inv => job.attributes::<Inversion>().lenient,
        _ => false,
    } as u64;
    // Cholesky reads a triangle; the others eliminate all rows if there is a right-hand side.
    let (target, way) = match routine {
        Linalg::Cholesky => (io.inputs[0], flag),
        _ => (out, (beside > 0) as u64),
    };
    let words = |step: u64| {
        let sizes = [stack.count, n, beside].map(|n| n as u64);
        [&sizes[..], &[room.matrices, target, step, io.status, room.failed, room.odd, way, out]].concat()
    };
    job.clear(room.failed, (room.end - room.failed) as usize)?;
    if routine != Linalg::Cholesky && bytes > 0 {
        // SAFETY: the scratch memory has room for the matrices, which are dense.
        unsafe { job.gpu.copy_within(io.inputs[0], room.matrices, bytes)? };
    }
    let steps = if n <= SMALL { 1 } else { 2 };
    match routine {
        Linalg::Cholesky | Linalg::Inv => job.each(steps + 1, stack.count * n * n, &words(0))?,
        Linalg::Solve if beside > 0 && n > 0 => {
            // SAFETY: as above, for the output and the second input, which have equal sizes.
            unsafe { job.gpu.copy_within(io.inputs[1], out, stack.count * n * beside * dtype.size())? };
        }
        _ => {}
    }
    if n <= SMALL {
        job.blocks(0, stack.count.min(1 << 20), 256, &words(0))?;
    } else {
        for k in 0..n {
            job.blocks(0, stack.count.min(1 << 20), 1024, &words(k as u64))?;
            let rows = if way != 0 && routine != Linalg::Cholesky { n - 1 } else { n - k - 1 };
            let columns = n - k - 1 + beside;
            job.each(1, stack.count * rows * columns, &words(k as u64))?;
        }
    }
    match routine {
        Linalg::Det => job.each(steps, stack.count, &words(0)),
        Linalg::Slogdet => job.each(steps, stack.count, &words(1)),
        Linalg::Inv => job.each(steps, stack.count * n.max(1) * n.max(1), &words(flag)),
        _ => job.each(steps, stack.count * n.max(1) * n.max(1), &words(0)),
    }
}

fn solve_triangular(job: &Job<'_>) -> Result<()> {
    let ((dtype, shape), right, io) = (job.call.inputs[0], job.call.inputs[1].1, &job.io);
    let (stack, columns) = (Stack::of(&shape), Stack::of(&right).columns);
    if right.size() == 0 {
        return Ok(());
    }
    // SAFETY: right-hand side and output are dense and of equal size, which the caller guarantees.
    unsafe { job.gpu.copy_within(io.inputs[1], io.outputs[0], right.size() * dtype.size())? };
    let Triangular { lower, transposed, unit } = job.attributes();
    let flags = lower as u64 | (transposed as u64) << 1 | (unit as u64) << 2;
    let [count, n, m] = [stack.count, stack.rows, columns].map(|n| n as u64);
    let words = [count, n, m, io.inputs[0], io.outputs[0], 0, io.status, 0, 0, flags];
    job.blocks(0, (stack.count * columns.div_ceil(32)).min(1 << 20), 256, &words)
}
