//! The fold operations of reductions, and the binary tree of blocks.

use crate::simd::Memory;
use forerun_ops::Num;
use std::mem::MaybeUninit;

/// An element type with the neutral element of each operation.
pub(crate) trait Element: Num<Mask = bool> + Default + Send + Sync + 'static {
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;
    /// The neutral elements of NaN-ignoring maximum and minimum: any number replaces them.
    const MISSING: [Self; 2];
    /// Whether it is NaN, which wins every comparison.
    fn is_nan(self) -> bool;
}

macro_rules! element {
    ($($type:ty: $zero:expr, $one:expr, $lowest:expr, $highest:expr, $missing:expr, $nan:expr;)*) => {
        $(impl Element for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
            const MISSING: [Self; 2] = $missing;
            #[inline(always)]
            fn is_nan(self) -> bool {
                ($nan)(self)
            }
        })*
    };
}

element! {
    bool: false, true, false, true, [false, true], |_| false;
    i32: 0, 1, i32::MIN, i32::MAX, [i32::MIN, i32::MAX], |_| false;
    i64: 0, 1, i64::MIN, i64::MAX, [i64::MIN, i64::MAX], |_| false;
    u64: 0, 1, u64::MIN, u64::MAX, [u64::MIN, u64::MAX], |_| false;
    f32: 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, [f32::NAN; 2], f32::is_nan;
    f64: 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, [f64::NAN; 2], f64::is_nan;
}

/// The binary operation of a reduction.
pub(crate) trait Fold: 'static {
    /// Whether several blocks are folded at a time. This increases code size, so it is off where arithmetic dominates.
    const SEVERAL: bool = false;
    fn start<T: Element>() -> T;
    fn fold<V: Num>(a: V, b: V) -> V;
    /// Whether `new` replaces `old` in a search for the first extreme.
    fn wins<T: Element>(new: T, old: T) -> bool;
}

pub(crate) enum Sum {}
pub(crate) enum Product {}
pub(crate) enum Largest {}
pub(crate) enum Smallest {}
pub(crate) enum LargestNumber {}
pub(crate) enum SmallestNumber {}

impl Fold for Sum {
    const SEVERAL: bool = true;
    #[inline(always)]
    fn start<T: Element>() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn fold<V: Num>(a: V, b: V) -> V {
        a.add(b)
    }
    #[inline(always)]
    fn wins<T: Element>(_: T, _: T) -> bool {
        false
    }
}

impl Fold for Product {
    #[inline(always)]
    fn start<T: Element>() -> T {
        T::ONE
    }
    #[inline(always)]
    fn fold<V: Num>(a: V, b: V) -> V {
        a.mul(b)
    }
    #[inline(always)]
    fn wins<T: Element>(_: T, _: T) -> bool {
        false
    }
}

impl Fold for Largest {
    #[inline(always)]
    fn start<T: Element>() -> T {
        T::LOWEST
    }
    #[inline(always)]
    fn fold<V: Num>(a: V, b: V) -> V {
        a.max(b)
    }
    #[inline(always)]
    fn wins<T: Element>(new: T, old: T) -> bool {
        old.lt(new) | (new.is_nan() & !old.is_nan())
    }
}

impl Fold for Smallest {
    #[inline(always)]
    fn start<T: Element>() -> T {
        T::HIGHEST
    }
    #[inline(always)]
    fn fold<V: Num>(a: V, b: V) -> V {
        a.min(b)
    }
    #[inline(always)]
    fn wins<T: Element>(new: T, old: T) -> bool {
        new.lt(old) | (new.is_nan() & !old.is_nan())
    }
}

impl Fold for LargestNumber {
    #[inline(always)]
    fn start<T: Element>() -> T {
        T::MISSING[0]
    }
    #[inline(always)]
    fn fold<V: Num>(a: V, b: V) -> V {
        V::select(b.eq(b), V::select(a.eq(a), a.max(b), b), a)
    }
    #[inline(always)]
    fn wins<T: Element>(_: T, _: T) -> bool {
        false
    }
}

