//! Loops over complex numbers: the imaginary part, composition from two parts, and copies and selections of 16-byte
//! elements. They handle one element at a time, since memory bandwidth bounds them.

use crate::loops::{Loop, LoopInput};
use forerun_base::{Complex, DType};
use forerun_ops::Point;

/// Elements per step of a [`LoopInput`].
pub(crate) const LANES: usize = 8;

/// The loop of an op that is specific to complex numbers.
pub(crate) fn find(op: Point, dtype: DType) -> Option<Loop> {
    match (op, dtype) {
        (Point::Imag, DType::C64) => Some(imag::<f32>),
        (Point::Imag, DType::C128) => Some(imag::<f64>),
        (Point::Compose, DType::F32) => Some(compose::<f32>),
        (Point::Compose, DType::F64) => Some(compose::<f64>),
        (Point::Copy, DType::C128) => Some(copy),
        (Point::Where, DType::C128) => Some(choose),
        _ => None,
    }
}

/// # Safety
/// The operand must have an element `i`.
#[inline(always)]
unsafe fn at<T: Copy>(operand: &LoopInput, i: usize) -> T {
    // SAFETY: the caller guarantees element `i`; consecutive vectors are one step apart.
    unsafe { operand.from.add(i / LANES * operand.step).cast::<T>().add(i % LANES).read_unaligned() }
}

/// # Safety
/// `count` elements must be readable at the operands and writable at `to`.
#[inline(always)]
unsafe fn each<T>(to: *mut u8, count: usize, element: impl Fn(usize) -> T) {
    // SAFETY: guaranteed by the caller.
    (0..count).for_each(|i| unsafe { to.cast::<T>().add(i).write_unaligned(element(i)) });
}

unsafe fn imag<T: Copy>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    // SAFETY: the caller guarantees the elements.
    unsafe { each(to, count, |i| at::<Complex<T>>(&from[0], i).im) }
}

unsafe fn compose<T: Copy>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    // SAFETY: the caller guarantees the elements.
    unsafe { each(to, count, |i| Complex { re: at::<T>(&from[0], i), im: at::<T>(&from[1], i) }) }
}

unsafe fn copy(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    // SAFETY: the caller guarantees the elements.
    unsafe { each(to, count, |i| at::<[u64; 2]>(&from[0], i)) }
}

unsafe fn choose(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    // SAFETY: the caller guarantees the elements.
    unsafe { each(to, count, |i| at::<[u64; 2]>(&from[if at::<u8>(&from[0], i) != 0 { 1 } else { 2 }], i)) }
}
