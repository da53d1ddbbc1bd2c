//! The macro that marks a fail point. It stands apart from them because it is there, and empty, without them.

/// Marks a place where a test can make something go wrong: see the module `fail`. `fail_point!("site")` may panic;
/// `fail_point!("site", error => return Err(error))` also does what it is given. Without the feature `faults` it expands to nothing.
#[cfg(feature = "faults")]
#[macro_export]
macro_rules! fail_point {
    ($site:literal) => {
        let _ = $crate::fail::hit($site);
    };
    ($site:literal, $error:ident => $then:expr) => {
        if $crate::fail::hit($site).is_some() {
            let $error = $crate::fail::error($site);
            $then
        }
    };
}

/// Marks a place where a test can make something go wrong: see the feature `faults`, without which it expands to nothing.
#[cfg(not(feature = "faults"))]
#[macro_export]
macro_rules! fail_point {
    ($site:literal) => {};
    ($site:literal, $error:ident => $then:expr) => {};
}
