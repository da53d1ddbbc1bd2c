//! Counter-based random numbers: Philox4x32 with 10 rounds. Block `b` of a stream is a pure function of the key and
//! `b`, so the numbers do not depend on how the work is split.
//!
//! Layout: a block is four 32-bit words. Single precision uses one word per element, double precision two, low word
//! first. Normal numbers are made in pairs by the Box-Muller method: words `2j` and `2j + 1` give elements `2j` and `2j
//! + 1`.

use crate::simd::{Memory, Set, Work, collect};
use forerun_ops::{NumFloat, math};
use std::mem::MaybeUninit;

/// Blocks generated at a time.
pub(crate) const BATCH: usize = 16;

/// Word `w` of block `b` is `[w][b]`.
pub(crate) type Words = [[u32; BATCH]; 4];

/// The multipliers of the two halves of a block, and the increments of the two halves of the key.
pub(crate) const FACTORS: [u32; 2] = [0xd2511f53, 0xcd9e8d57];
pub(crate) const WEYL: [u32; 2] = [0x9e3779b9, 0xbb67ae85];
pub(crate) const ROUNDS: usize = 10;

/// The counters of blocks `first .. first + BATCH`.
#[inline(always)]
pub(crate) fn counters(first: u64) -> Words {
    [
        collect(|b| first.wrapping_add(b as u64) as u32),
        collect(|b| (first.wrapping_add(b as u64) >> 32) as u32),
        [0; BATCH],
        [0; BATCH],
    ]
}

/// The words of a batch of blocks, for any instruction set.
#[inline(always)]
pub(crate) fn words(key: u64, first: u64) -> Words {
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    let mut c = counters(first);
    for _ in 0..ROUNDS {
        let mut next = c;
        for b in 0..BATCH {
            let p0 = c[0][b] as u64 * FACTORS[0] as u64;
            let p1 = c[2][b] as u64 * FACTORS[1] as u64;
            next[0][b] = (p1 >> 32) as u32 ^ c[1][b] ^ k0;
            next[1][b] = p1 as u32;
            next[2][b] = (p0 >> 32) as u32 ^ c[3][b] ^ k1;
            next[3][b] = p0 as u32;
        }
        c = next;
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    c
}

/// The distribution and precision to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    Uniform32,
    Uniform64,
    Normal32,
    Normal64,
}

impl Draw {
    /// Elements per block.
    pub(crate) const fn per_block(self) -> usize {
        match self {
            Draw::Uniform32 | Draw::Normal32 => 4,
            Draw::Uniform64 | Draw::Normal64 => 2,
        }
    }
}

/// Draws elements `start .. start + count` into `to`; `start` must be a multiple of a batch.
pub(crate) struct DrawRange<S> {
    pub(crate) draw: Draw,
    pub(crate) key: u64,
    pub(crate) first: u64,
    pub(crate) start: usize,
    pub(crate) count: usize,
    pub(crate) to: *mut u8,
    pub(crate) set: S,
}

impl<S: Set> Work for DrawRange<S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // These are closures that get inlined: a function pointer would be called through a shim without the set's
        // features.
        match self.draw {
            Draw::Uniform32 => self.fill::<f32, { 4 * BATCH }>(
                #[inline(always)]
                |words| uniform32(self.set, words),
            ),
            Draw::Uniform64 => self.fill::<f64, { 2 * BATCH }>(uniform64),
            Draw::Normal32 => self.fill::<f32, { 4 * BATCH }>(
                #[inline(always)]
                |words| normal32(self.set, words),
            ),
            Draw::Normal64 => self.fill::<f64, { 2 * BATCH }>(
                #[inline(always)]
                |words| normal64(self.set, words),
            ),
        }
    }
}

impl<S: Set> DrawRange<S> {
    #[inline(always)]
    fn fill<T: Copy, const N: usize>(&self, make: impl Fn(Words) -> [T; N]) {
        let mut block = self.first.wrapping_add((self.start / self.draw.per_block()) as u64);
        let to = self.to.cast::<T>();
        let mut last = MaybeUninit::<[T; N]>::uninit();
        let mut done = 0;
        while done < self.count {
            let take = N.min(self.count - done);
            // SAFETY: the creator of the range guarantees `count` writable elements; a partial batch is written elsewhere first.
            unsafe {
                let target = if take == N { to.add(done).cast::<[T; N]>() } else { last.as_mut_ptr() };
                target.write_unaligned(make(self.set.philox(self.key, block)));
                if take < N {
                    std::ptr::copy_nonoverlapping(last.as_ptr().cast::<T>(), to.add(done), take);
                }
            }
            block = block.wrapping_add(BATCH as u64);
            done += N;
        }
    }
}

/// Four elements per block, in order.
#[inline(always)]
fn interleave4(set: impl Set, a: [[f32; BATCH]; 4]) -> [f32; 4 * BATCH] {
    // SAFETY: any word is a float.
    unsafe {
        let bits = std::mem::transmute::<[[f32; BATCH]; 4], Words>(a);
        std::mem::transmute::<[u32; 4 * BATCH], [f32; 4 * BATCH]>(set.interleave(bits))
    }
}

