//! Random bits of one element: its block of the stream, and as many further blocks as it needs.
//!
//! Blocks of a stream have zero in the upper half of the counter; here that half counts the blocks of one element. The
//! bits therefore depend only on the key and the element's block.

use crate::philox::{FACTORS, ROUNDS, WEYL};

/// The random bits of one element.
pub(crate) struct Source {
    key: u64,
    block: u64,
    /// The number of blocks generated.
    made: u32,
    words: [u32; 4],
    used: usize,
}

impl Source {
    pub(crate) fn new(key: u64, block: u64) -> Source {
        Source { key, block, made: 0, words: [0; 4], used: 4 }
    }

    /// 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        if self.used == 4 {
            self.words = block(self.key, [self.block as u32, (self.block >> 32) as u32, self.made, 0]);
            (self.made, self.used) = (self.made.wrapping_add(1), 0);
        }
        let (low, high) = (self.words[self.used], self.words[self.used + 1]);
        self.used += 2;
        (high as u64) << 32 | low as u64
    }

    /// A number in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A number in (0, 1].
    pub(crate) fn open(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * 2f64.powi(-53)
    }
}

fn block(key: u64, mut c: [u32; 4]) -> [u32; 4] {
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..ROUNDS {
        let p0 = c[0] as u64 * FACTORS[0] as u64;
        let p1 = c[2] as u64 * FACTORS[1] as u64;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k1, p0 as u32];
        (k0, k1) = (k0.wrapping_add(WEYL[0]), k1.wrapping_add(WEYL[1]));
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_is_the_streams() {
        let words = crate::philox::words(7, 100);
        assert_eq!(block(7, [103, 0, 0, 0]), std::array::from_fn(|w| words[w][3]));
    }

    #[test]
    fn known_answer_of_the_generator() {
        let full = block(u64::MAX, [u32::MAX; 4]);
        assert_eq!(full, [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    }
}
