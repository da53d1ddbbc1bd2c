//! Inference: computes the shape and dtype of a result from those of the inputs, or fails at the user's line.

use crate::{Class, Op, Point, ReduceKind};
use forerun_base::{DType, Error, ErrorKind, Kind, MAX_RANK, Result, Scalar, Shape};

/// One argument of a pointwise op, for inference.
#[expect(clippy::large_enum_variant, reason = "lives on the stack of inference alone")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgType {
    /// An array.
    Array(DType, Shape),
    /// A Python-style scalar of this kind, without a dtype.
    Scalar(Kind),
}

/// The inferred dtypes and shape of a pointwise op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointTypes {
    /// Operands are cast to this dtype first, except for the condition of `where`.
    pub compute: DType,
    /// The dtype of the result.
    pub result: DType,
    /// The shape of the result.
    pub shape: Shape,
}

fn sample(kind: Kind) -> Scalar {
    match kind {
        Kind::Bool => Scalar::Bool(false),
        Kind::Int => Scalar::Int(0),
        Kind::Float => Scalar::Float(0.0),
        Kind::Complex => Scalar::Complex(0.0, 0.0),
    }
}

/// The dtype that all arguments promote to. Scalars have no dtype, so they promote after the arrays.
pub fn promote(args: &[ArgType]) -> DType {
    let arrays = args.iter().filter_map(|a| match a {
        ArgType::Array(d, _) => Some(*d),
        ArgType::Scalar(_) => None,
    });
    match arrays.reduce(DType::promote) {
        Some(dtype) => args.iter().fold(dtype, |d, a| match a {
            ArgType::Scalar(kind) => sample(*kind).promote_with(d),
            ArgType::Array(..) => d,
        }),
        None => args
            .iter()
            .filter_map(|a| match a {
                ArgType::Scalar(kind) => Some(sample(*kind).default_dtype()),
                ArgType::Array(..) => None,
            })
            .reduce(DType::promote)
            .unwrap_or(DType::default_float()),
    }
}

/// Inference for pointwise ops. `target` is the destination dtype of a cast.
pub fn pointwise(point: Point, args: &[ArgType], target: Option<DType>) -> Result<PointTypes> {
    let row = point.row();
    if args.len() != row.arity {
        return Err(
            Error::new(ErrorKind::Type, format!("takes {} arguments, got {}", row.arity, args.len())).in_op(row.name)
        );
    }
    let mut shape = Shape::SCALAR;
    for arg in args {
        if let ArgType::Array(_, s) = arg {
            shape = shape.broadcast(s).ok_or_else(|| {
                let shapes: Vec<String> = args
                    .iter()
                    .filter_map(|a| match a {
                        ArgType::Array(_, s) => Some(s.to_string()),
                        ArgType::Scalar(_) => None,
                    })
                    .collect();
                Error::new(
                    ErrorKind::Value,
                    format!("operands could not be broadcast together with shapes {}", shapes.join(" ")),
                )
                .in_op(row.name)
            })?;
        }
    }
    let shape = shape.checked().map_err(|e| e.in_op(row.name))?;
    let operands = if row.class == Class::Select { &args[1..] } else { args };
    let (compute, result) = match (row.class, target) {
        (Class::Cast, Some(to)) => {
            let from = promote(operands);
            check_cast(from, to).map_err(|e| e.in_op(row.name))?;
            (from, to)
        }
        (Class::Cast, None) => return Err(Error::new(ErrorKind::Type, "a cast needs a dtype").in_op(row.name)),
        _ => row.types(promote(operands))?,
    };
    Ok(PointTypes { compute, result, shape })
}

/// Rejects casts from complex to real: callers must take the real part explicitly.
pub fn check_cast(from: DType, to: DType) -> Result<()> {
    if from.kind() == Kind::Complex && matches!(to.kind(), Kind::Int | Kind::Float) {
        return Err(Error::new(
            ErrorKind::Type,
            format!("cannot cast {from} to {to}: the imaginary part would be lost"),
        ));
    }
    Ok(())
}

