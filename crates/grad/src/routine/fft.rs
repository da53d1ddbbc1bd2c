//! What flows back through Fourier transforms: they are linear, so the adjoint of each.

use super::parts::times;
use crate::entry::Recorded;
use forerun_array::{Arg, Array, ops};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::{Fft, Point, Routine};

pub(super) fn rule(
    routine: Fft,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let call = |routine: Fft, x: &Array, words: &[i64]| ops::routine(Routine::Fft(routine), &[x], words, loc);
    let shape = recorded.signature.inputs[0].shape();
    let axis = shape.axis(words[0] as isize)?;
    let back = match routine {
        Fft::Complete => call(Fft::Complete, grad, &[words[0], i64::from(words[1] == 0), words[2]])?,
        Fft::Half => {
            // With nothing in the half that was left out, and of what comes back the real part.
            let mut rest = grad.shape();
            rest.dims_mut()[axis] = shape[axis] - rest[axis];
            let zeros = ops::full(&rest, Scalar::Int(0), grad.dtype(), loc)?;
            let whole = ops::concatenate(&[grad, &zeros], axis as isize, loc)?;
            let found = call(Fft::Complete, &whole, &[axis as i64, 1, words[1]])?;
            ops::pointwise(Point::Real, &[Arg::Array(&found)], loc)?
        }
        Fft::Back => {
            // All points but the first, and the last of an even number, stand for their mirror images too.
            let n = words[1] as usize;
            let found = call(Fft::Half, grad, &[words[0], words[2]])?;
            let weight = |count: usize, value: i64| ops::full(&[count], Scalar::Int(value), grad.dtype(), loc);
            let (twice, last) = ((n - 1) / 2, n / 2 - (n - 1) / 2);
            let weights = ops::concatenate(&[&weight(1, 1)?, &weight(twice, 2)?, &weight(last, 1)?], 0, loc)?;
            let mut dims = vec![1; found.ndim()];
            dims[axis] = (n / 2 + 1) as isize;
            times(&found, &ops::reshape(&weights, &dims, loc)?, loc)?
        }
    };
    Ok(vec![Some(back)])
}
