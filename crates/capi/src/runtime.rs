//! The library: versions, threads, the seed, counters.

use crate::abi::{FORERUN_ABI_VERSION, forerun_counters, forerun_status};
use crate::caller::call;
use forerun::memory::memory_stats;
use forerun::runtime::{num_threads, set_num_threads, stats};
use std::ffi::{CStr, c_char};

/// The version of the ABI of the loaded library: `major << 16 | minor`. A program that was compiled with a header of the
/// same major version and of this minor version or an earlier one can use the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_abi_version() -> u32 {
    FORERUN_ABI_VERSION
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};

/// The version of the library, as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Restarts every thread's stream of random numbers. The same seed and program give the same numbers, in every language.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_seed(seed: u64) {
    forerun::seed(seed);
}

/// The number of threads that compute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_threads() -> usize {
    num_threads()
}

/// Sets the number of threads that compute; at least 1. Values do not depend on it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_set_threads(threads: usize) -> forerun_status {
    call(|_| Ok(set_num_threads(threads).map(drop)?))
}

/// Reads the counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_stats(out: *mut forerun_counters) -> forerun_status {
    call(|caller| {
        let (now, memory) = (stats(), memory_stats());
        let counters = forerun_counters {
            records: now.records,
            segments: now.segments,
            plan_hits: now.plan_hits,
            live_bytes: memory.live as u64,
            peak_bytes: memory.peak as u64,
        };
        caller.put(out, counters)
    })
}