/// The axes of a reduction as a mask, one bit per dimension.
pub fn axes_mask(shape: &Shape, axes: Option<&[isize]>) -> Result<u32> {
    const { assert!(MAX_RANK <= u32::BITS as usize, "an axis is a bit") };
    let Some(axes) = axes else { return Ok(u32::MAX.checked_shr(u32::BITS - shape.rank() as u32).unwrap_or(0)) };
    let mut mask = 0u32;
    for &axis in axes {
        let bit = 1 << shape.axis(axis)?;
        if mask & bit != 0 {
            return Err(Error::new(ErrorKind::Value, format!("axis {axis} is given twice")));
        }
        mask |= bit;
    }
    Ok(mask)
}

/// Inference for reductions: the dtype of the accumulator, and the dtype and shape of the result. Sums of half floats
/// accumulate in single precision and round once; integers are summed in 64 bits and keep their signedness.
pub fn reduce(
    kind: ReduceKind,
    dtype: DType,
    shape: &Shape,
    mask: u32,
    keepdims: bool,
) -> Result<(DType, DType, Shape)> {
    let name = Op::Reduce(kind).name();
    let (compute, result) = match kind {
        ReduceKind::Sum | ReduceKind::Prod => match dtype.kind() {
            Kind::Float => (dtype.carrier(), dtype),
            Kind::Complex => (dtype, dtype),
            Kind::Int if dtype.is_unsigned() => (DType::U64, DType::U64),
            Kind::Bool | Kind::Int => (DType::DEFAULT_INT, DType::DEFAULT_INT),
        },
        _ if dtype.kind() == Kind::Complex => {
            return Err(Error::new(ErrorKind::Type, format!("not defined for {dtype}")).in_op(name));
        }
        ReduceKind::Max | ReduceKind::Min | ReduceKind::NanMax | ReduceKind::NanMin => (dtype.carrier(), dtype),
        ReduceKind::ArgMax | ReduceKind::ArgMin => (dtype.carrier(), DType::I64),
    };
    let reduced: usize = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| shape[i]).product();
    if reduced == 0 && !matches!(kind, ReduceKind::Sum | ReduceKind::Prod) {
        return Err(Error::new(ErrorKind::Value, format!("zero-size array {shape} has no identity")).in_op(name));
    }
    let mut out = Shape::SCALAR;
    for i in 0..shape.rank() {
        if mask >> i & 1 == 0 {
            out.push(shape[i]);
        } else if keepdims {
            out.push(1);
        }
    }
    Ok((compute, result, out))
}

/// The dtype of a reduction's record: the kernel returns the dtype that it reduces in, and a cast follows.
pub fn reduced_dtype(compute: DType, result: DType) -> DType {
    if result.carrier() == compute { compute } else { result }
}

/// The dimensions of a matrix product, after vectors are promoted to matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatmulTypes {
    /// Element type of the product.
    pub dtype: DType,
    /// Batch dimensions.
    pub batch: Shape,
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// The contracted extent.
    pub k: usize,
    /// The shape of the result, without the dimensions added to vectors.
    pub shape: Shape,
}

/// Inference for `matmul`.
pub fn matmul(a: (DType, Shape), b: (DType, Shape)) -> Result<MatmulTypes> {
    let fail = |text: String| Err(Error::new(ErrorKind::Value, text).in_op("matmul"));
    let ((da, sa), (db, sb)) = (a, b);
    if sa.rank() == 0 || sb.rank() == 0 {
        return fail(format!("needs at least one dimension: {sa} x {sb}"));
    }
    let (m, ka) = if sa.rank() == 1 { (1, sa[0]) } else { (sa[sa.rank() - 2], sa[sa.rank() - 1]) };
    let (kb, n) = if sb.rank() == 1 { (sb[0], 1) } else { (sb[sb.rank() - 2], sb[sb.rank() - 1]) };
    if ka != kb {
        return fail(format!("inner dimensions differ: {sa} x {sb}"));
    }
    let lead = |s: &Shape| Shape::of(&s[..s.rank().saturating_sub(2)]);
    let Some(batch) = lead(&sa).broadcast(&lead(&sb)) else {
        return fail(format!("batch dimensions do not broadcast: {sa} x {sb}"));
    };
    let mut shape = batch;
    if sa.rank() > 1 {
        shape.push(m);
    }
    if sb.rank() > 1 {
        shape.push(n);
    }
    let shape = shape.checked().map_err(|e| e.in_op("matmul"))?;
    let dtype = match da.promote(db) {
        DType::Bool => return Err(Error::new(ErrorKind::Type, "not defined for bool").in_op("matmul")),
        dtype => dtype,
    };
    Ok(MatmulTypes { dtype, batch, m, n, k: ka, shape })
}

