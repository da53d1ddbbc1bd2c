//! Copies between layouts: strided to dense, dense to strided, and both at once.
//!
//! Invariant: source and target do not overlap. A transposing copy works in square blocks, so that each cache line is
//! used completely while it is cached.

use crate::bulk;
use crate::gather::strided;
use crate::nontemporal;
use crate::transpose_tile;
use forerun_base::{Layout, MAX_RANK, Shape};
use std::ops::Range;

/// The dimensions of a copy: extent, stride of the source, stride of the target; collapsed, innermost last.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    dims: Vec<(usize, isize, isize)>,
    size: usize,
}

/// The length of a block of a transposing copy along the source: long enough for non-temporal stores.
const LONG: usize = 64;
const SIDE: usize = 32;
/// Rows of up to this many elements are copied element by element.
const SHORT: usize = 16;

impl Copy {
    /// A copy between two layouts of one shape.
    pub(crate) fn new(from: &Layout, to: &Layout) -> Copy {
        debug_assert_eq!(from.shape, to.shape);
        let mut dims: Vec<(usize, isize, isize)> = Vec::with_capacity(MAX_RANK);
        for ((&extent, &f), &t) in from.shape.iter().zip(from.strides()).zip(to.strides()) {
            match dims.last_mut() {
                _ if extent == 1 => {}
                Some((e, lf, lt)) if *lf == f * extent as isize && *lt == t * extent as isize => {
                    (*e, *lf, *lt) = (*e * extent, f, t);
                }
                _ => dims.push((extent, f, t)),
            }
        }
        // For a transposing copy, move the dimension with unit stride in the source next to the innermost one.
        if let Some(&(_, last, _)) = dims.last()
            && last != 1
            && let Some(d) = dims.iter().position(|&(_, f, _)| f == 1)
        {
            let dim = dims.remove(d);
            dims.insert(dims.len() - 1, dim);
        }
        if dims.is_empty() {
            dims.push((1, 1, 1));
        }
        Copy { dims, size: from.shape.size() }
    }

    /// A copy from a layout to a dense array of the same shape.
    pub(crate) fn to_dense(from: &Layout) -> Copy {
        Copy::new(from, &Layout::dense(from.shape))
    }

