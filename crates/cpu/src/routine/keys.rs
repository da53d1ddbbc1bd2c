//! Sort keys: unsigned integers with the order of the elements.
//!
//! Invariant: `key` is injective except for NaN, which always has the largest key, so an element can be restored from
//! its key. The two zeros have adjacent keys; code that treats them as equal uses [`Ordered::joined`].

use super::call::Element;
#[cfg(target_arch = "x86_64")]
use super::wide::Wide;
use crate::simd::Isa;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use forerun_base::{BFloat16, Complex, Float16, Team};
use std::ops::Range;

/// An unsigned integer.
pub(crate) trait Key: Copy + Ord + Default + Send + Sync + 'static {
    /// How many bits it has.
    const BITS: u32;
    /// The smallest and the largest value.
    const LEAST: Self;
    const MOST: Self;

    /// The bits from `shift` on, at least the lowest of them.
    fn bits(self, shift: u32) -> usize;

    /// Converts a count, if it fits.
    fn from_count(count: usize) -> Option<Self>;

    /// The difference to `other`, if `other` is not smaller and the difference fits into a `usize`.
    fn distance(self, other: Self) -> Option<usize>;

    /// Whether [`Key::sort`] uses vector instructions for these keys on this instruction set. If not, the
    /// callers choose other algorithms.
    fn sorts(isa: Isa) -> bool {
        _ = isa;
        false
    }

    /// Sorts keys in place.
    fn sort(keys: &mut [Self], isa: Isa, team: &dyn Team) {
        _ = (isa, team);
        keys.sort_unstable();
    }

    /// Writes the keys from `low` to `high` contiguously; returns how many are below `low`, and how many were written.
    ///
    /// # Safety
    /// `to` must have room for all keys.
    unsafe fn pick(keys: &[Self], low: Self, high: Self, to: *mut Self, isa: Isa) -> (usize, usize) {
        _ = isa;
        // SAFETY: the caller upholds the same contract.
        unsafe { pick_each(keys, low, high, to) }
    }

    /// Distributes items by their keys: less than a pivot, equal to it, greater than it. Each part is written from its
    /// current position, and the new positions are returned.
    ///
    /// # Safety
    /// `items` must have one item per key, and each part must have room for its items, in this and in later calls.
    unsafe fn part(
        keys: &[Self],
        items: *const Self,
        pivot: Self,
        parts: [Range<usize>; 3],
        to: *mut Self,
        isa: Isa,
    ) -> [usize; 3] {
        _ = isa;
        // SAFETY: the caller upholds the same contract.
        unsafe { part_each(keys, items, pivot, parts.map(|part| part.start), to) }
    }
}

#[inline(always)]
unsafe fn pick_each<K: Key>(keys: &[K], low: K, high: K, to: *mut K) -> (usize, usize) {
    let below = keys.iter().map(|key| (*key < low) as u32).sum::<u32>() as usize;
    let mut kept = 0;
    for key in keys {
        // SAFETY: the number of kept keys never exceeds the number of visited ones.
        unsafe { to.add(kept).write(*key) };
        kept += (*key >= low && *key <= high) as usize;
    }
    (below, kept)
}

#[inline(always)]
unsafe fn part_each<K: Key>(keys: &[K], items: *const K, pivot: K, next: [usize; 3], to: *mut K) -> [usize; 3] {
    let [mut less, mut equal, mut more] = next;
    for (i, key) in keys.iter().enumerate() {
        // The part is unpredictable, so avoid a branch.
        let (is_less, is_more) = (*key < pivot, *key > pivot);
        let place = if is_less {
            less
        } else if is_more {
            more
        } else {
            equal
        };
        // SAFETY: the caller upholds the same contract.
        unsafe { to.add(place).write(items.add(i).read()) };
        less += is_less as usize;
        more += is_more as usize;
        equal += !(is_less | is_more) as usize;
    }
    [less, equal, more]
}

macro_rules! keys {
    ($($type:ty)*) => {
        $(impl Key for $type {
            const BITS: u32 = <$type>::BITS;
            const LEAST: $type = 0;
            const MOST: $type = <$type>::MAX;
            #[inline(always)]
            fn bits(self, shift: u32) -> usize { (self >> shift) as usize }
            #[inline(always)]
            fn from_count(count: usize) -> Option<$type> { <$type>::try_from(count).ok() }
            #[inline(always)]
            fn distance(self, other: $type) -> Option<usize> { usize::try_from(other.checked_sub(self)?).ok() }
        })*
    };
}

