//! A bounded ring with one producer, whose consumers serialise through a lock of their own.
//!
//! `head <= tail <= head + capacity`, and both only grow. Slots in `[head, tail)` are full, the others are empty.
//!
//! | who | may | publishes |
//! |---|---|---|
//! | producer | write the slot at `tail`, then increment `tail` | `tail`, release: the slot's content becomes visible |
//! | any thread | read `tail` (acquire) and `head` | |
//! | a consumer, under the lock | read slots in `[head, tail)`, then move `head` | `head`, release: its reads are done |
//!
//! The producer keeps a copy of `head` on its own cache line and reads the consumers' line only when the copy says that
//! the ring is full. The two sides therefore share a line once per lap and not once per push. The ring does not know
//! what it carries.

use crate::sync::{AtomicU64, Ordering, Padded, UnsafeCell};
use std::mem::MaybeUninit;

/// The ring has no empty slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The ring; see the module.
pub struct Ring<T: Copy> {
    producer: Padded<Producer>,
    head: Padded<AtomicU64>,
    slots: Box<[Slot<T>]>,
}

/// A slot, aligned to its own cache lines, so that an item of one line is written as whole lines.
#[repr(align(64))]
struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

struct Producer {
    tail: AtomicU64,
    /// The last `head` that the producer has read. Only the producer accesses it; it is atomic to rule out undefined
    /// behaviour.
    seen_head: AtomicU64,
}

// SAFETY: only the producer writes slots, while they are empty, and they are read under the consumers' lock while full.
// The callers of `push`, `get` and `advance` guarantee it, and `tail` and `head` order the accesses.
unsafe impl<T: Copy + Send> Sync for Ring<T> {}
// SAFETY: the ring owns its slots, and `T` may move between threads.
unsafe impl<T: Copy + Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// An empty ring.
    ///
    /// # Panics
    /// If the capacity is not a power of two.
    pub fn new(capacity: usize) -> Ring<T> {
        assert!(capacity.is_power_of_two(), "ring: capacity {capacity} is not a power of two");
        Ring {
            producer: Padded(Producer { tail: AtomicU64::new(0), seen_head: AtomicU64::new(0) }),
            head: Padded(AtomicU64::new(0)),
            slots: (0..capacity).map(|_| Slot(UnsafeCell::new(MaybeUninit::uninit()))).collect(),
        }
    }

    /// Number of items that fit.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn slot(&self, index: u64) -> &UnsafeCell<MaybeUninit<T>> {
        let at = index as usize & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the mask keeps the index within it.
        &unsafe { self.slots.get_unchecked(at) }.0
    }

    /// Appends an item and publishes it.
    ///
    /// # Safety
    /// One thread at a time may push: the producer.
    #[inline]
    pub unsafe fn push(&self, item: T) -> Result<(), Full> {
        let tail = self.producer.tail.load(Ordering::Relaxed);
        let capacity = self.slots.len() as u64;
        if tail - self.producer.seen_head.load(Ordering::Relaxed) == capacity {
            // Acquire: the consumer has finished reading the slot before it is overwritten.
            let head = self.head.load(Ordering::Acquire);
            self.producer.seen_head.store(head, Ordering::Relaxed);
            if tail - head == capacity {
                return Err(Full);
            }
        }
        self.slot(tail).with_mut(|slot| {
            // SAFETY: the slot at the tail is empty and belongs to the producer, which is this thread.
            unsafe { (*slot).write(item) };
        });
        self.producer.tail.store(tail + 1, Ordering::Release);
        Ok(())
    }

    /// Whether `items` more items fit. Reads the consumers' cache line only if the cached head does not suffice.
    ///
    /// # Safety
    /// Only the producer.
    #[inline]
    pub unsafe fn has_room(&self, items: usize) -> bool {
        let fits =
            |head: u64| self.producer.tail.load(Ordering::Relaxed) - head + items as u64 <= self.capacity() as u64;
        if fits(self.producer.seen_head.load(Ordering::Relaxed)) {
            return true;
        }
        // Acquire: as in `push`, which trusts the copy.
        let head = self.head.load(Ordering::Acquire);
        self.producer.seen_head.store(head, Ordering::Relaxed);
        fits(head)
    }

    /// One past the last published item. Everything written into earlier items is visible.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.producer.tail.load(Ordering::Acquire)
    }

    /// The first item that is not consumed.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Whether there is nothing between head and tail.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head() == self.tail()
    }

    /// The item at `index`, consumed or not, if the producer has not overwritten it.
    ///
    /// # Safety
    /// Only the producer.
    pub unsafe fn recent(&self, index: u64) -> Option<T> {
        let tail = self.producer.tail.load(Ordering::Relaxed);
        // SAFETY: the slot was written and not overwritten since; only this thread writes slots.
        (index < tail && tail - index <= self.capacity() as u64).then(|| unsafe { self.get(index) })
    }

    /// Whether the item at `index` was published and its slot not reused.
    fn is_written(&self, index: u64) -> bool {
        let tail = self.tail();
        index < tail && tail - index <= self.capacity() as u64
    }

    /// The item at `index`.
    ///
    /// # Safety
    /// The caller holds the consumers' lock and has seen `head <= index < tail`.
    #[inline]
    pub unsafe fn get(&self, index: u64) -> T {
        debug_assert!(self.is_written(index), "slot {index} holds nothing");
        self.slot(index).with(|slot| {
            // SAFETY: the slot is between head and tail, so it was written, and the producer does not touch it.
            unsafe { (*slot).assume_init() }
        })
    }

    /// A reference to the item at `index`.
    ///
    /// # Safety
    /// As for [`Ring::get`], for as long as the reference is used.
    #[cfg(not(loom))]
    #[inline]
    pub unsafe fn peek(&self, index: u64) -> &T {
        debug_assert!(self.is_written(index), "slot {index} holds nothing");
        self.slot(index).with(|slot| {
            // SAFETY: the slot is between head and tail, so it was written, and the producer does not touch it.
            unsafe { (*slot).assume_init_ref() }
        })
    }

    /// Returns the slots before `to` to the producer.
    ///
    /// # Safety
    /// The caller holds the consumers' lock, has seen `head <= to <= tail`, and no longer reads slots before `to`.
    #[inline]
    pub unsafe fn advance(&self, to: u64) {
        debug_assert!(self.head() <= to && to <= self.tail(), "the head moves to {to}");
        self.head.store(to, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_wraps_around() {
        let ring = Ring::new(4);
        // SAFETY: one thread acts as producer and consumer.
        unsafe {
            for lap in 0..3u64 {
                for i in 0..4 {
                    ring.push(lap * 4 + i).unwrap();
                }
                assert_eq!(ring.push(99), Err(Full));
                assert!(!ring.has_room(1));
                assert_eq!((ring.head(), ring.tail()), (lap * 4, lap * 4 + 4));
                for i in ring.head()..ring.tail() {
                    assert_eq!(ring.get(i), i);
                }
                ring.advance(ring.tail());
                assert!(ring.is_empty() && ring.has_room(4) && !ring.has_room(5));
                // Consumed items stay readable until they are overwritten.
                assert_eq!(ring.recent(lap * 4), Some(lap * 4));
                assert_eq!(ring.recent(lap * 4 + 4), None);
                assert_eq!(lap.checked_sub(1).and_then(|lap| ring.recent(lap * 4 + 3)), None);
            }
        }
    }
}
