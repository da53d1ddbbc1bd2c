//! Index computation in kernels: the dimensions of all operands, collapsed together, and the argument words that hold
//! them.

use forerun_base::{Layout, MAX_RANK, Shape};

/// An iteration space and the strides of every operand, with as few dimensions as possible for all operands. There is
/// at least one dimension; the innermost one is last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Collapsed {
    pub(crate) extents: Vec<usize>,
    /// One list per operand, as long as the extents.
    pub(crate) strides: Vec<Vec<isize>>,
}

impl Collapsed {
    /// Collapses these layouts, which have one shape, together with a dense one.
    pub(crate) fn new(shape: Shape, layouts: &[Layout]) -> Collapsed {
        let dense = Layout::dense(shape);
        let mut dims: Vec<(usize, isize, Vec<isize>)> = Vec::with_capacity(MAX_RANK);
        for d in (0..shape.rank()).filter(|&d| shape[d] != 1) {
            let (extent, flat) = (shape[d], dense.strides()[d]);
            let strides: Vec<isize> = layouts.iter().map(|layout| layout.strides()[d]).collect();
            match dims.last_mut() {
                Some((e, f, s))
                    if *f == flat * extent as isize
                        && s.iter().zip(&strides).all(|(outer, inner)| *outer == inner * extent as isize) =>
                {
                    (*e, *f, *s) = (*e * extent, flat, strides);
                }
                _ => dims.push((extent, flat, strides)),
            }
        }
        if dims.is_empty() {
            dims.push((shape.size(), 1, vec![1; layouts.len()]));
        }
        Collapsed {
            extents: dims.iter().map(|(extent, ..)| *extent).collect(),
            strides: (0..layouts.len()).map(|n| dims.iter().map(|(_, _, s)| s[n]).collect()).collect(),
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.extents.len()
    }

    /// The innermost extent.
    pub(crate) fn inner(&self) -> usize {
        self.extents[self.rank() - 1]
    }

    /// Whether an operand is dense in the iteration space.
    pub(crate) fn is_dense(&self, operand: usize) -> bool {
        let mut step = 1;
        for (&extent, &stride) in self.extents.iter().zip(&self.strides[operand]).rev() {
            if stride != step && extent != 1 {
                return false;
            }
            step *= extent as isize;
        }
        true
    }

    /// Whether 32-bit offsets reach every element of every operand.
    pub(crate) fn is_narrow(&self) -> bool {
        let size = self.extents.iter().product::<usize>();
        let reach = |strides: &Vec<isize>| {
            let spans =
                self.extents.iter().zip(strides).map(|(&e, &s)| (e.max(1) - 1).saturating_mul(s.unsigned_abs()));
            spans.fold(0usize, usize::saturating_add)
        };
        size <= NARROW && self.strides.iter().all(|strides| reach(strides) <= NARROW)
    }
}

/// The largest number of elements for 32-bit indices: far enough below 2^32 that a grid-stride step does not wrap.
const NARROW: usize = 1 << 30;

/// The multiplier and shift for division in a kernel; dividends must be below 2^31.
pub(crate) fn divisor(d: usize) -> u64 {
    let d = (d as u64).max(1);
    let shift = 64 - (d - 1).leading_zeros() as u64;
    let multiplier = (((1u128 << 32) * ((1u128 << shift) - d as u128)) / d as u128) as u64 + 1;
    (multiplier & 0xffff_ffff) | shift << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_collapse_together() {
        let shape = Shape::of(&[4, 1, 6, 5]);
        let dense = Layout::dense(shape);
        let row = Layout::dense(Shape::of(&[5])).broadcast_to(shape).unwrap();
        let one = Collapsed::new(shape, &[dense]);
        assert_eq!((one.extents, one.strides), (vec![120], vec![vec![1]]));
        let two = Collapsed::new(shape, &[dense, row]);
        assert_eq!((&two.extents, &two.strides), (&vec![24, 5], &vec![vec![5, 1], vec![0, 1]]));
        assert!(two.is_dense(0) && !two.is_dense(1));
        assert_eq!(Collapsed::new(Shape::SCALAR, &[Layout::dense(Shape::SCALAR)]).extents, [1]);
    }

    #[test]
    fn division_by_multiplication() {
        for d in [1usize, 2, 3, 5, 7, 10, 64, 641, 1000, 65_535, 65_537, 1 << 20, (1 << 30) - 1, 1 << 30] {
            let word = divisor(d);
            let quotient = |n: u64| (((n * (word & 0xffff_ffff)) >> 32) + n) >> (word >> 32);
            for n in [0u64, 1, 2, 3, 99, 1000, 12_345_678, (1 << 30) - 1, 1 << 30, (1 << 31) - 1] {
                assert_eq!(quotient(n), n / d as u64, "{n} / {d}");
            }
            for k in 1..2000u64 {
                for n in [(k * d as u64).wrapping_sub(1), k * d as u64, k * d as u64 + 1] {
                    if n < 1 << 31 {
                        assert_eq!(quotient(n), n / d as u64, "{n} / {d}");
                    }
                }
            }
        }
    }

    #[test]
    fn wide_spaces_need_wide_indices() {
        let shape = Shape::of(&[1 << 20, 1 << 8]);
        assert!(Collapsed::new(shape, &[Layout::dense(shape)]).is_narrow());
        let far = Layout::strided(shape, &[1 << 12, 1]);
        assert!(!Collapsed::new(shape, &[far]).is_narrow());
    }
}
