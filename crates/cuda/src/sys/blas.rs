//! Bindings to cuBLASLt (matrix products).

use super::library::Library;
use super::table::table;
use std::ffi::{c_int, c_void};

/// A handle, descriptor, layout or preference.
pub(crate) type Handle = *mut c_void;

/// Constants of the library.
pub(crate) mod code {
    pub(crate) const NOT_SUPPORTED: i32 = 15;
    pub(crate) const REAL_32: i32 = 0;
    pub(crate) const REAL_16: i32 = 2;
    pub(crate) const BRAIN_16: i32 = 14;
    pub(crate) const REAL_64: i32 = 1;
    pub(crate) const COMPUTE_32: i32 = 68;
    pub(crate) const COMPUTE_64: i32 = 70;
    pub(crate) const COMPUTE_TF32: i32 = 77;
    pub(crate) const DESC_TRANS_A: i32 = 3;
    pub(crate) const DESC_TRANS_B: i32 = 4;
    pub(crate) const LAYOUT_BATCH_COUNT: i32 = 5;
    pub(crate) const LAYOUT_BATCH_STRIDE: i32 = 6;
    pub(crate) const PREFER_WORKSPACE: i32 = 1;
    pub(crate) const PREFER_REDUCTION: i32 = 3;
    /// Partial sums are added in the compute type.
    pub(crate) const REDUCTION_AS_COMPUTED: u32 = 2;
    pub(crate) const PREFER_ALIGNMENT: [i32; 4] = [5, 6, 7, 8];
}

/// An algorithm, as the library stores it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heuristic {
    pub(crate) algorithm: [u64; 8],
    pub(crate) workspace: usize,
    pub(crate) state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

impl Heuristic {
    pub(crate) const EMPTY: Heuristic =
        Heuristic { algorithm: [0; 8], workspace: 0, state: 0, waves: 0.0, reserved: [0; 4] };
}

table! {
    /// The functions of libcublasLt.
    Blas {
        create = "cublasLtCreate"(handle: *mut Handle);
        desc_create = "cublasLtMatmulDescCreate"(desc: *mut Handle, compute: c_int, scale: c_int);
        desc_set = "cublasLtMatmulDescSetAttribute"(desc: Handle, which: c_int, value: *const c_void, size: usize);
        desc_destroy = "cublasLtMatmulDescDestroy"(desc: Handle);
        layout_create = "cublasLtMatrixLayoutCreate"(layout: *mut Handle, kind: c_int, rows: u64, columns: u64, lead: i64);
        layout_set = "cublasLtMatrixLayoutSetAttribute"(layout: Handle, which: c_int, value: *const c_void, size: usize);
        layout_destroy = "cublasLtMatrixLayoutDestroy"(layout: Handle);
        preference_create = "cublasLtMatmulPreferenceCreate"(preference: *mut Handle);
        preference_set = "cublasLtMatmulPreferenceSetAttribute"(
            preference: Handle, which: c_int, value: *const c_void, size: usize,
        );
        preference_destroy = "cublasLtMatmulPreferenceDestroy"(preference: Handle);
        heuristic = "cublasLtMatmulAlgoGetHeuristic"(
            handle: Handle, desc: Handle, a: Handle, b: Handle, c: Handle, d: Handle, preference: Handle, wanted: c_int,
            results: *mut Heuristic, found: *mut c_int,
        );
        multiply = "cublasLtMatmul"(
            handle: Handle, desc: Handle, alpha: *const c_void, a: u64, a_layout: Handle, b: u64, b_layout: Handle,
            beta: *const c_void, c: u64, c_layout: Handle, d: u64, d_layout: Handle, algorithm: *const u64,
            workspace: u64, bytes: usize, stream: *mut c_void,
        );
    }
}

impl Blas {
    /// Opens the library, preferring the release that matches the driver.
    pub(crate) fn open(release: i32) -> Result<Blas, String> {
        Blas::fill(&Blas::library(release)?)
    }

    pub(super) fn library(release: i32) -> Result<Library, String> {
        let new = ["libcublasLt.so.13", "libcublasLt.so.12"];
        let names = if release >= 13 { new } else { [new[1], new[0]] };
        Library::open(&names, "cublas")
    }
}
