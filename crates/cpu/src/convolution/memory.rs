//! How operands come into the order that the inner loop reads, and results out of it. Half floats are widened and rounded here.

use super::Vector;
use super::phases::Padded;
use crate::copy;
use crate::routine::call::Element;
use crate::simd::Work;
use forerun_base::{BFloat16, Float16};
use std::any::TypeId;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Add;

/// An element as it is stored, and the type it is computed in.
pub(crate) trait Stored: Element {
    /// What it is computed in.
    type Wide: Element + Add<Output = Self::Wide>;
    fn widen(self) -> Self::Wide;
    fn round(value: Self::Wide) -> Self;
}

macro_rules! stored {
    ($($type:ty, $wide:ty, $widen:expr, $round:expr;)*) => {
        $(impl Stored for $type {
            type Wide = $wide;
            #[inline(always)]
            fn widen(self) -> $wide { $widen(self) }
            #[inline(always)]
            fn round(value: $wide) -> $type { $round(value) }
        })*
    };
}

stored! {
    f32, f32, |x| x, |x| x;
    f64, f64, |x| x, |x| x;
    Float16, f32, Float16::to_f32, Float16::from_f32;
    BFloat16, f32, BFloat16::to_f32, BFloat16::from_f32;
}

/// Whether elements are computed in the type they are stored in.
pub(super) fn is_wide<E: Stored>() -> bool {
    TypeId::of::<E>() == TypeId::of::<E::Wide>()
}

/// Asks for cache lines ahead of time: what lies at so many places, `apart` from each other, each of `count` elements.
#[inline(always)]
pub(super) fn prefetch<T>(first: *const T, places: usize, apart: usize, count: usize) {
    for place in 0..places {
        let first = first.wrapping_add(place * apart).cast::<i8>();
        for at in (0..count * size_of::<T>()).step_by(LINE * 8) {
            // SAFETY: a hint, which reads nothing.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(first.wrapping_add(at));
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = (first, at);
        }
    }
}

/// The most buffers a thread keeps, and the most bytes of each.
const KEPT: usize = 4;
const LARGEST: usize = 8 << 20;

thread_local! {
    static SPARE: RefCell<Vec<Vec<MaybeUninit<u64>>>> = const { RefCell::new(Vec::new()) };
}

/// Scratch memory of one piece of work. A thread keeps what it gives back: pages that are new cost as much as the work on them.
pub(super) struct Buffer(Vec<MaybeUninit<u64>>);

impl Buffer {
    /// Room for so many elements, of which nothing is known.
    pub(super) fn take<T: Element>(count: usize) -> Buffer {
        let words = (count * size_of::<T>()).div_ceil(8) + LINE;
        let mut found = SPARE.with_borrow_mut(|spare| {
            // The smallest that is large enough, or else the largest.
            let fits = |buffer: &Vec<MaybeUninit<u64>>| (buffer.capacity() < words, buffer.capacity().abs_diff(words));
            let best = (0..spare.len()).min_by_key(|i| fits(&spare[*i]));
            best.map_or_else(Vec::new, |i| spare.swap_remove(i))
        });
        if found.capacity() < words {
            found = Vec::with_capacity(words);
        }
        Buffer(found)
    }

    /// Its first element, at a cache line.
    pub(super) fn first<T>(&mut self) -> *mut T {
        let first = self.0.as_mut_ptr();
        first.wrapping_add(first.align_offset(LINE * 8)).cast()
    }
}

/// Words of a cache line.
const LINE: usize = 8;

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        // A thread that ends has no list any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if buffer.capacity() * 8 <= LARGEST && spare.len() < KEPT {
                spare.push(buffer);
            }
        });
    }
}

/// Planes of images, as they are stored.
#[derive(Clone, Copy)]
pub(super) struct Planes<'a, E> {
    pub(super) all: &'a [E],
    /// Elements from one pixel, channel and image to the next.
    pub(super) pixel: usize,
    pub(super) channel: usize,
    pub(super) image: usize,
}

/// Copies channels of an image to planes with zeros around them.
///
/// # Safety
/// Whoever makes it promises that the image has so many channels, and the target a plane for each.
pub(super) struct Pad<'a, E: Stored, V> {
    /// The first channel of the image.
    pub(super) from: *const E,
    pub(super) of: Planes<'a, E>,
    pub(super) channels: usize,
    pub(super) padded: &'a Padded,
    pub(super) to: *mut E::Wide,
    pub(super) kind: PhantomData<V>,
}

impl<E: Stored, V: Vector<Elem = E::Wide>> Work for Pad<'_, E, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: whoever made it promised the elements, and the features of the set.
        unsafe { if self.of.pixel == 1 { self.rows() } else { self.pixels() } }
    }
}

