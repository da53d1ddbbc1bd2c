//! An asymmetric fence: cheap on the side that runs often, expensive on the side that is about to sleep.
//!
//! Guarantee: if one thread writes A, calls [`light`] and reads B, and another writes B, calls [`heavy`] and reads A,
//! at least one of them sees the other's write. Where the kernel offers an expedited membarrier, `light` is only a
//! compiler fence and `heavy` makes every running thread of the process execute a full barrier. Elsewhere, and under
//! loom, both are full fences.

#[cfg(not(loom))]
mod real {
    use crate::sync::{AtomicBool, Ordering, compiler_fence, fence};

    /// Set before the first engine exists and never cleared. A thread with a stale view uses a full fence, which is
    /// also correct.
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

    /// Registers the process for expedited membarriers. Called before any thread of an engine runs.
    pub(crate) fn prepare() {
        if !EXPEDITED.load(Ordering::Acquire) && membarrier(REGISTER) {
            EXPEDITED.store(true, Ordering::Release);
        }
    }

    /// Registers again in a forked child, in case the kernel keeps the registration per process.
    pub(crate) fn prepare_again() {
        EXPEDITED.store(membarrier(REGISTER), Ordering::Release);
    }

    /// The fence of the side that runs often.
    #[inline]
    pub(crate) fn light() {
        if EXPEDITED.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The fence of the side that is about to sleep.
    pub(crate) fn heavy() {
        if !(EXPEDITED.load(Ordering::Acquire) && membarrier(EXPEDITE)) {
            fence(Ordering::SeqCst);
        }
    }
}

#[cfg(loom)]
mod real {
    use crate::sync::{Ordering, fence};

    /// The fence of the side that runs often.
    pub(crate) fn light() {
        fence(Ordering::SeqCst);
    }

    /// The fence of the side that is about to sleep.
    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }
}

pub(crate) use real::*;
