//! Fourier transforms along an axis.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Kind, Result, Shape};

family! {
    /// Words: the axis, then what each says; the last is the scale: 0 for none, 1 for one over the length, 2 for one over
    /// its square root.
    Fft {
        Complete, "fft", "x, axis, back, scale", Some(1), false, "the Fourier transform of complex numbers, forward or back";
        Half, "rfft", "x, axis, scale", Some(1), false, "the first half of the Fourier transform of floats";
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
        let fits = match self {
            Fft::Complete | Fft::Back => dtype.kind() == Kind::Complex,
            Fft::Half => matches!(dtype, DType::F32 | DType::F64),
        };
        if !fits {
            return Err(Error::new(ErrorKind::Type, format!("not defined for {dtype}")));
        }
        let axis = axis(&shape, words, 0)?;
        let n = if self == Fft::Back { words.get(1).copied().unwrap_or(0) } else { shape[axis] as i64 };
        if n < 1 {
            return Err(bad(format!("no transform of {n} points: {shape}")));
        }
        let n = n as usize;
        let mut dims = shape.to_vec();
        let result = match self {
            Fft::Complete => dtype,
            Fft::Half => {
                dims[axis] = n / 2 + 1;
                dtype.to_complex()
            }
            Fft::Back if dims[axis] != n / 2 + 1 => {
                return Err(bad(format!("{} points are not the first half of {n}: {shape}", dims[axis])));
            }
            Fft::Back => {
                dims[axis] = n;
                dtype.to_real()
            }
        };
        Ok((result, Shape::new(&dims)?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let size = given[0].1.size().max(out.1.size());
        size.saturating_mul(4 + size.max(2).ilog2() as usize / 2)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        // They are linear.
        Some(Needs::NOTHING)
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
