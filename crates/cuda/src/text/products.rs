//! Products that no library has: of integers and of truth values.

use super::bodies::{PRELUDE, c_type};
use forerun_base::DType;

/// The kernel of a plain product.
pub(crate) fn product_text(dtype: DType) -> String {
    format!("{PRELUDE}typedef {} T;\n{}", c_type(dtype), include_str!("../kernels/product.cuh"))
}
