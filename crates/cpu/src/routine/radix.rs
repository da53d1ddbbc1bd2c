//! Items in order of their keys, digit by digit from the lowest: stable, and as fast for one distribution as for another.
//!
//! A pass counts how often each digit occurs in each piece of the items, works out where each piece puts its items of each digit, and
//! moves them there. Digits that all items share need no pass. The first pass reads where the items come from, the last
//! writes where they go to, so that nothing is copied beside. Invariant: whichever pieces there are, the result is the same.

use super::keys::Key;
use crate::pointwise::Shared;
use forerun_base::Team;

/// Values of a digit.
const WIDE: usize = 1 << 11;
/// Values of a digit where counting the wide ones would cost more than moving the items.
const NARROW: usize = 1 << 8;
/// Items from which on digits are wide.
const MANY: usize = 1 << 14;
/// Items a piece holds at least.
const PIECE: usize = 1 << 15;

/// What is put in order: a key, and what goes with it.
pub(crate) trait Item: Copy + Send + Sync {
    /// Bits of its key.
    const BITS: u32;

    /// The bits of the key from `shift` on, the lowest of them at least.
    fn bits(self, shift: u32) -> usize;
}

impl<K: Key> Item for K {
    const BITS: u32 = K::BITS;

    #[inline(always)]
    fn bits(self, shift: u32) -> usize {
        Key::bits(self, shift)
    }
}

/// A key of at most 32 bits above a number.
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

/// Where items wait between two passes: two places of at least as many as there are. What lies there is nobody's.
pub(crate) struct Places<I> {
    pub(crate) near: *mut I,
    pub(crate) far: *mut I,
}

/// Calls `store(place, item)` for the items `load(0 .. count)` in order of their keys.
///
/// # Safety
/// Both places hold `count` items, and nobody else uses them meanwhile. `load` does not read what `store` writes or what lies in the places, and
/// may be called twice for each item; while `store` is called, `far` is not looked at any more.
pub(crate) unsafe fn radix<I: Item>(
    count: usize,
    places: Places<I>,
    team: &dyn Team,
    load: impl Fn(usize) -> I + Sync,
    store: impl Fn(usize, I) + Sync,
) {
    assert!(u32::try_from(count).is_ok(), "items are counted in 32 bits");
    // SAFETY: the caller's promise is this one.
    unsafe {
        match count < MANY {
            true => by_digits::<I, NARROW>(count, places, team, load, store),
            false => by_digits::<I, WIDE>(count, places, team, load, store),
        }
    }
}

/// As [`radix`], with digits of so many values.
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

    // How often each digit occurs, in each piece.
    let mut counts = vec![[0u32; VALUES]; pieces * digits];
    let all = Shared(counts.as_mut_ptr());
    team.split(pieces, &|piece| {
        // SAFETY: each piece has counts of its own.
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
    // The last pass reads the near place, the one before writes it.
    let place = |pass: usize| places.get()[(last - pass) % 2];
    for (pass, digit) in passes.iter().enumerate() {
        let shift = *digit as u32 * width;
        // SAFETY: the pass before filled it.
        let read = |i: usize| if pass == 0 { load(i) } else { unsafe { place(pass).add(i).read() } };
        let mut offsets: Vec<[u32; VALUES]> = (0..pieces).map(|piece| counts[piece * digits + digit]).collect();
        if pass > 0 && pieces > 1 {
            // Other items lie in a piece by now.
            let all = Shared(offsets.as_mut_ptr());
            team.split(pieces, &|piece| {
                // SAFETY: each piece has counts of its own.
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
            // SAFETY: each piece has offsets of its own.
            let mine = unsafe { &mut *all.get().add(piece) };
            let mut next = |item: I| {
                let offset = &mut mine[item.bits(shift) % VALUES];
                *offset += 1;
                *offset as usize - 1
            };
            // SAFETY: the pass before filled what is read. Offsets are a permutation of the places of all items, of which each
            // piece has its own.
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