keys!(u8 u16 u128);

macro_rules! wide_keys {
    ($($type:ty)*) => {
        $(impl Key for $type {
            const BITS: u32 = <$type>::BITS;
            const LEAST: $type = 0;
            const MOST: $type = <$type>::MAX;
            #[inline(always)]
            fn bits(self, shift: u32) -> usize { (self >> shift) as usize }
            #[inline(always)]
            fn from_count(count: usize) -> Option<$type> { <$type>::try_from(count).ok() }
            #[inline(always)]
            fn distance(self, other: $type) -> Option<usize> { usize::try_from(other.checked_sub(self)?).ok() }

            fn sorts(isa: Isa) -> bool {
                cfg!(target_arch = "x86_64") && isa != Isa::Baseline
            }

            fn sort(keys: &mut [Self], isa: Isa, team: &dyn Team) {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the set is the proof of its features.
                unsafe {
                    match isa {
                        Isa::Avx512(_) => return super::wide::sort::<Avx512, _>(keys, team),
                        Isa::Avx2(_) => return super::wide::sort::<Avx2, _>(keys, team),
                        Isa::Baseline => {}
                    }
                }
                _ = (isa, team);
                keys.sort_unstable();
            }

            unsafe fn pick(keys: &[Self], low: Self, high: Self, to: *mut Self, isa: Isa) -> (usize, usize) {
                // SAFETY: the caller's promise is this one; the set is the proof of its features.
                unsafe {
                    match isa {
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx512(_) => <$type as Wide<Avx512>>::pick(keys, low, high, to),
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx2(_) => <$type as Wide<Avx2>>::pick(keys, low, high, to),
                        _ => pick_each(keys, low, high, to),
                    }
                }
            }

            unsafe fn part(
                keys: &[Self],
                items: *const Self,
                pivot: Self,
                parts: [Range<usize>; 3],
                to: *mut Self,
                isa: Isa,
            ) -> [usize; 3] {
                // SAFETY: the caller's promise is this one; the set is the proof of its features.
                unsafe {
                    match isa {
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx512(_) => <$type as Wide<Avx512>>::part(keys, items, pivot, parts, to),
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx2(_) => <$type as Wide<Avx2>>::part(keys, items, pivot, parts, to),
                        _ => part_each(keys, items, pivot, parts.map(|part| part.start), to),
                    }
                }
            }
        })*
    };
}

wide_keys!(u32 u64);

/// An element type with a total order. NaN comes last in both directions.
pub(crate) trait Ordered: Element + PartialOrd {
    /// The sort key.
    type Key: Key;

    /// Whether it has two parts, each of which may be a signed zero.
    const IS_PAIR: bool = false;

    /// The key for ascending or descending order.
    fn key(self, descending: bool) -> Self::Key;

    /// Like [`Ordered::key`], but equal for both zeros.
    fn joined(self, descending: bool) -> Self::Key;

    /// The element with this key.
    fn from_key(key: Self::Key, descending: bool) -> Self;

    /// For a zero of a type with signed zeros, whether it is negative; otherwise `None`.
    fn zero(self) -> Option<bool>;
}

macro_rules! whole {
    ($($type:ty, $key:ty, $flip:expr;)*) => {
        $(impl Ordered for $type {
            type Key = $key;
            #[inline(always)]
            fn key(self, descending: bool) -> $key {
                let key = self as $key ^ $flip;
                if descending { !key } else { key }
            }
            #[inline(always)]
            fn joined(self, descending: bool) -> $key {
                self.key(descending)
            }
            #[inline(always)]
            fn from_key(key: $key, descending: bool) -> $type {
                (if descending { !key } else { key } ^ $flip) as $type
            }
            #[inline(always)]
            fn zero(self) -> Option<bool> {
                None
            }
        })*
    };
}

whole! {
    u8, u8, 0;
    u16, u16, 0;
    u32, u32, 0;
    u64, u64, 0;
    u128, u128, 0;
    i8, u8, 1 << 7;
    i16, u16, 1 << 15;
    i32, u32, 1 << 31;
    i64, u64, 1 << 63;
}

