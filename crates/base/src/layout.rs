//! The memory layout of an array: a shape and one stride per dimension. The offset of the first element is not part of
//! a layout but a parameter, so that `x[i]` has one layout for every `i`.

use crate::{MAX_RANK, Shape};
use std::fmt;
use std::hash::{Hash, Hasher};

/// Shape and strides, both in elements. A broadcast dimension has stride 0.
#[derive(Clone, Copy)]
pub struct Layout {
    /// The extents.
    pub shape: Shape,
    strides: [isize; MAX_RANK],
}

// Strides beyond the last dimension are ignored.
impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        self.shape == other.shape && self.strides() == other.strides()
    }
}

impl Eq for Layout {}

impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
        self.strides().hash(state);
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout").field("shape", &self.shape).field("strides", &self.strides()).finish()
    }
}

impl Layout {
    /// A row-major layout without gaps.
    pub fn dense(shape: Shape) -> Layout {
        let mut strides = [0; MAX_RANK];
        let mut step = 1isize;
        for i in (0..shape.rank()).rev() {
            strides[i] = step;
            step *= shape[i].max(1) as isize;
        }
        Layout { shape, strides }
    }

    /// A layout with any strides, one per dimension.
    ///
    /// # Panics
    /// If the numbers of strides and dimensions differ.
    pub fn strided(shape: Shape, strides: &[isize]) -> Layout {
        assert_eq!(shape.rank(), strides.len());
        let mut all = [0; MAX_RANK];
        all[..strides.len()].copy_from_slice(strides);
        Layout { shape, strides: all }
    }

    /// The strides, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.shape.rank()]
    }

    /// Whether the elements are row-major without gaps. Dimensions of extent 1 are ignored.
    pub fn is_dense(&self) -> bool {
        let mut step = 1isize;
        for i in (0..self.shape.rank()).rev() {
            if self.shape[i] == 0 {
                return true;
            }
            if self.shape[i] != 1 {
                if self.strides[i] != step {
                    return false;
                }
                step *= self.shape[i] as isize;
            }
        }
        true
    }

    /// Whether two different indices can refer to the same element.
    pub fn overlaps_itself(&self) -> bool {
        self.shape.iter().zip(self.strides()).any(|(&d, &s)| d > 1 && s == 0)
    }

    /// The lowest and highest element, relative to the first; `None` if there is no element.
    pub fn extent(&self) -> Option<(isize, isize)> {
        let (mut low, mut high) = (0, 0);
        for (&d, &s) in self.shape.iter().zip(self.strides()) {
            if d == 0 {
                return None;
            }
            let reach = (d as isize - 1) * s;
            if reach < 0 { low += reach } else { high += reach }
        }
        Some((low, high))
    }

    /// Broadcasts the layout to `shape`; `None` if that is impossible.
    pub fn broadcast_to(&self, shape: Shape) -> Option<Layout> {
        if shape.rank() < self.shape.rank() {
            return None;
        }
        let lead = shape.rank() - self.shape.rank();
        let mut strides = [0; MAX_RANK];
        for i in 0..self.shape.rank() {
            if self.shape[i] == shape[i + lead] {
                strides[i + lead] = self.strides[i];
            } else if self.shape[i] != 1 {
                return None;
            }
        }
        Some(Layout { shape, strides })
    }

    /// Permutes the dimensions.
    ///
    /// # Panics
    /// If `axes` is not a permutation of the dimensions.
    pub fn permute(&self, axes: &[usize]) -> Layout {
        assert_eq!(axes.len(), self.shape.rank());
        let mut out = *self;
        for (to, &from) in axes.iter().enumerate() {
            out.shape.dims_mut()[to] = self.shape[from];
            out.strides[to] = self.strides[from];
        }
        out
    }

    /// The same elements in row-major order under another shape, or `None` if that requires a copy.
    pub fn reshape(&self, shape: Shape) -> Option<Layout> {
        if shape.size() != self.shape.size() {
            return None;
        }
        if self.is_dense() || shape.size() == 0 {
            return Some(Layout::dense(shape));
        }
        // Match runs of old dimensions to runs of new ones; each run of old ones must be contiguous.
        let old: Vec<(usize, isize)> =
            self.shape.iter().copied().zip(self.strides().iter().copied()).filter(|&(d, _)| d != 1).collect();
        let mut strides = [0isize; MAX_RANK];
        let (mut o, mut n) = (0, 0);
        while n < shape.rank() {
            if shape[n] == 1 {
                strides[n] = 1;
                n += 1;
                continue;
            }
            let (o0, n0) = (o, n);
            let (mut have, mut want) = (old.get(o)?.0, shape[n]);
            o += 1;
            n += 1;
            while have != want {
                if have < want {
                    let (d, s) = *old.get(o)?;
                    if old[o - 1].1 != s * d as isize {
                        return None;
                    }
                    have *= d;
                    o += 1;
                } else {
                    want *= shape[n];
                    n += 1;
                }
            }
            let mut step = old[o0..o].last()?.1;
            for i in (n0..n).rev() {
                strides[i] = step;
                step *= shape[i] as isize;
            }
        }
        Some(Layout { shape, strides })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_layouts_are_recognised() {
        let l = Layout::dense(Shape::of(&[2, 3]));
        assert_eq!(l.strides(), [3, 1]);
        assert!(l.is_dense());
        assert!(!l.permute(&[1, 0]).is_dense());
        assert!(Layout::dense(Shape::of(&[1, 3])).permute(&[1, 0]).is_dense());
        assert!(l.broadcast_to(Shape::of(&[4, 2, 3])).unwrap().overlaps_itself());
    }

    #[test]
    fn reshape_keeps_views() {
        let l = Layout::dense(Shape::of(&[4, 6])).permute(&[1, 0]);
        assert_eq!(l.reshape(Shape::of(&[6, 2, 2])).unwrap().strides(), [1, 12, 6]);
        assert!(l.reshape(Shape::of(&[24])).is_none());
        let empty = Layout::dense(Shape::of(&[3, 0, 2])).permute(&[2, 1, 0]);
        assert_eq!(empty.reshape(Shape::of(&[0])).unwrap().shape, Shape::of(&[0]));
        let rows = Layout::strided(Shape::of(&[2, 4]), &[8, 1]);
        assert_eq!(rows.reshape(Shape::of(&[2, 2, 2])).unwrap().strides(), [8, 2, 1]);
        assert_eq!(rows.reshape(Shape::of(&[1, 2, 1, 4])).unwrap().strides(), [1, 8, 1, 1]);
    }

    #[test]
    fn extents() {
        let l = Layout::strided(Shape::of(&[3, 2]), &[-2, 1]);
        assert_eq!(l.extent(), Some((-4, 1)));
        assert_eq!(Layout::dense(Shape::of(&[0])).extent(), None);
    }
}
