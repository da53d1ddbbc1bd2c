//! Kernels that only move elements, as CUDA C.

use super::bodies::{c_type, element_type, short};
use super::prelude;
use forerun_base::DType;

fn copy(rank: usize, pack: usize, narrow: bool, types: &str) -> String {
    let (index, offset, quotient) =
        if narrow { ("u32", "int", "quotient(n, d)") } else { ("u64", "i64", "((n) / (d))") };
    prelude::open(&format!(
        "typedef {index} I;\ntypedef {offset} O;\n#define QUOTIENT(n, d) {quotient}\n#define RANK {rank}\n\
         #define PACK {pack}\n{types}{}",
        include_str!("../kernels/copy.cuh")
    ))
}

/// A copy of elements of this many bytes between two layouts of this rank.
pub(crate) fn copy_text(size: usize, rank: usize, pack: usize, narrow: bool) -> String {
    let t = element_type(size);
    copy(rank, pack, narrow, &format!("typedef {t} F;\ntypedef {t} T;\n#define CAST(x) x\n#define FROM_SCALAR 0\n"))
}

/// A copy with a cast; without a source dtype, of a scalar in the target's dtype.
pub(crate) fn put_text(from: Option<DType>, to: DType, rank: usize, pack: usize, narrow: bool) -> String {
    let types = format!(
        "typedef {} F;\ntypedef {} T;\n#define CAST(x) to_{}(x)\n#define FROM_SCALAR {}\n",
        c_type(from.unwrap_or(to)),
        c_type(to),
        short(to),
        from.is_none() as u8
    );
    copy(rank, pack, narrow, &types)
}

/// A transposing copy of elements of this many bytes, with this many batch dimensions.
pub(crate) fn transpose_text(size: usize, stacked: usize) -> String {
    prelude::open(&format!(
        "typedef {} T;\n#define STACKED {stacked}\n{}",
        element_type(size),
        include_str!("../kernels/transpose.cuh")
    ))
}