/// Inference for `concatenate`: dtype and shape of the result.
pub fn concat(inputs: &[(DType, Shape)], axis: usize) -> Result<(DType, Shape)> {
    let fail = |text: String| Err(Error::new(ErrorKind::Value, text).in_op("concatenate"));
    let Some(&(first, mut shape)) = inputs.first() else {
        return fail("needs at least one array".into());
    };
    let mut dtype = first;
    for (d, s) in &inputs[1..] {
        let fits = s.rank() == shape.rank() && (0..s.rank()).all(|i| i == axis || s[i] == shape[i]);
        if !fits {
            return fail(format!("shapes differ outside axis {axis}: {} and {s}", inputs[0].1));
        }
        shape.dims_mut()[axis] = shape[axis].saturating_add(s[axis]);
        dtype = dtype.promote(*d);
    }
    Ok((dtype, shape.checked().map_err(|e| e.in_op("concatenate"))?))
}

/// The shape of the result of `take` along `axis`.
pub fn take(op: Op, shape: &Shape, indices: (DType, Shape), axis: usize) -> Result<Shape> {
    let fail = |kind, text: String| Err(Error::new(kind, text).in_op(op.name()));
    let (dtype, named) = indices;
    if dtype.kind() != Kind::Int {
        return fail(ErrorKind::Type, format!("indices must be integers, not {dtype}"));
    }
    if shape[axis] == 0 && named.size() > 0 {
        return fail(ErrorKind::Index, format!("axis {axis} of {shape} is empty, indices {named} name elements of it"));
    }
    let dims: Vec<usize> = shape[..axis].iter().chain(&*named).chain(&shape[axis + 1..]).copied().collect();
    Shape::new(&dims).map_err(|e| e.in_op(op.name()))
}

