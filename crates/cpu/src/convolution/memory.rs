//! Packing operands for the inner loop, and writing its results. Half floats are widened and rounded here.

use super::Vector;
use super::phases::Padded;
use crate::copy;
use crate::routine::call::Element;
use crate::scratch::Scratch;
use crate::simd::Work;
use forerun_base::{BFloat16, Float16};
use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Add;

/// A stored element type, and the type that computes with it.
pub(crate) trait Stored: Element {
    /// The type of the computation.
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

/// Whether elements are stored in the type of the computation.
pub(super) fn is_wide<E: Stored>() -> bool {
    TypeId::of::<E>() == TypeId::of::<E::Wide>()
}

/// The number of bytes of a cache line.
const LINE: usize = 64;

/// Prefetches `count` elements at each of `places` addresses that are `apart` elements from each other.
#[inline(always)]
pub(super) fn prefetch<T>(first: *const T, places: usize, apart: usize, count: usize) {
    for place in 0..places {
        let first = first.wrapping_add(place * apart).cast::<i8>();
        for at in (0..count * size_of::<T>()).step_by(LINE) {
            // SAFETY: a prefetch reads nothing that the program can observe.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(first.wrapping_add(at));
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = (first, at);
        }
    }
}

/// Scratch memory of a task.
pub(super) struct Buffer(Scratch);

impl Buffer {
    /// Takes uninitialised memory for `count` elements.
    pub(super) fn take<T: Element>(count: usize) -> Buffer {
        Buffer(Scratch::new(count * size_of::<T>()))
    }

    /// The first element, aligned to a cache line.
    pub(super) fn first<T>(&mut self) -> *mut T {
        self.0.first()
    }
}

/// Images in the layout of the user's array.
#[derive(Clone, Copy)]
pub(super) struct Planes<'a, E> {
    pub(super) all: &'a [E],
    /// Strides, in elements.
    pub(super) pixel: usize,
    pub(super) channel: usize,
    pub(super) image: usize,
}

/// Copies channels of an image to zero-padded planes.
///
/// # Safety
/// The constructor guarantees that the image has `channels` channels and that the target has room for a plane of each.
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
        // SAFETY: the constructor guarantees the elements, and the caller the processor features.
        unsafe { if self.of.pixel == 1 { self.rows() } else { self.pixels() } }
    }
}

impl<E: Stored, V: Vector<Elem = E::Wide>> Pad<'_, E, V> {
    /// Copies row by row, where pixels are adjacent.
    ///
    /// # Safety
    /// As for [`Pad`].
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
                    // SAFETY: both are rows within the image and its plane; pointers are cast only between equal types.
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

    /// Copies pixel by pixel, where channels are adjacent.
    ///
    /// # Safety
    /// As for [`Pad`].
    #[inline(always)]
    unsafe fn pixels(&self) {
        let ([_, height, width], [depth_in, height_in, width_in]) = (self.padded.extents, self.padded.input);
        let (plane, before) = (self.padded.plane(), self.padded.before);
        // SAFETY: the indices lie within the image and its planes; zero bytes are the float 0.
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

/// Copies and widens adjacent elements.
///
/// # Safety
/// Both pointers must be valid for `count` elements.
unsafe fn widen_row<E: Stored>(from: *const E, count: usize, to: *mut E::Wide) {
    for i in 0..count {
        // SAFETY: as the caller guarantees.
        unsafe { to.add(i).write(from.add(i).read().widen()) };
    }
}

/// Transposes a matrix whose columns are contiguous and `apart` elements from each other into rows of `wide` elements,
/// padded with zeros.
///
/// # Safety
/// Both pointers must be valid for all elements.
pub(super) unsafe fn transpose_in<E: Stored>(
    (rows, columns): (usize, usize),
    (from, apart): (*const E, usize),
    (to, wide): (*mut E::Wide, usize),
) {
    // SAFETY: as the caller guarantees; pointers are cast only between equal types.
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

/// The reverse of [`transpose_in`]: transposes the first columns of rows of `wide` elements into contiguous columns
/// that are `apart` elements from each other.
///
/// # Safety
/// Both pointers must be valid for all elements.
pub(super) unsafe fn transpose_out<E: Stored>(
    (rows, columns): (usize, usize),
    (from, wide): (*const E::Wide, usize),
    (to, apart): (*mut E, usize),
) {
    // SAFETY: as the caller guarantees; pointers are cast only between equal types.
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

/// Copies the first columns of rows that are `wide` elements from each other to rows that are `apart` elements from
/// each other.
///
/// # Safety
/// Both pointers must be valid for all elements.
pub(super) unsafe fn rows_out<E: Stored>(
    (rows, columns): (usize, usize),
    (from, wide): (*const E::Wide, usize),
    (to, apart): (*mut E, usize),
) {
    for r in 0..rows {
        for c in 0..columns {
            // SAFETY: as the caller guarantees.
            unsafe { to.add(r * apart + c).write(E::round(from.add(r * wide + c).read())) };
        }
    }
}

/// The reverse of [`rows_out`]; pads rows with zeros up to `wide`.
///
/// # Safety
/// Both pointers must be valid for all elements.
pub(super) unsafe fn rows_in<E: Stored>(
    (rows, columns): (usize, usize),
    (from, apart): (*const E, usize),
    (to, wide): (*mut E::Wide, usize),
) {
    for r in 0..rows {
        // SAFETY: as the caller guarantees.
        unsafe {
            widen_row(from.add(r * apart), columns, to.add(r * wide));
            to.add(r * wide + columns).write_bytes(0, wide - columns);
        }
    }
}
