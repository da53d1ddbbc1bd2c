//! Basic indexing: integers, slices, new axes and an ellipsis become a layout and an offset. Never copies.

use forerun_base::{Error, ErrorKind, Layout, MAX_RANK, Result, Shape};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// One item of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One position; the dimension is dropped.
    At(isize),
    /// `start:stop:step`, with Python's meaning.
    Slice {
        /// First position.
        start: Option<isize>,
        /// One past the last.
        stop: Option<isize>,
        /// Step; not 0.
        step: isize,
    },
    /// A new dimension of extent 1.
    NewAxis,
    /// All dimensions that no other item covers.
    Ellipsis,
}

impl Index {
    /// The whole dimension.
    pub const ALL: Index = Index::Slice { start: None, stop: None, step: 1 };

    /// A slice with another step. Anything else stays as it is.
    pub fn step(self, step: isize) -> Index {
        match self {
            Index::Slice { start, stop, .. } => Index::Slice { start, stop, step },
            other => other,
        }
    }
}

/// An index as in NumPy: positions, ranges, ranges with a step after `;`, [`NewAxis`](Index::NewAxis) and
/// [`Ellipsis`](Index::Ellipsis). Negative positions count from the end; a range with a negative step runs backwards from
/// its start, as `x[a:b:-1]` does.
///
/// ```
/// # use forerun_array as forerun;
/// use forerun::prelude::*;
/// let x = arange(0, 12, 1).reshape([3, 4]);
/// assert_eq!(x.slice(s![-1, 1..3]).to_string(), "[ 9 10]");
/// assert_eq!(x.slice(s![..;2, 0]).to_string(), "[0 8]");
/// assert_eq!(x.slice(s![0, ..;-1]).to_string(), "[3 2 1 0]");
/// assert_eq!(*x.slice(s![Ellipsis, NewAxis]).shape(), [3, 4, 1]);
/// ```
#[macro_export]
macro_rules! s {
    ($($item:expr $(; $step:expr)?),* $(,)?) => {
        [$($crate::Index::from($item)$(.step($step as isize))?),*]
    };
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::ALL
    }
}

macro_rules! positions {
    ($($number:ty)*) => {$(
        impl From<$number> for Index {
            fn from(position: $number) -> Index {
                Index::At(position as isize)
            }
        }

        impl From<Range<$number>> for Index {
            fn from(range: Range<$number>) -> Index {
                Index::Slice { start: Some(range.start as isize), stop: Some(range.end as isize), step: 1 }
            }
        }

        impl From<RangeFrom<$number>> for Index {
            fn from(range: RangeFrom<$number>) -> Index {
                Index::Slice { start: Some(range.start as isize), stop: None, step: 1 }
            }
        }

        impl From<RangeTo<$number>> for Index {
            fn from(range: RangeTo<$number>) -> Index {
                Index::Slice { start: None, stop: Some(range.end as isize), step: 1 }
            }
        }

        impl From<RangeInclusive<$number>> for Index {
            fn from(range: RangeInclusive<$number>) -> Index {
                Index::Slice { start: Some(*range.start() as isize), stop: after(*range.end() as isize), step: 1 }
            }
        }

        impl From<RangeToInclusive<$number>> for Index {
            fn from(range: RangeToInclusive<$number>) -> Index {
                Index::Slice { start: None, stop: after(range.end as isize), step: 1 }
            }
        }
    )*};
}

positions! { i32 i64 isize u32 u64 usize }

/// One past a position; `None`, the end of the dimension, after the last.
fn after(last: isize) -> Option<isize> {
    (last != -1).then_some(last.saturating_add(1))
}

