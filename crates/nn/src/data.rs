//! Batches of samples in the program's own memory. They are copied batch by batch, so that only batches in use exist
//! twice.

use crate::terms::value;
use forerun_array::Array;
use forerun_array::ops::{self, HostElement};
use forerun_base::{Loc, Result, Shape};

/// A sequence of samples.
#[derive(Clone, Copy)]
pub struct Samples<'a, T> {
    numbers: &'a [T],
    /// The shape of one sample.
    shape: Shape,
}

impl<'a, T: HostElement> Samples<'a, T> {
    /// Numbers in row-major order, and the shape of one sample.
    pub fn new(numbers: &'a [T], shape: &[usize]) -> Result<Samples<'a, T>> {
        let shape = Shape::new(shape).map_err(|e| e.in_op("samples"))?;
        if shape.size() == 0 || !numbers.len().is_multiple_of(shape.size()) {
            let text = format!("{} numbers are not a multiple of the sample shape {shape}", numbers.len());
            return Err(value("samples", text));
        }
        Ok(Samples { numbers, shape })
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.numbers.len() / self.shape.size()
    }

    /// The samples at these positions, as one array.
    fn gather(&self, places: Places<'_>, loc: Loc) -> Result<Array> {
        let each = self.shape.size();
        let batch = |count: usize| [&[count], &self.shape[..]].concat();
        match places {
            Places::Run { first, count } => {
                ops::from_slice(&self.numbers[first * each..(first + count) * each], &batch(count), loc)
            }
            Places::Picked(order) => {
                let mut numbers = Vec::with_capacity(order.len() * each);
                for place in order {
                    numbers.extend_from_slice(&self.numbers[place * each..(place + 1) * each]);
                }
                ops::from_slice(&numbers, &batch(order.len()), loc)
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Places<'a> {
    Run { first: usize, count: usize },
    Picked(&'a [usize]),
}

/// Iterates once over samples and their labels, `size` at a time; the last batch may be smaller. With a seed, in random
/// order.
#[track_caller]
pub fn batches<'a, X: HostElement, Y: HostElement>(
    x: &Samples<'a, X>,
    y: &Samples<'a, Y>,
    size: usize,
    shuffle_seed: Option<u64>,
) -> Result<Batches<'a, X, Y>> {
    if size == 0 {
        return Err(value("batches", "the batch size must be at least 1, got 0".to_owned()));
    }
    if x.count() != y.count() {
        return Err(value("batches", format!("{} samples, but {} labels", x.count(), y.count())));
    }
    let order = shuffle_seed.map(|seed| shuffled(x.count(), seed));
    Ok(Batches { x: *x, y: *y, size, order, next: 0, loc: Loc::caller() })
}

/// Iterator over batches; see [`batches`].
pub struct Batches<'a, X, Y> {
    x: Samples<'a, X>,
    y: Samples<'a, Y>,
    size: usize,
    order: Option<Vec<usize>>,
    /// Number of samples returned so far.
    next: usize,
    loc: Loc,
}

impl<X: HostElement, Y: HostElement> Iterator for Batches<'_, X, Y> {
    type Item = Result<(Array, Array)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, count) = (self.next, self.size.min(self.x.count() - self.next));
        if count == 0 {
            return None;
        }
        self.next += count;
        let places = match &self.order {
            Some(order) => Places::Picked(&order[first..first + count]),
            None => Places::Run { first, count },
        };
        let both = || Ok((self.x.gather(places, self.loc)?, self.y.gather(places, self.loc)?));
        Some(both())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.x.count() - self.next).div_ceil(self.size);
        (left, Some(left))
    }
}

impl<X: HostElement, Y: HostElement> ExactSizeIterator for Batches<'_, X, Y> {}

/// A random permutation of the numbers below `count`, determined by the seed.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // The high half of the product is uniform over the positions up to `last`.
        let place = (mix(state) as u128 * (last as u128 + 1)) >> 64;
        order.swap(last, place as usize);
    }
    order
}

/// A bijection that spreads nearby numbers (the finaliser of splitmix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
