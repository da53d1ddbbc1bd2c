//! A fence with two sides of unequal price, for protocols in which one side runs all the time and the other
//! is about to sleep anyway.
//!
//! Guarantee: of a thread that writes A, calls [`light`], reads B, and a thread that writes B, calls [`heavy`], reads
//! A, at least one sees the other's write. Where the kernel offers an expedited membarrier, the light side only holds
//! the compiler back and the heavy side makes every running thread of the process pass a full barrier; elsewhere, and
//! under loom, both are full fences.

#[cfg(not(loom))]
mod real {
    use crate::sync::{AtomicBool, Ordering, compiler_fence, fence};

    /// Set before the first engine exists, never cleared: a thread with a stale view fences in full, which is also
    /// right.
    static EXPEDITED: AtomicBool = AtomicBool::new(false);

    #[cfg(target_os = "linux")]
    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes no pointers.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    #[cfg(not(target_os = "linux"))]
    fn membarrier(_command: libc::c_int) -> bool {
        false
    }

    #[cfg(target_os = "linux")]
    const REGISTER: libc::c_int = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    #[cfg(target_os = "linux")]
    const EXPEDITE: libc::c_int = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;
    #[cfg(not(target_os = "linux"))]
    const REGISTER: libc::c_int = 0;
    #[cfg(not(target_os = "linux"))]
    const EXPEDITE: libc::c_int = 0;

    /// Asks the kernel for the cheap way. Called before any thread of an engine runs.
    pub(crate) fn prepare() {
        if !EXPEDITED.load(Ordering::Acquire) && membarrier(REGISTER) {
            EXPEDITED.store(true, Ordering::Release);
        }
    }

    /// In a forked child: asks once more, for the case that the kernel keeps the wish by process.
    pub(crate) fn prepare_again() {
        EXPEDITED.store(membarrier(REGISTER), Ordering::Release);
    }

    /// The side that runs all the time.
    #[inline]
    pub(crate) fn light() {
        if EXPEDITED.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The side that is about to sleep.
    pub(crate) fn heavy() {
        if !(EXPEDITED.load(Ordering::Acquire) && membarrier(EXPEDITE)) {
            fence(Ordering::SeqCst);
        }
    }
}

#[cfg(loom)]
mod real {
    use crate::sync::{Ordering, fence};

    /// The side that runs all the time.
    pub(crate) fn light() {
        fence(Ordering::SeqCst);
    }

    /// The side that is about to sleep.
    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }
}

pub(crate) use real::*;
