//! The last good value of a cell, kept by the failed value that should have replaced it.
//!
//! Nothing is kept while all ops succeed: a write that reads the cell may take over its buffer. If the write fails
//! before its kernel runs (a failed input, a bad index, no memory), the old bytes still exist, and the failed value
//! shares them. Later writes fail for the same reason and pass the share on.

use crate::runtime::buffer::{Buffer, BufferRef};
use crate::runtime::node::INLINE;

/// A good value, and the number of failed writes to its cell since.
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
    /// A good value without failed writes, with or without a buffer.
    pub(crate) fn good(bytes: GoodBytes) -> LastGood {
        LastGood { bytes, writes: 0 }
    }

    /// Counts one more failed write.
    pub(crate) fn after_failed_write(self) -> LastGood {
        LastGood { writes: self.writes + 1, ..self }
    }

    /// Shares the value with another holder.
    pub(crate) fn share(&self) -> LastGood {
        let bytes = match &self.bytes {
            GoodBytes::Inline(words) => GoodBytes::Inline(*words),
            GoodBytes::Shared(buffer) => GoodBytes::Shared(buffer.again()),
        };
        LastGood { bytes, writes: self.writes }
    }

    /// Splits into inline bytes and a buffer, whose reference passes to the caller.
    pub(crate) fn into_parts(self) -> ([u64; INLINE / 8], Option<*mut Buffer>) {
        match self.bytes {
            GoodBytes::Inline(words) => (words, None),
            GoodBytes::Shared(buffer) => ([0; INLINE / 8], Some(buffer.give())),
        }
    }
}
