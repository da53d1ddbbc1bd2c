//! The floating-point mode (rounding, flushing of denormals) in which tasks run. Workers and helping waiters both use
//! the mode of the thread that created the engine, so results do not depend on which thread runs a task.

/// Floating-point control bits of a thread.
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
        // SAFETY: the instruction stores MXCSR into `word`, which is valid for writes, and touches nothing else.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack, preserves_flags)) };
        FloatMode(word as u64 & !FLAGS)
    }

    /// The calling thread's mode.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn current() -> FloatMode {
        let word: u64;
        // SAFETY: the instruction only reads a control register.
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
        // SAFETY: the value was read from the same register by this module, so it is valid.
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

/// Restores the thread's previous mode when dropped.
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
