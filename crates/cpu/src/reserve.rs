//! Reserves: address space held so that an allocation inside a kernel cannot fail.
//!
//! Rust aborts the process if an allocation of a `Vec` fails, and the libraries for products, factorisations and
//! transforms allocate internally. A kernel that needs scratch memory therefore declares a bound (see [`crate::need`])
//! and holds that many bytes, mapped but never touched, while it runs. If the mapping fails, the kernel fails with an
//! out-of-memory error. If the system refuses an allocation meanwhile, [`crate::ScratchAllocator`] releases the reserve
//! and retries. A reserve costs address space, not memory; a thread keeps a small one between kernels.
//!
//! The *common* reserve backs all small allocations: records, tasks, windows, errors. After it was released, no buffer
//! and no kernel gets memory until it is restored.
//!
//! Each reserve has a slot with a state that controls access. Its owner changes it from free or kept to held and back;
//! a thread that releases it changes held or kept to busy, then to free. Nothing in this module allocates or locks.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Threads that can hold a reserve at the same time. Further threads only check that the memory is available.
const SLOTS: usize = 256;
/// Bytes that a thread keeps between kernels.
const KEPT: usize = 64 << 20;
/// Bytes of the common reserve: more than enough for a window.
const COMMON: usize = 8 << 20;
/// Smaller needs rely on the common reserve.
pub(crate) const SMALL: usize = 64 << 10;

const FREE: usize = 0;
const IDLE: usize = 1;
const HELD: usize = 2;
const BUSY: usize = 3;

struct Slot {
    state: AtomicUsize,
    address: AtomicUsize,
    size: AtomicUsize,
    taken: AtomicBool,
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            state: AtomicUsize::new(FREE),
            address: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            taken: AtomicBool::new(false),
        }
    }

    fn turn(&self, from: usize, to: usize) -> bool {
        self.state.compare_exchange(from, to, Acquire, Relaxed).is_ok()
    }

    /// Maps `bytes`, unless the slot already has as many; returns whether it succeeded.
    fn hold(&self, bytes: usize) -> bool {
        if self.turn(IDLE, BUSY) {
            if self.size.load(Relaxed) >= bytes {
                self.state.store(HELD, Release);
                return true;
            }
            self.unmap();
        } else if !self.turn(FREE, BUSY) {
            return false;
        }
        let Some(address) = map(bytes) else {
            self.state.store(FREE, Release);
            return false;
        };
        self.address.store(address, Relaxed);
        self.size.store(bytes, Relaxed);
        self.state.store(HELD, Release);
        true
    }

    /// Ends a hold; keeps a small reserve.
    fn end(&self, kept: usize) {
        if self.size.load(Relaxed) <= kept {
            self.turn(HELD, IDLE);
        } else {
            self.give_up(HELD);
        }
    }

    /// Unmaps the bytes if the slot is in `state`; returns whether it was.
    fn give_up(&self, state: usize) -> bool {
        let found = self.turn(state, BUSY);
        if found {
            self.unmap();
            self.state.store(FREE, Release);
        }
        found
    }

    /// Unmaps the bytes. Only valid in the busy state.
    fn unmap(&self) {
        unmap(self.address.load(Relaxed), self.size.load(Relaxed));
    }
}

fn map(bytes: usize) -> Option<usize> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping does not affect existing memory.
    let address = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address as usize)
}

fn unmap(address: usize, bytes: usize) {
    // SAFETY: the mapping belongs to this slot, and nobody accesses it.
    unsafe { libc::munmap(address as *mut libc::c_void, bytes) };
}

static ALL: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
static COMMON_SLOT: Slot = Slot::new();

/// The slot of a thread, released when the thread ends.
struct Own(Cell<Option<&'static Slot>>);

impl Own {
    fn slot(&self) -> Option<&'static Slot> {
        if self.0.get().is_none() {
            let free = |slot: &&Slot| slot.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok();
            self.0.set(ALL.iter().find(free));
        }
        self.0.get()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.give_up(IDLE);
            slot.taken.store(false, Release);
        }
    }
}

thread_local! {
    static OWN: Own = const { Own(Cell::new(None)) };
}

fn own() -> Option<&'static Slot> {
    OWN.try_with(Own::slot).ok().flatten()
}

/// Keeps a number of bytes available while it is alive.
pub(crate) struct Reserve(Option<&'static Slot>);

impl Reserve {
    /// Reserves `bytes`; `None` if they are not available.
    pub(crate) fn hold(bytes: usize) -> Option<Reserve> {
        if !restore_common() {
            return None;
        }
        match own() {
            Some(slot) if slot.hold(bytes) => Some(Reserve(Some(slot))),
            // A nested kernel, or no slot is left.
            other if other.is_none_or(|slot| slot.state.load(Relaxed) == HELD) => map(bytes).map(|address| {
                unmap(address, bytes);
                Reserve(None)
            }),
            _ => None,
        }
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.end(KEPT);
        }
    }
}

/// Whether the common reserve is present or could be restored.
#[inline]
pub(crate) fn restore_common() -> bool {
    COMMON_SLOT.state.load(Relaxed) == HELD || COMMON_SLOT.hold(COMMON)
}

/// Releases the reserves that threads keep between kernels; returns whether there were any.
pub(crate) fn give_up_kept() -> bool {
    // `count`, not `any`: release all of them.
    ALL.iter().filter(|slot| slot.give_up(IDLE)).count() > 0
}

/// Retries `alloc`, which failed, after releasing each reserve until it succeeds: first unused ones, then the caller's
/// own, the common one, and finally those of other threads.
#[cold]
pub(crate) fn last_resort(mut alloc: impl FnMut() -> *mut u8) -> *mut u8 {
    let mut again = |given: bool| if given { alloc() } else { null_mut() };
    let mut found = again(give_up_kept());
    if found.is_null() {
        found = again(own().is_some_and(|slot| slot.give_up(HELD)));
    }
    if found.is_null() {
        found = again(COMMON_SLOT.give_up(HELD));
    }
    ALL.iter().for_each(|slot| {
        if found.is_null() {
            found = again(slot.give_up(HELD));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_given_up_for_an_allocation_that_failed() {
        std::thread::spawn(|| {
            let held = Reserve::hold(1 << 20).unwrap();
            let mut calls = 0;
            let mut byte = 0u8;
            let found = last_resort(|| {
                calls += 1;
                if own().unwrap().state.load(Relaxed) == FREE { &raw mut byte } else { null_mut() }
            });
            assert!(!found.is_null() && calls >= 1);
            drop(held);
            assert!(restore_common());
            // The released bytes are mapped again.
            let again = Reserve::hold(1 << 20).unwrap();
            assert_eq!(again.0.unwrap().state.load(Relaxed), HELD);
            assert!(Reserve::hold(1 << 20).is_some(), "a kernel inside a kernel");
            assert!(Reserve::hold(usize::MAX / 2).is_none());
        })
        .join()
        .unwrap();
    }
}