/// The shape that `dims` requests for the elements of `from`; one extent may be -1.
pub fn reshape(from: &Shape, dims: &[isize]) -> Result<Shape> {
    let size = from.size();
    let fail = || {
        let want: Vec<String> = dims.iter().map(|d| d.to_string()).collect();
        Err(Error::new(ErrorKind::Value, format!("cannot reshape array of shape {from} into ({})", want.join(", ")))
            .in_op("reshape"))
    };
    if dims.len() > MAX_RANK {
        return Err(
            Error::new(ErrorKind::Value, format!("at most {MAX_RANK} dimensions are supported")).in_op("reshape")
        );
    }
    let mut shape = Shape::SCALAR;
    let mut open = None;
    for (i, &d) in dims.iter().enumerate() {
        match d {
            -1 if open.is_none() => {
                open = Some(i);
                shape.push(1);
            }
            d if d < 0 => return fail(),
            d => shape.push(d as usize),
        }
    }
    let mut shape = shape.checked().map_err(|e| e.in_op("reshape"))?;
    if let Some(i) = open {
        let rest = shape.size();
        if rest == 0 || !size.is_multiple_of(rest) {
            return fail();
        }
        shape.dims_mut()[i] = size / rest;
    }
    if shape.size() != size { fail() } else { Ok(shape) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(d: &[usize]) -> Shape {
        Shape::of(d)
    }

    #[test]
    fn pointwise_types_and_errors() {
        let a = ArgType::Array(DType::F32, s(&[2, 3]));
        let b = ArgType::Array(DType::I64, s(&[3]));
        let t = pointwise(Point::Add, &[a, b], None).unwrap();
        assert_eq!((t.compute, t.result, t.shape), (DType::F32, DType::F32, s(&[2, 3])));
        let t = pointwise(Point::Divide, &[b, ArgType::Scalar(Kind::Int)], None).unwrap();
        assert_eq!(t.result, DType::F32);
        let t = pointwise(Point::Less, &[b, ArgType::Scalar(Kind::Float)], None).unwrap();
        assert_eq!((t.compute, t.result), (DType::F32, DType::Bool));
        let e = pointwise(Point::Add, &[a, ArgType::Array(DType::F32, s(&[2]))], None).unwrap_err();
        assert_eq!(e.to_string(), "add: operands could not be broadcast together with shapes (2, 3) (2,)");
    }

    #[test]
    fn matmul_shapes() {
        let f = DType::F32;
        let t = matmul((f, s(&[5, 2, 3])), (f, s(&[3, 4]))).unwrap();
        assert_eq!((t.shape, t.m, t.n, t.k), (s(&[5, 2, 4]), 2, 4, 3));
        assert_eq!(matmul((f, s(&[3])), (f, s(&[3]))).unwrap().shape, Shape::SCALAR);
        let e = matmul((f, s(&[1024, 512])), (f, s(&[2048, 512]))).unwrap_err();
        assert_eq!(e.to_string(), "matmul: inner dimensions differ: (1024, 512) x (2048, 512)");
    }

    #[test]
    fn rows_by_indices() {
        let shape = |x: &[usize], i: &[usize], axis| take(Op::Take, &s(x), (DType::I64, s(i)), axis);
        assert_eq!(shape(&[4, 5, 6], &[2, 3], 1).unwrap(), s(&[4, 2, 3, 6]));
        assert_eq!(shape(&[4], &[], 0).unwrap(), Shape::SCALAR);
        assert_eq!(shape(&[0, 3], &[0], 0).unwrap(), s(&[0, 3]));
        let e = shape(&[0, 3], &[2], 0).unwrap_err();
        assert_eq!(e.to_string(), "take: axis 0 of (0, 3) is empty, indices (2,) name elements of it");
        assert!(shape(&[1; 17], &[1; 17], 0).is_err());
        let e = take(Op::ScatterAdd, &s(&[2]), (DType::F32, s(&[2])), 0).unwrap_err();
        assert_eq!(e.to_string(), "scatter_add: indices must be integers, not float32");
    }

    #[test]
    fn reductions_and_reshapes() {
        let (c, r, out) = reduce(ReduceKind::Sum, DType::Bool, &s(&[2, 3]), 0b10, true).unwrap();
        assert_eq!((c, r, out), (DType::I64, DType::I64, s(&[2, 1])));
        let types = |kind, dtype| reduce(kind, dtype, &s(&[2]), 1, false).map(|(c, r, _)| (c, r)).unwrap();
        assert_eq!(types(ReduceKind::Sum, DType::U8), (DType::U64, DType::U64));
        assert_eq!(types(ReduceKind::Sum, DType::F16), (DType::F32, DType::F16));
        assert_eq!(types(ReduceKind::Max, DType::I8), (DType::I32, DType::I8));
        assert_eq!(types(ReduceKind::ArgMin, DType::U32), (DType::I64, DType::I64));
        assert!(reduce(ReduceKind::Max, DType::F32, &s(&[0]), 1, false).is_err());
        assert_eq!(reshape(&s(&[2, 6]), &[3, -1]).unwrap(), s(&[3, 4]));
        assert!(reshape(&s(&[2, 6]), &[5, -1]).is_err());
        assert_eq!(axes_mask(&s(&[2, 3]), Some(&[-1])).unwrap(), 0b10);
        let all =
            [Shape::SCALAR, s(&[2, 3]), s(&[1; MAX_RANK])].map(|shape| axes_mask(&shape, None).unwrap().count_ones());
        assert_eq!(all, [0, 2, MAX_RANK as u32]);
        assert!(axes_mask(&s(&[2, 3]), Some(&[1, -1])).is_err());
    }
}
