//! Which of NVIDIA's libraries this machine has, for reports. The search is the one that devices use.

use super::library::Library;
use super::{Blas, Driver, Fourier, JitLink, Nvrtc};

/// A library: its name, and the path of its file or the reason why it cannot be used.
pub type FoundLibrary = (&'static str, Result<String, String>);

/// The version of the driver, such as 13010 for 13.1, or the reason why there is none.
pub fn driver_version() -> Result<i32, String> {
    Driver::get().map(Driver::full_version).map_err(|error| error.message().to_owned())
}

/// The libraries that devices use. Each one that is found gets loaded.
pub fn libraries() -> Vec<FoundLibrary> {
    // Without a driver the newest release is preferred.
    let release = Driver::get().map_or(i32::MAX, Driver::release);
    let path = |library: Result<Library, String>, symbol: &str| library.and_then(|found| found.path_by(symbol));
    let assembler = Library::open(&["libnvidia-ptxjitcompiler.so.1"], "none");
    vec![
        ("libcuda", path(Driver::library(), "cuInit\0")),
        ("libnvrtc", path(Nvrtc::library(release), "nvrtcVersion\0")),
        ("libcublasLt", path(Blas::library(release), "cublasLtGetVersion\0")),
        ("libcufft", path(Fourier::library(release), "cufftGetVersion\0")),
        ("libnvJitLink", path(JitLink::library(release), "nvJitLinkCreate\0")),
        ("libnvidia-ptxjitcompiler", assembler.map(|found| found.name().to_owned())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_is_found_or_named() {
        for (name, found) in libraries() {
            match found {
                Ok(path) => assert!(path.contains(name), "{path}"),
                Err(reason) => assert!(reason.contains(name), "{reason}"),
            }
        }
    }
}
