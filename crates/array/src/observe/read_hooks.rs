//! What the calling thread must look at beside a value before it reads one: one word, zero on the ordinary path.
//!
//! The rooms that set it keep what belongs to it themselves; here is only whether anybody is to be asked at all.

use std::cell::Cell;

/// The thread tells of its blockers.
pub(crate) const WARNED: u8 = 1;
/// The thread refuses its blockers.
pub(crate) const REFUSED: u8 = 2;
/// The thread looks for what is not finite.
pub(crate) const DETECTS: u8 = 4;
/// Somebody wants to know what the thread submits and reads.
pub(crate) const OBSERVED: u8 = 8;

thread_local! {
    static WORD: Cell<u8> = const { Cell::new(0) };
}

/// Whether a read looks at its value and at nothing else.
#[inline]
pub fn reads_plainly() -> bool {
    WORD.get() == 0
}

/// Which of these bits are set.
#[inline]
pub(crate) fn bits(mask: u8) -> u8 {
    WORD.get() & mask
}

/// Sets these bits, of those in the mask.
pub(crate) fn set(mask: u8, bits: u8) {
    WORD.set(WORD.get() & !mask | bits);
}
