//! Linear algebra on stacks of matrices. Pieces of the stack run in parallel; each matrix uses one thread.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel, most_elements, total_elements};
use crate::scratch_bound::PACKED;
use forerun_base::{DType, Error, ErrorKind, Result, Shape, Team};
use forerun_linear::{Complex, Failure, Field, Half, Parts, Triangle};
use forerun_ops::linalg::{self as ops, Completeness, Inversion, Stack, Triangular};
use forerun_ops::{Given, Linalg};
use forerun_plan::{Io, RoutineCall};
use std::sync::Mutex;

/// The minimum number of multiplications per piece.
const PIECE: usize = 1 << 15;

macro_rules! floats {
    ($f:ident) => {
        |args, team| match args.dtype(0) {
            DType::F32 => $f::<f32>(args, team),
            DType::F64 => $f::<f64>(args, team),
            DType::C64 => widened(args, team, $f::<Complex<f64>>),
            DType::C128 => $f::<Complex<f64>>(args, team),
            dtype => unreachable!("inference rejects {dtype}"),
        }
    };
}

/// Computes single precision in double precision and rounds once. Another instantiation of all factorisations would be
/// as large as the rest of the engine.
fn widened(args: &Args<'_>, team: &dyn Team, body: Body) -> Result<()> {
    let wide = |(dtype, shape): Given| (if dtype == DType::C64 { DType::C128 } else { DType::F64 }, shape);
    let call = RoutineCall {
        inputs: args.call.inputs.iter().map(|given| wide(*given)).collect(),
        out: wide(args.call.out),
        ..args.call.clone()
    };
    let widen = |x: &Complex<f32>| Complex { re: x.re as f64, im: x.im as f64 };
    let inputs: Vec<Vec<Complex<f64>>> =
        (0..call.inputs.len()).map(|i| args.input::<Complex<f32>>(i).iter().map(widen).collect()).collect();
    let addresses: Vec<*const u8> = inputs.iter().map(|x| x.as_ptr().cast()).collect();
    // A real number takes half of the floats of a complex one.
    let mut out = vec![Complex::<f64>::default(); call.out.1.size()];
    let io = Io { inputs: &addresses, outputs: &[out.as_mut_ptr().cast()], scalars: args.io.scalars };
    body(&Args { call: &call, isa: args.isa, io }, team)?;
    if args.call.out.0 == DType::C64 {
        let narrow = |x: &Complex<f64>| Complex { re: x.re as f32, im: x.im as f32 };
        args.output::<Complex<f32>>().iter_mut().zip(&out).for_each(|(to, x)| *to = narrow(x));
    } else {
        let parts = out.iter().flat_map(|x| [x.re, x.im]);
        args.output::<f32>().iter_mut().zip(parts).for_each(|(to, x)| *to = x as f32);
    }
    Ok(())
}

impl HostKernel for Linalg {
    fn body(&self) -> Body {
        match self {
            Linalg::Cholesky => floats!(cholesky),
            Linalg::Det => floats!(det),
            Linalg::Slogdet => floats!(slogdet),
            Linalg::Inv => floats!(inv),
            Linalg::Solve => floats!(solve),
            Linalg::SolveTriangular => floats!(solve_triangular),
            Linalg::Qr => floats!(qr),
            Linalg::Svd => floats!(svd),
            Linalg::Svdvals => floats!(svdvals),
            Linalg::Eigh => floats!(eigh),
            Linalg::Eigvalsh => floats!(eigvalsh),
            Linalg::Eig => floats!(eig),
            Linalg::Eigvals => floats!(eigvals),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let (dtype, shape) = call.inputs[0];
        let (stack, times) = (Stack::of(&shape), usize::saturating_mul);
        let (side, size) = (stack.rows.max(stack.columns), 2 * dtype.size().max(8));
        let matrices = (most_elements(call) / (stack.rows * stack.columns).max(1)).min(threads);
        let widened = match dtype {
            DType::C64 => times(32, total_elements(call).saturating_add(call.out.1.size())),
            _ => 0,
        };
        times(times(8, times(side, side)), size).saturating_add(PACKED).saturating_mul(matrices).saturating_add(widened)
    }
}

/// The packed output: each part holds one slice per matrix.
struct Output<T> {
    start: Shared<*mut T>,
    size: usize,
}

impl<T: Element> Output<T> {
    fn of(args: &Args<'_>) -> Output<T> {
        let all = args.output::<T>();
        Output { start: Shared(all.as_mut_ptr()), size: all.len() }
    }

