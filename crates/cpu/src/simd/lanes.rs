//! Vectors as arrays of reference scalars, for all dtypes of the baseline set, and for integers and truth values of the
//! other sets. In a function with the set's features, the compiler vectorizes the element loops.

use super::set::{Baseline, Memory, Set, Work};
use crate::loops::{self, Loop, LoopInput};
use forerun_ops::{Body, Mask, Num, NumBits, NumFloat, NumSigned, NumWhole, Turn};
use std::mem::MaybeUninit;

/// `N` elements.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Lanes<T, const N: usize>(pub(crate) [T; N]);

/// Builds an array from its elements. `std::array::from_fn` is not always inlined, and is then compiled without the
/// features of the set.
#[inline(always)]
pub(crate) fn collect<T, const N: usize>(element: impl Fn(usize) -> T) -> [T; N] {
    let mut all = MaybeUninit::<[T; N]>::uninit();
    let first = all.as_mut_ptr().cast::<T>();
    for i in 0..N {
        // SAFETY: element `i` of N.
        unsafe { first.add(i).write(element(i)) };
    }
    // SAFETY: every element was written.
    unsafe { all.assume_init() }
}

#[inline(always)]
fn map<T: Copy, U: Copy, const N: usize>(a: Lanes<T, N>, f: impl Fn(T) -> U) -> Lanes<U, N> {
    Lanes(collect(|i| f(a.0[i])))
}

#[inline(always)]
fn zip<T: Copy, U: Copy, const N: usize>(a: Lanes<T, N>, b: Lanes<T, N>, f: impl Fn(T, T) -> U) -> Lanes<U, N> {
    Lanes(collect(|i| f(a.0[i], b.0[i])))
}

impl<const N: usize> Mask for Lanes<bool, N> {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        zip(self, other, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        zip(self, other, |a, b| a | b)
    }
    #[inline(always)]
    fn not(self) -> Self {
        map(self, |a| !a)
    }
}

macro_rules! mapped {
    ($($name:ident($($other:ident)?))*) => {
        $(mapped!(@ $name $($other)?);)*
    };
    (@ $name:ident) => {
        #[inline(always)]
        fn $name(self) -> Self {
            map(self, T::$name)
        }
    };
    (@ $name:ident $other:ident) => {
        #[inline(always)]
        fn $name(self, $other: Self) -> Self {
            zip(self, $other, T::$name)
        }
    };
}

impl<T: Num<Mask = bool>, const N: usize> Num for Lanes<T, N> {
    type Mask = Lanes<bool, N>;
    mapped! { add(other) mul(other) max(other) min(other) abs() }
    #[inline(always)]
    fn eq(self, other: Self) -> Self::Mask {
        zip(self, other, T::eq)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        zip(self, other, T::lt)
    }
    #[inline(always)]
    fn le(self, other: Self) -> Self::Mask {
        zip(self, other, T::le)
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Lanes(collect(|i| T::select(mask.0[i], yes.0[i], no.0[i])))
    }
}

impl<T: NumSigned<Mask = bool>, const N: usize> NumSigned for Lanes<T, N> {
    #[inline(always)]
    fn small(value: i8) -> Self {
        Lanes([T::small(value); N])
    }
    #[inline(always)]
    fn power(self, other: Self) -> Self {
        zip(self, other, T::power_unfused)
    }
    mapped! { sub(other) neg() floor_div(other) remainder(other) fmod(other) floor() ceil() trunc() rint() }
}

impl<T: NumBits<Mask = bool>, const N: usize> NumBits for Lanes<T, N> {
    mapped! { bit_and(other) bit_or(other) bit_xor(other) bit_not() }
}

impl<T: NumWhole<Mask = bool>, const N: usize> NumWhole for Lanes<T, N> {
    mapped! { gcd(other) lcm(other) shift_left(by) shift_right(by) }
}

