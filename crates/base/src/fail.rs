//! Fail points: named places where a test injects rare failures.
//!
//! Builds with debug assertions contain them, so the tests need no separate build. Other builds contain them only with
//! the feature `faults`; otherwise [`fail_point!`](crate::fail_point) expands to nothing. A new fail point is a row of
//! [`SITES`] and a call of the macro; `cargo xtask tidy` checks that the two agree. A test arms a site with [`arm`],
//! and for a child process with `FORERUN_TEST_FAULTS=site=how@nth,...`. Each arming causes one failure.

use crate::{Error, ErrorKind, Result};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// The kind of an injected failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum How {
    /// The operation reports an error.
    Error = 1,
    /// The code panics.
    Panic = 2,
    /// An allocation fails.
    NoMemory = 3,
}

impl How {
    /// All kinds.
    pub const ALL: [How; 3] = [How::Error, How::Panic, How::NoMemory];

    /// The name used in the environment and in Python.
    pub fn name(self) -> &'static str {
        match self {
            How::Error => "error",
            How::Panic => "panic",
            How::NoMemory => "no_memory",
        }
    }
}

/// A fail point.
#[derive(Debug)]
pub struct Site {
    /// Its name.
    pub name: &'static str,
    /// The kinds of failure that it supports.
    pub hows: &'static [How],
    /// What the code does there.
    pub doc: &'static str,
}

const fn site(name: &'static str, hows: &'static [How], doc: &'static str) -> Site {
    Site { name, hows, doc }
}

const ERROR: &[How] = &[How::Error];
const PANIC: &[How] = &[How::Panic];
const EITHER: &[How] = &[How::Error, How::Panic];
const NO_MEMORY: &[How] = &[How::NoMemory];

/// Every site.
pub const SITES: &[Site] = &[
    site("thread.start", ERROR, "a worker thread starts"),
    site("task.start", PANIC, "the engine begins to run a task"),
    site("pool.block", NO_MEMORY, "a block is allocated from the host pool"),
    site("pool.pages", NO_MEMORY, "the host pool requests pages from the system"),
    site("slots.grow", NO_MEMORY, "a window allocates more descriptor slots"),
    site("apart.room", NO_MEMORY, "an unfused record allocates its result"),
    site("launch.before", EITHER, "a kernel is bound and has no buffers yet"),
    site("launch.inside", PANIC, "a kernel has its buffers and runs"),
    site("launch.after", PANIC, "a kernel has run and its values are not published"),
    site("spot.before", EITHER, "a tiny record is about to run"),
    site("spot.inside", PANIC, "a tiny record runs"),
    site("spot.after", PANIC, "a tiny record has run and its value is not published"),
    site("apart.record", EITHER, "a record of a fused kernel runs on its own"),
    site("plan.make", PANIC, "a segment is planned"),
    site("host.in", EITHER, "host data is copied in"),
    site("host.out", EITHER, "elements are read out"),
    site("observer.call", PANIC, "an observer is notified of a submission"),
    site("wake.call", PANIC, "a task that awaits an array is woken"),
    site("gradient.call", EITHER, "a user-defined gradient function is called"),
    site("fork.prepare", EITHER, "the engine is paused for a fork"),
    site("device.thread", ERROR, "the thread of a device starts"),
    site("device.memory", NO_MEMORY, "device memory is allocated"),
    site("device.launch", EITHER, "a kernel is launched on a device"),
    site("device.copy", EITHER, "a copy is enqueued on a device"),
    site("device.outcome", ERROR, "the outcome of a device command is read"),
    site("checkpoint.read", ERROR, "elements of a checkpoint are read"),
    site("checkpoint.write", ERROR, "a checkpoint is written"),
    site("file.read", ERROR, "Python reads an array from a file"),
    site("file.write", ERROR, "Python writes an array to a file"),
    site("function.forward", ERROR, "Python calls the forward pass of a user-defined function"),
    site("await.call", ERROR, "Python calls back an event loop"),
];

struct State {
    hits: AtomicU64,
    /// The hit that fails; 0 if none does.
    fails_at: AtomicU64,
    how: AtomicU8,
}

static STATES: [State; SITES.len()] =
    [const { State { hits: AtomicU64::new(0), fails_at: AtomicU64::new(0), how: AtomicU8::new(0) } }; SITES.len()];

