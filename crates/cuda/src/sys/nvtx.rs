//! Bindings to NVTX: ranges that NVIDIA's profilers show above the kernels launched in them.

use super::library::Library;
use super::table::table;
use forerun_base::Settings;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

table! {
    /// The functions of libnvtx3interop, or of the older libnvToolsExt.
    Nvtx {
        push = "nvtxRangePushA"(text: *const c_char);
        pop = "nvtxRangePop"();
    }
}

impl Nvtx {
    /// The library, if `FORERUN_NVTX` enables ranges or, without that variable, if a profiler has set its own variable.
    pub(crate) fn of_process() -> Option<&'static Nvtx> {
        static FOUND: OnceLock<Option<Nvtx>> = OnceLock::new();
        FOUND
            .get_or_init(|| {
                let profiled = std::env::var_os("NVTX_INJECTION64_PATH").is_some();
                let wanted = Settings::environment().switch("FORERUN_NVTX").unwrap_or(profiled);
                if wanted { Nvtx::open().ok() } else { None }
            })
            .as_ref()
    }

    fn open() -> Result<Nvtx, String> {
        Nvtx::fill(&Library::open(&["libnvtx3interop.so.1", "libnvToolsExt.so.1"], "nvtx")?)
    }

    /// Begins a range on this thread.
    pub(crate) fn begin(&self, label: &str) {
        if let Ok(label) = CString::new(label) {
            // SAFETY: the string is zero-terminated, and the profiler copies it.
            unsafe { (self.push)(label.as_ptr()) };
        }
    }

    /// Ends the last range on this thread.
    pub(crate) fn end(&self) {
        // SAFETY: the call has no arguments or preconditions.
        unsafe { (self.pop)() };
    }
}
