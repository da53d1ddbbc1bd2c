//! The dimensions of an array, stored inline: a shape never allocates.

use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Maximum number of dimensions.
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

    /// The shape, if its elements can be addressed: offsets of every layout of it are in range.
    pub fn checked(self) -> Result<Shape> {
        let size = self.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1)));
        if size.is_none_or(|n| n > isize::MAX as usize / 16) {
            return Err(Error::new(ErrorKind::Value, format!("shape {self} has too many elements")));
        }
        Ok(self)
    }

    /// As [`Shape::new`], for a known number of extents.
    ///
    /// # Panics
    /// If there are more than [`MAX_RANK`] dimensions.
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

    /// Appends a dimension.
    ///
    /// # Panics
    /// If the shape already has [`MAX_RANK`] dimensions.
    pub fn push(&mut self, dim: usize) {
        self.dims[self.rank as usize] = dim;
        self.rank += 1;
    }

    /// The extents, mutable.
    pub fn dims_mut(&mut self) -> &mut [usize] {
        &mut self.dims[..self.rank as usize]
    }

    /// The shape that both broadcast to; `None` if there is none.
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

    /// Normalises a negative axis.
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

// Unused entries are ignored: most shapes use few.
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
    /// Formats as a Python tuple.
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
