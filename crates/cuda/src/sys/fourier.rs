//! Bindings to cuFFT (Fourier transforms).

use super::library::Library;
use super::table::table;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// Constants of the library.
pub(crate) mod code {
    /// Transform types in single and double precision: complex to complex, real to complex, complex to real.
    pub(crate) const COMPLETE: [i32; 2] = [0x29, 0x69];
    pub(crate) const HALF: [i32; 2] = [0x2a, 0x6a];
    pub(crate) const BACK: [i32; 2] = [0x2c, 0x6c];
    pub(crate) const FORWARD: i32 = -1;
    pub(crate) const INVERSE: i32 = 1;
}

table! {
    /// The functions of libcufft.
    Fourier {
        create = "cufftCreate"(plan: *mut c_int);
        destroy = "cufftDestroy"(plan: c_int);
        set_auto_allocation = "cufftSetAutoAllocation"(plan: c_int, on: c_int);
        make_many = "cufftMakePlanMany64"(
            plan: c_int, rank: c_int, extents: *mut i64, in_embed: *mut i64, in_stride: i64, in_apart: i64,
            out_embed: *mut i64, out_stride: i64, out_apart: i64, kind: c_int, batch: i64, work: *mut usize,
        );
        set_stream = "cufftSetStream"(plan: c_int, stream: *mut c_void);
        set_work = "cufftSetWorkArea"(plan: c_int, work: u64);
        run = "cufftXtExec"(plan: c_int, from: u64, to: u64, direction: c_int);
    }
}

impl Fourier {
    /// The library, if available, preferring the release that matches the driver.
    pub(crate) fn get(release: i32) -> Result<&'static Fourier, String> {
        static FOUND: OnceLock<Result<Fourier, String>> = OnceLock::new();
        FOUND.get_or_init(|| Fourier::fill(&Fourier::library(release)?)).as_ref().map_err(String::clone)
    }

    pub(super) fn library(release: i32) -> Result<Library, String> {
        let new = ["libcufft.so.12", "libcufft.so.11"];
        let names = if release >= 13 { new } else { [new[1], new[0]] };
        Library::open(&names, "cufft")
    }
}