    /// A copy into a region of a dense array, given the region's shape and the array's strides.
    pub(crate) fn into_part(from: &Layout, shape: Shape, strides: &[isize]) -> Copy {
        Copy::new(from, &Layout::strided(shape, strides))
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The granularity of slices: transposing copies work in blocks of this many.
    pub(crate) fn grain(&self) -> usize {
        match self.dims[..] {
            [(_, 1, _), _] => LONG,
            _ => 1,
        }
    }

    /// The number of slices along the outermost dimension, and the elements of each.
    pub(crate) fn slices(&self) -> (usize, usize) {
        (self.dims[0].0, self.size / self.dims[0].0.max(1))
    }

    /// Copies slices `first .. last` of the outermost dimension.
    ///
    /// # Safety
    /// Both addresses must be those of the first elements, of `size` bytes each, and be valid for all elements of their
    /// layouts.
    pub(crate) unsafe fn run(&self, from: *const u8, to: *mut u8, size: usize, first: usize, last: usize) {
        // SAFETY: guaranteed by the caller; the sizes match the types.
        unsafe {
            match size {
                1 => self.run_as::<u8>(from.cast(), to.cast(), first, last),
                2 => self.run_as::<u16>(from.cast(), to.cast(), first, last),
                4 => self.run_as::<u32>(from.cast(), to.cast(), first, last),
                8 => self.run_as::<u64>(from.cast(), to.cast(), first, last),
                _ => self.run_as::<[u64; 2]>(from.cast(), to.cast(), first, last),
            }
        }
    }

    unsafe fn run_as<T: std::marker::Copy>(&self, from: *const T, to: *mut T, first: usize, last: usize) {
        let (_, f, t) = self.dims[0];
        // SAFETY: slices of the ranges that the caller guarantees.
        unsafe {
            let (from, to) = (from.offset(first as isize * f), to.offset(first as isize * t));
            let mut dims = [(1, 0, 0); MAX_RANK];
            let dims = &mut dims[..self.dims.len()];
            dims.copy_from_slice(&self.dims);
            dims[0].0 = last - first;
            let past = self.size * size_of::<T>() >= nontemporal::WORTH;
            nest(dims, from, to, past);
            if past {
                nontemporal::fence();
            }
        }
    }
}

unsafe fn nest<T: std::marker::Copy>(dims: &[(usize, isize, isize)], from: *const T, to: *mut T, past: bool) {
    // SAFETY: every offset belongs to an element of both layouts.
    unsafe {
        match *dims {
            [] => to.write(from.read()),
            [(n, 1, 1)] => bulk::copy(from.cast(), to.cast(), n * size_of::<T>()),
            [(n, 0, 1)] => {
                let value = std::mem::MaybeUninit::new(from.read());
                std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<T>>(), n).fill(value);
            }
            [(n, f, 1)] => strided(from, f, to, n),
            // Short rows: a call of `memcpy` takes longer than the copy.
            [(n, f, t), (m, 1, 1)] if m <= SHORT => {
                for i in 0..n as isize {
                    let (from, to) = (from.offset(i * f), to.offset(i * t));
                    (0..m).for_each(|j| to.add(j).write(from.add(j).read()));
                }
            }
            [(n, 1, 2), (2, 0, 1)] => copies::<T, 2>(from, to, n),
            [(n, 1, 3), (3, 0, 1)] => copies::<T, 3>(from, to, n),
            [(n, 1, 4), (4, 0, 1)] => copies::<T, 4>(from, to, n),
            [(n, f, t), (m, 0, 1)] if m <= SHORT => {
                for i in 0..n as isize {
                    let (value, to) = (from.offset(i * f).read(), to.offset(i * t));
                    (0..m).for_each(|j| to.add(j).write(value));
                }
            }
            [(n, f, t)] => {
                for i in 0..n as isize {
                    to.offset(i * t).write(from.offset(i * f).read());
                }
            }
            [rows @ (_, 1, _), columns @ (_, _, _)] => blocks(rows, columns, from, to, past),
            [(n, f, t), ref rest @ ..] => {
                for i in 0..n as isize {
                    nest(rest, from.offset(i * f), to.offset(i * t), past);
                }
            }
        }
    }
}

/// Repeats each of `n` elements `TIMES` times. The count is a compile-time constant, so the compiler uses shuffles.
unsafe fn copies<T: std::marker::Copy, const TIMES: usize>(from: *const T, to: *mut T, n: usize) {
    for i in 0..n {
        // SAFETY: elements of both layouts.
        unsafe { to.add(TIMES * i).cast::<[T; TIMES]>().write([from.add(i).read(); TIMES]) };
    }
}

/// Transposes a `rows x columns` matrix with contiguous columns, `from_stride` apart, to contiguous rows.
///
/// # Safety
/// Both addresses must be valid for all elements, and the ranges must not overlap.
pub(crate) unsafe fn transpose<T: std::marker::Copy>(
    (rows, columns): (usize, usize),
    (from, from_stride): (*const T, isize),
    (to, to_stride): (*mut T, isize),
) {
    // SAFETY: the caller upholds the same contract.
    unsafe { blocks((rows, 1, to_stride), (columns, from_stride, 1), from, to, false) }
}

