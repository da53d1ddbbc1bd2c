//! Ranges that NVIDIA's profilers show above the kernels launched in them.

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
    /// The library, if `FORERUN_NVTX` wants ranges or, where it says nothing, a profiler has set its own variable.
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

    /// A range of this thread begins.
    pub(crate) fn begin(&self, label: &str) {
        if let Ok(label) = CString::new(label) {
            // SAFETY: a text that ends, copied by whoever looks at it.
            unsafe { (self.push)(label.as_ptr()) };
        }
    }

    /// The last range of this thread ends.
    pub(crate) fn end(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.pop)() };
    }
}