#[inline(always)]
fn interleave2<T: Copy + Default>(a: [[T; BATCH]; 2]) -> [T; 2 * BATCH] {
    let mut out = [T::default(); 2 * BATCH];
    for b in 0..BATCH {
        out[2 * b] = a[0][b];
        out[2 * b + 1] = a[1][b];
    }
    out
}

/// 53 bits as an integer.
#[inline(always)]
fn bits53(low: u32, high: u32) -> f64 {
    ((((high as u64) << 32) | low as u64) >> 11) as i64 as f64
}

#[inline(always)]
fn uniform32(set: impl Set, words: Words) -> [f32; 4 * BATCH] {
    let [a, b, c, d] = words;
    // Written out: the compiler turns a loop over the four words into gathers.
    interleave4(set, [set.fractions(a), set.fractions(b), set.fractions(c), set.fractions(d)])
}

#[inline(always)]
fn uniform64(words: Words) -> [f64; 2 * BATCH] {
    let scaled = |low: usize, high: usize| collect(|b| bits53(words[low][b], words[high][b]) * 2f64.powi(-53));
    interleave2([scaled(0, 1), scaled(2, 3)])
}

/// Applies [`math::normal_pair`] to one vector at a time.
///
/// # Safety
/// The processor must have the features of the vector's set.
#[inline(always)]
unsafe fn pairs<V: NumFloat + Memory>(
    u: [V::Elem; BATCH],
    v: [V::Elem; BATCH],
) -> ([V::Elem; BATCH], [V::Elem; BATCH]) {
    let (mut a, mut b) = (u, v);
    for i in (0..BATCH).step_by(V::LANES) {
        // SAFETY: vectors of a set have 8 or 16 lanes, both of which divide the batch; the caller promises the features.
        unsafe {
            let (x, y) = math::normal_pair(V::load(u.as_ptr().add(i)), V::load(v.as_ptr().add(i)));
            x.store(a.as_mut_ptr().add(i));
            y.store(b.as_mut_ptr().add(i));
        }
    }
    (a, b)
}

#[inline(always)]
fn normal32<S: Set>(set: S, words: Words) -> [f32; 4 * BATCH] {
    // In (0, 1]. The sum is exact.
    let open = |w: [u32; BATCH]| {
        let fractions = set.fractions(w);
        collect(|b| fractions[b] + 2f32.powi(-24))
    };
    // SAFETY: the set is the proof of its features.
    let (a, b) = unsafe { pairs::<S::F32>(open(words[0]), set.fractions(words[1])) };
    // SAFETY: as above.
    let (c, d) = unsafe { pairs::<S::F32>(open(words[2]), set.fractions(words[3])) };
    interleave4(set, [a, b, c, d])
}

#[inline(always)]
fn normal64<S: Set>(_: S, words: Words) -> [f64; 2 * BATCH] {
    let u = collect(|b| (bits53(words[0][b], words[1][b]) + 1.0) * 2f64.powi(-53));
    let v = collect(|b| bits53(words[2][b], words[3][b]) * 2f64.powi(-53));
    // SAFETY: the set is the proof of its features.
    let (a, b) = unsafe { pairs::<S::F64>(u, v) };
    interleave2([a, b])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, Piece, by_set};

    /// What a set makes of a batch: its words, in two orders, and as fractions.
    fn made(isa: Isa, key: u64, first: u64) -> (Words, [u32; 4 * BATCH], [f32; BATCH]) {
        let mut made = None;
        by_set!(isa, set => set.vectorize(Piece(
            #[inline(always)]
            || {
                let words = set.philox(key, first);
                made = Some((words, set.interleave(words), set.fractions(words[3])));
            },
        )));
        made.unwrap()
    }

    #[test]
    fn every_set_makes_the_same_words_and_fractions() {
        for isa in Isa::available() {
            // Counters that carry into the upper word within the batch, and wrap.
            for (key, first) in [(0, 0), (7, 100), (u64::MAX, u32::MAX as u64 - 5), (1 << 40 | 9, u64::MAX - 7)] {
                let (words, interleaved, fractions) = made(isa, key, first);
                let expected = super::words(key, first);
                assert_eq!(words, expected, "{} {key} {first}", isa.name());
                for b in 0..BATCH {
                    assert_eq!(interleaved[4 * b..4 * b + 4], expected.map(|word| word[b]), "{} block {b}", isa.name());
                    assert_eq!(fractions[b], (expected[3][b] >> 8) as f32 / 16_777_216.0, "{} block {b}", isa.name());
                }
            }
        }
    }

    #[test]
    fn known_answer_of_the_generator() {
        // The published vectors have every counter word set; a stream's counters end in two zero words.
        let zero = words(0, 0);
        assert_eq!([zero[0][0], zero[1][0], zero[2][0], zero[3][0]], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    }

    #[test]
    fn blocks_depend_on_their_number_alone() {
        let (a, b) = (words(7, 100), words(7, 103));
        assert_eq!(a[2][3], b[2][0]);
        assert_eq!(words(7, u64::MAX)[0][1], words(7, 0)[0][0]);
    }
}
