//! Fail points: named places where a test makes something go wrong that seldom does.
//!
//! Builds with debug assertions have them, so the tests need no build of their own; a build without has them under the feature
//! `faults` alone, and otherwise [`fail_point!`](crate::fail_point) expands to nothing. A new place is a row of [`SITES`] and a call of
//! the macro; `cargo xtask tidy` checks that the two agree. A test arms a site by [`arm`]; a process
//! that a test starts, by `FORERUN_TEST_FAULTS=site=how@nth,...`. Each arming is for one hit.

use crate::{Error, ErrorKind, Result};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum How {
    /// What was tried reports an error.
    Error = 1,
    /// The code panics.
    Panic = 2,
    /// There is no memory.
    NoMemory = 3,
}

impl How {
    /// All of them.
    pub const ALL: [How; 3] = [How::Error, How::Panic, How::NoMemory];

    /// What the environment and Python call it.
    pub fn name(self) -> &'static str {
        match self {
            How::Error => "error",
            How::Panic => "panic",
            How::NoMemory => "no_memory",
        }
    }
}

/// A place where something can be made to go wrong.
#[derive(Debug)]
pub struct Site {
    /// Its name.
    pub name: &'static str,
    /// What can go wrong there.
    pub hows: &'static [How],
    /// What stands there.
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
    site("thread.start", ERROR, "a worker is started"),
    site("task.start", PANIC, "the engine begins to run a task"),
    site("pool.block", NO_MEMORY, "a block is taken from the host pool"),
    site("pool.pages", NO_MEMORY, "the host pool asks the system for pages"),
    site("slots.grow", NO_MEMORY, "a window gets more descriptor slots"),
    site("apart.room", NO_MEMORY, "a record that is run apart takes room for its result"),
    site("launch.before", EITHER, "a kernel is bound, and has no buffers yet"),
    site("launch.inside", PANIC, "a kernel has its buffers, and runs"),
    site("launch.after", PANIC, "a kernel has run, and its values are not published"),
    site("spot.before", EITHER, "a tiny record is about to run"),
    site("spot.inside", PANIC, "a tiny record runs"),
    site("spot.after", PANIC, "a tiny record has run, and its value is not published"),
    site("apart.record", EITHER, "a record of a fused kernel is run by itself"),
    site("plan.make", PANIC, "a segment is planned"),
    site("host.in", EITHER, "host data are copied in"),
    site("host.out", EITHER, "elements are read out"),
    site("observer.call", PANIC, "an observer is told of a submission"),
    site("wake.call", PANIC, "somebody who awaits an array is woken"),
    site("gradient.call", EITHER, "a gradient function of the user's own is called"),
    site("fork.prepare", EITHER, "everything is brought to a stand for a fork"),
    site("device.thread", ERROR, "the thread of a device is started"),
    site("device.memory", NO_MEMORY, "memory of a device is taken"),
    site("device.launch", EITHER, "a kernel is told to a device"),
    site("device.copy", EITHER, "a copy is told to a device"),
    site("device.outcome", ERROR, "a device is asked what came of what it was told"),
    site("checkpoint.read", ERROR, "elements of a checkpoint are read"),
    site("checkpoint.write", ERROR, "a checkpoint is written"),
    site("file.read", ERROR, "Python reads an array from a file"),
    site("file.write", ERROR, "Python writes an array to a file"),
    site("function.forward", ERROR, "Python calls the forward pass of a function of the user's own"),
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

/// The `nth` hit of a site from now on, counted from 1, goes wrong.
pub fn arm(name: &str, nth: u64, how: How) -> Result<()> {
    let refuse = |text: String| Err(Error::new(ErrorKind::Value, text).in_op("fail"));
    let Some((site, state)) = find(name) else { return refuse(format!("no site `{name}`")) };
    if !site.hows.contains(&how) || nth == 0 {
        return refuse(format!("`{name}` knows {:?} from the first hit on, not {how:?} at {nth}", site.hows));
    }
    state.how.store(how as u8, Relaxed);
    state.fails_at.store(state.hits.load(SeqCst) + nth, SeqCst);
    Ok(())
}

/// No site is armed any more. Says which were.
pub fn disarm() -> Vec<&'static str> {
    let armed = SITES.iter().zip(&STATES).filter(|(_, state)| state.fails_at.swap(0, SeqCst) != 0);
    armed.map(|(site, _)| site.name).collect()
}

/// How often a site was reached.
pub fn hits(name: &str) -> u64 {
    find(name).map_or(0, |(_, state)| state.hits.load(SeqCst))
}

/// Where a site stands in the table; evaluated when the code is compiled, where a wrong name is an error.
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

/// Constant evaluation has no `==` of strings.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A site is reached that is known by its name alone, as Python's are.
pub fn hit(name: &str) -> Option<How> {
    hit_at(index(name))
}

/// A site is reached: says what goes wrong, if anything; a panic is made here. Called by [`fail_point!`](crate::fail_point).
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

/// The error of a site.
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
        // Nobody else reaches this site in the tests of this crate.
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
