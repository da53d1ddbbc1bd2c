//! One link: PTX in, machine code out, by the driver's own assembler. It has no C to read, so it takes a fraction of a compilation.

use crate::sys::{Context, Driver, driver_code as code};
use std::ffi::{CString, c_void};

/// The driver's assembler, for one device.
#[derive(Debug)]
pub(super) struct Linker {
    driver: &'static Driver,
    context: Context,
}

/// Bytes for what the assembler has to say.
const LOG_BYTES: usize = 4096;

impl Linker {
    pub(super) fn new(driver: &'static Driver, context: Context) -> Linker {
        Linker { driver, context }
    }

    /// What machine code depends on besides the text and the architecture.
    pub(super) fn stamp(&self) -> String {
        format!("ptx by driver {}", self.driver.full_version())
    }

    /// The machine code of a text, or what the assembler says about it.
    pub(super) fn link(&self, text: &str) -> Result<Vec<u8>, String> {
        let driver = self.driver;
        let source = CString::new(text).map_err(|e| e.to_string())?;
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
                return Err(driver.text(error));
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
        linked.ok_or_else(|| format!("{} {}", driver.text(error), said.trim()))
    }
}
