//! Routines as CUDA C: the common argument, and the sources of the families.

use super::bodies::{c_type, carried, element_type, function, op_text};
use super::prelude;
use forerun_base::DType;
use forerun_ops::Point;

/// A kernel of a family: its definitions, then its sources.
pub(crate) fn routine_text(defines: &str, texts: &[&str]) -> String {
    let (rows, opening) = (include_str!("../kernels/rows.cuh"), include_str!("../kernels/routine.cuh"));
    prelude::open(&format!("#define BEYOND 0\n{rows}{opening}{defines}{}", texts.concat()))
}

/// Definitions for elements that are only moved.
pub(crate) fn moved(dtype: DType) -> String {
    format!("typedef {} T;\n", element_type(dtype.size()))
}

/// Definitions for elements with arithmetic in their carrier.
pub(crate) fn computed(dtype: DType) -> String {
    format!("typedef {} T;\n{}", c_type(dtype), carried(dtype))
}

/// Definitions for elements that are sorted by keys.
pub(crate) fn ordered(dtype: DType) -> String {
    format!("{}typedef {} K;\n{}", computed(dtype), element_type(dtype.size()), include_str!("../kernels/keys.cuh"))
}

/// Definitions for indices of a dtype.
pub(crate) fn indices(dtype: DType) -> String {
    format!("typedef {} N;\n", c_type(dtype))
}

/// A definition of a number.
pub(crate) fn define(name: &str, value: usize) -> String {
    format!("#define {name} {value}\n")
}

/// The function of an op under another name.
pub(crate) fn function_text(name: &str, op: Point, dtype: DType) -> String {
    let body = op_text(op, dtype).expect("floats have it");
    format!("{body}#define {name} {}\n", function(op, dtype))
}
