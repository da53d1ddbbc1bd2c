//! Free ranges of addresses: the smallest that is large enough is found first, and neighbours are joined.
//!
//! Invariant: free ranges do not touch each other. Plain numbers: nothing is mapped or unmapped here. No list is long, because the
//! global allocator takes large blocks from here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Ranges that are taken together at most.
const MOST: usize = 1024;

/// A set of free ranges.
#[derive(Default)]
pub(crate) struct Extents {
    /// The end of each range by its start.
    ends: BTreeMap<usize, usize>,
    /// The length and start of each range.
    sizes: BTreeSet<(usize, usize)>,
    bytes: usize,
}

impl Extents {
    pub(crate) const fn new() -> Extents {
        Extents { ends: BTreeMap::new(), sizes: BTreeSet::new(), bytes: 0 }
    }

    /// Bytes of all ranges.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn add(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.bytes += range.len();
            self.sizes.insert((range.len(), range.start));
            self.ends.insert(range.start, range.end);
        }
    }

    fn remove(&mut self, range: &Range<usize>) {
        self.bytes -= range.len();
        self.sizes.remove(&(range.len(), range.start));
        self.ends.remove(&range.start);
    }

    /// Frees a range, which no free one overlaps.
    pub(crate) fn free(&mut self, mut range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let before = self.ends.range(..=range.start).next_back().map(|(start, end)| *start..*end);
        let after = self.ends.range(range.end..).next().map(|(start, end)| *start..*end);
        debug_assert!(before.as_ref().is_none_or(|before| before.end <= range.start), "it was free already");
        if let Some(before) = before.filter(|before| before.end == range.start) {
            self.remove(&before);
            range.start = before.start;
        }
        if let Some(after) = after.filter(|after| after.start == range.end) {
            self.remove(&after);
            range.end = after.end;
        }
        self.add(range);
    }

    /// Takes `bytes` at the start of the smallest range that has as many.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<usize> {
        let (len, start) = self.sizes.range((bytes, 0)..).next().copied()?;
        self.remove(&(start..start + len));
        self.add(start + bytes..start + len);
        Some(start)
    }

    /// Takes whole aligned units, at most `most` bytes and [`MOST`] ranges of them, from the largest ranges first.
    pub(crate) fn take_units(&mut self, unit: usize, most: usize) -> Vec<Range<usize>> {
        let (mut units, mut left) = (Vec::new(), most / unit * unit);
        let mut below = (usize::MAX, usize::MAX);
        while left > 0 && units.len() < MOST {
            let Some((len, start)) = self.sizes.range(..below).next_back().copied().filter(|(len, _)| *len >= unit)
            else {
                break;
            };
            below = (len, start);
            let whole = start..start + len;
            let first = start.next_multiple_of(unit);
            let last = (whole.end / unit * unit).min(first + left);
            if first >= last {
                continue;
            }
            self.remove(&whole);
            // What is left is shorter, so it comes up again only if it is below.
            self.add(whole.start..first);
            self.add(last..whole.end);
            left -= last - first;
            units.push(first..last);
        }
        units
    }

    /// Takes all ranges.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Range<usize>> + use<> {
        std::mem::take(self).ends.into_iter().map(|(start, end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_fits_is_taken_and_neighbours_are_joined() {
        let mut free = Extents::default();
        free.free(100..200);
        free.free(300..340);
        free.free(100..100);
        assert_eq!(free.take(40), Some(300));
        assert_eq!(free.take(50), Some(100));
        assert_eq!((free.take(51), free.bytes()), (None, 50));
        free.free(100..120);
        free.free(130..150);
        free.free(120..130);
        assert_eq!((free.take(100), free.bytes()), (Some(100), 0));
    }

    #[test]
    fn units_are_whole_and_aligned() {
        let mut free = Extents::default();
        free.free(5..19);
        free.free(40..70);
        free.free(81..89);
        let mut units =
            |most| free.take_units(10, most).iter().map(|range| (range.start, range.end)).collect::<Vec<_>>();
        assert_eq!((units(25), units(1000)), (vec![(40, 60)], vec![(60, 70)]));
        assert_eq!(free.bytes(), 14 + 8, "neither holds an aligned unit");
        free.free(19..31);
        assert_eq!(free.take_units(10, 10).into_iter().map(|range| range.start).collect::<Vec<_>>(), [10]);
        assert_eq!(free.take_all().collect::<Vec<_>>(), [5..10, 20..31, 81..89]);
        assert_eq!(free.bytes(), 0);
    }

    #[test]
    fn any_order_gives_everything_back() {
        let mut free = Extents::default();
        free.free(1000..9000);
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut held: Vec<Range<usize>> = Vec::new();
        for _ in 0..10_000 {
            let bytes = 1 + below(500);
            let found = if below(3) > 0 { free.take(bytes) } else { None };
            if let Some(start) = found {
                assert!(held.iter().all(|other| other.end <= start || other.start >= start + bytes));
                held.push(start..start + bytes);
            } else if !held.is_empty() {
                free.free(held.swap_remove(below(held.len())));
            }
            assert_eq!(free.bytes() + held.iter().map(Range::len).sum::<usize>(), 8000);
        }
        held.into_iter().for_each(|range| free.free(range));
        assert_eq!(free.take_all().map(|range| (range.start, range.end)).collect::<Vec<_>>(), [(1000, 9000)]);
    }
}
