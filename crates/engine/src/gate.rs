//! The gate: pauses everything that runs, for a fork or to cancel pending work.
//!
//! | closed | inside | meaning |
//! |---|---|---|
//! | 0 | n | n threads plan, run tasks or search for tasks |
//! | 1 | n | a thread wants a pause: no thread enters, and those inside leave at their next checkpoint |
//! | 1 | 0 | a pause: no worker or waiter runs a task or a piece, or plans |
//!
//! A thread that enters counts itself and then reads `closed`; a thread that closes the gate sets `closed` and then
//! reads the count. One of the two sees the other. Checkpoints are between pieces, between tasks, and wherever a thread
//! parks or calls the frontend. A pause therefore waits for running pieces only, and a thread stopped at the gate holds
//! no lock. A task may be stopped halfway; in the parent of a fork it continues. There is one gate for all engines,
//! because a fork affects the whole process. Waiting at the gate uses only two words, which a forked child can simply
//! reset.

use crate::futex;
use crate::sync::{AtomicU32, Ordering, Padded};
use std::cell::Cell;

static CLOSED: Padded<AtomicU32> = Padded(AtomicU32::new(0));
static INSIDE: Padded<AtomicU32> = Padded(AtomicU32::new(0));

thread_local! {
    /// How many guards the calling thread holds.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Counts the calling thread as inside until the guard is dropped.
pub(crate) fn enter() -> GateGuard {
    if DEPTH.replace(DEPTH.get() + 1) == 0 {
        come_in();
    }
    GateGuard(())
}

/// Keeps its thread counted as inside.
pub(crate) struct GateGuard(());

impl Drop for GateGuard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            go_out();
        }
    }
}

/// Blocks while the gate is closed. The caller must hold no lock.
#[inline]
pub(crate) fn checkpoint() {
    if CLOSED.load(Ordering::Relaxed) != 0 {
        outside(|| ());
    }
}

/// Runs `f` with the calling thread counted as outside, then restores its previous state.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    struct Back(u32);
    impl Drop for Back {
        fn drop(&mut self) {
            if self.0 > 0 {
                come_in();
                DEPTH.set(self.0);
            }
        }
    }
    let back = Back(DEPTH.replace(0));
    if back.0 > 0 {
        go_out();
    }
    f()
}

fn come_in() {
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if CLOSED.load(Ordering::SeqCst) == 0 {
            return;
        }
        go_out();
        while CLOSED.load(Ordering::Acquire) != 0 {
            futex::wait(&CLOSED, 1, None);
        }
    }
}

fn go_out() {
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    if CLOSED.load(Ordering::SeqCst) != 0 {
        futex::wake(&INSIDE, i32::MAX);
    }
}

/// Closes the gate and waits until no other thread is inside. There is one pause at a time.
pub(crate) fn close() -> Paused {
    while CLOSED.swap(1, Ordering::SeqCst) != 0 {
        futex::wait(&CLOSED, 1, None);
    }
    let own = (DEPTH.get() > 0) as u32;
    loop {
        let inside = INSIDE.load(Ordering::SeqCst);
        if inside <= own {
            return Paused(());
        }
        futex::wait(&INSIDE, inside, None);
    }
}

/// Resets the gate in a forked child, where only the calling thread is left.
pub(crate) fn forget_others() {
    INSIDE.store((DEPTH.get() > 0) as u32, Ordering::SeqCst);
}

/// While it lives, no worker and no waiter plans or runs anything.
pub struct Paused(());

impl Drop for Paused {
    fn drop(&mut self) {
        CLOSED.store(0, Ordering::SeqCst);
        futex::wake(&CLOSED, i32::MAX);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::AtomicBool;

    #[test]
    fn no_thread_is_inside_during_a_pause() {
        let (busy, stop) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _inside = enter();
                    while !stop.load(Ordering::Relaxed) {
                        busy.fetch_add(1, Ordering::SeqCst);
                        // Long enough to be observed by a pause that does not wait for it.
                        (0..1000).for_each(|_| std::hint::spin_loop());
                        busy.fetch_sub(1, Ordering::SeqCst);
                        outside(|| ());
                        checkpoint();
                    }
                });
            }
            let mut most = 0;
            for _ in 0..1000 {
                let _paused = close();
                most = most.max(busy.load(Ordering::SeqCst));
            }
            // Stop the threads before asserting: a failed assertion would join them forever.
            stop.store(true, Ordering::Relaxed);
            assert_eq!(most, 0);
        });
        let _own = enter();
        drop(close());
    }
}
