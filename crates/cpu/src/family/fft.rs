//! Fourier transforms, line by line. Each line is copied to a contiguous buffer first.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel, most_elements};
use forerun_base::{DType, Result, Team};
use forerun_linear::{Complex, Line, Scratch};
use forerun_ops::Fft;
use forerun_ops::fft::{BackTransform, HalfTransform, Transform, factor};
use forerun_plan::RoutineCall;

/// The minimum number of elements per piece.
const PIECE: usize = 1 << 14;

macro_rules! floats {
    ($f:ident) => {
        |args, team| match args.dtype(0) {
            DType::F32 | DType::C64 => $f::<f32>(args, team, |x| x as f32),
            DType::F64 | DType::C128 => $f::<f64>(args, team, |x| x),
            dtype => unreachable!("inference rejects {dtype}"),
        }
    };
}

impl HostKernel for Fft {
    fn body(&self) -> Body {
        match self {
            Fft::Complete => floats!(complete),
            Fft::Half => floats!(half),
            Fft::Back => floats!(back),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let (dtype, _) = call.inputs[0];
        let ([_, taken, _], given) = (call.extents(0), call.out.1[call.axis(0)]);
        let length = taken.max(given);
        let lines = (most_elements(call).max(call.out.1.size()) / length.max(1)).min(threads);
        let size = 2 * dtype.carrier().size().min(8);
        // A length with a large prime factor uses a transform of up to four times as many points.
        let points = if is_smooth(length) { 8 + 6 * lines } else { 24 + 12 * lines };
        length.saturating_mul(size.saturating_mul(points))
    }
}

/// Whether a length has only small prime factors.
fn is_smooth(mut length: usize) -> bool {
    for factor in [2, 3, 5, 7, 11, 13] {
        while length > 1 && length.is_multiple_of(factor) {
            length /= factor;
        }
    }
    length <= 1
}

/// The function for one line: a copy of the input, the output line, and the scratch.
type OnLine<'a, A, B, R> = dyn Fn(&mut [A], &mut [B], &mut R) + Sync + 'a;

/// The layout of lines: the number of lines before the axis, the points of a line in and out, and the elements after
/// the axis.
struct Lines {
    outer: usize,
    taken: usize,
    given: usize,
    inner: usize,
}

impl Lines {
    fn of(args: &Args<'_>) -> Lines {
        let (outer, taken, inner) = args.extents(0);
        let to = &args.call.out.1;
        Lines { outer, taken, given: to[args.call.axis(0)], inner }
    }

    /// Calls `f` for every line with a copy of it, an output line, and the thread's scratch.
    fn each<A: Copy + Sync, B: Copy + Default, R>(
        &self,
        from: &[A],
        to: &mut [B],
        team: &dyn Team,
        scratch: fn() -> R,
        f: &OnLine<'_, A, B, R>,
    ) {
        let lines = self.outer * self.inner;
        let size = to.len();
        let target = Shared(to.as_mut_ptr());
        let per_piece = (PIECE / self.taken.max(self.given)).max(1);
        team.split(lines.div_ceil(per_piece), &|piece| {
            let (mut line, mut made) = (Vec::with_capacity(self.taken), vec![B::default(); self.given]);
            let mut scratch = scratch();
            for at in piece * per_piece..lines.min((piece + 1) * per_piece) {
                let (o, i) = (at / self.inner, at % self.inner);
                line.clear();
                line.extend((0..self.taken).map(|k| from[(o * self.taken + k) * self.inner + i]));
                f(&mut line, &mut made, &mut scratch);
                for (k, element) in made.iter().enumerate() {
                    let place = (o * self.given + k) * self.inner + i;
                    assert!(place < size, "lines are within the result");
                    // SAFETY: the bound was checked above, and lines do not overlap.
                    unsafe { target.get().add(place).write(*element) };
                }
            }
        });
    }
}

fn scaled<T: Line>(x: Complex<T>, by: T) -> Complex<T> {
    Complex { re: x.re * by, im: x.im * by }
}

fn complete<T: Line>(args: &Args<'_>, team: &dyn Team, narrow: fn(f64) -> T) -> Result<()>
where
    Complex<T>: Element,
{
    let lines = Lines::of(args);
    // Without lines the length may be invalid for a transform, so do not create one.
    if lines.outer * lines.inner == 0 {
        return Ok(());
    }
    let Transform { back, scale, .. } = args.attributes();
    let by = narrow(factor(scale, lines.taken));
    let transform = T::transform(lines.taken, back);
    let (from, to) = (args.input::<Complex<T>>(0), args.output::<Complex<T>>());
    lines.each(from, to, team, Scratch::default, &|line, made, scratch| {
        transform.run(line, scratch);
        made.iter_mut().zip(line).for_each(|(to, from)| *to = scaled(*from, by));
    });
    Ok(())
}

fn half<T: Line + Element>(args: &Args<'_>, team: &dyn Team, narrow: fn(f64) -> T) -> Result<()>
where
    Complex<T>: Element,
{
    let lines = Lines::of(args);
    // Without lines the length may be invalid for a transform, so do not create one.
    if lines.outer * lines.inner == 0 {
        return Ok(());
    }
    let by = narrow(factor(args.attributes::<HalfTransform>().scale, lines.taken));
    let transform = T::forward(lines.taken);
    let (from, to) = (args.input::<T>(0), args.output::<Complex<T>>());
    lines.each(from, to, team, Scratch::default, &|line, made, scratch| {
        transform.run(line, made, scratch);
        made.iter_mut().for_each(|x| *x = scaled(*x, by));
    });
    Ok(())
}

fn back<T: Line + Element>(args: &Args<'_>, team: &dyn Team, narrow: fn(f64) -> T) -> Result<()>
where
    Complex<T>: Element,
{
    let lines = Lines::of(args);
    // Without lines the length may be invalid for a transform, so do not create one.
    if lines.outer * lines.inner == 0 {
        return Ok(());
    }
    let by = narrow(factor(args.attributes::<BackTransform>().scale, lines.given));
    let transform = T::backward(lines.given);
    let (from, to) = (args.input::<Complex<T>>(0), args.output::<T>());
    lines.each(from, to, team, Scratch::default, &|line, made, scratch| {
        transform.run(line, made, scratch);
        made.iter_mut().for_each(|x| *x = *x * by);
    });
    Ok(())
}
