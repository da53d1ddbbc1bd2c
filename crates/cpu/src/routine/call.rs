//! From a kernel to its function: typed slices out of addresses.

use super::{along, choose, convolve, count, draw, fft, linalg, normalise, order, place, scan, search, unique};
use crate::simd::Isa;
use forerun_base::{Brain, Complex, DType, Half, Result, Team};
use forerun_ops::{Place, Routine};
use forerun_plan::{Executable, Io, RoutineCall};
use std::ops::Sub;
use std::sync::Arc;

/// What a routine does.
pub(super) type Body = fn(&Args<'_>, &dyn Team) -> Result<()>;

/// A routine ready to run.
struct Compiled {
    call: RoutineCall,
    body: Body,
    isa: Isa,
}

pub(crate) fn compile(call: &RoutineCall, isa: Isa) -> Arc<dyn Executable> {
    let body = match call.routine {
        Routine::Along(routine) => along::body(routine),
        Routine::Draw(routine) => draw::body(routine),
        Routine::Fft(routine) => fft::body(routine),
        Routine::Linalg(routine) => linalg::body(routine),
        Routine::Choose(routine) => choose::body(routine),
        Routine::Convolve(routine) => convolve::body(routine),
        Routine::Count(routine) => count::body(routine),
        Routine::Normalise(routine) => normalise::body(routine),
        Routine::Order(routine) => order::body(routine),
        Routine::Place(routine) => place::body(routine),
        Routine::Scan(routine) => scan::body(routine),
        Routine::Search(routine) => search::body(routine),
        Routine::Unique(routine) => unique::body(routine),
    };
    Arc::new(Compiled { call: call.clone(), body, isa })
}

impl Executable for Compiled {
    unsafe fn check(&self, io: Io<'_>) -> Result<()> {
        match self.call.routine {
            // The one that may write over an input.
            Routine::Place(Place::Put) => place::check_put(&Args { call: &self.call, isa: self.isa, io }),
            _ => Ok(()),
        }
    }

    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        // SAFETY: the caller's promise is this one.
        if let Err(error) = unsafe { self.attempt(io, team) } {
            panic!("{error}");
        }
    }

    unsafe fn attempt(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        (self.body)(&Args { call: &self.call, isa: self.isa, io }, team)
    }
}

/// What one run works on. Made only where the addresses are promised to be good.
pub(super) struct Args<'a> {
    pub(super) call: &'a RoutineCall,
    pub(super) isa: Isa,
    pub(super) io: Io<'a>,
}

impl Args<'_> {
    /// The elements of an input. Truth values are bytes.
    pub(super) fn input<T: Element>(&self, i: usize) -> &[T] {
        let (dtype, shape) = &self.call.inputs[i];
        assert_eq!(dtype.size(), size_of::<T>(), "input {i} of {}", self.call.routine.name());
        // SAFETY: whoever runs the routine promised that the address reaches so many elements, which nobody changes
        // meanwhile; of an empty array the address may be anything.
        unsafe { slice(self.io.inputs[i], shape.size()) }
    }

    /// Whether the result takes the place of the first input, which is then not looked at.
    pub(super) fn is_in_place(&self) -> bool {
        std::ptr::eq(self.io.inputs[0], self.io.outputs[0])
    }

    /// The elements of the result, of which nothing is known yet unless it takes an input's place.
    #[expect(clippy::mut_from_ref, reason = "a routine takes its output once")]
    pub(super) fn output<T: Element>(&self) -> &mut [T] {
        let (dtype, shape) = &self.call.out;
        assert_eq!(dtype.size(), size_of::<T>(), "output of {}", self.call.routine.name());
        let count = shape.size();
        if count == 0 {
            return &mut [];
        }
        // SAFETY: as for inputs; the output overlaps none that is looked at, and any bits are elements.
        unsafe { std::slice::from_raw_parts_mut(self.io.outputs[0].cast(), count) }
    }

    /// An immediate of the record.
    pub(super) fn scalar(&self, n: usize) -> u64 {
        self.io.scalars[n]
    }

    /// The dtype of an input.
    pub(super) fn dtype(&self, i: usize) -> DType {
        self.call.inputs[i].0
    }

    /// The n-th word, 0 where there is none.
    pub(super) fn word(&self, n: usize) -> i64 {
        self.call.words.get(n).copied().unwrap_or(0)
    }

    /// An input's extents before, along and after the axis that the first word names.
    pub(super) fn extents(&self, i: usize) -> (usize, usize, usize) {
        let shape = self.call.inputs[i].1;
        let axis = shape.axis(self.word(0) as isize).expect("inference looked at it");
        (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
    }
}

