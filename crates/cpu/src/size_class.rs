//! The block sizes of the host pool: requests are rounded up, so that few sizes serve all requests.
//!
//! Invariant: the class of a capacity has that capacity.

use crate::pages::PAGE;

/// Blocks up to this size come from slabs, by class.
pub(crate) const SMALL: usize = 32 * 1024;
/// Four classes per power of two, from 64 bytes to [`SMALL`].
pub(crate) const CLASSES: usize = 32;

/// The class of a small size, and the capacity of its blocks.
#[inline]
pub(crate) fn class_of(bytes: usize) -> (usize, usize) {
    let units = bytes.max(1).div_ceil(64);
    if units <= 4 {
        return (units - 1, units * 64);
    }
    // The leading bit and the two bits after it, rounded up.
    let shift = (units - 1).ilog2() as usize - 2;
    let step = (units - 1) >> shift;
    (shift * 4 + step, ((step + 1) << shift) * 64)
}

/// The capacity of the blocks of a class.
pub(crate) fn class_bytes(class: usize) -> usize {
    match class {
        0..4 => (class + 1) * 64,
        _ => ((class % 4 + 5) << (class / 4 - 1)) * 64,
    }
}

/// The capacity of a large block: the request rounded up to pages, and by at most 1/32. Few sizes leave few small ranges free.
pub(crate) fn large_capacity(bytes: usize) -> usize {
    bytes.next_multiple_of((bytes.next_power_of_two() / 64).max(PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_fit_tightly_and_in_order() {
        let mut last = 0;
        for bytes in 0..=SMALL {
            let (class, capacity) = class_of(bytes);
            assert!(class < CLASSES && capacity >= bytes && capacity % 64 == 0 && capacity <= SMALL);
            assert!(capacity <= bytes.max(64) * 5 / 4 + 64);
            assert!(class == last || class == last + 1);
            assert_eq!(class_of(capacity), (class, capacity));
            assert_eq!(class_bytes(class), capacity);
            last = class;
        }
        assert_eq!(last, CLASSES - 1);
    }
}
