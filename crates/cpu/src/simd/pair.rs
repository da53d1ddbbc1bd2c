//! Two vectors as one with twice the lanes: for double precision, where a register holds half as many elements.

use super::set::Memory;
use forerun_ops::{Mask, Num, NumFloat, NumSigned};

/// The lower and the upper lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<V>(pub(crate) V, pub(crate) V);

macro_rules! halves {
    ($($name:ident($($other:ident)?))*) => {
        $(
            #[inline(always)]
            fn $name(self $(, $other: Self)?) -> Self {
                Pair(self.0.$name($($other.0)?), self.1.$name($($other.1)?))
            }
        )*
    };
}

impl<M: Mask> Mask for Pair<M> {
    halves! { and(other) or(other) not() }
}

impl<V: Num> Num for Pair<V> {
    type Mask = Pair<V::Mask>;
    halves! { add(other) mul(other) max(other) min(other) abs() }
    #[inline(always)]
    fn eq(self, other: Self) -> Self::Mask {
        Pair(self.0.eq(other.0), self.1.eq(other.1))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        Pair(self.0.lt(other.0), self.1.lt(other.1))
    }
    #[inline(always)]
    fn le(self, other: Self) -> Self::Mask {
        Pair(self.0.le(other.0), self.1.le(other.1))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Pair(V::select(mask.0, yes.0, no.0), V::select(mask.1, yes.1, no.1))
    }
}

impl<V: NumSigned> NumSigned for Pair<V> {
    #[inline(always)]
    fn small(value: i8) -> Self {
        Pair(V::small(value), V::small(value))
    }
    halves! { sub(other) neg() floor_div(other) remainder(other) fmod(other) power(other) floor() ceil() trunc() rint() }
}

impl<V: NumFloat> NumFloat for Pair<V> {
    type Format = V::Format;
    const BRANCHES: bool = V::BRANCHES;
    #[inline(always)]
    fn constant(value: f64) -> Self {
        Pair(V::constant(value), V::constant(value))
    }
    halves! { div(other) sqrt() lesser(other) greater(other) copysign(sign) scale(n) next_after(other) }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Pair(self.0.mul_add(b.0, c.0), self.1.mul_add(b.1, c.1))
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let (low, high) = (self.0.split(), self.1.split());
        (Pair(low.0, high.0), Pair(low.1, high.1))
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        V::all(mask.0) && V::all(mask.1)
    }
    #[inline(always)]
    fn turns(self) -> [Self; 3] {
        let ([a, b, c], [d, e, f]) = (self.0.turns(), self.1.turns());
        [Pair(a, d), Pair(b, e), Pair(c, f)]
    }
}

impl<V: Memory> Memory for Pair<V> {
    type Elem = V::Elem;
    const LANES: usize = 2 * V::LANES;
    #[inline(always)]
    unsafe fn load(from: *const V::Elem) -> Self {
        // SAFETY: the caller guarantees the elements of both halves.
        unsafe { Pair(V::load(from), V::load(from.add(V::LANES))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut V::Elem) {
        // SAFETY: the caller guarantees the elements of both halves.
        unsafe {
            self.0.store(to);
            self.1.store(to.add(V::LANES));
        }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const V::Elem, count: usize) -> Self {
        // SAFETY: the caller guarantees `count` elements; none are read beyond them.
        unsafe {
            if count < V::LANES {
                Pair(V::load_first(from, count), V::load_first(from, 0))
            } else {
                Pair(V::load(from), V::load_first(from.add(V::LANES), count - V::LANES))
            }
        }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut V::Elem, count: usize) {
        // SAFETY: the caller guarantees `count` elements; none are written beyond them.
        unsafe {
            if count < V::LANES {
                self.0.store_first(to, count);
            } else {
                self.0.store(to);
                self.1.store_first(to.add(V::LANES), count - V::LANES);
            }
        }
    }
    #[inline(always)]
    unsafe fn splat(value: V::Elem) -> Self {
        // SAFETY: the caller's promise is this one.
        unsafe { Pair(V::splat(value), V::splat(value)) }
    }
}
