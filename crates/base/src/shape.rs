//! Dimensions of an array, inline: a shape never allocates.

use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The most dimensions an array may have.
pub const MAX_RANK: usize = 32;

/// The extent of each dimension. Dereferences to a slice.
#[derive(Clone, Copy)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: u8,
}

impl Shape {
    /// The shape of a 0-d array.
    pub const SCALAR: Shape = Shape { dims: [0; MAX_RANK], rank: 0 };

    /// A shape with these extents. Fails above [`MAX_RANK`] dimensions.
    pub fn new(dims: &[usize]) -> Result<Shape> {
        if dims.len() > MAX_RANK {
            return Err(Error::new(
                ErrorKind::Value,
                format!("shape has {} dimensions, at most {MAX_RANK} are supported", dims.len()),
            ));
        }
        Shape::of(dims).checked()
    }

    /// The shape, if its elements can be addressed: every layout of it stays within the range of offsets.
    pub fn checked(self) -> Result<Shape> {
        let size = self.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1)));
        if size.is_none_or(|n| n > isize::MAX as usize / 16) {
            return Err(Error::new(ErrorKind::Value, format!("shape {self} has too many elements")));
        }
        Ok(self)
    }

    /// As [`Shape::new`] for extents known to be few.
    ///
    /// # Panics
    /// Above [`MAX_RANK`] dimensions.
    pub fn of(dims: &[usize]) -> Shape {
        let mut all = [0; MAX_RANK];
        all[..dims.len()].copy_from_slice(dims);
        Shape { dims: all, rank: dims.len() as u8 }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.iter().product()
    }

    /// The shape with one more dimension at the end.
    ///
    /// # Panics
    /// If the shape has [`MAX_RANK`] dimensions already.
    pub fn push(&mut self, dim: usize) {
        self.dims[self.rank as usize] = dim;
        self.rank += 1;
    }

    /// The extents, for changing one in place.
    pub fn dims_mut(&mut self) -> &mut [usize] {
        &mut self.dims[..self.rank as usize]
    }

    /// The shape both broadcast to, or `None` if they do not.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let mut out = Shape::of(&[0; MAX_RANK][..rank]);
        for i in 0..rank {
            let a = if i < rank - self.rank() { 1 } else { self[i + self.rank() - rank] };
            let b = if i < rank - other.rank() { 1 } else { other[i + other.rank() - rank] };
            out.dims[i] = match (a, b) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => return None,
            };
        }
        Some(out)
    }

    /// `axis` counted from the front, for axes counted from either end.
    pub fn axis(&self, axis: isize) -> Result<usize> {
        let rank = self.rank() as isize;
        if axis < -rank || axis >= rank {
            return Err(Error::new(
                ErrorKind::Index,
                format!("axis {axis} is out of bounds for array of dimension {rank}"),
            ));
        }
        Ok(if axis < 0 { (axis + rank) as usize } else { axis as usize })
    }
}

// Most shapes use few of their places: the others are not looked at.
impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        **self == **other
    }
}

impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.dims[..self.rank as usize]
    }
}

impl fmt::Display for Shape {
    /// As Python writes a tuple.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, d) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str(if self.rank == 1 { ",)" } else { ")" })
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting() {
        let s = |d: &[usize]| Shape::of(d);
        assert_eq!(s(&[3, 1]).broadcast(&s(&[4])), Some(s(&[3, 4])));
        assert_eq!(s(&[]).broadcast(&s(&[2, 0])), Some(s(&[2, 0])));
        assert_eq!(s(&[2]).broadcast(&s(&[3])), None);
        assert_eq!(s(&[1]).broadcast(&s(&[0])), Some(s(&[0])));
    }

    #[test]
    fn display_and_limits() {
        assert_eq!(Shape::of(&[1, 2]).to_string(), "(1, 2)");
        assert_eq!(Shape::of(&[3]).to_string(), "(3,)");
        assert_eq!(Shape::SCALAR.to_string(), "()");
        assert!(Shape::new(&[1; MAX_RANK + 1]).is_err());
        assert!(Shape::new(&[usize::MAX, 2]).is_err());
        assert_eq!(Shape::of(&[2, 3]).axis(-1).unwrap(), 1);
        assert!(Shape::of(&[2, 3]).axis(2).is_err());
    }
}