/// Copies in blocks. The source is contiguous along `rows`; the target may be contiguous along `columns`. With `past`,
/// full lines of the target use non-temporal stores; the caller must then issue a fence.
unsafe fn blocks<T: std::marker::Copy>(
    (rows, _, to_row): (usize, isize, isize),
    (columns, from_column, to_column): (usize, isize, isize),
    from: *const T,
    to: *mut T,
    past: bool,
) {
    let tiles = size_of::<T>() == 4 && to_column == 1 && transpose_tile::is_available();
    let nontemporal = past && (to as usize).is_multiple_of(64) && (to_row * 4) % 64 == 0;
    // SAFETY: every offset belongs to an element of both layouts.
    unsafe {
        for r in (0..rows).step_by(LONG) {
            let height = LONG.min(rows - r);
            for c in (0..columns).step_by(SIDE) {
                let width = SIDE.min(columns - c);
                let from = from.offset(r as isize + c as isize * from_column);
                let to = to.offset(r as isize * to_row + c as isize * to_column);
                if tiles {
                    let (high, wide) = (height - height % transpose_tile::SIDE, width - width % transpose_tile::SIDE);
                    for j in (0..wide as isize).step_by(transpose_tile::SIDE) {
                        for i in (0..high as isize).step_by(transpose_tile::SIDE) {
                            let (from, to) = (from.offset(i + j * from_column), to.offset(i * to_row + j));
                            transpose_tile::copy(from.cast(), from_column, to.cast(), to_row, nontemporal);
                        }
                    }
                    plain((0..high, wide..width), (from, from_column), (to, to_row, 1));
                    plain((high..height, 0..width), (from, from_column), (to, to_row, 1));
                } else if height == LONG && width == SIDE && to_column == 1 {
                    // Use a local block, so that both sides access full cache lines.
                    let mut block = [[std::mem::MaybeUninit::<T>::uninit(); SIDE]; LONG];
                    for j in 0..SIDE {
                        let line = from.offset(j as isize * from_column);
                        for (i, row) in block.iter_mut().enumerate() {
                            row[j].write(line.add(i).read());
                        }
                    }
                    for (i, row) in block.iter().enumerate() {
                        let line = to.offset(i as isize * to_row);
                        std::ptr::copy_nonoverlapping(row.as_ptr().cast::<T>(), line, SIDE);
                    }
                } else {
                    plain((0..height, 0..width), (from, from_column), (to, to_row, to_column));
                }
            }
        }
    }
}

/// Copies some rows and columns of a block, element by element.
unsafe fn plain<T: std::marker::Copy>(
    (rows, columns): (Range<usize>, Range<usize>),
    (from, from_column): (*const T, isize),
    (to, to_row, to_column): (*mut T, isize, isize),
) {
    for i in rows.start as isize..rows.end as isize {
        for j in columns.start as isize..columns.end as isize {
            // SAFETY: every offset belongs to an element of both layouts.
            unsafe { to.offset(i * to_row + j * to_column).write(from.offset(i + j * from_column).read()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transposed<T: std::marker::Copy + PartialEq + std::fmt::Debug>(
        rows: usize,
        columns: usize,
        of: impl Fn(usize) -> T,
    ) {
        let from: Vec<T> = (0..rows * columns).map(of).collect();
        let copy = Copy::to_dense(&Layout::dense(Shape::of(&[columns, rows])).permute(&[1, 0]));
        let mut to = vec![of_first(&from); rows * columns + 64];
        // Aligned to a cache line, so that non-temporal stores are possible.
        let skip = to.as_ptr().align_offset(64);
        // SAFETY: both buffers have the elements of the layouts.
        unsafe {
            let to = to.as_mut_ptr().add(skip).cast();
            copy.run(from.as_ptr().cast(), to, size_of::<T>(), 0, copy.slices().0);
        }
        let made = &to[skip..skip + rows * columns];
        let wrong = (0..rows * columns).find(|at| made[*at] != from[at % columns * rows + at / columns]);
        assert_eq!(wrong, None, "{rows} x {columns}");
    }

    fn of_first<T: std::marker::Copy>(from: &[T]) -> T {
        from[0]
    }

    #[test]
    fn tiles_and_what_is_left_beside_them() {
        for rows in [1, 15, 16, 17, 40, 64, 65, 130] {
            for columns in [1, 15, 16, 31, 32, 33, 70] {
                transposed(rows, columns, |i| i as u32);
                transposed(rows, columns, |i| i as u64);
                transposed(rows, columns, |i| i as u16);
                transposed(rows, columns, |i| i as u8);
            }
        }
    }

    #[test]
    fn large_ones_pass_by_the_cache() {
        transposed(2112, 2048, |i| i as u32);
        transposed(2050, 2100, |i| i as u32);
    }
}
