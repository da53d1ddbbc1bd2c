//! Locs: the user's source line that submitted an op, as a 4-byte number.
//!
//! Rust callers are interned by the address of their `Location`, other frontends by file, line and function, so that code
//! that is compiled again and again for one line has one loc. A loc is written as text only when somebody reads an error or
//! a report. Locs live as long as the process, a few dozen bytes a line; texts that lines share are kept once.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock};

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
    Foreign {
        file: u32,
        line: u32,
        function: u32,
    },
}

#[derive(Default)]
struct Table {
    ids: HashMap<Site, u32>,
    sites: Vec<Site>,
    /// Names of files and functions, by their numbers in `sites`.
    texts: Vec<Arc<str>>,
    text_ids: HashMap<Arc<str>, u32>,
}

impl Table {
    fn intern(&mut self, site: Site) -> Loc {
        if let Some(&id) = self.ids.get(&site) {
            return Loc(id);
        }
        self.sites.push(site);
        let id = self.sites.len() as u32;
        self.ids.insert(site, id);
        Loc(id)
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.text_ids.get(text) {
            return id;
        }
        let (id, text): (u32, Arc<str>) = (self.texts.len() as u32, text.into());
        self.texts.push(text.clone());
        self.text_ids.insert(text, id);
        id
    }
}

static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();

fn table() -> std::sync::MutexGuard<'static, Table> {
    TABLE.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

/// The lock of the table of locs, held for a fork: the child must find it free.
pub fn hold_locs() -> Box<dyn std::any::Any> {
    Box::new(table())
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
            let loc = table().intern(Site::Rust(address));
            place.set((address, loc));
            loc
        })
    }

    /// A line of another frontend.
    pub fn foreign(file: &str, line: u32, function: &str) -> Loc {
        let mut table = table();
        let (file, function) = (table.text(file), table.text(function));
        table.intern(Site::Foreign { file, line, function })
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
        let table = table();
        match *table.sites.get((self.0 as usize).checked_sub(1)?)? {
            Site::Rust(address) => {
                // SAFETY: the address of a `&'static Location`, taken in `caller`.
                let l = unsafe { &*(address as *const Location<'static>) };
                Some(SourceLine { file: l.file().to_owned(), line: l.line(), function: String::new() })
            }
            Site::Foreign { file, line, function } => {
                let text = |id: u32| table.texts[id as usize].to_string();
                Some(SourceLine { file: text(file), line, function: text(function) })
            }
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
    fn foreign_lines_are_interned_once() {
        let loc = Loc::foreign("a.py", 3, "f");
        assert_eq!(Loc::foreign("a.py", 3, "f"), loc);
        assert_ne!(Loc::foreign("a.py", 4, "f"), loc);
        assert_ne!(Loc::foreign("a.py", 3, "g"), loc);
        assert_eq!(loc.text().to_string(), "a.py:3");
    }
}