    /// Slice `i`, of `count` elements, of the part that starts at `start`.
    ///
    /// # Safety
    ///
    /// Nobody else may hold a slice that overlaps it.
    #[expect(clippy::mut_from_ref, reason = "slices of different matrices and parts are apart")]
    unsafe fn slice(&self, part: usize, i: usize, count: usize) -> &mut [T] {
        let first = part + i * count;
        assert!(first + count <= self.size, "the slice is within the result");
        // SAFETY: the bound was checked above; the caller guarantees that nobody else holds these elements.
        unsafe { std::slice::from_raw_parts_mut(self.start.get().add(first), count) }
    }
}

/// Calls `f` with the index of every matrix. If several fail, the error names the first one, however the stack was
/// split.
fn each(
    args: &Args<'_>,
    team: &dyn Team,
    f: &(dyn Fn(usize) -> std::result::Result<(), Failure> + Sync),
) -> Result<()> {
    let shape = args.call.inputs[0].1;
    let stack = Stack::of(&shape);
    let one = (stack.rows * stack.columns * stack.least()).max(1);
    let per_piece = (PIECE / one).max(1);
    let failed: Mutex<Option<(usize, Failure)>> = Mutex::new(None);
    team.split(stack.count.div_ceil(per_piece), &|piece| {
        for i in piece * per_piece..stack.count.min((piece + 1) * per_piece) {
            if let Err(failure) = f(i) {
                let mut first = failed.lock().unwrap_or_else(|e| e.into_inner());
                if first.is_none_or(|(at, _)| i < at) {
                    *first = Some((i, failure));
                }
                return;
            }
        }
    });
    match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
        None => Ok(()),
        Some((i, failure)) => Err(Error::new(ErrorKind::Linear, format!("{} {failure}", named(&shape, i)))),
    }
}

/// The name of matrix `i` of a stack in messages.
fn named(shape: &Shape, i: usize) -> String {
    let lead = &shape[..shape.rank() - 2];
    if lead.is_empty() {
        return "the matrix".to_owned();
    }
    let mut rest = i;
    let mut place: Vec<String> = lead
        .iter()
        .rev()
        .map(|extent| {
            let at = rest % extent;
            rest /= extent;
            at.to_string()
        })
        .collect();
    place.reverse();
    format!("matrix [{}]", place.join(", "))
}

fn half(args: &Args<'_>) -> Half {
    if args.attributes::<ops::Triangle>().upper { Half::Upper } else { Half::Lower }
}

/// An input as slices of one matrix each.
fn matrices<'a, T: Element>(args: &'a Args<'_>, i: usize) -> impl Fn(usize) -> &'a [T] + Sync {
    let (all, stack) = (args.input::<T>(i), Stack::of(&args.call.inputs[i].1));
    let size = stack.rows * stack.columns;
    move |at| &all[at * size..(at + 1) * size]
}

fn rows(args: &Args<'_>) -> usize {
    Stack::of(&args.call.inputs[0].1).rows
}

fn cholesky<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, n, out, upper) =
        (matrices::<T>(args, 0), rows(args), Output::<T>::of(args), args.attributes::<ops::Triangle>().upper);
    // SAFETY: each matrix has its own slice.
    each(args, team, &|i| T::cholesky(a(i), n, upper, unsafe { out.slice(0, i, n * n) }))
}

fn det<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, n, out) = (matrices::<T>(args, 0), rows(args), Output::<T>::of(args));
    each(args, team, &|i| {
        // SAFETY: each matrix has its own slice.
        let place = unsafe { out.slice(0, i, 1) };
        place[0] = T::det(a(i), n);
        Ok(())
    })
}

fn slogdet<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, n, out) = (matrices::<T>(args, 0), rows(args), Output::<T>::of(args));
    let count = out.size / 2;
    each(args, team, &|i| {
        let (sign, log) = T::slogdet(a(i), n);
        // SAFETY: as above, for each part.
        unsafe {
            out.slice(0, i, 1)[0] = sign;
            out.slice(count, i, 1)[0] = log;
        }
        Ok(())
    })
}

fn inv<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, n, out, lenient) =
        (matrices::<T>(args, 0), rows(args), Output::<T>::of(args), args.attributes::<Inversion>().lenient);
    each(args, team, &|i| {
        // SAFETY: each matrix has its own slice.
        let out = unsafe { out.slice(0, i, n * n) };
        match T::inverse(a(i), n, out) {
            Err(Failure::Singular) if lenient => {
                out.fill(T::NAN);
                Ok(())
            }
            done => done,
        }
    })
}