macro_rules! floats {
    ($($type:ty, $key:ty;)*) => {
        $(impl Ordered for $type {
            type Key = $key;
            #[inline(always)]
            fn key(self, descending: bool) -> $key {
                const SIGN: $key = 1 << (<$key>::BITS - 1);
                let bits = self.to_bits();
                // The order of negative numbers is the reverse of that of their bits.
                let key = bits ^ (((bits as <$key as Signed>::Of >> (<$key>::BITS - 1)) as $key) | SIGN);
                let key = if descending { !key } else { key };
                if self.is_nan() { <$key>::MAX } else { key }
            }
            #[inline(always)]
            fn joined(self, descending: bool) -> $key {
                // Adding 0 turns -0 into +0 and leaves all other numbers unchanged.
                (self + 0.0).key(descending)
            }
            #[inline(always)]
            fn from_key(key: $key, descending: bool) -> $type {
                const SIGN: $key = 1 << (<$key>::BITS - 1);
                // In descending order, the largest key would decode to a NaN with the other sign, which is equally
                // valid.
                let key = if descending { !key } else { key };
                let mask = ((!key as <$key as Signed>::Of >> (<$key>::BITS - 1)) as $key) | SIGN;
                <$type>::from_bits(key ^ mask)
            }
            #[inline(always)]
            fn zero(self) -> Option<bool> {
                (self == 0.0).then(|| self.is_sign_negative())
            }
        })*
    };
}

/// The signed type of the same width.
trait Signed {
    type Of;
}

impl Signed for u32 {
    type Of = i32;
}

impl Signed for u64 {
    type Of = i64;
}

floats! {
    f32, u32;
    f64, u64;
}

macro_rules! halves {
    ($($type:ident)*) => {
        $(impl Ordered for $type {
            type Key = u16;
            #[inline(always)]
            fn key(self, descending: bool) -> u16 {
                let key = self.0 ^ (((self.0 as i16 >> 15) as u16) | 1 << 15);
                let key = if descending { !key } else { key };
                if self.to_f32().is_nan() { u16::MAX } else { key }
            }
            #[inline(always)]
            fn joined(self, descending: bool) -> u16 {
                (if self.zero().is_some() { $type(0) } else { self }).key(descending)
            }
            #[inline(always)]
            fn from_key(key: u16, descending: bool) -> $type {
                let key = if descending { !key } else { key };
                $type(key ^ (((!key as i16 >> 15) as u16) | 1 << 15))
            }
            #[inline(always)]
            fn zero(self) -> Option<bool> {
                (self.0 & 0x7fff == 0).then_some(self.0 != 0)
            }
        })*
    };
}

halves!(Float16 BFloat16);

macro_rules! pairs {
    ($($part:ty, $half:ty, $key:ty;)*) => {
        $(impl Ordered for Complex<$part> {
            type Key = $key;
            const IS_PAIR: bool = true;

            /// By the real part, then by the imaginary part. Keys at the end of the range are unused by numbers, so
            /// elements with NaN in one or both parts sort after all numbers, by their other part.
            fn key(self, descending: bool) -> $key {
                let (re, im) = (self.re.key(descending), self.im.key(descending));
                let (first, second) = match (self.re.is_nan(), self.im.is_nan()) {
                    (false, false) => (re, im),
                    (false, true) => (<$half>::MAX - 2, re),
                    (true, false) => (<$half>::MAX - 1, im),
                    (true, true) => (<$half>::MAX, <$half>::MAX),
                };
                (first as $key) << <$half>::BITS | second as $key
            }

            fn joined(self, descending: bool) -> $key {
                Complex { re: self.re + 0.0, im: self.im + 0.0 }.key(descending)
            }

            fn from_key(key: $key, descending: bool) -> Complex<$part> {
                let (first, second) = ((key >> <$half>::BITS) as $half, key as $half);
                let part = |key: $half| <$part>::from_key(key, descending);
                match <$half>::MAX - first {
                    0 => Complex { re: <$part>::NAN, im: <$part>::NAN },
                    1 => Complex { re: <$part>::NAN, im: part(second) },
                    2 => Complex { re: part(second), im: <$part>::NAN },
                    _ => Complex { re: part(first), im: part(second) },
                }
            }

            fn zero(self) -> Option<bool> {
                None
            }
        })*
    };
}

