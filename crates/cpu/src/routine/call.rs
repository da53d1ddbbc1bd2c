//! The interface between routines and their host kernels: converts addresses to typed slices.

use crate::family::kernel;
use crate::simd::Isa;
use forerun_base::{BFloat16, Complex, DType, Float16, Result, Team};
use forerun_ops::Attributes;
use forerun_plan::{Executable, Io, RoutineCall};
use std::ops::Sub;
use std::sync::Arc;

/// The function of a routine.
pub(crate) type Body = fn(&Args<'_>, &dyn Team) -> Result<()>;

/// The host kernels of a family.
pub(crate) trait HostKernel {
    /// The function that runs the routine.
    fn body(&self) -> Body;

    /// Checks whether the routine would fail. Called before a routine that overwrites an input.
    fn check(&self, _: &Args<'_>) -> Result<()> {
        Ok(())
    }

    /// An upper bound on the bytes that `threads` threads allocate, including allocations of libraries. The result is
    /// not empty.
    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize;
}

/// Defines [`kernel`] for the families in the folder.
macro_rules! kernels {
    ($($family:ident)+) => {
        /// The host kernel of a routine.
        pub(crate) fn kernel(routine: &forerun_ops::Routine) -> &dyn crate::routine::call::HostKernel {
            match routine {
                $(forerun_ops::Routine::$family(routine) => routine,)+
            }
        }
    };
}
pub(crate) use kernels;

/// A compiled routine.
struct Compiled {
    call: RoutineCall,
    body: Body,
    isa: Isa,
}

pub(crate) fn compile(call: &RoutineCall, isa: Isa) -> Arc<dyn Executable> {
    Arc::new(Compiled { call: call.clone(), body: kernel(&call.routine).body(), isa })
}

impl Executable for Compiled {
    unsafe fn check(&self, io: Io<'_>) -> Result<()> {
        kernel(&self.call.routine).check(&Args { call: &self.call, isa: self.isa, io })
    }

    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        // SAFETY: the caller upholds the same contract.
        if let Err(error) = unsafe { self.attempt(io, team) } {
            panic!("{error}");
        }
    }

    unsafe fn attempt(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        (self.body)(&Args { call: &self.call, isa: self.isa, io }, team)
    }
}

/// The number of elements of the largest input.
pub(crate) fn most_elements(call: &RoutineCall) -> usize {
    call.inputs.iter().map(|(_, shape)| shape.size()).max().unwrap_or(0)
}

/// The number of elements of all inputs.
pub(crate) fn total_elements(call: &RoutineCall) -> usize {
    call.inputs.iter().map(|(_, shape)| shape.size()).fold(0, usize::saturating_add)
}

/// Scratch bytes for one input and one output line per thread.
pub(crate) fn line_scratch(call: &RoutineCall, length: usize, threads: usize) -> usize {
    length.saturating_mul(32).saturating_mul(threads).min(most_elements(call).saturating_mul(32))
}

/// Scratch bytes for sorting lines of this length: keys and indices, twice.
pub(crate) fn order_scratch(call: &RoutineCall, length: usize, threads: usize) -> usize {
    let most = most_elements(call);
    let lines = (most / length.max(1)).clamp(1, threads);
    most.max(call.out.1.size()).min(length.max(1).saturating_mul(lines)).max(length).saturating_mul(56)
}

/// The arguments of one run. It is created only where the addresses are valid.
pub(crate) struct Args<'a> {
    pub(crate) call: &'a RoutineCall,
    pub(crate) isa: Isa,
    pub(crate) io: Io<'a>,
}

impl Args<'_> {
    /// The elements of an input. Truth values are `u8`.
    pub(crate) fn input<T: Element>(&self, i: usize) -> &[T] {
        let (dtype, shape) = &self.call.inputs[i];
        assert_eq!(dtype.size(), size_of::<T>(), "input {i} of {}", self.call.routine.name());
        // SAFETY: the caller of the routine guarantees that the address is valid for this many elements, which nobody
        // changes meanwhile. An empty array may have any address.
        unsafe { slice(self.io.inputs[i], shape.size()) }
    }

    /// Whether the output aliases the first input, which must then not be read.
    pub(crate) fn is_in_place(&self) -> bool {
        std::ptr::eq(self.io.inputs[0], self.io.outputs[0])
    }

    /// The elements of the output. They are unspecified, unless the output aliases an input.
    #[expect(clippy::mut_from_ref, reason = "a routine takes its output once")]
    pub(crate) fn output<T: Element>(&self) -> &mut [T] {
        let (dtype, shape) = &self.call.out;
        assert_eq!(dtype.size(), size_of::<T>(), "output of {}", self.call.routine.name());
        let count = shape.size();
        if count == 0 {
            return &mut [];
        }
        // SAFETY: as for inputs; the output does not overlap an input that is read, and every bit pattern is valid.
        unsafe { std::slice::from_raw_parts_mut(self.io.outputs[0].cast(), count) }
    }

    /// The bytes of the output.
    #[expect(clippy::mut_from_ref, reason = "a routine takes its output once")]
    pub(crate) fn output_bytes(&self) -> &mut [u8] {
        let (dtype, shape) = &self.call.out;
        let bytes = shape.size() * dtype.size();
        if bytes == 0 {
            return &mut [];
        }
        // SAFETY: as in `output`.
        unsafe { std::slice::from_raw_parts_mut(self.io.outputs[0].cast(), bytes) }
    }

    /// An immediate of the record.
    pub(crate) fn scalar(&self, n: usize) -> u64 {
        self.io.scalars[n]
    }

    /// The dtype of an input.
    pub(crate) fn dtype(&self, i: usize) -> DType {
        self.call.inputs[i].0
    }

    /// The attributes of the routine.
    pub(crate) fn attributes<A: Attributes>(&self) -> A {
        self.call.attributes()
    }

    /// An input's extents before, along and after the axis.
    pub(crate) fn extents(&self, i: usize) -> (usize, usize, usize) {
        self.call.extents(i).into()
    }
}

unsafe fn slice<'a, T>(address: *const u8, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller upholds the same contract.
    unsafe { std::slice::from_raw_parts(address.cast(), count) }
}

/// A Rust type for which every bit pattern is valid.
pub(crate) trait Element: Copy + Send + Sync + Default + 'static {}

macro_rules! elements {
    ($($type:ty)*) => { $(impl Element for $type {})* };
}

elements!(u8 u16 u32 u64 u128 i8 i16 i32 i64 Float16 BFloat16 f32 f64 Complex<f32> Complex<f64>);
// The same memory layout: real part, then imaginary part.
elements!(forerun_linear::Complex<f32> forerun_linear::Complex<f64>);

/// An element with addition and multiplication. Integers wrap, half floats round each time.
pub(crate) trait Number: Element {
    /// The neutral element: adding it does not change the bits of any element.
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

numbers!(whole: i8 i16 i32 i64 u8 u16 u32 u64; floats: f32 f64; halves: Float16 BFloat16);

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
            forerun_base::DType::F16 => $f::<forerun_base::Float16>($($arg),*),
            forerun_base::DType::BF16 => $f::<forerun_base::BFloat16>($($arg),*),
            forerun_base::DType::F32 => $f::<f32>($($arg),*),
            forerun_base::DType::F64 => $f::<f64>($($arg),*),
            forerun_base::DType::C64 => $f::<forerun_base::Complex<f32>>($($arg),*),
            forerun_base::DType::C128 => $f::<forerun_base::Complex<f64>>($($arg),*),
        }
    };
}
pub(crate) use with_type;