/// The layout and offset of the elements that an index selects.
pub(crate) fn select(layout: &Layout, index: &[Index]) -> Result<(Layout, isize)> {
    let rank = layout.shape.rank();
    let named = index.iter().filter(|i| matches!(i, Index::At(_) | Index::Slice { .. })).count();
    let ellipses = index.iter().filter(|i| **i == Index::Ellipsis).count();
    if ellipses > 1 {
        return Err(Error::new(ErrorKind::Index, "an index can only have a single ellipsis ('...')"));
    }
    if named > rank {
        return Err(Error::new(
            ErrorKind::Index,
            format!("too many indices for array: array is {rank}-dimensional, but {named} were indexed"),
        ));
    }
    let mut shape = Shape::SCALAR;
    let mut strides = Vec::with_capacity(rank);
    let mut offset = 0;
    let mut axis = 0;
    let mut keep = |d: usize, s: isize, shape: &mut Shape| -> Result<()> {
        if shape.rank() == MAX_RANK {
            return Err(Error::new(ErrorKind::Index, format!("at most {MAX_RANK} dimensions are supported")));
        }
        shape.push(d);
        strides.push(s);
        Ok(())
    };
    let rest = (ellipses == 0).then_some(&Index::Ellipsis);
    for item in index.iter().chain(rest) {
        match *item {
            Index::NewAxis => keep(1, 0, &mut shape)?,
            Index::Ellipsis => {
                for _ in 0..rank - named {
                    keep(layout.shape[axis], layout.strides()[axis], &mut shape)?;
                    axis += 1;
                }
            }
            Index::At(i) => {
                let d = layout.shape[axis] as isize;
                if i < -d || i >= d {
                    return Err(Error::new(
                        ErrorKind::Index,
                        format!("index {i} is out of bounds for axis {axis} with size {d}"),
                    ));
                }
                offset += (if i < 0 { i + d } else { i }) * layout.strides()[axis];
                axis += 1;
            }
            Index::Slice { start, stop, step } => {
                let (first, count) = slice(layout.shape[axis] as isize, start, stop, step)?;
                if count > 0 {
                    offset += first * layout.strides()[axis];
                }
                // A step that overflows leaves at most one element.
                keep(count as usize, layout.strides()[axis].wrapping_mul(step), &mut shape)?;
                axis += 1;
            }
        }
    }
    Ok((Layout::strided(shape, &strides), offset))
}

/// First position and number of positions of a slice.
fn slice(d: isize, start: Option<isize>, stop: Option<isize>, step: isize) -> Result<(isize, isize)> {
    if step == 0 {
        return Err(Error::new(ErrorKind::Value, "slice step cannot be zero"));
    }
    let (low, high) = if step > 0 { (0, d) } else { (-1, d - 1) };
    let clip = |v: isize| (if v < 0 { v.saturating_add(d) } else { v }).clamp(low, high);
    let start = start.map_or(if step > 0 { low } else { high }, clip);
    let stop = stop.map_or(if step > 0 { high } else { low }, clip);
    let span = if step > 0 { stop - start } else { start - stop };
    Ok((start, span.max(0).unsigned_abs().div_ceil(step.unsigned_abs()) as isize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(start: Option<isize>, stop: Option<isize>, step: isize) -> Index {
        Index::Slice { start, stop, step }
    }

    #[test]
    fn slices_match_numpy() {
        let l = Layout::dense(Shape::of(&[4, 5]));
        let (v, o) = select(&l, &[Index::At(-1)]).unwrap();
        assert_eq!((v.shape, o), (Shape::of(&[5]), 15));
        let (v, o) = select(&l, &[s(None, None, -1), s(Some(1), Some(4), 2)]).unwrap();
        assert_eq!((v.shape, v.strides(), o), (Shape::of(&[4, 2]), &[-5, 2][..], 16));
        let (v, _) = select(&l, &[Index::NewAxis, Index::Ellipsis, Index::At(0)]).unwrap();
        assert_eq!(v.shape, Shape::of(&[1, 4]));
        let (v, _) = select(&l, &[s(Some(3), Some(1), 1)]).unwrap();
        assert_eq!(v.shape, Shape::of(&[0, 5]));
        assert!(select(&l, &[Index::At(4)]).is_err());
        assert!(select(&l, &[Index::At(0); 3]).is_err());
        assert!(select(&l, &[s(None, None, 0)]).is_err());
    }
}
