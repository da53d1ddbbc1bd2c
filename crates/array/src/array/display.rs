//! Prints an array as NumPy does. Printing waits for the elements.

use crate::array::Array;
use crate::array::wait::Wait;
use forerun_base::{DType, Kind, Loc, Scalar, Shape};
use std::fmt;

/// Above this many elements only the edges are printed.
const THRESHOLD: usize = 1000;
/// Number of elements printed at each edge.
const EDGE: usize = 3;

impl fmt::Display for Array {
    /// Waits for the elements. Prints the error if the op that produces them failed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = match self.snapshot_with(&Wait::at(Loc::UNKNOWN, "display")) {
            Ok(snapshot) => snapshot,
            Err(error) => return write!(f, "<failed: {error}>"),
        };
        let shape = self.shape();
        if shape.size() == 0 {
            // As NumPy, whatever the extents, which may be very large.
            return f.write_str("[]");
        }
        let elements: Vec<Scalar> = snapshot.elements().map(|element| shortest(element, self.dtype())).collect();
        let shown =
            |i: usize, extent: usize| shape.size() <= THRESHOLD || extent <= 2 * EDGE || i < EDGE || i + EDGE >= extent;
        let visible: Vec<usize> = (0..elements.len())
            .filter(|&linear| {
                let mut rest = linear;
                shape.iter().rev().all(|&d| {
                    let i = rest % d;
                    rest /= d;
                    shown(i, d)
                })
            })
            .collect();
        let texts = format_all(&visible.iter().map(|&i| elements[i]).collect::<Vec<_>>());
        let mut next = texts.iter();
        write_level(f, &shape, 0, &shown, &mut next)
    }
}

fn write_level<'a>(
    f: &mut fmt::Formatter<'_>,
    shape: &Shape,
    axis: usize,
    shown: &dyn Fn(usize, usize) -> bool,
    texts: &mut impl Iterator<Item = &'a String>,
) -> fmt::Result {
    if axis == shape.rank() {
        return f.write_str(texts.next().map_or("", |t| t.as_str()));
    }
    let last = axis + 1 == shape.rank();
    f.write_str("[")?;
    let mut skipping = false;
    for i in 0..shape[axis] {
        if !shown(i, shape[axis]) {
            if !skipping {
                separate(f, shape, axis, last, i)?;
                f.write_str("...")?;
                skipping = true;
            }
            continue;
        }
        separate(f, shape, axis, last, i)?;
        write_level(f, shape, axis + 1, shown, texts)?;
    }
    f.write_str("]")
}

fn separate(f: &mut fmt::Formatter<'_>, shape: &Shape, axis: usize, last: bool, i: usize) -> fmt::Result {
    if i == 0 {
        return Ok(());
    }
    if last {
        return f.write_str(" ");
    }
    for _ in 0..shape.rank() - 1 - axis {
        f.write_str("\n")?;
    }
    f.write_str(&" ".repeat(axis + 1))
}

/// The element with the shortest decimals that round to it in its dtype, as printed.
fn shortest(element: Scalar, dtype: DType) -> Scalar {
    let part = |number: f64| format!("{}", number as f32).parse().unwrap_or(number);
    match (dtype, element) {
        (DType::F16 | DType::BF16, _) => {
            let bits = element.to_bits(dtype);
            let rounded = |digits: usize| format!("{:.digits$e}", element.as_f64()).parse().unwrap_or(f64::NAN);
            let fits = |number: &f64| Scalar::Float(*number).to_bits(dtype) == bits;
            (0..9).map(rounded).find(fits).map_or(element, Scalar::Float)
        }
        (DType::F32, Scalar::Float(number)) => Scalar::Float(part(number)),
        (DType::C64, Scalar::Complex(real, imaginary)) => Scalar::Complex(part(real), part(imaginary)),
        _ => element,
    }
}

