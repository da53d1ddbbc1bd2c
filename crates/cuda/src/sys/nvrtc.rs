//! Bindings to NVRTC, the run-time compiler.

use super::library::Library;
use super::table::table;
use std::ffi::{c_char, c_int, c_void};

/// A compilation unit.
pub(crate) type Program = *mut c_void;

table! {
    /// The functions of libnvrtc.
    Nvrtc {
        version = "nvrtcVersion"(major: *mut c_int, minor: *mut c_int);
        create = "nvrtcCreateProgram"(
            program: *mut Program, source: *const c_char, name: *const c_char, headers: c_int,
            texts: *const *const c_char, names: *const *const c_char,
        );
        compile = "nvrtcCompileProgram"(program: Program, count: c_int, options: *const *const c_char);
        destroy = "nvrtcDestroyProgram"(program: *mut Program);
        log_size = "nvrtcGetProgramLogSize"(program: Program, size: *mut usize);
        log = "nvrtcGetProgramLog"(program: Program, text: *mut c_char);
        cubin_size = "nvrtcGetCUBINSize"(program: Program, size: *mut usize);
        cubin = "nvrtcGetCUBIN"(program: Program, image: *mut c_char);
    }
}

impl Nvrtc {
    /// Opens the library, preferring the release that matches the driver.
    pub(crate) fn open(release: i32) -> Result<Nvrtc, String> {
        Nvrtc::fill(&Nvrtc::library(release)?)
    }

    pub(super) fn library(release: i32) -> Result<Library, String> {
        let names =
            if release >= 13 { ["libnvrtc.so.13", "libnvrtc.so.12"] } else { ["libnvrtc.so.12", "libnvrtc.so.13"] };
        Library::open(&names, "cuda_nvrtc")
    }
}
