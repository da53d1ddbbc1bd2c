//! Products without cuBLASLt: of integers and truth values, and of half floats with layouts that it cannot read.

use super::bodies::{c_type, carried};
use super::prelude;
use forerun_base::DType;

/// The kernel of a plain product.
pub(crate) fn product_text(dtype: DType) -> String {
    let (t, carried) = (c_type(dtype), carried(dtype));
    prelude::open(&format!("typedef {t} T;\n{carried}{}", include_str!("../kernels/product.cuh")))
}