fn solve<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, b, n, out) = (matrices::<T>(args, 0), matrices::<T>(args, 1), rows(args), Output::<T>::of(args));
    let columns = Stack::of(&args.call.inputs[1].1).columns;
    // SAFETY: each matrix has its own slice.
    each(args, team, &|i| T::solve(a(i), n, b(i), columns, unsafe { out.slice(0, i, n * columns) }))
}

fn solve_triangular<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, b, n, out) = (matrices::<T>(args, 0), matrices::<T>(args, 1), rows(args), Output::<T>::of(args));
    let columns = Stack::of(&args.call.inputs[1].1).columns;
    let Triangular { lower, transposed, unit } = args.attributes();
    let triangle = Triangle { lower, transposed, unit };
    each(args, team, &|i| {
        // SAFETY: each matrix has its own slice.
        T::solve_triangular(a(i), n, triangle, b(i), columns, unsafe { out.slice(0, i, n * columns) })
    })
}

fn qr<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, out, complete) =
        (matrices::<T>(args, 0), Output::<T>::of(args), args.attributes::<Completeness>().complete);
    let stack = Stack::of(&args.call.inputs[0].1);
    let (m, n, k) = (stack.rows, stack.columns, stack.kept(complete));
    let parts = if complete { Parts::Complete } else { Parts::Reduced };
    each(args, team, &|i| {
        // SAFETY: as above, for each part.
        let (q, r) = unsafe { (out.slice(0, i, m * k), out.slice(stack.count * m * k, i, k * n)) };
        T::qr(a(i), m, n, parts, q, r);
        Ok(())
    })
}

fn svd<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, out, complete) =
        (matrices::<T>(args, 0), Output::<T>::of(args), args.attributes::<Completeness>().complete);
    let stack = Stack::of(&args.call.inputs[0].1);
    let (u, s, vh) = (stack.rows * stack.kept(complete), stack.least(), stack.kept_right(complete) * stack.columns);
    let (values, right) = (stack.count * u, stack.count * (u + s));
    each(args, team, &|i| {
        // SAFETY: as above, for each part.
        let (u, s, vh) = unsafe { (out.slice(0, i, u), out.slice(values, i, s), out.slice(right, i, vh)) };
        T::svd(a(i), (stack.rows, stack.columns), complete, u, s, vh)
    })
}

fn svdvals<T: Field<Part: Element> + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, out) = (matrices::<T>(args, 0), Output::<T::Part>::of(args));
    let stack = Stack::of(&args.call.inputs[0].1);
    each(args, team, &|i| {
        // SAFETY: each matrix has its own slice.
        T::singular_values(a(i), stack.rows, stack.columns, unsafe { out.slice(0, i, stack.least()) })
    })
}

fn eigh<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, n, out, half) = (matrices::<T>(args, 0), rows(args), Output::<T>::of(args), half(args));
    let count = Stack::of(&args.call.inputs[0].1).count;
    each(args, team, &|i| {
        // SAFETY: as above, for each part.
        let (values, vectors) = unsafe { (out.slice(0, i, n), out.slice(count * n, i, n * n)) };
        T::eigh(a(i), n, half, values, vectors)
    })
}

fn eigvalsh<T: Field<Part: Element> + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (a, n, out, half) = (matrices::<T>(args, 0), rows(args), Output::<T::Part>::of(args), half(args));
    // SAFETY: each matrix has its own slice.
    each(args, team, &|i| T::eigvalsh(a(i), n, half, unsafe { out.slice(0, i, n) }))
}

fn eig<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()>
where
    Complex<T::Part>: Element,
{
    let (a, n, out) = (matrices::<T>(args, 0), rows(args), Output::<Complex<T::Part>>::of(args));
    let count = Stack::of(&args.call.inputs[0].1).count;
    each(args, team, &|i| {
        // SAFETY: as above, for each part.
        let (values, vectors) = unsafe { (out.slice(0, i, n), out.slice(count * n, i, n * n)) };
        T::eig(a(i), n, values, Some(vectors))
    })
}

fn eigvals<T: Field + Element>(args: &Args<'_>, team: &dyn Team) -> Result<()>
where
    Complex<T::Part>: Element,
{
    let (a, n, out) = (matrices::<T>(args, 0), rows(args), Output::<Complex<T::Part>>::of(args));
    // SAFETY: each matrix has its own slice.
    each(args, team, &|i| T::eig(a(i), n, unsafe { out.slice(0, i, n) }, None))
}
