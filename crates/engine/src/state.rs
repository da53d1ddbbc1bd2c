//! The atomic state word of a value: pending, enqueued, ready or failed.
//!
//! | word's generation | tag | read as |
//! |---|---|---|
//! | not the reader's | any | pending: the slot still shows an earlier value |
//! | the reader's | 0 | pending |
//! | the reader's | 1 | enqueued on a lane, with a ticket |
//! | the reader's | 2 | ready |
//! | the reader's | 3 | failed |
//!
//! Only the task, or the record run inline, that computes the value publishes its state, so a release store is enough:
//! pending -> enqueued -> ready or failed, or pending -> ready or failed. A thread that reads ready or failed with
//! acquire sees the buffer or the error written before. Reusing the word for the next value costs nothing: the next
//! generation reads as pending until it is published. The word does not know what a value holds.

use crate::sync::{AtomicU64, Ordering};

/// State of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its task has not computed it yet.
    Pending,
    /// It is enqueued on an in-order lane of a device, and available when the lane passes the ticket.
    Enqueued {
        /// The lane, below 64.
        lane: u8,
        /// The ticket modulo 2^24.
        ticket: u32,
    },
    /// It can be read.
    Ready,
    /// It was not computed; the owner of the value keeps the error.
    Failed,
}

const TAG_BITS: u32 = 2;
const LANE_BITS: u32 = 6;

/// The atomic state word of a value: 32 bits of generation, 32 bits of status.
#[derive(Debug)]
pub struct ValueState(AtomicU64);

impl ValueState {
    /// Creates a word that reads as pending in every generation.
    #[cfg(not(loom))]
    pub const fn new() -> ValueState {
        ValueState(AtomicU64::new(0))
    }

    /// Creates a word that reads as pending in every generation.
    #[cfg(loom)]
    pub fn new() -> ValueState {
        ValueState(AtomicU64::new(0))
    }

    /// The status of the value of this generation. Everything written before it was published is visible.
    #[inline]
    pub fn load(&self, generation: u32) -> Status {
        unpack(self.0.load(Ordering::Acquire), generation)
    }

    /// Publishes the status of the value of this generation, and with it everything written before.
    #[inline]
    pub fn publish(&self, generation: u32, status: Status) {
        self.0.store(pack(generation, status), Ordering::Release);
    }

    /// Whether the value of this generation is ready or failed, so that there is nothing to wait for.
    #[inline]
    pub fn is_settled(&self, generation: u32) -> bool {
        matches!(self.load(generation), Status::Ready | Status::Failed)
    }
}

impl Default for ValueState {
    fn default() -> Self {
        ValueState::new()
    }
}

fn pack(generation: u32, status: Status) -> u64 {
    let low = match status {
        Status::Pending => 0,
        Status::Enqueued { lane, ticket } => {
            debug_assert!((lane as u32) < 1 << LANE_BITS);
            1 | (lane as u32) << TAG_BITS | ticket << (TAG_BITS + LANE_BITS)
        }
        Status::Ready => 2,
        Status::Failed => 3,
    };
    (generation as u64) << 32 | low as u64
}

fn unpack(word: u64, generation: u32) -> Status {
    if (word >> 32) as u32 != generation {
        return Status::Pending;
    }
    let low = word as u32;
    match low & ((1 << TAG_BITS) - 1) {
        0 => Status::Pending,
        1 => Status::Enqueued {
            lane: (low >> TAG_BITS) as u8 & ((1 << LANE_BITS) - 1),
            ticket: low >> (TAG_BITS + LANE_BITS),
        },
        2 => Status::Ready,
        _ => Status::Failed,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_status_survives_the_word() {
        let enqueued = Status::Enqueued { lane: 63, ticket: (1 << 24) - 1 };
        let word = ValueState::new();
        for status in [enqueued, Status::Ready, Status::Failed, Status::Pending] {
            word.publish(7, status);
            assert_eq!(word.load(7), status);
        }
    }

    #[test]
    fn the_next_generation_is_pending_without_a_write() {
        let word = ValueState::new();
        assert_eq!(word.load(0), Status::Pending);
        word.publish(0, Status::Ready);
        assert!(word.is_settled(0));
        assert_eq!(word.load(1), Status::Pending);
        word.publish(1, Status::Failed);
        assert_eq!(word.load(1), Status::Failed);
    }
}
