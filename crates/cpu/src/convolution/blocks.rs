//! Partitions of columns, batches and sums into blocks and runs.

/// The number of products whose sum stays in registers. Their factors fit the level-1 cache.
pub(super) const RUN: usize = 128;

/// Adjacent columns of factors that the inner loop computes together, as vectors.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) vectors: usize,
}

/// Divides `columns` columns into blocks of at most `widest` vectors.
pub(super) fn blocks(columns: usize, lanes: usize, widest: usize) -> Vec<Block> {
    let block = |first: usize| {
        let count = (columns - first).min(lanes * widest);
        Block { first, count, vectors: count.div_ceil(lanes) }
    };
    (0..columns).step_by(lanes * widest).map(block).collect()
}

/// Part `i` of `0 .. length`, divided into `parts` even parts.
pub(super) fn part(length: usize, parts: usize, i: usize) -> std::ops::Range<usize> {
    length * i / parts..length * (i + 1) / parts
}

/// The length of a run if `length` is divided into the fewest even runs of at most `most`.
pub(super) fn even_run(length: usize, most: usize) -> usize {
    length.div_ceil(length.div_ceil(most.max(1)).max(1)).max(1)
}
