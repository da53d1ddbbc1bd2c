//! The macro that marks a fail point. It stands apart from them because it is there, and empty, without them.

/// Marks a place where a test can make something go wrong: see the module `fail`. `fail_point!("site")` may panic;
/// `fail_point!("site", error => return Err(error))` also does what it is given. In a build without debug assertions it expands to
/// nothing, unless the feature `faults` is on. The site is looked up when the code is compiled.
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

/// Marks a place where a test can make something go wrong: here, without debug assertions and the feature `faults`, it expands to nothing.
#[cfg(not(any(feature = "faults", debug_assertions)))]
#[macro_export]
macro_rules! fail_point {
    ($site:literal) => {};
    ($site:literal, $error:ident => $then:expr) => {};
}
