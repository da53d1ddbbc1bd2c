//! The partition of a product into blocks of its result.

use std::ops::Range;

/// Products of up to this many multiply-adds, about 128^3, are not split.
const SMALL: usize = 1 << 21;

/// The same for matrix-vector products, which read every matrix element for one multiply-add.
const SMALL_VECTOR: usize = 1 << 18;

/// For batched products of this many multiply-adds, the overhead equals the work.
const TINY: usize = 256;

/// A grid of blocks over an `m x n` result. It depends on the extents and on the order of A only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    m: usize,
    n: usize,
    down: usize,
    across: usize,
    worth: bool,
}

impl Grid {
    /// `copies_a` tells whether each block copies its rows of A.
    pub(crate) fn new((m, n, k): (usize, usize, usize), matrices: usize, copies_a: bool) -> Grid {
        let work = m * n * k;
        let small = if m == 1 || n == 1 { SMALL_VECTOR } else { SMALL };
        let wanted = match work / small {
            _ if matrices >= 16 => 1,
            0..2 => 1,
            2..4 => 2,
            4..64 => 4,
            64..1024 => 8,
            _ => 16,
        };
        // Split columns first: each thread then packs its own part of B once, and A, which every column of blocks packs
        // again, is cheaper to pack. Avoid narrow blocks with many rows.
        let (mut down, mut across) = (1, 1);
        while down * across < wanted {
            let (height, width) = (m / down, n / across);
            let across_first = if copies_a { height < 128 } else { width >= 256 && height < 4 * width };
            if across_first || height < 16 {
                across *= 2;
            } else {
                down *= 2;
            }
        }
        Grid {
            m,
            n,
            down: down.min(m.max(1)),
            across: across.min(n.max(1)),
            worth: work * matrices >= 2 * small || work <= TINY && work * matrices >= SMALL_VECTOR,
        }
    }

    pub(crate) fn worth_splitting(&self) -> bool {
        self.worth
    }

    pub(crate) fn blocks(&self) -> usize {
        self.down * self.across
    }

    pub(crate) fn rows(&self, block: usize) -> Range<usize> {
        cut(self.m, self.down, block / self.across, 8)
    }

    pub(crate) fn columns(&self, block: usize) -> Range<usize> {
        cut(self.n, self.across, block % self.across, 16)
    }
}

/// Part `i` of `parts` equal parts of `0 .. length`, aligned to the micro-tile.
fn cut(length: usize, parts: usize, i: usize, micro: usize) -> Range<usize> {
    let units = length.div_ceil(micro);
    let at = |i: usize| (units * i / parts * micro).min(length);
    at(i)..at(i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_result_once() {
        for (m, n, k) in
            [(1, 1, 1), (1000, 1000, 1000), (1024, 10, 512), (3, 5000, 900), (5000, 3, 900), (129, 130, 131)]
        {
            for copies_a in [false, true] {
                let grid = Grid::new((m, n, k), 1, copies_a);
                let mut seen = vec![0u8; m * n];
                for block in 0..grid.blocks() {
                    for r in grid.rows(block) {
                        for c in grid.columns(block) {
                            seen[r * n + c] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&s| s == 1), "{m} x {n} x {k}");
            }
        }
    }
}
