//! Indexing with index arrays along several axes.

use crate::gradient::Needs;
use crate::routine::{
    Attributes, Family, Flows, Given, GradientBuilder, GradientOperand, List, attributes, family, invalid,
};
use crate::samples::{COMPLEX, Look, Sample, Values, at, call, x};
use crate::{Beyond, Point, ReduceKind};
use forerun_base::DType::{self, F32, I32, I64};
use forerun_base::{Error, ErrorKind, Result, Scalar, Shape};

family! {
    /// Converts index arrays along several axes to flat positions, and writes values at such positions. The immediate
    /// of `positions` is the position of the first element.
    Scattering {
        Positions {
            name: "positions",
            inputs: [indices, ...],
            attributes: Axes,
            fallible: true,
            doc: "flat positions of index arrays along several axes",
        }
        Put {
            name: "put",
            inputs: [base, positions, values],
            attributes: Rows,
            fallible: true,
            doc: "an array with the rows at flat positions overwritten; the last write to a position wins",
        }
        Last {
            name: "is_last",
            inputs: [positions],
            attributes: (),
            fallible: false,
            doc: "whether a position does not occur again later",
        }
    }
}

attributes! {
    /// The attributes of `positions`; every list has one item per index array.
    Axes {
        /// The axis of each index array, for error messages.
        axes: List<i64>,
        /// The extent of each axis.
        extents: List<i64>,
        /// The stride of each axis, in elements.
        strides: List<i64>,
    }
    /// The attributes of `put`. A position refers to the first element of a row.
    Rows {
        /// The extents of a row.
        extents: List<i64>,
        /// The strides of a row, in elements.
        strides: List<i64>,
        /// Empty if the second input holds positions. Otherwise it holds indices, and these are their axis, extent and
        /// stride.
        index: List<i64>,
    }
}

impl Rows {
    /// The axis, extent and stride of the indices, if the second input holds indices.
    pub fn by_index(&self) -> Option<[i64; 3]> {
        self.index[..].try_into().ok()
    }

    /// The number of elements in a row.
    fn size(&self) -> usize {
        self.extents.iter().fold(1, |size: usize, extent| size.saturating_mul(*extent as usize))
    }
}

