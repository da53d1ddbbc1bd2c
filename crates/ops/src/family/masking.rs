//! Selection by a boolean mask.

use crate::Point;
use crate::gradient::Needs;
use crate::routine::{
    AlongAxis, Attributes, Family, Flows, Given, GradientBuilder, GradientOperand, attributes, family, invalid,
    mistyped,
};
use crate::samples::{COMPLEX, Input, Look, Sample, Values, call, x};
use forerun_base::DType::{Bool, F32};
use forerun_base::{DType, Error, ErrorKind, Result, Scalar, Shape};

family! {
    /// Selection by a boolean mask. Shapes must be known at submission, so the caller passes the number of true
    /// elements; the kernel fails if that number is wrong.
    Masking {
        Nonzero {
            name: "nonzero",
            inputs: [mask],
            attributes: Chosen,
            fallible: true,
            doc: "indices of the true elements of a mask, one row per dimension",
        }
        Compress {
            name: "compress",
            inputs: [x, mask],
            attributes: Compression,
            fallible: true,
            doc: "the elements that a mask over some dimensions selects, in order",
        }
        Fill {
            name: "fill_chosen",
            inputs: [base, mask, values],
            attributes: AlongAxis,
            fallible: true,
            doc: "an array whose masked elements are replaced by values, in order",
        }
    }
}

attributes! {
    /// The attributes of `nonzero`.
    Chosen {
        /// The number of true elements in the mask.
        count: i64,
    }
    /// The attributes of `compress`.
    Compression {
        /// The first dimension that the mask covers; for a zero-dimensional mask, one past the last.
        axis: isize,
        /// The number of true elements in the mask.
        count: i64,
    }
}

/// The first dimension that a mask covers.
fn first(shape: &Shape, mask: &Shape, axis: isize) -> Result<usize> {
    if mask.rank() > 0 {
        shape.axis(axis)?;
    }
    let first = axis as usize;
    let end = first.saturating_add(mask.rank());
    if end > shape.rank() || shape[first..end] != mask[..] {
        let text = format!("a mask of shape {mask} does not fit {shape} from axis {first} on");
        return Err(Error::new(ErrorKind::Index, text));
    }
    Ok(first)
}

/// The shape with the mask's dimensions replaced by one of extent `count`.
fn chosen(shape: &Shape, mask: &Shape, first: usize, count: usize) -> Result<Shape> {
    let mut dims = shape[..first].to_vec();
    dims.push(count);
    dims.extend(&shape[first + mask.rank()..]);
    Shape::new(&dims)?.checked()
}

fn checked(count: i64) -> Result<usize> {
    usize::try_from(count).or_else(|_| invalid(format!("count must not be negative, got {count}")))
}

impl Family for Masking {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (mask_dtype, mask) = if self == Masking::Nonzero { given[0] } else { given[1] };
        if mask_dtype != DType::Bool {
            return mistyped(format!("the mask must be bool, not {mask_dtype}"));
        }
        let (dtype, shape) = given[0];
        match self {
            Masking::Nonzero => {
                let count = checked(Chosen::read(attributes)?.count)?;
                Ok((DType::I64, Shape::new(&[mask.rank(), count])?.checked()?))
            }
            Masking::Compress => {
                let Compression { axis, count } = Compression::read(attributes)?;
                Ok((dtype, chosen(&shape, &mask, first(&shape, &mask, axis)?, checked(count)?)?))
            }
            Masking::Fill => {
                let first = first(&shape, &mask, AlongAxis::read(attributes)?.axis)?;
                let (values_dtype, values) = given[2];
                let count = values.get(first).copied().unwrap_or(0);
                if values_dtype != dtype || values != chosen(&shape, &mask, first, count)? {
                    return invalid(format!("values {values_dtype} {values} do not fit {dtype} {shape} under {mask}"));
                }
                Ok((dtype, shape))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given.iter().map(|(_, shape)| shape.size()).fold(out.1.size(), usize::saturating_add)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match (self, i) {
            (Masking::Nonzero, _) | (_, 1) => None,
            (Masking::Compress | Masking::Fill, _) => Some(Needs::input(1)),
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let grad = b.grad();
        match self {
            Masking::Nonzero => unreachable!("positions are never on the tape"),
            Masking::Compress => {
                let axis = Compression::read(attributes)?.axis;
                let back = b.routine(Masking::Fill, &[&b.zeros_of(0)?, b.input(1), grad], AlongAxis { axis })?;
                Ok(vec![Some(back), None])
            }
            Masking::Fill => {
                let (mask, axis) = (b.input(1), AlongAxis::read(attributes)?.axis);
                let base = b.if_wanted(0, || {
                    let behind = b.shape(grad).rank() - axis as usize - b.shape(mask).rank();
                    let mask = (0..behind).try_fold(mask.clone(), |mask, _| b.expand_dims(&mask, -1))?;
                    b.pointwise(Point::Where, &[(&mask).into(), GradientOperand::Number(Scalar::Int(0)), grad.into()])
                })?;
                let values = b.if_wanted(2, || {
                    let count = b.given(2).1[axis as usize] as i64;
                    b.routine(Masking::Compress, &[grad, mask], Compression { axis, count })
                })?;
                Ok(vec![base, None, values])
            }
        }
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let mask = |shape: &[usize]| Input { shape: shape.to_vec(), ..x([]) }.values(Values::Positive).dtype(Bool);
        let nonzero = |count: i64| call("nonzero").with("count", count).of([Bool]);
        let compress = |axis: i64, count: i64| call("compress").with("axis", axis).with("count", count);
        let fill = |axis: i64| call("fill_chosen").with("axis", axis);
        all.push(nonzero(12).on([mask(&[3, 4])]));
        all.push(nonzero(0).on([mask(&[0, 4])]));
        all.push(nonzero(1).on([mask(&[])]));
        all.push(nonzero(11).on([mask(&[3, 4])]).fails("nonzero: the mask is true 12 times, not 11"));
        all.push(nonzero(3).on([x([3])]).of([F32]).fails("nonzero: the mask must be bool, not float32"));
        for input in [x([2, 3, 4]), x([2, 3, 4]).look(Look::Transposed)] {
            all.push(compress(0, 2).on([input.clone(), mask(&[2])]));
            all.push(compress(1, 12).on([input.clone(), mask(&[3, 4])]));
            all.push(compress(2, 1).on([input.clone(), mask(&[])]));
            all.push(fill(0).on([input.clone(), mask(&[2, 3]), x([6, 4])]));
            all.push(fill(1).on([input, mask(&[3]), x([2, 3, 4])]));
        }
        all.push(compress(0, 2).on([x([2, 3, 4]), mask(&[2])]).of(COMPLEX));
        all.push(fill(0).on([x([2, 3]), mask(&[2]), x([2, 3])]).of(COMPLEX));
        all.push(compress(0, 1).on([x([3]), mask(&[3])]).fails("compress: the mask is true 3 times, not 1"));
        all.push(compress(0, 4).on([x([3]), mask(&[4])]).fails("compress: a mask of shape (4,) does not fit"));
        let few = "fill_chosen: cannot assign 2 input values to the 3 places where the mask is true";
        all.push(fill(0).on([x([3]), mask(&[3]), x([2])]).fails(few));
        all.push(fill(0).on([x([3]), mask(&[3]), x([3, 1])]).fails("fill_chosen: values"));
        all
    }
}