/// Argument reduction of a vector, given the result for near angles: recomputes far angles one by one.
#[cfg(target_arch = "x86_64")]
#[cold]
pub(super) fn with_far_turns<T: Turn, const N: usize>(angles: [T; N], near: [[T; N]; 3]) -> [[T; N]; 3] {
    let mut made = near;
    for i in (0..N).filter(|&i| angles[i].is_far()) {
        let far = angles[i].far();
        (made[0][i], made[1][i], made[2][i]) = (far[0], far[1], far[2]);
    }
    made
}

impl<T: NumFloat<Mask = bool>, const N: usize> NumFloat for Lanes<T, N> {
    type Format = T::Format;
    #[inline(always)]
    fn constant(value: f64) -> Self {
        Lanes([T::constant(value); N])
    }
    mapped! { div(other) sqrt() lesser(other) greater(other) copysign(sign) scale(n) next_after(other) }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // Without the instruction, a fused multiply-add would be a library call per element.
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        (map(self, |a| a.split().0), map(self, |a| a.split().1))
    }
    #[inline(always)]
    fn turns(self) -> [Self; 3] {
        let all: [[T; 3]; N] = collect(|i| self.0[i].turns());
        collect(|part| Lanes(collect(|i| all[i][part])))
    }
}

impl<T: Copy + Default, const N: usize> Memory for Lanes<T, N> {
    type Elem = T;
    const LANES: usize = N;
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller upholds the same contract; the read is unaligned.
        unsafe { from.cast::<Self>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller upholds the same contract; the write is unaligned.
        unsafe { to.cast::<Self>().write_unaligned(self) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const T, count: usize) -> Self {
        let mut all = [T::default(); N];
        // SAFETY: the caller guarantees `count` readable elements, and `count` is less than N.
        unsafe { std::ptr::copy_nonoverlapping(from, all.as_mut_ptr(), count) };
        Lanes(all)
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut T, count: usize) {
        // SAFETY: the caller guarantees `count` writable elements, and `count` is less than N.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), to, count) }
    }
    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Lanes([value; N])
    }
}

impl Set for Baseline {
    type F32 = Lanes<f32, 8>;
    type F64 = Lanes<f64, 8>;
    type I32 = Lanes<i32, 8>;
    type I64 = Lanes<i64, 8>;
    type Bool = Lanes<bool, 8>;

    fn unary<V: Memory, B: Body<(V,), Out: Memory>>(self) -> Loop {
        unsafe fn run<V: Memory, B: Body<(V,), Out: Memory>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
            // SAFETY: the caller upholds the same contract.
            unsafe { loops::unary::<V, B>(to, from, count) }
        }
        run::<V, B>
    }
    fn binary<V: Memory, B: Body<(V, V), Out: Memory>>(self) -> Loop {
        unsafe fn run<V: Memory, B: Body<(V, V), Out: Memory>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
            // SAFETY: the caller upholds the same contract.
            unsafe { loops::binary::<V, B>(to, from, count) }
        }
        run::<V, B>
    }
    fn choice<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>(self) -> Loop {
        unsafe fn run<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>(
            to: *mut u8,
            from: &[LoopInput; 3],
            count: usize,
        ) {
            // SAFETY: the caller upholds the same contract.
            unsafe { loops::choice::<V, B>(to, from, count) }
        }
        run::<V, B>
    }
    fn ternary<V: Memory, B: Body<(V, V, V), Out: Memory>>(self) -> Loop {
        unsafe fn run<V: Memory, B: Body<(V, V, V), Out: Memory>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
            // SAFETY: the caller upholds the same contract.
            unsafe { loops::ternary::<V, B>(to, from, count) }
        }
        run::<V, B>
    }
    unsafe fn assume() -> Baseline {
        Baseline
    }
    fn vectorize<W: Work>(self, work: W) -> W::Out {
        // SAFETY: every processor has the vectors of this set.
        unsafe { work.run() }
    }
}