impl<E: Stored, V: Vector<Elem = E::Wide>> Pad<'_, E, V> {
    /// Row by row, where pixels are adjacent.
    ///
    /// # Safety
    /// As for the whole.
    #[inline(always)]
    unsafe fn rows(&self) {
        let ([depth, height, width], [depth_in, height_in, width_in]) = (self.padded.extents, self.padded.input);
        let before = self.padded.before;
        let (zero, wide) = (V::constant(0.0), is_wide::<E>());
        let mut to = self.to;
        for c in 0..self.channels {
            for d in 0..depth {
                for h in 0..height {
                    let (d, h) = (d.wrapping_sub(before[0]), h.wrapping_sub(before[1]));
                    let is_in = d < depth_in && h < height_in;
                    // SAFETY: a row of the image and one of its plane; the types are the same where they are taken for one another.
                    unsafe {
                        if !is_in || width > width_in {
                            let mut at = 0;
                            while at + V::LANES <= width {
                                zero.store(to.add(at));
                                at += V::LANES;
                            }
                            if at < width {
                                zero.store_first(to.add(at), width - at);
                            }
                        }
                        if is_in {
                            let from = self.from.add(c * self.of.channel + (d * height_in + h) * width_in);
                            let to = to.add(before[2]);
                            if wide {
                                let (from, mut at) = (from.cast::<V::Elem>(), 0);
                                while at + V::LANES <= width_in {
                                    V::load(from.add(at)).store(to.add(at));
                                    at += V::LANES;
                                }
                                if at < width_in {
                                    V::load_first(from.add(at), width_in - at).store_first(to.add(at), width_in - at);
                                }
                            } else {
                                widen_row(from, width_in, to);
                            }
                        }
                        to = to.add(width);
                    }
                }
            }
        }
    }

    /// Pixel by pixel, where channels are adjacent.
    ///
    /// # Safety
    /// As for the whole.
    #[inline(always)]
    unsafe fn pixels(&self) {
        let ([_, height, width], [depth_in, height_in, width_in]) = (self.padded.extents, self.padded.input);
        let (plane, before) = (self.padded.plane(), self.padded.before);
        // SAFETY: elements of the image and of its planes; all-zero bits are the float zero.
        unsafe {
            self.to.write_bytes(0, self.channels * plane);
            for d in 0..depth_in {
                for h in 0..height_in {
                    let to = self.to.add(((d + before[0]) * height + h + before[1]) * width + before[2]);
                    for w in 0..width_in {
                        let from = self.from.add(((d * height_in + h) * width_in + w) * self.of.pixel);
                        for c in 0..self.channels {
                            to.add(w + c * plane).write(from.add(c * self.of.channel).read().widen());
                        }
                    }
                }
            }
        }
    }
}

/// Copies adjacent elements.
///
/// # Safety
/// Both must reach so many.
unsafe fn widen_row<E: Stored>(from: *const E, count: usize, to: *mut E::Wide) {
    for i in 0..count {
        // SAFETY: the caller's promise is this one.
        unsafe { to.add(i).write(from.add(i).read().widen()) };
    }
}

/// Writes a matrix that is adjacent along its rows, `apart` from column to column, to rows of columns; the columns up to `wide`
/// become zero.
///
/// # Safety
/// Both must reach all elements.
pub(super) unsafe fn transpose_in<E: Stored>(
    (rows, columns): (usize, usize),
    (from, apart): (*const E, usize),
    (to, wide): (*mut E::Wide, usize),
) {
    // SAFETY: the caller's promise is this one; the types are the same where they are taken for one another.
    unsafe {
        if is_wide::<E>() {
            copy::transpose((rows, columns), (from.cast::<E::Wide>(), apart as isize), (to, wide as isize));
        } else {
            for r in 0..rows {
                for c in 0..columns {
                    to.add(r * wide + c).write(from.add(r + c * apart).read().widen());
                }
            }
        }
        for r in 0..if columns < wide { rows } else { 0 } {
            to.add(r * wide + columns).write_bytes(0, wide - columns);
        }
    }
}

/// Writes the first columns of rows that are `wide` apart to columns that are `apart` apart and adjacent along rows.
///
/// # Safety
/// Both must reach all elements.
pub(super) unsafe fn transpose_out<E: Stored>(
    (rows, columns): (usize, usize),
    (from, wide): (*const E::Wide, usize),
    (to, apart): (*mut E, usize),
) {
    // SAFETY: the caller's promise is this one; the types are the same where they are taken for one another.
    unsafe {
        if is_wide::<E>() {
            copy::transpose((columns, rows), (from, wide as isize), (to.cast::<E::Wide>(), apart as isize));
        } else {
            for c in 0..columns {
                for r in 0..rows {
                    to.add(c * apart + r).write(E::round(from.add(r * wide + c).read()));
                }
            }
        }
    }
}

/// Copies the first columns of rows that are `wide` apart to rows that are `apart` apart.
///
/// # Safety
/// Both must reach all elements.
pub(super) unsafe fn rows_out<E: Stored>(
    (rows, columns): (usize, usize),
    (from, wide): (*const E::Wide, usize),
    (to, apart): (*mut E, usize),
) {
    for r in 0..rows {
        for c in 0..columns {
            // SAFETY: the caller's promise is this one.
            unsafe { to.add(r * apart + c).write(E::round(from.add(r * wide + c).read())) };
        }
    }
}

/// The reverse of [`rows_out`], with zeros up to `wide`.
///
/// # Safety
/// Both must reach all elements.
pub(super) unsafe fn rows_in<E: Stored>(
    (rows, columns): (usize, usize),
    (from, apart): (*const E, usize),
    (to, wide): (*mut E::Wide, usize),
) {
    for r in 0..rows {
        // SAFETY: the caller's promise is this one.
        unsafe {
            widen_row(from.add(r * apart), columns, to.add(r * wide));
            to.add(r * wide + columns).write_bytes(0, wide - columns);
        }
    }
}