impl Family for Scattering {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        match self {
            Scattering::Positions => positions(given, &Axes::read(attributes)?),
            Scattering::Put => put(given, &Rows::read(attributes)?),
            Scattering::Last => {
                check_positions(&given[0])?;
                Ok((DType::Bool, given[0].1))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize {
        if let (Scattering::Put, Some(rows)) = (self, Rows::decode(attributes)) {
            // The cost of the scattered writes. The rest is a plain copy of the base, or free if the base is donated.
            let moved = given[1].1.size().saturating_mul(rows.size());
            return moved.saturating_add(out.1.size() / 8);
        }
        given.iter().map(|(_, shape)| shape.size()).fold(out.1.size(), usize::saturating_add).saturating_mul(2)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match (self, i) {
            (Scattering::Put, 0 | 2) => Some(Needs::input(1)),
            (Scattering::Put | Scattering::Positions | Scattering::Last, _) => None,
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let rows = Rows::read(attributes)?;
        debug_assert!(rows.by_index().is_none(), "a recorded write has positions");
        // The gradient of the base is zero where it was overwritten.
        let base = b.if_wanted(0, || {
            let zero = b.full(&Shape::SCALAR, 0, b.describe(b.grad()).0)?;
            b.encoded(self.into(), &[b.grad(), b.input(1), &zero], attributes)
        })?;
        Ok(vec![base, None, b.if_wanted(2, || written(b, &rows))?])
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn scalars(self) -> usize {
        (self == Scattering::Positions) as usize
    }

    fn in_place(self) -> bool {
        self == Scattering::Put
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let positions = |axes: &[i64], extents: &[i64], strides: &[i64]| {
            let sample = call("positions").with("axes", axes.to_vec()).with("extents", extents.to_vec());
            sample.with("strides", strides.to_vec()).of([I64])
        };
        let both = || positions(&[0, 1], &[3, 4], &[4, 1]);
        let put = |extents: &[i64], strides: &[i64]| {
            let sample = call("put").with("extents", extents.to_vec()).with("strides", strides.to_vec());
            sample.with("index", Vec::<i64>::new())
        };
        let pairs = || put(&[2], &[6]);
        let at_four = || x([5]).values(Values::Positive).dtype(I64);
        all.push(both().on([at([2, 3], 3), at([3], 4).dtype(I32)]));
        all.push(positions(&[0], &[3], &[-2]).on([at([], 3)]));
        all.push(positions(&[0], &[3], &[1]).on([at([0], 3)]));
        let bad = "positions: index 4 is out of bounds for axis 1 with size 4";
        all.push(both().on([at([3], 3), x([3]).values(Values::Beyond(4)).dtype(I64)]).fails(bad));
        let apart = "positions: shape mismatch: indexing arrays could not be broadcast together: (3,) (2,)";
        all.push(both().on([at([3], 3), at([2], 4)]).fails(apart));
        let floats = positions(&[0], &[3], &[4]).on([x([3]).dtype(F32)]);
        all.push(floats.fails("positions: indices must be int32 or int64"));
        for input in [x([3, 4]), x([3, 4]).look(Look::Transposed)] {
            all.push(put(&[], &[]).on([input.clone(), at_four(), x([5])]));
            all.push(pairs().on([input.clone(), at_four(), x([5, 2])]));
            all.push(pairs().on([input, at_four(), x([])]));
        }
        all.push(pairs().on([x([3, 4]), at_four(), x([5, 2])]).of(COMPLEX));
        let outside = pairs().on([x([4]), x([1]).values(Values::Positive).dtype(I64), x([])]);
        all.push(outside.fails("put: a row at position"));
        all.push(put(&[], &[]).on([x([9]), at_four(), x([4])]).fails("put: values"));
        all.push(call("is_last").of([I64]).on([at_four()]));
        all.push(call("is_last").of([I64]).on([at([], 3)]));
        all.push(call("is_last").of([I64]).on([x([3]).dtype(F32)]).fails("is_last: positions are int64"));
        all
    }
}

fn positions(given: &[Given], axes: &Axes) -> Result<Given> {
    let lists = [&axes.axes, &axes.extents, &axes.strides];
    if given.is_empty() || lists.iter().any(|list| list.len() != given.len()) {
        return invalid(format!("the attributes do not describe {} axes", given.len()));
    }
    let mut shape = Shape::SCALAR;
    for (dtype, named) in given {
        if !matches!(dtype, DType::I32 | DType::I64) {
            return Err(Error::new(ErrorKind::Index, format!("indices must be int32 or int64, not {dtype}")));
        }
        let Some(both) = shape.broadcast(named) else {
            let all: Vec<String> = given.iter().map(|(_, shape)| shape.to_string()).collect();
            let text = format!("shape mismatch: indexing arrays could not be broadcast together: {}", all.join(" "));
            return Err(Error::new(ErrorKind::Index, text));
        };
        shape = both;
    }
    Ok((DType::I64, shape.checked()?))
}

fn check_positions((dtype, shape): &Given) -> Result<()> {
    match dtype {
        DType::I64 => Ok(()),
        _ => invalid(format!("positions are int64, not {dtype} {shape}")),
    }
}

fn put(given: &[Given], rows: &Rows) -> Result<Given> {
    let ((dtype, base), (named_dtype, named), (values_dtype, values)) = (given[0], given[1], given[2]);
    if rows.by_index().is_none() || named_dtype != DType::I32 {
        check_positions(&given[1])?;
    }
    if rows.extents.len() != rows.strides.len() || !matches!(rows.index.len(), 0 | 3) {
        return invalid("the attributes do not describe a row");
    }
    let row = rows.size();
    let fits = values.size() == 1 || values.size() == named.size() * row;
    if values_dtype != dtype || !fits {
        return invalid(format!(
            "values {values_dtype} {values} do not fit {dtype} rows of {row} at positions {named}"
        ));
    }
    Ok((dtype, base))
}

/// The gradient of the values. If several values were written to one place, only the last one gets a gradient.
fn written<B: GradientBuilder>(b: &B, rows: &Rows) -> Result<B::Value> {
    let positions = b.input(1);
    let mut places = positions.clone();
    let mut last = b.routine(Scattering::Last, &[positions], ())?;
    for (extent, stride) in rows.extents.iter().zip(&rows.strides) {
        let stride = GradientOperand::Number(Scalar::Int(*stride));
        let apart = b.pointwise(Point::Multiply, &[(&b.arange(0, *extent)?).into(), stride])?;
        places = b.plus(&b.expand_dims(&places, -1)?, &apart)?;
        last = b.expand_dims(&last, -1)?;
    }
    let taken = b.take(&b.reshape(b.grad(), &[-1])?, &places, 0, Beyond::Raise)?;
    let zero = GradientOperand::Number(Scalar::Int(0));
    let kept = b.pointwise(Point::Where, &[(&last).into(), (&taken).into(), zero])?;
    let (shape, found) = (b.given(2).1, b.shape(&kept));
    if shape.size() == 1 && found.size() != 1 {
        let axes: Vec<isize> = (0..found.rank() as isize).collect();
        return b.in_shape(&b.reduce(ReduceKind::Sum, &kept, &axes, false)?, &shape);
    }
    b.in_shape(&kept, &shape)
}
