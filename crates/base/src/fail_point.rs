//! The macro that marks a fail point. It is separate from `fail` because it exists, empty, without that module.

/// Marks a place where a test can inject a failure: see the module `fail`. `fail_point!("site")` may panic;
/// `fail_point!("site", error => return Err(error))` also runs the given code. In a build without debug assertions it
/// expands to nothing, unless the feature `faults` is on. The site is looked up at compile time.
#[cfg(any(feature = "faults", debug_assertions))]
#[macro_export]
macro_rules! fail_point {
    ($site:literal) => {
        let _ = $crate::fail::hit_at(const { $crate::fail::index($site) });
    };
    ($site:literal, $error:ident => $then:expr) => {
        if $crate::fail::hit_at(const { $crate::fail::index($site) }).is_some() {
            let $error = $crate::fail::error($site);
            $then
        }
    };
}

/// Marks a place where a test can inject a failure. In this build, without debug assertions and the feature `faults`,
/// it expands to nothing.
#[cfg(not(any(feature = "faults", debug_assertions)))]
#[macro_export]
macro_rules! fail_point {
    ($site:literal) => {};
    ($site:literal, $error:ident => $then:expr) => {};
}
