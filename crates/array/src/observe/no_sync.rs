//! `no_sync`: a thread declares that it does not intend to wait, and every blocker raises or warns.
//!
//! Reading a value that is already computed is an error too: whether it is computed depends on timing, and a program
//! that passes must pass every time. Submissions never raise, even if they block.

use crate::array::Array;
use crate::array::wait::Wait;
use crate::observe::observers;
use crate::observe::origin;
use crate::observe::read_hooks;
use forerun_base::{Error, ErrorKind, Result};

/// What happens to a call that must wait for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncRule {
    /// It waits.
    #[default]
    Allowed,
    /// It prints a warning to standard error and waits.
    Warned,
    /// It fails.
    Refused,
}

/// The calling thread's rule for blockers.
#[inline]
pub fn sync_rule() -> SyncRule {
    match read_hooks::bits(read_hooks::WARNED | read_hooks::REFUSED) {
        0 => SyncRule::Allowed,
        read_hooks::WARNED => SyncRule::Warned,
        _ => SyncRule::Refused,
    }
}

/// Sets the calling thread's rule for blockers; returns the previous one.
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

/// Runs `f` under a rule for blockers of this thread, then restores the previous rule.
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

/// The error of a blocker under [`SyncRule::Refused`]; `array` is the array read, or `None` for a wait for everything.
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
    // The loc of the op that is waited for; the blocking call replaces the name of the failed op.
    Error::new(ErrorKind::Runtime, text).in_op(wait.call).submitted_at(known.loc).read_at(wait.loc)
}

/// Applies the rule before a wait that no frontend has checked.
pub(crate) fn check(wait: &Wait<'_>, array: Option<&Array>) -> Result<()> {
    if wait.allowed || sync_rule() == SyncRule::Allowed {
        return Ok(());
    }
    let error = refusal(wait, array);
    if sync_rule() == SyncRule::Refused {
        // A capture must learn that the thread tried to read.
        observers::note_unrepeatable();
        return Err(error);
    }
    eprintln!("forerun: {error}");
    Ok(())
}
