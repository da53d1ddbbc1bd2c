//! Reads a strided or broadcast operand in runs, in the row-major order of the iteration space.
//!
//! Invariant: dimensions are collapsed once, when a kernel is compiled; adjacent dimensions that one stride covers are
//! merged.

use crate::bulk;
use crate::copy::transpose;
use forerun_base::{Layout, MAX_RANK};

/// The collapsed dimensions of an operand: extents and strides, in elements, innermost last.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    extents: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
    rank: usize,
}

impl Walk {
    /// The walk over a layout. A one-element array has one dimension of extent 1.
    pub(crate) fn new(layout: &Layout) -> Walk {
        let mut walk = Walk { extents: [1; MAX_RANK], strides: [0; MAX_RANK], rank: 0 };
        for (&extent, &stride) in layout.shape.iter().zip(layout.strides()) {
            if extent == 1 {
                continue;
            }
            let last = walk.rank.wrapping_sub(1);
            if walk.rank > 0 && walk.strides[last] == stride * extent as isize {
                walk.extents[last] *= extent;
                walk.strides[last] = stride;
            } else {
                walk.extents[walk.rank] = extent;
                walk.strides[walk.rank] = stride;
                walk.rank += 1;
            }
        }
        walk.rank = walk.rank.max(1);
        walk
    }

    /// Whether all indices refer to the same element.
    pub(crate) fn is_constant(&self) -> bool {
        self.strides[..self.rank].iter().all(|&s| s == 0)
    }

    /// Whether a single stride covers all elements.
    pub(crate) fn is_line(&self) -> bool {
        self.rank == 1
    }

    /// Calls `run(offset, stride, done, length)` for each run of elements `start .. start + count` along the innermost
    /// dimension. `offset` belongs to its first element; `done` elements precede it.
    #[inline(always)]
    pub(crate) fn runs(&self, start: usize, count: usize, mut run: impl FnMut(isize, isize, usize, usize)) {
        let last = self.rank - 1;
        let mut index = [0usize; MAX_RANK];
        let mut offset = 0isize;
        let mut left = start;
        for d in (0..self.rank).rev() {
            index[d] = left % self.extents[d];
            left /= self.extents[d];
            offset += index[d] as isize * self.strides[d];
        }
        let mut done = 0;
        while done < count {
            let length = (self.extents[last] - index[last]).min(count - done);
            run(offset, self.strides[last], done, length);
            done += length;
            index[last] += length;
            offset += length as isize * self.strides[last];
            let mut d = last;
            while d > 0 && index[d] == self.extents[d] {
                offset -= self.extents[d] as isize * self.strides[d];
                index[d] = 0;
                d -= 1;
                index[d] += 1;
                offset += self.strides[d];
            }
        }
    }

    /// The address of elements `start .. start + count` if they are contiguous; otherwise `None`.
    ///
    /// # Safety
    /// `base` must be the address of the operand's first element.
    #[inline]
    pub(crate) unsafe fn in_place(
        &self,
        base: *const u8,
        size: usize,
        start: usize,
        count: usize,
    ) -> Option<*const u8> {
        let last = self.rank - 1;
        if self.strides[last] != 1 || start % self.extents[last] + count > self.extents[last] {
            return None;
        }
        let mut offset = 0isize;
        let mut left = start;
        for d in (0..self.rank).rev() {
            offset += (left % self.extents[d]) as isize * self.strides[d];
            left /= self.extents[d];
        }
        // SAFETY: an element of the operand, which the caller guarantees.
        Some(unsafe { base.offset(offset * size as isize) })
    }

    /// The length of a row, if matrices are large and contiguous along columns. Rows are then best gathered several at
    /// a time, by [`Walk::panel`].
    pub(crate) fn transposed(&self) -> Option<usize> {
        let last = self.rank - 1;
        let large = |d: usize| self.extents[d] >= crate::transpose_tile::SIDE;
        (self.rank >= 2 && self.strides[last - 1] == 1 && self.strides[last] != 1 && large(last) && large(last - 1))
            .then_some(self.extents[last])
    }

