//! Fourier transforms along an axis. A complex number is a pair of floats: the last dimension, which is no axis here.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result, Shape};

family! {
    /// Words: the axis, then what each says; the last is the scale: 0 for none, 1 for one over the length, 2 for one over
    /// its square root.
    Fft {
        Complete, "fft", "x, axis, back, scale", Some(1), false, "the Fourier transform of pairs, forward or back";
        Half, "rfft", "x, axis, scale", Some(1), false, "the first half of the Fourier transform of floats, as pairs";
        Back, "irfft", "x, axis, n, scale", Some(1), false, "n floats from the first half of their Fourier transform";
    }
}

/// The factor that a word stands for, for lines of this length.
pub fn scale(word: i64, n: usize) -> f64 {
    match word {
        1 => 1.0 / n as f64,
        2 => 1.0 / (n as f64).sqrt(),
        _ => 1.0,
    }
}

fn bad(text: String) -> Error {
    Error::new(ErrorKind::Value, text)
}

impl Family for Fft {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if !matches!(dtype, DType::F32 | DType::F64) {
            return Err(Error::new(ErrorKind::Type, format!("not defined for {dtype}")));
        }
        let pairs = self != Fft::Half;
        let rank = shape.rank();
        if pairs && (rank == 0 || shape[rank - 1] != 2) {
            return Err(bad(format!("the last dimension must be pairs: {shape}")));
        }
        let lead = Shape::of(&shape[..rank - usize::from(pairs)]);
        let axis = lead.axis(words.first().map_or(-1, |word| *word as isize))?;
        let n = if self == Fft::Back { words.get(1).copied().unwrap_or(0) } else { lead[axis] as i64 };
        if n < 1 {
            return Err(bad(format!("no transform of {n} points: {lead}")));
        }
        let n = n as usize;
        let mut dims = lead.to_vec();
        match self {
            Fft::Complete => dims.push(2),
            Fft::Half => {
                dims[axis] = n / 2 + 1;
                dims.push(2);
            }
            Fft::Back if dims[axis] != n / 2 + 1 => {
                return Err(bad(format!("{} points are not the first half of {n}: {lead}", dims[axis])));
            }
            Fft::Back => dims[axis] = n,
        }
        Ok((dtype, Shape::new(&dims)?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let size = given[0].1.size().max(out.1.size());
        size.saturating_mul(4 + size.max(2).ilog2() as usize / 2)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        // They are linear.
        Some(Needs::NOTHING)
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
