//! The floating-point mode (rounding, flushing of denormals) under which tasks run: that of the thread which made the
//! engine, on workers and on helping waiters alike, so that who runs a task never shows in its result.

/// The control bits of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatMode(u64);

/// Bits of MXCSR that are status flags, not mode.
#[cfg(target_arch = "x86_64")]
const FLAGS: u64 = 0x3f;

impl FloatMode {
    /// The calling thread's mode.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn current() -> FloatMode {
        let mut word = 0u32;
        // SAFETY: stores MXCSR into the word, and touches nothing else.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack, preserves_flags)) };
        FloatMode(word as u64 & !FLAGS)
    }

    /// The calling thread's mode.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn current() -> FloatMode {
        let word: u64;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
        FloatMode(word)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) fn current() -> FloatMode {
        FloatMode(0)
    }

    #[cfg(target_arch = "x86_64")]
    fn install(self) {
        let word = self.0 as u32;
        // SAFETY: loads a word that this module read from MXCSR, with the flags cleared: a valid value.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack, preserves_flags, readonly)) };
    }

    #[cfg(target_arch = "aarch64")]
    fn install(self) {
        // SAFETY: writes a value that this module read from the register.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.0, options(nomem, nostack, preserves_flags)) };
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn install(self) {}

    /// Runs the calling thread in this mode until the guard is dropped.
    pub(crate) fn enter(self) -> Entered {
        let before = FloatMode::current();
        if before != self {
            self.install();
        }
        Entered { before, differs: before != self }
    }
}

/// Restores the thread's mode when dropped.
pub(crate) struct Entered {
    before: FloatMode,
    differs: bool,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.differs {
            self.before.install();
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_guard_restores_the_mode() {
        const FLUSH_TO_ZERO: u64 = 1 << 15;
        let before = FloatMode::current();
        {
            let _mode = FloatMode(before.0 | FLUSH_TO_ZERO).enter();
            assert_eq!(FloatMode::current().0 & FLUSH_TO_ZERO, FLUSH_TO_ZERO);
        }
        assert_eq!(FloatMode::current(), before);
    }
}
