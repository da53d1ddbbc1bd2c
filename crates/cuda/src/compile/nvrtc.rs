//! One compilation with NVRTC: from CUDA C to machine code. Needs the compiler's library, but no device.

use crate::sys::{Nvrtc, NvrtcProgram};
use std::ffi::{CString, c_char};

/// The compiler options. Contraction is off, so that products and sums round as on the host.
const OPTIONS: [&str; 2] = ["--fmad=false", "--std=c++17"];

/// The options of a user's source, before the user's own.
const USER_OPTIONS: [&str; 1] = ["--std=c++17"];

/// An option that shortens compilation, and the first release with it: it omits the declarations of textures and the
/// run-time library. (`--Ofast-compile=min` would save more, but changes bits of powers and signs of NaN; results must
/// not depend on which kernel runs.)
const SPARING: (&str, (i32, i32)) = ("--minimal", (12, 4));

/// NVRTC for one architecture.
#[derive(Debug)]
pub struct TextCompiler {
    nvrtc: Nvrtc,
    arch: String,
    version: (i32, i32),
}

impl TextCompiler {
    /// The compiler for an architecture such as `sm_90`, preferring the given release of the library.
    pub fn open(release: i32, arch: &str) -> Result<TextCompiler, String> {
        let nvrtc = Nvrtc::open(release)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the pointers are to local numbers, the only memory that the call writes.
        unsafe { (nvrtc.version)(&mut major, &mut minor) };
        Ok(TextCompiler { nvrtc, arch: arch.to_owned(), version: (major, minor) })
    }

    fn options(&self) -> impl Iterator<Item = &'static str> {
        let (sparing, since) = SPARING;
        OPTIONS.into_iter().chain((self.version >= since).then_some(sparing))
    }

    /// Everything besides the source that the machine code depends on.
    pub fn stamp(&self) -> String {
        self.stamp_with(&self.options().collect::<Vec<_>>().join(" "))
    }

    /// The same for a user's source with options.
    pub(super) fn user_stamp(&self, options: &[String]) -> String {
        self.stamp_with(&format!("user {options:?}"))
    }

    fn stamp_with(&self, options: &str) -> String {
        format!("{} {}.{} {options}", self.arch, self.version.0, self.version.1)
    }

    /// The release of the library.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles a source; the error is the compiler's log.
    pub fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        self.compile_with(text, self.options().map(str::to_owned))
    }

    /// Compiles a user's source with its own options; the error is the compiler's log.
    pub fn compile_user(&self, text: &str, options: &[String]) -> Result<Vec<u8>, String> {
        self.compile_with(text, USER_OPTIONS.map(str::to_owned).into_iter().chain(options.iter().cloned()))
    }

    fn compile_with(&self, text: &str, given: impl Iterator<Item = String>) -> Result<Vec<u8>, String> {
        let source = CString::new(text).map_err(|e| e.to_string())?;
        let mut options = vec![format!("--gpu-architecture={}", self.arch)];
        options.extend(given);
        let options: Vec<CString> = options.into_iter().filter_map(|option| CString::new(option).ok()).collect();
        let addresses: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program: NvrtcProgram = std::ptr::null_mut();
        let (n, none) = (&self.nvrtc, std::ptr::null());
        // SAFETY: the strings are zero-terminated; the program is destroyed below on every path.
        unsafe {
            let made = (n.create)(&mut program, source.as_ptr(), c"kernel.cu".as_ptr(), 0, none, none);
            if made != 0 {
                return Err(format!("nvrtcCreateProgram failed with code {made}"));
            }
            let compiled = (n.compile)(program, addresses.len() as i32, addresses.as_ptr());
            let result = if compiled == 0 {
                self.read(program, n.cubin_size, n.cubin)
            } else {
                let log = self.read(program, n.log_size, n.log).unwrap_or_default();
                Err(String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned())
            };
            (n.destroy)(&mut program);
            result
        }
    }

    /// Reads a buffer of a program: first its size, then its contents.
    ///
    /// # Safety
    /// The program must not be destroyed, and the two functions must belong together.
    unsafe fn read(
        &self,
        program: NvrtcProgram,
        size: unsafe extern "C" fn(NvrtcProgram, *mut usize) -> i32,
        get: unsafe extern "C" fn(NvrtcProgram, *mut c_char) -> i32,
    ) -> Result<Vec<u8>, String> {
        let mut bytes = 0;
        // SAFETY: the buffer has the size that the compiler requested.
        unsafe {
            let mut error = size(program, &mut bytes);
            let mut image = vec![0u8; bytes];
            if error == 0 {
                error = get(program, image.as_mut_ptr().cast());
            }
            if error == 0 && bytes > 0 { Ok(image) } else { Err(format!("no machine code: nvrtc code {error}")) }
        }
    }
}