    /// Copies `width` elements, from `column` on, of `rows` rows, from `row` on, counted over all matrices. Rows of the
    /// target are `apart` elements apart.
    ///
    /// # Safety
    /// [`Walk::transposed`] must return a length, `base` must be the address of the operand's first element, of `size`
    /// bytes, and `to` must have room for the elements.
    pub(crate) unsafe fn panel(
        &self,
        (base, size): (*const u8, usize),
        (row, rows): (usize, usize),
        (column, width): (usize, usize),
        (to, apart): (*mut u8, usize),
    ) {
        let (last, height) = (self.rank - 1, self.extents[self.rank - 2]);
        let mut done = 0;
        while done < rows {
            let (matrix, first) = ((row + done) / height, (row + done) % height);
            let together = (height - first).min(rows - done);
            let mut offset = first as isize + column as isize * self.strides[last];
            let mut left = matrix;
            for d in (0..last - 1).rev() {
                offset += (left % self.extents[d]) as isize * self.strides[d];
                left /= self.extents[d];
            }
            let (extents, from_apart, to_apart) = ((together, width), self.strides[last], apart as isize);
            // SAFETY: elements of one matrix, which the caller guarantees; the sizes match the types.
            unsafe {
                let (from, to) = (base.offset(offset * size as isize), to.add(done * apart * size));
                match size {
                    1 => transpose::<u8>(extents, (from, from_apart), (to, to_apart)),
                    2 => transpose::<u16>(extents, (from.cast(), from_apart), (to.cast(), to_apart)),
                    4 => transpose::<u32>(extents, (from.cast(), from_apart), (to.cast(), to_apart)),
                    8 => transpose::<u64>(extents, (from.cast(), from_apart), (to.cast(), to_apart)),
                    _ => transpose::<[u64; 2]>(extents, (from.cast(), from_apart), (to.cast(), to_apart)),
                }
            }
            done += together;
        }
    }

    /// Copies elements `start .. start + count` contiguously to `to`.
    ///
    /// # Safety
    /// `base` must be the address of the operand's first element, and `to` must have room for `count` elements of
    /// `size` bytes.
    pub(crate) unsafe fn gather(&self, base: *const u8, size: usize, start: usize, count: usize, to: *mut u8) {
        // SAFETY: guaranteed by the caller; the sizes match the types.
        unsafe {
            match size {
                1 => self.gather_as::<u8>(base, start, count, to),
                2 => self.gather_as::<u16>(base, start, count, to),
                4 => self.gather_as::<u32>(base, start, count, to),
                8 => self.gather_as::<u64>(base, start, count, to),
                _ => self.gather_as::<[u64; 2]>(base, start, count, to),
            }
        }
    }

    unsafe fn gather_as<T: Copy>(&self, base: *const u8, start: usize, count: usize, to: *mut u8) {
        let (base, to) = (base.cast::<T>(), to.cast::<T>());
        self.runs(start, count, |offset, stride, done, length| {
            // SAFETY: runs consist of elements of the operand, and `done + length` is at most `count`.
            unsafe {
                let (from, to) = (base.offset(offset), to.add(done));
                match stride {
                    1 if length <= SHORT => (0..length).for_each(|i| to.add(i).write(from.add(i).read())),
                    1 => bulk::copy(from.cast(), to.cast(), length * size_of::<T>()),
                    0 => std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<T>>(), length)
                        .fill(std::mem::MaybeUninit::new(from.read())),
                    _ => strided(from, stride, to, length),
                }
            }
        });
    }
}

/// Runs of up to this many elements are copied element by element, which is faster than a call of `memcpy`.
const SHORT: usize = 8;

