//! Locs: the user's source line that submitted an op, as a 4-byte id.
//!
//! Rust callers are interned by the address of their `Location`, other frontends by file, line and function, so that
//! code that is compiled repeatedly for one line has one loc. A loc becomes text only when an error or a report is
//! printed. Locs live as long as the process, because anything may refer to them. A line takes a few words and its new
//! texts, about 50 bytes if each line has a file of its own, plus the spare capacity of vectors.

use crate::WordHash;
use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::panic::Location;
use std::sync::{Mutex, OnceLock};

/// Number of locs that a thread caches.
const RECENT_LOCS: usize = 64;

/// How the name of a notebook's cell begins, as IPython writes it: `Cell In[3]`. Frontends name a cell's file so.
const CELL: &str = "Cell In[";

/// An interned source line. The default is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loc(u32);

/// A resolved loc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as the frontend names it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The enclosing function, if known.
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

/// A hash index of numbers whose keys are stored elsewhere. Nothing is removed.
#[derive(Default)]
struct Index {
    /// A power-of-two table, each entry a number or [`Index::FREE`].
    places: Vec<u32>,
    count: usize,
}

impl Index {
    const FREE: u32 = u32::MAX;

    /// The number under this hash for which `is_it` is true; otherwise adds `next`. `hash_of` gives the hash of a
    /// number.
    fn find_or_add(
        &mut self,
        hash: u64,
        next: usize,
        is_it: impl Fn(usize) -> bool,
        hash_of: impl Fn(usize) -> u64,
    ) -> usize {
        if self.count >= self.places.len() / 4 * 3 {
            let grown = vec![Index::FREE; (self.places.len() * 2).max(64)];
            let former = std::mem::replace(&mut self.places, grown);
            for number in former.into_iter().filter(|number| *number != Index::FREE) {
                let free = self.chain(hash_of(number as usize)).find(|place| self.places[*place] == Index::FREE);
                self.places[free.expect("a quarter is free")] = number;
            }
        }
        let found = self.chain(hash).find(|place| match self.places[*place] {
            Index::FREE => true,
            number => is_it(number as usize),
        });
        let place = found.expect("a quarter is free");
        if self.places[place] == Index::FREE {
            self.places[place] = next as u32;
            self.count += 1;
        }
        self.places[place] as usize
    }

    /// The probe sequence of a hash.
    fn chain(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let count = self.places.len();
        (0..count).map(move |step| (hash as usize).wrapping_add(step) % count)
    }
}

fn hash_of(key: impl Hash) -> u64 {
    WordHash::default().hash_one(key)
}

/// Texts by number, stored in one string.
#[derive(Default)]
struct Texts {
    all: String,
    /// Where each text begins.
    starts: Vec<usize>,
    index: Index,
}

impl Texts {
    fn get(&self, number: usize) -> &str {
        &self.all[self.starts[number]..self.starts.get(number + 1).copied().unwrap_or(self.all.len())]
    }

    fn intern(&mut self, text: &str) -> u32 {
        let (mut index, next) = (std::mem::take(&mut self.index), self.starts.len());
        let found = index.find_or_add(hash_of(text), next, |n| self.get(n) == text, |n| hash_of(self.get(n)));
        self.index = index;
        if found == next {
            self.starts.push(self.all.len());
            self.all.push_str(text);
        }
        found as u32
    }
}

#[derive(Default)]
struct Table {
    /// By loc id, minus one.
    sites: Vec<Site>,
    index: Index,
    /// Names of files and functions, by their numbers in `sites`.
    texts: Texts,
}

impl Table {
    fn intern(&mut self, site: Site) -> Loc {
        let (sites, next) = (&self.sites, self.sites.len());
        let found = self.index.find_or_add(hash_of(site), next, |n| sites[n] == site, |n| hash_of(sites[n]));
        if found == next {
            self.sites.push(site);
        }
        Loc(found as u32 + 1)
    }
}

static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();

fn table() -> std::sync::MutexGuard<'static, Table> {
    TABLE.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

/// Takes the lock of the loc table before a fork, so that the child finds it free.
pub fn hold_locs() -> Box<dyn std::any::Any> {
    Box::new(table())
}

impl Loc {
    /// An unknown line.
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
        let (file, function) = (table.texts.intern(file), table.texts.intern(function));
        table.intern(Site::Foreign { file, line, function })
    }

    /// The id, for storage in records.
    pub const fn id(self) -> u32 {
        self.0
    }

    /// The loc with this id.
    pub const fn from_id(id: u32) -> Loc {
        Loc(id)
    }

    /// File, line and function, if known.
    pub fn resolve(self) -> Option<SourceLine> {
        let table = table();
        match *table.sites.get((self.0 as usize).checked_sub(1)?)? {
            Site::Rust(address) => {
                // SAFETY: the address is that of a `&'static Location`, taken in `caller`.
                let l = unsafe { &*(address as *const Location<'static>) };
                Some(SourceLine { file: l.file().to_owned(), line: l.line(), function: String::new() })
            }
            Site::Foreign { file, line, function } => {
                let text = |id: u32| table.texts.get(id as usize).to_owned();
                Some(SourceLine { file: text(file), line, function: text(function) })
            }
        }
    }

    /// The loc for use in messages.
    pub fn text(self) -> LocText {
        LocText(self)
    }
}

/// Writes a loc as `file:line`, as `Cell In[3], line 2`, or as `unknown line`.
pub struct LocText(Loc);

impl fmt::Display for LocText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.resolve() {
            Some(l) if l.file.starts_with(CELL) => write!(f, "{}, line {}", l.file, l.line),
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

    #[test]
    fn lines_of_cells_read_as_in_ipython() {
        assert_eq!(Loc::foreign("Cell In[3]", 2, "<module>").text().to_string(), "Cell In[3], line 2");
    }

    #[test]
    fn many_lines_have_distinct_locs() {
        let line =
            |i: u32| (format!("<cell {}>", i / 3), i % 3 + 1, if i.is_multiple_of(2) { "<module>" } else { "g" });
        let locs: Vec<Loc> =
            (0..5000).map(line).map(|(file, line, function)| Loc::foreign(&file, line, function)).collect();
        for (i, loc) in (0..).zip(&locs) {
            let (file, line, function) = line(i);
            assert_eq!(Loc::foreign(&file, line, function), *loc);
            let found = loc.resolve().unwrap();
            assert_eq!((found.file, found.line, &*found.function), (file, line, function));
        }
        let distinct: std::collections::HashSet<u32> = locs.iter().map(|loc| loc.id()).collect();
        assert_eq!(distinct.len(), locs.len());
    }
}
