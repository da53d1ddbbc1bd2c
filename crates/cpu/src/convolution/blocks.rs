//! How columns, batches and runs of products are cut.

/// Products that are added up in registers: their factors fit the nearest cache.
pub(super) const RUN: usize = 128;

/// Columns of factors that are computed together, as vectors.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) vectors: usize,
}

/// The blocks of so many columns, of at most `widest` vectors.
pub(super) fn blocks(columns: usize, lanes: usize, widest: usize) -> Vec<Block> {
    let block = |first: usize| {
        let count = (columns - first).min(lanes * widest);
        Block { first, count, vectors: count.div_ceil(lanes) }
    };
    (0..columns).step_by(lanes * widest).map(block).collect()
}

/// Part `i` of `parts` even parts of `0 .. length`.
pub(super) fn part(length: usize, parts: usize, i: usize) -> std::ops::Range<usize> {
    length * i / parts..length * (i + 1) / parts
}

/// Runs of at most `most` of `length`, as even as can be: how long the first is.
pub(super) fn even_run(length: usize, most: usize) -> usize {
    length.div_ceil(length.div_ceil(most.max(1)).max(1)).max(1)
}