/// Copies `count` elements that are `stride` apart. Common strides are compile-time constants, so that the compiler
/// vectorizes them.
///
/// # Safety
/// `count` elements must be readable, `stride` apart, and writable contiguously.
#[inline(always)]
pub(crate) unsafe fn strided<T: Copy>(from: *const T, stride: isize, to: *mut T, count: usize) {
    #[inline(always)]
    unsafe fn known<T: Copy, const STRIDE: isize>(from: *const T, to: *mut T, count: usize) {
        // SAFETY: the caller upholds the same contract.
        (0..count as isize).for_each(|i| unsafe { to.offset(i).write(from.offset(i * STRIDE).read()) });
    }
    // SAFETY: the caller upholds the same contract.
    unsafe {
        match stride {
            -1 => known::<T, -1>(from, to, count),
            2 => known::<T, 2>(from, to, count),
            3 => known::<T, 3>(from, to, count),
            4 => known::<T, 4>(from, to, count),
            _ => (0..count as isize).for_each(|i| to.offset(i).write(from.offset(i * stride).read())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::Shape;

    #[test]
    fn adjacent_dimensions_collapse() {
        let dense = Layout::dense(Shape::of(&[2, 1, 3, 4]));
        assert_eq!(Walk::new(&dense).extents[..1], [24]);
        let transposed = dense.permute(&[3, 0, 1, 2]);
        let walk = Walk::new(&transposed);
        assert_eq!((walk.rank, &walk.extents[..2], &walk.strides[..2]), (2, &[4, 6][..], &[1, 4][..]));
        let row = Layout::dense(Shape::of(&[4])).broadcast_to(Shape::of(&[5, 6, 4])).unwrap();
        assert_eq!(Walk::new(&row).extents[..2], [30, 4]);
        assert!(Walk::new(&Layout::dense(Shape::SCALAR)).is_constant());
    }

    #[test]
    fn gathers_runs_of_every_stride() {
        let data: Vec<u32> = (0..400).collect();
        for stride in [-7, -2, -1, 1, 2, 3, 4, 5] {
            for count in [1, 7, 8, 9, 50] {
                let first = if stride < 0 { 399 } else { 0 };
                let mut to = vec![0u32; count];
                // SAFETY: the range lies within the data.
                unsafe { strided(data.as_ptr().add(first), stride, to.as_mut_ptr(), count) };
                let expected: Vec<u32> = (0..count as isize).map(|i| (first as isize + i * stride) as u32).collect();
                assert_eq!(to, expected, "stride {stride}");
            }
        }
    }

    #[test]
    fn panels_are_what_rows_are() {
        let dense = Layout::dense(Shape::of(&[3, 20, 40]));
        let walk = Walk::new(&dense.permute(&[0, 2, 1]));
        assert_eq!(walk.transposed(), Some(20));
        assert_eq!(Walk::new(&dense).transposed(), None);
        let data: Vec<u64> = (0..2400).collect();
        // Ranges of rows that cross the end of a matrix.
        for (row, rows, column, width) in [(0, 16, 0, 20), (35, 10, 3, 7), (0, 120, 0, 20), (119, 1, 19, 1)] {
            let mut to = vec![0u64; rows * 24];
            // SAFETY: the layout covers `data`, and `to` holds rows of 24.
            unsafe {
                let to = (to.as_mut_ptr().cast(), 24);
                walk.panel((data.as_ptr().cast(), 8), (row, rows), (column, width), to);
            }
            for i in 0..rows {
                let mut line = vec![0u64; width];
                // SAFETY: the layout covers `data`, and `line` holds `width` elements.
                unsafe {
                    walk.gather(data.as_ptr().cast(), 8, (row + i) * 20 + column, width, line.as_mut_ptr().cast());
                }
                assert_eq!(to[i * 24..i * 24 + width], line[..], "row {}", row + i);
            }
        }
    }

    #[test]
    fn gathers_from_anywhere() {
        let data: Vec<u32> = (0..24).collect();
        let transposed = Layout::dense(Shape::of(&[4, 6])).permute(&[1, 0]);
        let all: Vec<u32> = (0..24).map(|i| (i % 4) * 6 + i / 4).collect();
        let walk = Walk::new(&transposed);
        for start in 0..24 {
            for count in 0..=24 - start {
                let mut to = vec![0u32; count];
                // SAFETY: the layout covers `data`, and `to` holds `count` elements.
                unsafe { walk.gather(data.as_ptr().cast(), 4, start, count, to.as_mut_ptr().cast()) };
                assert_eq!(to, all[start..start + count]);
            }
        }
    }
}
