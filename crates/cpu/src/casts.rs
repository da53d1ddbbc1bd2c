//! Casts from any dtype to any other.
//!
//! A cast to complex sets the imaginary part to 0; a cast from complex takes the real part (inference has rejected
//! implicit ones). Integer to integer wraps. Float to integer truncates and saturates; NaN becomes 0. A cast to bool is
//! `x != 0`. Every cast rounds once, except for 64-bit integers to half floats, which go through double precision.
//! (NumPy leaves out-of-range floats to the CPU; saturation gives the same result everywhere.)

use crate::each;
use crate::loops::{self, Loop};
use crate::simd::{Baseline, Set};
use forerun_base::{BFloat16, Complex, DType, Float16};

/// Conversion from an element of another dtype.
pub(crate) trait CastFrom<A>: Copy {
    /// Converts one element.
    fn cast_from(value: A) -> Self;

    /// Converts the first elements of a slice, as many as fit into the target.
    #[inline(always)]
    fn cast_all(from: &[A], to: &mut [Self])
    where
        A: Copy,
    {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = Self::cast_from(from);
        }
    }
}

/// Calls `$then!` with the element type of each dtype.
macro_rules! for_each_dtype {
    ($then:ident) => {
        $then! {
            Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            F16 Float16, BF16 BFloat16, F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>
        }
    };
}

macro_rules! numbers {
    ($($from:ident)*) => {
        $(numbers!(@@ $from);
        impl CastFrom<$from> for bool {
            #[inline(always)]
            fn cast_from(value: $from) -> bool { value != (0 as $from) }
        }
        impl CastFrom<bool> for $from {
            #[inline(always)]
            fn cast_from(value: bool) -> $from { value as u8 as $from }
        })*
    };
    (@@ f32) => { numbers!(@ f32: u32 u64 f32 f64); };
    (@@ f64) => { numbers!(@ f64: u32 u64 f32 f64); };
    (@@ $from:ident) => { numbers!(@ $from: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64); };
    (@ $from:ident: $($to:ident)*) => {
        $(impl CastFrom<$from> for $to {
            #[inline(always)]
            fn cast_from(value: $from) -> $to { value as $to }
        })*
    };
}

numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

/// Truncating and saturating float-to-integer conversion. Unlike `as`, the compiler vectorizes it.
macro_rules! to_whole {
    ($($from:ident to $to:ident by $wide:ident, $least:literal, $beyond:literal;)*) => {
        $(impl CastFrom<$from> for $to {
            #[inline(always)]
            fn cast_from(value: $from) -> $to {
                let low = if value > $least { value } else { $least };
                let inside = low < $beyond;
                let held = if inside { low } else { 0.0 };
                // SAFETY: the value lies within the range of the integer type and is not NaN.
                let whole = unsafe { held.to_int_unchecked::<$wide>() } as $to;
                let whole = if inside { whole } else { $to::MAX };
                if value == value { whole } else { 0 }
            }
            to_whole!(@ $from to $to);
        })*
    };
    (@ $from:ident to i64) => {
        #[inline(always)]
        fn cast_all(from: &[$from], to: &mut [i64]) {
            // Few instruction sets have this conversion, but all have the one to 32 bits, which suffices for nearly all
            // numbers.
            const STEP: usize = 32;
            for (from, to) in from.chunks(STEP).zip(to.chunks_mut(STEP)) {
                let mut near = true;
                for &value in from {
                    near &= value.abs() < 2147483648.0;
                }
                if near {
                    for (to, &value) in to.iter_mut().zip(from) {
                        // SAFETY: the value lies within the range of 32 bits and is not NaN.
                        *to = unsafe { value.to_int_unchecked::<i32>() } as i64;
                    }
                } else {
                    for (to, &value) in to.iter_mut().zip(from) {
                        *to = i64::cast_from(value);
                    }
                }
            }
        }
    };
    (@ $from:ident to $to:ident) => {};
}

to_whole! {
    f32 to i32 by i32, -2147483648.0, 2147483648.0;
    f64 to i32 by i32, -2147483648.0, 2147483648.0;
    f32 to i64 by i64, -9223372036854775808.0, 9223372036854775808.0;
    f64 to i64 by i64, -9223372036854775808.0, 9223372036854775808.0;
    f32 to i8 by i32, -128.0, 128.0;
    f64 to i8 by i32, -128.0, 128.0;
    f32 to u8 by i32, 0.0, 256.0;
    f64 to u8 by i32, 0.0, 256.0;
    f32 to i16 by i32, -32768.0, 32768.0;
    f64 to i16 by i32, -32768.0, 32768.0;
    f32 to u16 by i32, 0.0, 65536.0;
    f64 to u16 by i32, 0.0, 65536.0;
}

impl CastFrom<bool> for bool {
    #[inline(always)]
    fn cast_from(value: bool) -> bool {
        value
    }
}

macro_rules! halves {
    ($half:ident: $($other:ident by $wide:ident as $from_wide:ident,)*) => {
        $(impl CastFrom<$other> for $half {
            #[inline(always)]
            fn cast_from(value: $other) -> $half { $half::$from_wide($wide::cast_from(value)) }
        }
        impl CastFrom<$half> for $other {
            #[inline(always)]
            fn cast_from(value: $half) -> $other { $other::cast_from(value.to_f32()) }
        })*
        impl CastFrom<$half> for $half {
            #[inline(always)]
            fn cast_from(value: $half) -> $half { value }
        }
    };
    ($($half:ident)*) => {
        $(halves! {
            $half: bool by f32 as from_f32, i8 by f32 as from_f32, i16 by f32 as from_f32, u8 by f32 as from_f32,
            u16 by f32 as from_f32, i32 by f64 as from_f64, i64 by f64 as from_f64, u32 by f64 as from_f64,
            u64 by f64 as from_f64, f32 by f32 as from_f32, f64 by f64 as from_f64,
        })*
    };
}