pairs! {
    f32, u32, u64;
    f64, u64, u128;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_floats() {
        let rising = [f32::NEG_INFINITY, -1e30, -1.5, -1e-45, -0.0, 0.0, 1e-45, 1.5, 1e30, f32::INFINITY, f32::NAN];
        for descending in [false, true] {
            let keys: Vec<u32> = rising.iter().map(|x| x.key(descending)).collect();
            let (last, numbers) = keys.split_last().unwrap();
            assert_eq!(*last, u32::MAX);
            assert!(numbers.windows(2).all(|w| (w[0] < w[1]) != descending), "{keys:?}");
            assert!(numbers.iter().all(|key| key < last));
            for x in rising {
                let back = f32::from_key(x.key(descending), descending);
                assert!(back.to_bits() == x.to_bits() || back.is_nan() && x.is_nan(), "{back} for {x}");
            }
            assert_eq!((-0.0f32).joined(descending), 0.0f32.joined(descending));
            assert_eq!((-f32::NAN).key(descending), u32::MAX);
        }
    }

    #[test]
    fn keys_have_the_order_of_pairs() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let rising = [(-inf, 1.0), (-1.0, -inf), (-1.0, 2.0), (0.0, -3.0), (0.0, inf), (inf, inf)];
        let last = [(1.0, nan), (nan, -1.0), (nan, nan)];
        let key = |(re, im): (f64, f64), descending| Complex { re, im }.key(descending);
        let all: Vec<u128> = rising.iter().chain(&last).map(|x| key(*x, false)).collect();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        let falling: Vec<u128> = rising.iter().rev().chain(&last).map(|x| key(*x, true)).collect();
        assert!(falling.is_sorted_by(|a, b| a < b), "{falling:?}");
        for descending in [false, true] {
            for x in rising.into_iter().chain(last) {
                let back = Complex::<f64>::from_key(key(x, descending), descending);
                assert_eq!(format!("{back:?}"), format!("{:?}", Complex { re: x.0, im: x.1 }));
            }
        }
        assert_eq!(Complex { re: -0.0f32, im: 1.0 }.joined(false), Complex { re: 0.0f32, im: 1.0 }.joined(false));
    }

    #[test]
    fn keys_have_the_order_of_integers() {
        for (a, b) in [(i32::MIN, -1), (-1, 0), (0, i32::MAX)] {
            assert!(a.key(false) < b.key(false) && a.key(true) > b.key(true));
            assert_eq!((i32::from_key(a.key(true), true), i32::from_key(b.key(false), false)), (a, b));
        }
        assert!((i64::MIN).key(false) < (-3i64).key(false));
    }

    /// Pseudo-random numbers below a bound.
    fn numbers(count: usize, below: u64) -> Vec<u64> {
        let next = |x: u64| x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut x = count as u64 + 1;
        let mut one = || {
            x = next(x);
            (x ^ x >> 29) % below
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn every_set_puts_keys_in_order() {
        for isa in Isa::available() {
            for count in (0..300).chain([511, 1000, 4096, 20_001]) {
                for below in [2, 9, 1000, u64::MAX] {
                    let mut longs = numbers(count, below);
                    let mut words: Vec<u32> =
                        longs.iter().map(|x| if below < 10 { *x as u32 } else { (x >> 3) as u32 }).collect();
                    let (mut want, mut want_words) = (longs.clone(), words.clone());
                    want.sort();
                    want_words.sort();
                    <u64 as Key>::sort(&mut longs, isa, &forerun_base::Solo);
                    <u32 as Key>::sort(&mut words, isa, &forerun_base::Solo);
                    assert!(longs == want && words == want_words, "{isa:?} {count} {below}");
                    // Sorted and reversed input.
                    <u64 as Key>::sort(&mut longs, isa, &forerun_base::Solo);
                    words.reverse();
                    <u32 as Key>::sort(&mut words, isa, &forerun_base::Solo);
                    assert!(longs == want && words == want_words, "{isa:?} {count} {below}");
                }
            }
        }
    }
}