fn find(name: &str) -> Option<(&'static Site, &'static State)> {
    let at = SITES.iter().position(|site| site.name == name)?;
    Some((&SITES[at], &STATES[at]))
}

/// Makes the `nth` hit of a site from now on, counted from 1, fail.
pub fn arm(name: &str, nth: u64, how: How) -> Result<()> {
    let refuse = |text: String| Err(Error::new(ErrorKind::Value, text).in_op("fail"));
    let Some((site, state)) = find(name) else { return refuse(format!("no site `{name}`")) };
    if !site.hows.contains(&how) || nth == 0 {
        return refuse(format!("`{name}` supports {:?} from hit 1 on, not {how:?} at {nth}", site.hows));
    }
    state.how.store(how as u8, Relaxed);
    state.fails_at.store(state.hits.load(SeqCst) + nth, SeqCst);
    Ok(())
}

/// Disarms all sites; returns those that were armed.
pub fn disarm() -> Vec<&'static str> {
    let armed = SITES.iter().zip(&STATES).filter(|(_, state)| state.fails_at.swap(0, SeqCst) != 0);
    armed.map(|(site, _)| site.name).collect()
}

/// Number of times a site was reached.
pub fn hits(name: &str) -> u64 {
    find(name).map_or(0, |(_, state)| state.hits.load(SeqCst))
}

/// The index of a site in the table; evaluated at compile time, where a wrong name is an error.
pub const fn index(name: &str) -> usize {
    let mut at = 0;
    while at < SITES.len() {
        if is_same(SITES[at].name, name) {
            return at;
        }
        at += 1;
    }
    panic!("no such fail point")
}

/// String comparison for constant evaluation, which has no `==`.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Notes that a site, given by name as in Python, was reached.
pub fn hit(name: &str) -> Option<How> {
    hit_at(index(name))
}

/// Notes that a site was reached: returns the kind of failure, if any; a panic happens here. Called by
/// [`fail_point!`](crate::fail_point).
pub fn hit_at(index: usize) -> Option<How> {
    static ENVIRONMENT: Once = Once::new();
    ENVIRONMENT.call_once(read_environment);
    let (site, state) = (&SITES[index], &STATES[index]);
    let now = state.hits.fetch_add(1, SeqCst) + 1;
    let at = state.fails_at.load(SeqCst);
    if at == 0 || now < at || state.fails_at.compare_exchange(at, 0, SeqCst, SeqCst).is_err() {
        return None;
    }
    let how = How::ALL.into_iter().find(|how| *how as u8 == state.how.load(Relaxed))?;
    assert!(how != How::Panic, "injected at {}", site.name);
    Some(how)
}

/// The error that a site injects.
pub fn error(name: &str) -> Error {
    Error::new(ErrorKind::Runtime, format!("injected at {name}"))
}

fn read_environment() {
    let Ok(text) = std::env::var("FORERUN_TEST_FAULTS") else { return };
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let parsed = item.split_once('=').and_then(|(site, rest)| {
            let (how, nth) = rest.split_once('@').unwrap_or((rest, "1"));
            let how = How::ALL.into_iter().find(|h| h.name() == how)?;
            Some((site, nth.parse().ok()?, how))
        });
        let armed = match parsed {
            Some((site, nth, how)) => arm(site, nth, how).map_err(|error| error.to_string()),
            None => Err("it must be site=how@nth".to_owned()),
        };
        if let Err(text) = armed {
            eprintln!("forerun: FORERUN_TEST_FAULTS: {item}: {text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_hit_fails_once() {
        // No other test of this crate reaches this site.
        let name = "checkpoint.read";
        assert_eq!(hit(name), None);
        arm(name, 2, How::Error).unwrap();
        assert_eq!([hit(name), hit(name), hit(name)], [None, Some(How::Error), None]);
        assert_eq!(hits(name), 4);
        arm(name, 1, How::Error).unwrap();
        assert_eq!((disarm(), hit(name)), (vec![name], None));
        assert!(arm(name, 1, How::Panic).is_err() && arm("nowhere", 1, How::Error).is_err());
        arm("plan.make", 1, How::Panic).unwrap();
        assert!(std::panic::catch_unwind(|| hit("plan.make")).is_err());
    }
}
