//! Random streams. A key and a range of counter blocks are drawn when an op is submitted, from a stream of the
//! submitting thread; so dropping, fusing or reordering ops never changes a number.

use std::sync::atomic::{AtomicU64, Ordering};

static SEED: AtomicU64 = AtomicU64::new(0);
/// Changes with every call of [`seed`]; odd multiples keep equal seeds apart in time.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// A thread's stream.
#[derive(Default)]
pub(crate) struct Stream {
    epoch: u64,
    key: u64,
    next_block: u64,
}

impl Stream {
    /// A key and the first of `blocks` counter blocks that nobody else gets.
    pub(crate) fn draw(&mut self, thread: usize, blocks: u64) -> [u64; 2] {
        let epoch = EPOCH.load(Ordering::Acquire);
        if self.epoch != epoch {
            *self = Stream { epoch, key: mix(SEED.load(Ordering::Relaxed) ^ mix(thread as u64)), next_block: 0 };
        }
        let first = self.next_block;
        self.next_block += blocks;
        [self.key, first]
    }
}

/// Starts every thread's stream anew from this seed. The same seed and program give the same numbers.
pub fn seed(seed: u64) {
    SEED.store(seed, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::AcqRel);
}

/// A bijection that spreads nearby numbers (the finaliser of splitmix64).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
