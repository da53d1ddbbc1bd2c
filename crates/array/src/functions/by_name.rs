//! Calls routines as the generated functions do: by name, with inputs converted as the row declares.

use crate::Array;
use crate::ops::{cast, routine_encoded};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result};
use forerun_ops::samples::Value;
use forerun_ops::{Promotion, Routine};

/// Submits the routine with this name.
pub(crate) fn call(
    name: &'static str,
    promotion: Promotion,
    inputs: &[&Array],
    attributes: &[(&str, Value)],
    loc: Loc,
) -> Result<Array> {
    let Some(routine) = Routine::from_name(name) else {
        return Err(Error::new(ErrorKind::Runtime, format!("there is no routine {name}")));
    };
    let dtype = match promotion {
        Promotion::Given => None,
        Promotion::Common => inputs.iter().map(|x| x.dtype()).reduce(DType::promote),
        Promotion::Floats => Some(float_of(inputs)),
    };
    let converted: Vec<Array> = inputs
        .iter()
        .map(|x| dtype.map_or_else(|| Ok((*x).clone()), |to| to_dtype(x, to, loc)))
        .collect::<Result<_>>()?;
    routine_encoded(routine, &converted.iter().collect::<Vec<_>>(), &routine.encode(attributes)?, loc)
}

/// The array itself, or its elements in another dtype.
pub(crate) fn to_dtype(x: &Array, dtype: DType, loc: Loc) -> Result<Array> {
    if x.dtype() == dtype { Ok(x.clone()) } else { cast(x, dtype, loc) }
}

/// The float or complex dtype that arrays promote to, at least single precision: what linear algebra computes in.
pub(crate) fn float_of(inputs: &[&Array]) -> DType {
    let default_wide = DType::default_float() == DType::F64;
    let wide = inputs.iter().any(|x| match x.dtype().kind() {
        Kind::Bool | Kind::Int => default_wide,
        Kind::Float | Kind::Complex => matches!(x.dtype(), DType::F64 | DType::C128),
    });
    match (inputs.iter().any(|x| x.dtype().kind() == Kind::Complex), wide) {
        (true, true) => DType::C128,
        (true, false) => DType::C64,
        (false, true) => DType::F64,
        (false, false) => DType::F32,
    }
}
