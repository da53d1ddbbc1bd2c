//! Hooks that a thread runs before it reads a value: one word of flags per thread, zero on the ordinary path.
//!
//! Only the flags live here; the modules that set them keep their own state.

use std::cell::Cell;

/// The thread warns about reads that may block.
pub(crate) const WARNED: u8 = 1;
/// The thread raises on reads that may block.
pub(crate) const REFUSED: u8 = 2;
/// The thread detects NaN and infinity.
pub(crate) const DETECTS: u8 = 4;
/// The thread has observers of what it submits and reads.
pub(crate) const OBSERVED: u8 = 8;

thread_local! {
    static WORD: Cell<u8> = const { Cell::new(0) };
}

/// Whether a read runs no hook.
#[inline]
pub fn reads_plainly() -> bool {
    WORD.get() == 0
}

/// Which of these bits are set.
#[inline]
pub(crate) fn bits(mask: u8) -> u8 {
    WORD.get() & mask
}

/// Sets the bits of the mask to these values.
pub(crate) fn set(mask: u8, bits: u8) {
    WORD.set(WORD.get() & !mask | bits);
}
