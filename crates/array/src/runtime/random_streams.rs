//! Random streams. Submission draws a key and a range of counter blocks from a stream of the submitting thread, so
//! dropping, fusing or reordering ops never changes a number.
//!
//! A forked child has streams of its own: its position in the tree of forks below the process that seeded goes into its
//! keys. So no child repeats the numbers of its parent or a sibling, and a program gives the same numbers in every run.
//! Seeding in a child makes it the root of a new tree.

use crate::runtime::window::window;
use forerun_engine::at_fork;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static SEED: AtomicU64 = AtomicU64::new(0);
/// Changes with every call of [`seed`] and in a forked child, so that each thread restarts its stream.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Position in the tree of forks: 0 for the process that seeded.
static PLACE: AtomicU64 = AtomicU64::new(0);
/// Number of children that this process has forked since it seeded.
static CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Gives forked children streams of their own from now on.
pub fn watch_forks() {
    extern "C" fn before() {}
    extern "C" fn parent() {
        CHILDREN.fetch_add(1, Ordering::Relaxed);
    }
    extern "C" fn child() {
        let number = CHILDREN.swap(0, Ordering::Relaxed) + 1;
        PLACE.store(mix(PLACE.load(Ordering::Relaxed) ^ mix(number)), Ordering::Relaxed);
        EPOCH.fetch_add(1, Ordering::AcqRel);
    }
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| at_fork(before, parent, child));
}

/// The random stream of a thread.
#[derive(Default)]
pub(crate) struct RandomStream {
    epoch: u64,
    key: u64,
    next_block: u64,
    /// A stream that the program supplied instead of the thread's: its key and next block.
    own: Option<[u64; 2]>,
}

impl RandomStream {
    /// Draws a key and the first of `blocks` counter blocks, which no other draw gets.
    pub(crate) fn draw(&mut self, thread: usize, blocks: u64) -> [u64; 2] {
        if let Some([key, next]) = &mut self.own {
            let first = *next;
            *next += blocks;
            return [*key, first];
        }
        let epoch = EPOCH.load(Ordering::Acquire);
        if self.epoch != epoch {
            let family = SEED.load(Ordering::Relaxed) ^ PLACE.load(Ordering::Relaxed);
            *self = RandomStream { epoch, key: mix(family ^ mix(thread as u64)), next_block: 0, own: None };
        }
        let first = self.next_block;
        self.next_block += blocks;
        [self.key, first]
    }
}

/// Makes this thread draw from the given stream, or from its own with `None`; returns the previous one.
pub fn swap_stream(stream: Option<[u64; 2]>) -> Option<[u64; 2]> {
    let window = window();
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    std::mem::replace(&mut unsafe { window.owner() }.random.own, stream)
}

/// Where this thread's stream stands, as [`swap_stream`] takes it.
pub fn stream_position() -> [u64; 2] {
    let window = window();
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    unsafe { window.owner() }.random.draw(window.number, 0)
}

/// The start of the stream of a seed. Its key differs from those of all threads.
pub fn stream_of(seed: u64) -> [u64; 2] {
    [mix(mix(seed) ^ 0x6f77_6e20_7374_7265), 0]
}

/// Restarts every thread's stream from this seed. The same seed and program give the same numbers; forked children have
/// numbers of their own, which are reproducible too.
pub fn seed(seed: u64) {
    watch_forks();
    SEED.store(seed, Ordering::Relaxed);
    PLACE.store(0, Ordering::Relaxed);
    CHILDREN.store(0, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::AcqRel);
}

/// A bijection that spreads nearby numbers (the finaliser of splitmix64).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