impl Fold for SmallestNumber {
    #[inline(always)]
    fn start<T: Element>() -> T {
        T::MISSING[1]
    }
    #[inline(always)]
    fn fold<V: Num>(a: V, b: V) -> V {
        V::select(b.eq(b), V::select(a.eq(a), a.min(b), b), a)
    }
    #[inline(always)]
    fn wins<T: Element>(_: T, _: T) -> bool {
        false
    }
}

/// Folds two slices element by element: `to[i] = fold(first[i], second[i])`.
///
/// # Safety
/// All must have `count` elements; `to` may equal either operand, but must not overlap one partially.
#[inline(always)]
pub(crate) unsafe fn fold_slices<V: Memory<Elem: Element> + Num, F: Fold>(
    to: *mut V::Elem,
    first: *const V::Elem,
    second: *const V::Elem,
    count: usize,
) {
    let whole = count - count % V::LANES;
    // SAFETY: full vectors, then the tail.
    unsafe {
        for i in (0..whole).step_by(V::LANES) {
            F::fold(V::load(first.add(i)), V::load(second.add(i))).store(to.add(i));
        }
        for i in whole..count {
            to.add(i).write(F::fold(first.add(i).read(), second.add(i).read()));
        }
    }
}

/// Enough for 2^32 blocks.
const LEVELS: usize = 33;

/// A binary counter of partial results, `width` of `W` elements each: block `n` is folded with block `n ^ 1`, then
/// pairs with pairs, and so on.
///
/// Invariant: a `filled` level holds `width` elements, and `width <= W`. Callers pass the width again in every call,
/// where it is usually a constant, so that the compiler unrolls the loops.
pub(crate) struct Cascade<T, const W: usize> {
    levels: [MaybeUninit<[T; W]>; LEVELS],
    filled: u64,
    width: usize,
}

impl<T: Element, const W: usize> Cascade<T, W> {
    /// Creates an empty counter for blocks of `width` elements.
    ///
    /// # Panics
    /// If `width` exceeds `W`.
    #[inline(always)]
    pub(crate) fn new(width: usize) -> Self {
        assert!(width <= W, "a block has fewer elements");
        Cascade { levels: [const { MaybeUninit::uninit() }; LEVELS], filled: 0, width }
    }

    /// Adds the result of `2^level` blocks. Uses `block` as scratch.
    ///
    /// # Safety
    /// The processor must have the features of the vector's set.
    ///
    /// # Panics
    /// If the width differs from that of the counter, or if there are more than 2^32 blocks.
    #[inline(always)]
    pub(crate) unsafe fn push<V: Memory<Elem = T> + Num, F: Fold>(
        &mut self,
        block: &mut [T; W],
        width: usize,
        level: usize,
    ) {
        assert!(width == self.width, "all blocks have one width");
        let mut level = level;
        while self.filled >> level & 1 == 1 {
            let (old, block) = (self.levels[level].as_ptr().cast::<T>(), block.as_mut_ptr());
            // SAFETY: both have `width` elements by the invariant. The older result is the left operand.
            unsafe { fold_slices::<V, F>(block, old, block, width) };
            self.filled &= !(1 << level);
            level += 1;
        }
        let to = self.levels[level].as_mut_ptr().cast::<T>();
        // SAFETY: both have `W` elements, and `width <= W` by the invariant.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, width) };
        self.filled |= 1 << level;
    }

    /// Writes the result of all blocks to `result`; leaves it unchanged if there were none.
    ///
    /// # Safety
    /// The processor must have the features of the vector's set.
    ///
    /// # Panics
    /// If the width differs from that of the counter.
    #[inline(always)]
    pub(crate) unsafe fn finish<V: Memory<Elem = T> + Num, F: Fold>(&mut self, result: &mut [T; W], width: usize) {
        assert!(width == self.width, "all blocks have one width");
        let mut first = true;
        while self.filled != 0 {
            let level = self.filled.trailing_zeros() as usize;
            self.filled &= self.filled - 1;
            let (old, result) = (self.levels[level].as_ptr().cast::<T>(), result.as_mut_ptr());
            // SAFETY: both have `width` elements by the invariant.
            unsafe {
                match first {
                    true => std::ptr::copy_nonoverlapping(old, result, width),
                    false => fold_slices::<V, F>(result, old, result, width),
                }
            }
            first = false;
        }
    }
}
