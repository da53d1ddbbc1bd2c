//! One link: PTX in, machine code out, by the driver's own assembler. It has no C to read, so it takes a fraction of a compilation.
//!
//! The driver loads its assembler from a library of its own, `libnvidia-ptxjitcompiler`, which some containers lack. nvJitLink
//! contains the same assembler and is used instead if it is installed.

use crate::sys::{Context, Driver, JIT_LINK_PTX, JitLink, driver_code as code};
use std::ffi::{CString, c_void};
use std::sync::OnceLock;

/// The assembler for one device.
#[derive(Debug)]
pub(super) struct Linker {
    driver: &'static Driver,
    context: Context,
    arch: String,
    /// What is used if the driver has no assembler, or why it cannot be used.
    library: OnceLock<Result<JitLink, String>>,
}

/// Bytes for what the assembler has to say.
const LOG_BYTES: usize = 4096;

/// The driver's codes for a missing assembler, and for one that the user disabled.
const NO_ASSEMBLER: [i32; 2] = [code::NO_JIT_COMPILER, code::JIT_DISABLED];

impl Linker {
    pub(super) fn new(driver: &'static Driver, context: Context, arch: String) -> Linker {
        Linker { driver, context, arch, library: OnceLock::new() }
    }

    /// What machine code depends on besides the text and the architecture. Code by nvJitLink has the same stamp: either serves.
    pub(super) fn stamp(&self) -> String {
        format!("ptx by driver {}", self.driver.full_version())
    }

    /// The machine code of a text, or what the assembler says about it.
    pub(super) fn link(&self, text: &str) -> Result<Vec<u8>, String> {
        let source = CString::new(text).map_err(|e| e.to_string())?;
        self.link_by_driver(&source).or_else(|(error, said)| {
            if !NO_ASSEMBLER.contains(&error) {
                return Err(said);
            }
            let library = self.library.get_or_init(|| JitLink::open(self.driver.release()));
            link_by_library(library, &self.arch, &source).map_err(|text| format!("{said}; {text}"))
        })
    }

    /// The machine code of a text, or the driver's code and description of the error.
    fn link_by_driver(&self, source: &CString) -> Result<Vec<u8>, (i32, String)> {
        let driver = self.driver;
        let bytes = source.as_bytes_with_nul();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [code::JIT_ERROR_LOG, code::JIT_ERROR_LOG_BYTES];
        // The driver takes numbers where it takes addresses.
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut::<c_void>(LOG_BYTES)];
        let (mut state, mut image, mut size) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let (no_options, no_values) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the text ends; the options, the log and the state outlive the calls that use them; the state is destroyed on every
        // path once it was made, and the image is copied before.
        let (error, linked) = unsafe {
            let mut error = (driver.context_set)(self.context);
            if error == code::SUCCESS {
                error = (driver.link_create)(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut state);
            }
            if error != code::SUCCESS {
                return Err((error, driver.text(error)));
            }
            let (data, name) = (bytes.as_ptr().cast_mut().cast(), c"kernel.ptx".as_ptr());
            error = (driver.link_add)(state, code::JIT_INPUT_PTX, data, bytes.len(), name, 0, no_options, no_values);
            if error == code::SUCCESS {
                error = (driver.link_complete)(state, &mut image, &mut size);
            }
            let whole = error == code::SUCCESS && !image.is_null();
            let linked = whole.then(|| std::slice::from_raw_parts(image.cast::<u8>(), size).to_vec());
            (driver.link_destroy)(state);
            (error, linked)
        };
        let said = log.split(|byte| *byte == 0).next().map(String::from_utf8_lossy).unwrap_or_default();
        linked.ok_or_else(|| (error, format!("{} {}", driver.text(error), said.trim()).trim_end().to_owned()))
    }
}

/// The machine code of a text by nvJitLink. Without the library, the error says what to install.
fn link_by_library(library: &Result<JitLink, String>, arch: &str, source: &CString) -> Result<Vec<u8>, String> {
    let library = library.as_ref().map_err(|missing| {
        format!(
            "install libnvidia-ptxjitcompiler.so.1, which is part of the driver, or nvJitLink (`pip install nvidia-nvjitlink` for \
             CUDA 13, `nvidia-nvjitlink-cu12` for CUDA 12): {missing}"
        )
    })?;
    let option = CString::new(format!("-arch={arch}")).map_err(|e| e.to_string())?;
    let (mut state, mut size) = (std::ptr::null_mut(), 0);
    let bytes = source.as_bytes_with_nul();
    // SAFETY: option, text and name are zero-terminated and outlive the calls. The buffers have the sizes that the library
    // states. The state is destroyed on every path once it was made.
    unsafe {
        let error = (library.create)(&mut state, 1, [option.as_ptr()].as_ptr());
        if error != 0 {
            return Err(format!("nvJitLinkCreate failed with code {error} for {arch}"));
        }
        let name = c"kernel.ptx".as_ptr();
        let mut error = (library.add)(state, JIT_LINK_PTX, bytes.as_ptr().cast(), bytes.len(), name);
        if error == 0 {
            error = (library.complete)(state);
        }
        if error == 0 {
            error = (library.cubin_size)(state, &mut size);
        }
        let mut image = vec![0u8; size];
        if error == 0 {
            error = (library.cubin)(state, image.as_mut_ptr().cast());
        }
        let linked = if error == 0 {
            Ok(image)
        } else {
            let mut log = match (library.log_size)(state, &mut size) {
                0 => vec![0u8; size],
                _ => Vec::new(),
            };
            if !log.is_empty() {
                (library.log)(state, log.as_mut_ptr().cast());
            }
            let said = String::from_utf8_lossy(&log);
            Err(format!("nvJitLink failed with code {error}: {}", said.trim_end_matches('\0').trim()))
        };
        (library.destroy)(&mut state);
        linked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_assembler_the_error_says_what_to_install() {
        let missing = Err("libnvJitLink.so.13 or libnvJitLink.so.12 was not found".to_owned());
        let error = link_by_library(&missing, "sm_90", &c"".to_owned()).unwrap_err();
        for part in ["libnvidia-ptxjitcompiler.so.1", "pip install nvidia-nvjitlink", "libnvJitLink.so.13 or"] {
            assert!(error.contains(part), "{error}");
        }
    }

    /// Needs the library, but no device.
    #[test]
    #[ignore = "needs libnvJitLink: set FORERUN_CUDA_PATH to a folder with pip packages"]
    fn the_library_links_ptx() {
        let library = JitLink::open(13);
        assert!(library.is_ok(), "{library:?}");
        let source = CString::new(crate::text::first_ptx()).unwrap();
        let image = link_by_library(&library, "sm_90", &source).unwrap();
        assert!(image.starts_with(b"\x7fELF"));
        let error =
            link_by_library(&library, "sm_90", &c".version 6.0\n.target sm_70\nnonsense".to_owned()).unwrap_err();
        assert!(error.starts_with("nvJitLink failed with code") && error.contains("nonsense"), "{error}");
    }
}
