//! A fast hash for tables on the hot path. Keys are a few words that this program generates, so no attacker can choose
//! them to collide.

use std::hash::{BuildHasherDefault, Hasher};

/// Rotates, mixes in and multiplies, one word at a time.
#[derive(Clone, Debug, Default)]
pub struct WordHasher(u64);

/// The hasher of maps with such keys.
pub type WordHash = BuildHasherDefault<WordHasher>;

impl WordHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.mix(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        for byte in chunks.remainder() {
            self.mix(*byte as u64);
        }
    }

    #[inline]
    fn write_u8(&mut self, v: u8) {
        self.mix(v as u64);
    }

    #[inline]
    fn write_u32(&mut self, v: u32) {
        self.mix(v as u64);
    }

    #[inline]
    fn write_u64(&mut self, v: u64) {
        self.mix(v);
    }

    #[inline]
    fn write_usize(&mut self, v: usize) {
        self.mix(v as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits of a product are its weakest, and tables use them.
        self.0 ^ self.0 >> 32
    }
}
