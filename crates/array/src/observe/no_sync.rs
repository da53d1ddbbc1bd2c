//! Where a thread has said that it does not mean to wait: every blocker is refused, or told of.
//!
//! A value that is already there is refused too: whether it is there is a matter of luck, and a program that passes must
//! pass every time. Submissions are never refused, even if they are held.

use crate::array::Array;
use crate::array::wait::Wait;
use crate::observe::observers;
use crate::observe::origin;
use crate::observe::read_hooks;
use forerun_base::{Error, ErrorKind, Result};

/// What becomes of a call that must wait for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncRule {
    /// It waits.
    #[default]
    Allowed,
    /// It is told of on the standard error stream, and waits.
    Warned,
    /// It fails.
    Refused,
}

/// What becomes of the calling thread's blockers.
#[inline]
pub fn sync_rule() -> SyncRule {
    match read_hooks::bits(read_hooks::WARNED | read_hooks::REFUSED) {
        0 => SyncRule::Allowed,
        read_hooks::WARNED => SyncRule::Warned,
        _ => SyncRule::Refused,
    }
}

/// Says what becomes of the calling thread's blockers from now on; returns the former rule.
pub fn set_sync_rule(rule: SyncRule) -> SyncRule {
    let former = sync_rule();
    let bits = match rule {
        SyncRule::Allowed => 0,
        SyncRule::Warned => read_hooks::WARNED,
        SyncRule::Refused => read_hooks::REFUSED,
    };
    read_hooks::set(read_hooks::WARNED | read_hooks::REFUSED, bits);
    former
}

/// Runs `f` under a rule for the blockers of this thread; afterwards the former rule holds again.
pub fn no_sync<R>(rule: SyncRule, f: impl FnOnce() -> R) -> R {
    struct Former(SyncRule);
    impl Drop for Former {
        fn drop(&mut self) {
            set_sync_rule(self.0);
        }
    }
    let _former = Former(set_sync_rule(rule));
    f()
}

/// The error of a blocker where none is meant to be; `array` is what it reads, none if that is everything.
#[cold]
pub fn refusal(wait: &Wait<'_>, array: Option<&Array>) -> Error {
    let mut text = String::from("waits inside no_sync");
    let known = array.and_then(|array| array.pin(origin::of)).unwrap_or_default();
    match array {
        None => text.push_str(", for everything submitted so far"),
        Some(_) if known.op.is_empty() => text.push_str(", for a value made long ago or by another thread"),
        Some(_) => {
            text.push_str(", for ");
            text.push_str(known.op);
        }
    }
    // The op submitted there is the one waited for; the call stands in the place of the op that failed.
    Error::new(ErrorKind::Runtime, text).in_op(wait.call).submitted_at(known.loc).read_at(wait.loc)
}

/// Looks at the rule before a wait that no frontend has looked at.
pub(crate) fn check(wait: &Wait<'_>, array: Option<&Array>) -> Result<()> {
    if wait.allowed || sync_rule() == SyncRule::Allowed {
        return Ok(());
    }
    let error = refusal(wait, array);
    if sync_rule() == SyncRule::Refused {
        // A capture notes that the thread meant to read.
        observers::note_unrepeatable();
        return Err(error);
    }
    eprintln!("forerun: {error}");
    Ok(())
}