/// Formats all elements with one width.
fn format_all(elements: &[Scalar]) -> Vec<String> {
    let kind = elements.first().map_or(Kind::Bool, |e| e.kind());
    let texts: Vec<String> = if kind == Kind::Complex {
        let real: Vec<f64> = elements.iter().map(|e| e.as_f64()).collect();
        let imaginary: Vec<f64> = elements.iter().map(|e| e.imaginary()).collect();
        let joined = |(re, im): (String, String)| format!("{re}{}{im}j", if im.starts_with('-') { "" } else { "+" });
        format_floats(&real).into_iter().zip(format_floats(&imaginary)).map(joined).collect()
    } else if kind == Kind::Float {
        let values: Vec<f64> = elements.iter().map(|e| e.as_f64()).collect();
        format_floats(&values)
    } else {
        elements
            .iter()
            .map(|e| match e {
                Scalar::Bool(true) => "True".to_owned(),
                Scalar::Bool(false) => "False".to_owned(),
                Scalar::Int(i) => i.to_string(),
                Scalar::Large(i) => i.to_string(),
                Scalar::Float(_) | Scalar::Complex(..) => e.to_string(),
            })
            .collect()
    };
    let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    texts.into_iter().map(|t| format!("{t:>width$}")).collect()
}

/// Formats with up to eight digits, as many as the longest needs; with exponents if the magnitudes are far apart.
fn format_floats(values: &[f64]) -> Vec<String> {
    let finite = || values.iter().copied().filter(|v| v.is_finite() && *v != 0.0).map(f64::abs);
    let (largest, smallest) = (finite().fold(0.0, f64::max), finite().fold(f64::INFINITY, f64::min));
    let exponents = largest >= 1e8 || (smallest < 1e-4) || (largest / smallest > 1e3 && smallest < 1e-3);
    let special =
        |v: f64| if v.is_nan() { "nan".to_owned() } else { (if v > 0.0 { "inf" } else { "-inf" }).to_owned() };
    let digits = |v: f64| {
        let text = format!("{v:.8}");
        text.trim_end_matches('0').split('.').nth(1).map_or(0, str::len)
    };
    if exponents && largest > 0.0 {
        return values.iter().map(|&v| if v.is_finite() { python_exponent(v) } else { special(v) }).collect();
    }
    let places = values.iter().filter(|v| v.is_finite()).map(|v| digits(*v)).max().unwrap_or(0);
    values
        .iter()
        .map(|&v| {
            if !v.is_finite() {
                return special(v);
            }
            let text = format!("{v:.8}");
            let short = text.trim_end_matches('0');
            let (whole, fraction) = short.split_once('.').unwrap_or((short, ""));
            format!("{whole}.{fraction:<places$}")
        })
        .collect()
}

/// `1.5e+10` rather than `1.5e10`.
fn python_exponent(v: f64) -> String {
    let text = format!("{v:.8e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_have_few_digits() {
        let tenth = Scalar::from_bits(Scalar::Float(0.1).to_bits(DType::F16), DType::F16);
        assert_eq!(shortest(tenth, DType::F16), Scalar::Float(0.1));
        assert_eq!(shortest(Scalar::Float(65504.0), DType::F16), Scalar::Float(65500.0));
        assert_eq!(shortest(Scalar::Float(f64::INFINITY), DType::BF16), Scalar::Float(f64::INFINITY));
    }

    #[test]
    fn single_floats_have_their_own_digits() {
        let half_pi = std::f32::consts::FRAC_PI_2 as f64;
        assert_eq!(format_all(&[shortest(Scalar::Float(half_pi), DType::F32)]), ["1.5707964"]);
        assert_eq!(format_all(&[Scalar::Float(half_pi)]), ["1.57079637"]);
    }

    #[test]
    fn floats_share_a_width() {
        assert_eq!(format_floats(&[3.0, 3.0]), ["3.", "3."]);
        assert_eq!(format_floats(&[1.5, 2.0]), ["1.5", "2. "]);
        assert_eq!(format_floats(&[1e-10, 1.0])[0], "1.e-10");
        assert_eq!(format_all(&[Scalar::Bool(true), Scalar::Bool(false)]), [" True", "False"]);
    }
}