unsafe fn slice<'a, T>(address: *const u8, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise is this one.
    unsafe { std::slice::from_raw_parts(address.cast(), count) }
}

/// A Rust type whose every bit pattern is an element.
pub(super) trait Element: Copy + Send + Sync + Default + 'static {}

macro_rules! elements {
    ($($type:ty)*) => { $(impl Element for $type {})* };
}

elements!(u8 u16 u32 u64 u128 i8 i16 i32 i64 Half Brain f32 f64 Complex<f32> Complex<f64>);
// The same two parts, in the same order.
elements!(forerun_linear::Complex<f32> forerun_linear::Complex<f64>);

/// An element that can be added and multiplied; integers wrap, halves round each time.
pub(super) trait Number: Element {
    /// Added to any element, it leaves its bits.
    const NOTHING: Self;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! numbers {
    (whole: $($whole:ty)*; floats: $($float:ty)*; halves: $($half:ident)*) => {
        $(impl Number for $whole {
            const NOTHING: $whole = 0;
            #[inline(always)]
            fn plus(self, other: $whole) -> $whole { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, other: $whole) -> $whole { self.wrapping_mul(other) }
        })*
        $(impl Number for $float {
            const NOTHING: $float = -0.0;
            #[inline(always)]
            fn plus(self, other: $float) -> $float { self + other }
            #[inline(always)]
            fn times(self, other: $float) -> $float { self * other }
        })*
        $(impl Number for $half {
            const NOTHING: $half = $half(0x8000);
            #[inline(always)]
            fn plus(self, other: $half) -> $half { $half::from_f32(self.to_f32() + other.to_f32()) }
            #[inline(always)]
            fn times(self, other: $half) -> $half { $half::from_f32(self.to_f32() * other.to_f32()) }
        })*
    };
}

numbers!(whole: i8 i16 i32 i64 u8 u16 u32 u64; floats: f32 f64; halves: Half Brain);

impl<T: Number + Sub<Output = T>> Number for Complex<T>
where
    Complex<T>: Element,
{
    const NOTHING: Complex<T> = Complex { re: T::NOTHING, im: T::NOTHING };
    #[inline(always)]
    fn plus(self, other: Complex<T>) -> Complex<T> {
        Complex { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }
    #[inline(always)]
    fn times(self, other: Complex<T>) -> Complex<T> {
        let (re, im) = (self.re.times(other.re) - self.im.times(other.im), self.re.times(other.im));
        Complex { re, im: im.plus(self.im.times(other.re)) }
    }
}

/// Calls `$f::<T>(args...)` with the Rust type of a dtype.
macro_rules! with_type {
    ($dtype:expr, $f:ident ( $($arg:expr),* )) => {
        match $dtype {
            forerun_base::DType::Bool | forerun_base::DType::U8 => $f::<u8>($($arg),*),
            forerun_base::DType::I8 => $f::<i8>($($arg),*),
            forerun_base::DType::I16 => $f::<i16>($($arg),*),
            forerun_base::DType::I32 => $f::<i32>($($arg),*),
            forerun_base::DType::I64 => $f::<i64>($($arg),*),
            forerun_base::DType::U16 => $f::<u16>($($arg),*),
            forerun_base::DType::U32 => $f::<u32>($($arg),*),
            forerun_base::DType::U64 => $f::<u64>($($arg),*),
            forerun_base::DType::F16 => $f::<forerun_base::Half>($($arg),*),
            forerun_base::DType::BF16 => $f::<forerun_base::Brain>($($arg),*),
            forerun_base::DType::F32 => $f::<f32>($($arg),*),
            forerun_base::DType::F64 => $f::<f64>($($arg),*),
            forerun_base::DType::C64 => $f::<forerun_base::Complex<f32>>($($arg),*),
            forerun_base::DType::C128 => $f::<forerun_base::Complex<f64>>($($arg),*),
        }
    };
}
pub(super) use with_type;