halves! { Float16 BFloat16 }

impl CastFrom<Float16> for BFloat16 {
    #[inline(always)]
    fn cast_from(value: Float16) -> BFloat16 {
        BFloat16::from_f32(value.to_f32())
    }
}

impl CastFrom<BFloat16> for Float16 {
    #[inline(always)]
    fn cast_from(value: BFloat16) -> Float16 {
        Float16::from_f32(value.to_f32())
    }
}

macro_rules! complex {
    ($part:ident: $($other:ident)*) => {
        $(impl CastFrom<$other> for Complex<$part> {
            #[inline(always)]
            fn cast_from(value: $other) -> Complex<$part> { Complex { re: $part::cast_from(value), im: 0.0 } }
        }
        complex!(@ $part $other);)*
        impl CastFrom<Complex<$part>> for bool {
            #[inline(always)]
            fn cast_from(value: Complex<$part>) -> bool { value.re != 0.0 || value.im != 0.0 }
        }
    };
    (@ $part:ident bool) => {};
    (@ $part:ident $other:ident) => {
        impl CastFrom<Complex<$part>> for $other {
            #[inline(always)]
            fn cast_from(value: Complex<$part>) -> $other { $other::cast_from(value.re) }
        }
    };
}

complex! { f32: bool i8 i16 i32 i64 u8 u16 u32 u64 Float16 BFloat16 f32 f64 }
complex! { f64: bool i8 i16 i32 i64 u8 u16 u32 u64 Float16 BFloat16 f32 f64 }

macro_rules! between {
    ($($from:ident to $to:ident,)*) => {
        $(impl CastFrom<Complex<$from>> for Complex<$to> {
            #[inline(always)]
            fn cast_from(value: Complex<$from>) -> Complex<$to> {
                Complex { re: value.re as $to, im: value.im as $to }
            }
        })*
    };
}

between! { f32 to f32, f32 to f64, f64 to f32, f64 to f64, }

/// Whether a cast is vectorized for every instruction set: both dtypes have vectors, or one has and the other is a
/// narrow integer.
pub(crate) const fn is_fast(from: DType, to: DType) -> bool {
    const fn is_narrow(dtype: DType) -> bool {
        matches!(dtype, DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32)
    }
    let (from_fast, to_fast) = (loops::is_fast(from), loops::is_fast(to));
    from_fast && (to_fast || is_narrow(to)) || is_narrow(from) && to_fast
}

/// The cast loop: with vectors of the set if [`is_fast`], otherwise with those of the baseline.
pub(crate) fn find<S: Set>(set: S, from: DType, to: DType) -> Option<Loop> {
    if !is_fast(from, to) {
        return Some(any(from, to));
    }
    fn of_fast<S: Set, A: Copy>(set: S, to: DType) -> Option<Loop>
    where
        i8: CastFrom<A>,
        i16: CastFrom<A>,
        u8: CastFrom<A>,
        u16: CastFrom<A>,
        u32: CastFrom<A>,
        bool: CastFrom<A>,
        i32: CastFrom<A>,
        i64: CastFrom<A>,
        f32: CastFrom<A>,
        f64: CastFrom<A>,
    {
        match to {
            DType::I8 => Some(each::find::<S, each::Cast<A, i8>>(set)),
            DType::I16 => Some(each::find::<S, each::Cast<A, i16>>(set)),
            DType::U8 => Some(each::find::<S, each::Cast<A, u8>>(set)),
            DType::U16 => Some(each::find::<S, each::Cast<A, u16>>(set)),
            DType::U32 => Some(each::find::<S, each::Cast<A, u32>>(set)),
            _ => of_narrow::<S, A>(set, to),
        }
    }
    fn of_narrow<S: Set, A: Copy>(set: S, to: DType) -> Option<Loop>
    where
        bool: CastFrom<A>,
        i32: CastFrom<A>,
        i64: CastFrom<A>,
        f32: CastFrom<A>,
        f64: CastFrom<A>,
    {
        match to {
            DType::Bool => Some(each::find::<S, each::Cast<A, bool>>(set)),
            DType::I32 => Some(each::find::<S, each::Cast<A, i32>>(set)),
            DType::I64 => Some(each::find::<S, each::Cast<A, i64>>(set)),
            DType::F32 => Some(each::find::<S, each::Cast<A, f32>>(set)),
            DType::F64 => Some(each::find::<S, each::Cast<A, f64>>(set)),
            _ => None,
        }
    }
    match from {
        DType::Bool => of_fast::<S, bool>(set, to),
        DType::I32 => of_fast::<S, i32>(set, to),
        DType::I64 => of_fast::<S, i64>(set, to),
        DType::F32 => of_fast::<S, f32>(set, to),
        DType::F64 => of_fast::<S, f64>(set, to),
        DType::I8 => of_narrow::<S, i8>(set, to),
        DType::I16 => of_narrow::<S, i16>(set, to),
        DType::U8 => of_narrow::<S, u8>(set, to),
        DType::U16 => of_narrow::<S, u16>(set, to),
        DType::U32 => of_narrow::<S, u32>(set, to),
        DType::U64 | DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
    }
}

macro_rules! table {
    ($($name:ident $type:ty),*) => {
        fn any(from: DType, to: DType) -> Loop {
            fn into<A: Copy>(to: DType) -> Loop
            where
                $($type: CastFrom<A>,)*
            {
                match to {
                    $(DType::$name => each::find::<Baseline, each::Cast<A, $type>>(Baseline),)*
                }
            }
            match from {
                $(DType::$name => into::<$type>(to),)*
            }
        }
    };
}

for_each_dtype!(table);
