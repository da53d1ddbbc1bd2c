//! Locs: the user's source line that submitted an op, as a 4-byte number.
//!
//! Interning is cheap and resolving is not, so a loc is resolved to text only when somebody reads an
//! error or a report. Rust callers are interned by their `Location`; other frontends intern two words
//! of their own (for Python a code object and an instruction offset) and install a resolver for them.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, OnceLock};

/// Locs a thread remembers without asking the table.
const RECENT_LOCS: usize = 64;

/// A source line, interned. The default is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loc(u32);

/// What a loc resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as the frontend names it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The function around it, where known.
    pub function: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Site {
    /// The address of a `&'static Location`: cheaper to look up than its text.
    Rust(usize),
    Foreign(usize, u32),
}

#[derive(Default)]
struct Table {
    ids: HashMap<Site, u32>,
    sites: Vec<Site>,
}

static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
static FOREIGN: OnceLock<fn(usize, u32) -> Option<SourceLine>> = OnceLock::new();

fn table() -> std::sync::MutexGuard<'static, Table> {
    TABLE.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

/// The lock of the table of locs, held for a fork: the child must find it free.
pub fn hold_locs() -> Box<dyn std::any::Any> {
    Box::new(table())
}

fn intern(site: Site) -> (Loc, bool) {
    let mut table = table();
    if let Some(&id) = table.ids.get(&site) {
        return (Loc(id), false);
    }
    table.sites.push(site);
    let id = table.sites.len() as u32;
    table.ids.insert(site, id);
    (Loc(id), true)
}

/// Installs the function that turns a foreign site into a line. The first call wins.
pub fn set_foreign_resolver(resolve: fn(usize, u32) -> Option<SourceLine>) {
    let _ = FOREIGN.set(resolve);
}

impl Loc {
    /// No line known.
    pub const UNKNOWN: Loc = Loc(0);

    /// The line of the caller's caller, for functions marked `#[track_caller]`.
    #[track_caller]
    #[inline]
    pub fn caller() -> Loc {
        thread_local! {
            static RECENT: [Cell<(usize, Loc)>; RECENT_LOCS] =
                const { [const { Cell::new((0, Loc::UNKNOWN)) }; RECENT_LOCS] };
        }
        let address = Location::caller() as *const Location<'static> as usize;
        RECENT.with(|recent| {
            let place = &recent[address / align_of::<Location<'_>>() % RECENT_LOCS];
            let (seen, loc) = place.get();
            if seen == address {
                return loc;
            }
            let loc = intern(Site::Rust(address)).0;
            place.set((address, loc));
            loc
        })
    }

    /// A site of another frontend; the flag says whether it was new (so that the frontend can keep
    /// alive what the words point at).
    pub fn foreign(word: usize, offset: u32) -> (Loc, bool) {
        intern(Site::Foreign(word, offset))
    }

    /// The number, for storing in records.
    pub const fn id(self) -> u32 {
        self.0
    }

    /// The loc with this number.
    pub const fn from_id(id: u32) -> Loc {
        Loc(id)
    }

    /// File and line, if known.
    pub fn resolve(self) -> Option<SourceLine> {
        let site = *table().sites.get((self.0 as usize).checked_sub(1)?)?;
        match site {
            Site::Rust(address) => {
                // SAFETY: the address of a `&'static Location`, taken in `caller`.
                let l = unsafe { &*(address as *const Location<'static>) };
                Some(SourceLine { file: l.file().to_owned(), line: l.line(), function: String::new() })
            }
            Site::Foreign(word, offset) => FOREIGN.get().and_then(|f| f(word, offset)),
        }
    }

    /// The loc for use in messages.
    pub fn text(self) -> LocText {
        LocText(self)
    }
}

/// Writes a loc as `file:line`, or `unknown line`.
pub struct LocText(Loc);

impl fmt::Display for LocText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.resolve() {
            Some(l) => write!(f, "{}:{}", l.file, l.line),
            None => f.write_str("unknown line"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn submit() -> Loc {
        Loc::caller()
    }

    #[test]
    fn names_the_line_of_the_call() {
        let (a, b) = (submit(), submit());
        assert_eq!(a.resolve().unwrap().line, line!() - 1);
        assert_eq!(a.resolve().unwrap().line, b.resolve().unwrap().line);
        assert!(a.text().to_string().contains("loc.rs:"));
        assert_eq!(Loc::UNKNOWN.text().to_string(), "unknown line");
    }

    #[test]
    fn foreign_sites_are_interned_once() {
        let (a, new) = Loc::foreign(77, 3);
        assert!(new);
        assert_eq!(Loc::foreign(77, 3), (a, false));
        assert_ne!(Loc::foreign(77, 4).0, a);
    }
}
