//! Gives the shared library its name for the dynamic linker, which changes with every incompatible ABI.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    let argument = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => format!("-Wl,-soname,libforerun.so.{major}"),
        Ok("macos") => format!("-Wl,-install_name,@rpath/libforerun.{major}.dylib"),
        _ => return,
    };
    println!("cargo::rustc-cdylib-link-arg={argument}");
}
