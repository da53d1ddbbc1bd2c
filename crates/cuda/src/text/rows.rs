//! Kernels with index arrays, as CUDA C.

use super::bodies::{c_type, carried, element_type};
use super::prelude;
use forerun_base::DType;
use forerun_ops::Beyond;

fn opening(element: &str, indices: DType, beyond: Beyond) -> String {
    format!(
        "typedef {element} T;\ntypedef {} N;\n#define BEYOND {}\n{}",
        c_type(indices),
        beyond as u8,
        include_str!("../kernels/rows.cuh")
    )
}

/// The kernel of `take`, with vectors of elements.
pub(crate) fn take_text(size: usize, indices: DType, beyond: Beyond, pack: usize, narrow: bool) -> String {
    let index = if narrow { "u32" } else { "u64" };
    let opening = opening(element_type(size), indices, beyond);
    prelude::open(&format!("{opening}typedef {index} I;\n#define PACK {pack}\n{}", include_str!("../kernels/take.cuh")))
}

/// The kernel of `scatter_add`.
pub(crate) fn scatter_text(dtype: DType, indices: DType, beyond: Beyond) -> String {
    let (opening, carried) = (opening(c_type(dtype), indices, beyond), carried(dtype));
    prelude::open(&format!("{opening}{carried}{}", include_str!("../kernels/scatter.cuh")))
}
