//! Stable LSD radix sort. Its speed does not depend on the distribution of keys.
//!
//! A pass counts the digits in each piece of the items, computes where each piece writes its items of each digit, and
//! moves them. Digits that all items share are skipped. The first pass reads from the source and the last one writes to
//! the destination, so there are no extra copies. Invariant: the result does not depend on the pieces.

use super::keys::Key;
use crate::pointwise::Shared;
use forerun_base::Team;

/// Values of a wide digit.
const WIDE: usize = 1 << 11;
/// Values of a narrow digit, used where counting wide digits would cost more than moving the items.
const NARROW: usize = 1 << 8;
/// From this many items on, digits are wide.
const MANY: usize = 1 << 14;
/// The minimum number of items per piece.
const PIECE: usize = 1 << 15;

/// A sortable item: a key and its payload.
pub(crate) trait Item: Copy + Send + Sync {
    /// Bits of its key.
    const BITS: u32;

    /// The bits of the key from `shift` on, at least the lowest of them.
    fn bits(self, shift: u32) -> usize;
}

impl<K: Key> Item for K {
    const BITS: u32 = K::BITS;

    #[inline(always)]
    fn bits(self, shift: u32) -> usize {
        Key::bits(self, shift)
    }
}

/// A key of at most 32 bits in the high half, a number in the low half.
#[derive(Clone, Copy)]
pub(crate) struct Near(pub(crate) u64);

impl Item for Near {
    const BITS: u32 = 32;

    #[inline(always)]
    fn bits(self, shift: u32) -> usize {
        (self.0 >> (32 + shift)) as usize
    }
}

/// A key and a number.
#[derive(Clone, Copy)]
pub(crate) struct Far<K>(pub(crate) K, pub(crate) u32);

impl<K: Key> Item for Far<K> {
    const BITS: u32 = K::BITS;

    #[inline(always)]
    fn bits(self, shift: u32) -> usize {
        self.0.bits(shift)
    }
}

/// Two buffers for items between passes, each with room for all items. Their contents are unspecified.
pub(crate) struct Places<I> {
    pub(crate) near: *mut I,
    pub(crate) far: *mut I,
}

/// Calls `store(place, item)` for the items `load(0 .. count)` in the order of their keys.
///
/// # Safety
/// Both buffers must hold `count` items, with exclusive access. `load` must not read memory that `store` writes, or the
/// buffers, and may be called twice for each item. `far` is not read any more while `store` is called.
pub(crate) unsafe fn radix<I: Item>(
    count: usize,
    places: Places<I>,
    team: &dyn Team,
    load: impl Fn(usize) -> I + Sync,
    store: impl Fn(usize, I) + Sync,
) {
    assert!(u32::try_from(count).is_ok(), "items are counted in 32 bits");
    // SAFETY: the caller upholds the same contract.
    unsafe {
        match count < MANY {
            true => by_digits::<I, NARROW>(count, places, team, load, store),
            false => by_digits::<I, WIDE>(count, places, team, load, store),
        }
    }
}

/// [`radix`] with digits of `VALUES` values.
unsafe fn by_digits<I: Item, const VALUES: usize>(
    count: usize,
    places: Places<I>,
    team: &dyn Team,
    load: impl Fn(usize) -> I + Sync,
    store: impl Fn(usize, I) + Sync,
) {
    let width = VALUES.ilog2();
    let pieces = team.width().min(count / PIECE).max(1);
    let per_piece = count.div_ceil(pieces);
    let range = |piece: usize| piece * per_piece..count.min((piece + 1) * per_piece);
    let digits = I::BITS.div_ceil(width) as usize;

    // Count each digit in each piece.
    let mut counts = vec![[0u32; VALUES]; pieces * digits];
    let all = Shared(counts.as_mut_ptr());
    team.split(pieces, &|piece| {
        // SAFETY: each piece has its own counts.
        let mine = unsafe { std::slice::from_raw_parts_mut(all.get().add(piece * digits), digits) };
        for i in range(piece) {
            let item = load(i);
            for (digit, counts) in mine.iter_mut().enumerate() {
                counts[item.bits(digit as u32 * width) % VALUES] += 1;
            }
        }
    });
    let shared = |digit: usize| {
        let first = load(0).bits(digit as u32 * width) % VALUES;
        (0..pieces).map(|piece| counts[piece * digits + digit][first] as usize).sum::<usize>() == count
    };
    let passes: Vec<usize> = (0..digits).filter(|digit| count > 0 && !shared(*digit)).collect();
    let Some(last) = passes.len().checked_sub(1) else {
        (0..count).for_each(|i| store(i, load(i)));
        return;
    };

    let places = Shared([places.near, places.far]);
    // The last pass reads `near`; the one before writes it.
    let place = |pass: usize| places.get()[(last - pass) % 2];
    for (pass, digit) in passes.iter().enumerate() {
        let shift = *digit as u32 * width;
        // SAFETY: the previous pass filled the buffer.
        let read = |i: usize| if pass == 0 { load(i) } else { unsafe { place(pass).add(i).read() } };
        let mut offsets: Vec<[u32; VALUES]> = (0..pieces).map(|piece| counts[piece * digits + digit]).collect();
        if pass > 0 && pieces > 1 {
            // The pieces now contain other items, so count again.
            let all = Shared(offsets.as_mut_ptr());
            team.split(pieces, &|piece| {
                // SAFETY: each piece has its own counts.
                let mine = unsafe { &mut *all.get().add(piece) };
                mine.fill(0);
                range(piece).for_each(|i| mine[read(i).bits(shift) % VALUES] += 1);
            });
        }
        let mut so_far = 0;
        for value in 0..VALUES {
            for counts in &mut offsets {
                so_far += std::mem::replace(&mut counts[value], so_far);
            }
        }
        let all = Shared(offsets.as_mut_ptr());
        team.split(pieces, &|piece| {
            // SAFETY: each piece has its own offsets.
            let mine = unsafe { &mut *all.get().add(piece) };
            let mut next = |item: I| {
                let offset = &mut mine[item.bits(shift) % VALUES];
                *offset += 1;
                *offset as usize - 1
            };
            // SAFETY: the previous pass filled the buffer that is read. Offsets are a permutation of all positions, and
            // each piece has its own.
            unsafe {
                match (pass == 0, pass == last) {
                    (true, true) => range(piece).map(&load).for_each(|item| store(next(item), item)),
                    (true, false) => {
                        range(piece).map(&load).for_each(|item| place(pass + 1).add(next(item)).write(item))
                    }
                    (false, false) => {
                        let (from, to) = (place(pass), place(pass + 1));
                        range(piece).map(|i| from.add(i).read()).for_each(|item| to.add(next(item)).write(item));
                    }
                    (false, true) => {
                        let from = place(pass);
                        range(piece).map(|i| from.add(i).read()).for_each(|item| store(next(item), item));
                    }
                }
            }
        });
    }
}
