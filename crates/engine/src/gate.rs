//! The gate: how everything that runs is brought to a stand, for a fork or to cancel what is pending.
//!
//! | closed | inside | meaning |
//! |---|---|---|
//! | 0 | n | n threads plan, run tasks or look for some |
//! | 1 | n | somebody wants a pause: nobody new comes in, those inside go out at their next checkpoint |
//! | 1 | 0 | a pause: no task, no piece and no planning is under way on any worker or waiter |
//!
//! A thread that comes in counts itself and then looks at `closed`; who closes the gate sets `closed` and then looks at
//! the count: one of the two sees the other. Checkpoints stand between pieces, between tasks and wherever a thread
//! parks or asks the frontend, so a pause waits for running pieces only, and a thread that stands aside holds no lock. A
//! task may so be halted half-way; in the parent of a fork it goes on. There is one gate for all engines of the process: a
//! fork is the whole process's. Waiting here uses nothing but two words, which a forked child can simply set.

use crate::futex;
use crate::sync::{AtomicU32, Ordering, Padded};
use std::cell::Cell;

static CLOSED: Padded<AtomicU32> = Padded(AtomicU32::new(0));
static INSIDE: Padded<AtomicU32> = Padded(AtomicU32::new(0));

thread_local! {
    /// How often the calling thread came in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Counts the calling thread as inside until the guard is dropped.
pub(crate) fn enter() -> GateGuard {
    if DEPTH.replace(DEPTH.get() + 1) == 0 {
        come_in();
    }
    GateGuard(())
}

/// While it lives, its thread is inside.
pub(crate) struct GateGuard(());

impl Drop for GateGuard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            go_out();
        }
    }
}

/// Stands aside while the gate is closed. The caller holds no lock.
#[inline]
pub(crate) fn checkpoint() {
    if CLOSED.load(Ordering::Relaxed) != 0 {
        outside(|| ());
    }
}

/// Runs `f` with the calling thread outside; afterwards it is inside again, if it was before.
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

/// Closes the gate and waits until nobody else is inside; one pause at a time.
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

/// In a forked child, where only the calling thread is left.
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
    fn nobody_is_inside_during_a_pause() {
        let (busy, stop) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _inside = enter();
                    while !stop.load(Ordering::Relaxed) {
                        busy.fetch_add(1, Ordering::SeqCst);
                        // Long enough that one who is not waited for is met here.
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
            // The others are let go before anything is said: they would be waited for without end.
            stop.store(true, Ordering::Relaxed);
            assert_eq!(most, 0);
        });
        let _own = enter();
        drop(close());
    }
}
