//! The last good value of a cell, kept by the failed value that should have replaced it.
//!
//! Nothing is kept while all ops succeed: a write that reads the cell may take over its buffer. If the write fails before
//! its kernel runs (a failed input, a bad index, no memory), the old bytes still exist, and the failed value shares them.
//! Later writes fail for the same reason and pass the share on.

use crate::runtime::buffer::{Buffer, BufferRef};
use crate::runtime::node::INLINE;

/// A good value, and how many writes to its cell have failed since.
pub(crate) struct LastGood {
    pub(crate) bytes: GoodBytes,
    pub(crate) writes: u32,
}

/// The bytes of a good value.
pub(crate) enum GoodBytes {
    Inline([u64; INLINE / 8]),
    Shared(BufferRef),
}

impl LastGood {
    /// A value that is there, with a buffer or without one.
    pub(crate) fn good(bytes: GoodBytes) -> LastGood {
        LastGood { bytes, writes: 0 }
    }

    /// One more write has failed.
    pub(crate) fn after_failed_write(self) -> LastGood {
        LastGood { writes: self.writes + 1, ..self }
    }

    /// The same, for another who keeps it.
    pub(crate) fn share(&self) -> LastGood {
        let bytes = match &self.bytes {
            GoodBytes::Inline(words) => GoodBytes::Inline(*words),
            GoodBytes::Shared(buffer) => GoodBytes::Shared(buffer.again()),
        };
        LastGood { bytes, writes: self.writes }
    }

    /// Splits into what lies in a node and what lies in a buffer, whose count is the caller's.
    pub(crate) fn into_parts(self) -> ([u64; INLINE / 8], Option<*mut Buffer>) {
        match self.bytes {
            GoodBytes::Inline(words) => (words, None),
            GoodBytes::Shared(buffer) => ([0; INLINE / 8], Some(buffer.give())),
        }
    }
}
