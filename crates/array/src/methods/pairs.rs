//! Defines functions in pairs: one that panics at the user's line, and one that returns the error.

use forerun_base::{Loc, Result};

/// The value, or a panic with the error at the caller's line.
#[track_caller]
#[inline]
pub(crate) fn good<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{}", error.submitted_at(Loc::caller())),
    }
}

/// Methods of `Array`: the names of both, the parameters, the result, and a body that gets the user's line.
macro_rules! methods {
    ($($(#[$meta:meta])* $name:ident, $try_name:ident(&$self:ident $(, $arg:ident: $type:ty)* $(,)?) -> $out:ty |$loc:ident| $body:block)*) => {
        impl $crate::Array {$(
            $(#[$meta])*
            #[track_caller]
            pub fn $name(&$self $(, $arg: $type)*) -> $out {
                $crate::methods::pairs::good($self.$try_name($($arg),*))
            }

            #[doc = concat!("As [`Array::", stringify!($name), "`], but returns the error.")]
            #[track_caller]
            pub fn $try_name(&$self $(, $arg: $type)*) -> forerun_base::Result<$out> {
                let $loc = forerun_base::Loc::caller();
                let made = || -> forerun_base::Result<$out> { $body };
                made().map_err(|error| error.submitted_at($loc))
            }
        )*}
    };
}
pub(crate) use methods;

/// The same for functions of a module.
macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident, $try_name:ident($($arg:ident: $type:ty),* $(,)?) -> $out:ty |$loc:ident| $body:block)*) => {$(
        $(#[$meta])*
        #[track_caller]
        pub fn $name($($arg: $type),*) -> $out {
            $crate::methods::pairs::good($try_name($($arg),*))
        }

        #[doc = concat!("As [`", stringify!($name), "()`], but returns the error.")]
        #[track_caller]
        pub fn $try_name($($arg: $type),*) -> forerun_base::Result<$out> {
            let $loc = forerun_base::Loc::caller();
            let made = || -> forerun_base::Result<$out> { $body };
            made().map_err(|error| error.submitted_at($loc))
        }
    )*};
}
pub(crate) use functions;

/// Methods of one pointwise op each: the op and both names. The second operand is an array or a number.
macro_rules! pointwise_methods {
    (unary: $($(#[$meta:meta])* $point:ident $name:ident $try_name:ident;)*) => {
        $crate::methods::pairs::methods! {$(
            $(#[$meta])*
            $name, $try_name(&self) -> $crate::Array |loc| {
                $crate::ops::pointwise(forerun_ops::Point::$point, &[$crate::Arg::Array(self)], loc)
            }
        )*}
    };
    (binary: $($(#[$meta:meta])* $point:ident $name:ident $try_name:ident;)*) => {
        $crate::methods::pairs::methods! {$(
            $(#[$meta])*
            $name, $try_name(&self, other: impl $crate::ArrayLike) -> $crate::Array |loc| {
                $crate::ops::pointwise(forerun_ops::Point::$point, &[$crate::Arg::Array(self), other.as_arg()], loc)
            }
        )*}
    };
    (ternary: $($(#[$meta:meta])* $point:ident $name:ident $try_name:ident;)*) => {
        $crate::methods::pairs::methods! {$(
            $(#[$meta])*
            $name, $try_name(&self, second: impl $crate::ArrayLike, third: impl $crate::ArrayLike) -> $crate::Array |loc| {
                let arguments = [$crate::Arg::Array(self), second.as_arg(), third.as_arg()];
                $crate::ops::pointwise(forerun_ops::Point::$point, &arguments, loc)
            }
        )*}
    };
}
pub(crate) use pointwise_methods;
