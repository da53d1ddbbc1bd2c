//! Bindings to nvJitLink, an assembler for PTX that needs neither the driver nor a device.

use super::library::Library;
use super::table::table;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// One link.
pub(crate) type JitLinkState = *mut c_void;

/// The kind of an input that is PTX.
pub(crate) const PTX: c_int = 2;

table! {
    /// The functions of libnvJitLink.
    JitLink {
        create = "nvJitLinkCreate"(state: *mut JitLinkState, count: c_uint, options: *const *const c_char);
        add = "nvJitLinkAddData"(
            state: JitLinkState, kind: c_int, data: *const c_void, bytes: usize, name: *const c_char,
        );
        complete = "nvJitLinkComplete"(state: JitLinkState);
        cubin_size = "nvJitLinkGetLinkedCubinSize"(state: JitLinkState, size: *mut usize);
        cubin = "nvJitLinkGetLinkedCubin"(state: JitLinkState, image: *mut c_void);
        log_size = "nvJitLinkGetErrorLogSize"(state: JitLinkState, size: *mut usize);
        log = "nvJitLinkGetErrorLog"(state: JitLinkState, text: *mut c_char);
        destroy = "nvJitLinkDestroy"(state: *mut JitLinkState);
    }
}

impl JitLink {
    /// Opens the library, preferring the release that matches the driver.
    pub(crate) fn open(release: i32) -> Result<JitLink, String> {
        JitLink::fill(&JitLink::library(release)?)
    }

    pub(super) fn library(release: i32) -> Result<Library, String> {
        let mut names = ["libnvJitLink.so.12", "libnvJitLink.so.13"];
        if release >= 13 {
            names.reverse();
        }
        Library::open(&names, "nvjitlink")
    }
}
