//! Routines as CUDA C: the words that every kernel of theirs takes, and the families' own texts.

use super::bodies::{c_type, carried, element_type, function, op_text};
use super::prelude;
use forerun_base::DType;
use forerun_ops::Point;

/// A kernel of a family: what it is told by name, then the texts it is made of.
pub(crate) fn routine_text(defines: &str, texts: &[&str]) -> String {
    let (rows, opening) = (include_str!("../kernels/rows.cuh"), include_str!("../kernels/routine.cuh"));
    prelude::open(&format!("#define BEYOND 0\n{rows}{opening}{defines}{}", texts.concat()))
}

/// Elements that are only moved.
pub(crate) fn moved(dtype: DType) -> String {
    format!("typedef {} T;\n", element_type(dtype.size()))
}

/// Elements that are computed in, by way of their carrier.
pub(crate) fn computed(dtype: DType) -> String {
    format!("typedef {} T;\n{}", c_type(dtype), carried(dtype))
}

/// Elements that are put in order, by their keys.
pub(crate) fn ordered(dtype: DType) -> String {
    format!("{}typedef {} K;\n{}", computed(dtype), element_type(dtype.size()), include_str!("../kernels/keys.cuh"))
}

/// Indices of a dtype.
pub(crate) fn indices(dtype: DType) -> String {
    format!("typedef {} N;\n", c_type(dtype))
}

/// A number by name.
pub(crate) fn define(name: &str, value: usize) -> String {
    format!("#define {name} {value}\n")
}

/// The function of an op, by a name.
pub(crate) fn function_text(name: &str, op: Point, dtype: DType) -> String {
    let body = op_text(op, dtype).expect("floats have it");
    format!("{body}#define {name} {}\n", function(op, dtype))
}
