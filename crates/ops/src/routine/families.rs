//! All families together, and what a family is.

use super::{Along, Choose, Convolve, Count, Draw, Fft, Linalg, Normalise, Order, Place, Scan, Search, Unique};
use crate::gradient::Needs;
use crate::op::{OpRow, Tier};
use forerun_base::{DType, Error, ErrorKind, Kind, Result, Shape};
use std::collections::HashMap;
use std::sync::LazyLock;

/// An input of a routine, as inference sees it.
pub type Given = (DType, Shape);

/// What a family has to say about its routines.
pub(super) trait Family: Sized {
    /// The dtype and shape of the result, or why there is none. As many inputs as the row says.
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given>;

    /// A rough count of the work, about a nanosecond each.
    fn cost(self, given: &[Given], out: &Given, words: &[i64]) -> usize;

    /// Which values the gradient for input `i` wants to see again; `None` if nothing flows back to it.
    fn needs(self, i: usize) -> Option<Needs>;

    /// How many of the record's immediates it takes.
    fn scalars(self) -> usize;

    /// How many blocks of random numbers a result of so many elements takes; its immediates are then the key and the first block.
    fn blocks(self, out: &Given) -> u64;

    /// Whether its result may take the place of its first input, of which it then touches only what changes. It says whether it
    /// fails before it does so.
    fn in_place(self) -> bool {
        false
    }

    /// Whether it has something to say about complex numbers.
    fn takes_complex(self) -> bool {
        false
    }
}

/// Declares a family: `Variant, "name", "arguments", arity, fallible, "doc"`.
macro_rules! family {
    ($(#[$meta:meta])* $family:ident { $($routine:ident, $name:literal, $arguments:literal, $arity:expr, $fallible:literal, $doc:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $family {
            $(#[doc = $doc] $routine,)+
        }

        impl $family {
            /// All of them.
            pub const ALL: &'static [$family] = &[$($family::$routine),+];

            /// Its row of the catalogue.
            pub fn row(self) -> &'static $crate::OpRow {
                static ROWS: &[$crate::OpRow] = &[
                    $($crate::routine::families::row($name, $arguments, $arity, $fallible, $doc),)+
                ];
                &ROWS[self as usize]
            }
        }
    };
}
pub(super) use family;

pub(super) const fn row(
    name: &'static str,
    arguments: &'static str,
    arity: Option<u8>,
    fallible: bool,
    doc: &'static str,
) -> OpRow {
    OpRow { name, arguments, tier: Tier::Structured, arity, infallible: !fallible, doc }
}

macro_rules! families {
    ($($family:ident),+) => {
        /// A routine, by family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Routine {
            $(#[doc = "One of its family."] $family($family),)+
        }

        impl Routine {
            /// Every routine, family by family.
            pub fn all() -> Vec<Routine> {
                let mut all = Vec::new();
                $(all.extend($family::ALL.iter().map(|r| Routine::$family(*r)));)+
                all
            }

            /// Its row of the catalogue.
            pub fn row(self) -> &'static OpRow {
                match self { $(Routine::$family(r) => r.row(),)+ }
            }

            /// The dtype and shape of the result, or why there is none.
            pub fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
                let arity = self.row().arity.map_or(given.len(), usize::from);
                if given.len() != arity {
                    let text = format!("takes {arity} arrays, not {}", given.len());
                    return Err(Error::new(ErrorKind::Type, text).in_op(self.name()));
                }
                let complex = given.iter().find(|(dtype, _)| dtype.kind() == Kind::Complex);
                if let (Some((dtype, _)), false) = (complex, self.takes_complex()) {
                    let text = format!("not defined for {dtype}");
                    return Err(Error::new(ErrorKind::Type, text).in_op(self.name()));
                }
                match self { $(Routine::$family(r) => r.infer(given, words),)+ }.map_err(|e| e.in_op(self.name()))
            }

            /// A rough count of the work, about a nanosecond each.
            pub fn cost(self, given: &[Given], out: &Given, words: &[i64]) -> usize {
                match self { $(Routine::$family(r) => r.cost(given, out, words),)+ }
            }

            /// Which values the gradient for input `i` wants to see again; `None` if nothing flows back to it.
            pub fn needs(self, i: usize) -> Option<Needs> {
                match self { $(Routine::$family(r) => r.needs(i),)+ }
            }

            /// How many of the record's immediates it takes.
            pub fn scalars(self) -> usize {
                match self { $(Routine::$family(r) => r.scalars(),)+ }
            }

            /// How many blocks of random numbers it takes; its immediates are then the key and the first block.
            pub fn blocks(self, out: &Given) -> u64 {
                match self { $(Routine::$family(r) => r.blocks(out),)+ }
            }

            /// Whether its result may take the place of its first input, of which it then touches only what changes.
            pub fn in_place(self) -> bool {
                match self { $(Routine::$family(r) => r.in_place(),)+ }
            }

            fn takes_complex(self) -> bool {
                match self { $(Routine::$family(r) => r.takes_complex(),)+ }
            }

            /// A code of its own, below 0x300.
            pub(crate) fn code(self) -> u16 {
                let mut first = 0;
                $(
                    if let Routine::$family(routine) = self {
                        return first + routine as u16;
                    }
                    first += $family::ALL.len() as u16;
                )+
                unreachable!("{} families end at {first}", self.name())
            }
        }
    };
}

families!(Along, Choose, Convolve, Count, Draw, Fft, Linalg, Normalise, Order, Place, Scan, Search, Unique);

impl Routine {
    /// Its name in every frontend.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The routine with this name.
    pub fn from_name(name: &str) -> Option<Routine> {
        static NAMES: LazyLock<HashMap<&'static str, Routine>> =
            LazyLock::new(|| Routine::all().into_iter().map(|r| (r.name(), r)).collect());
        NAMES.get(name).copied()
    }
}

/// The n-th word, an axis of this shape.
pub(super) fn axis(shape: &Shape, words: &[i64], n: usize) -> Result<usize> {
    let axis = words.get(n).copied().unwrap_or(-1);
    shape.axis(axis as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_their_own() {
        let all = Routine::all();
        let mut names: Vec<&str> = all.iter().map(|r| r.name()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for routine in all {
            assert_eq!(Routine::from_name(routine.name()), Some(routine));
            assert!(routine.code() < 0x300);
        }
        assert_eq!(Routine::from_name("no such routine"), None);
    }

    #[test]
    fn the_number_of_arrays_is_checked() {
        let error = Routine::Scan(Scan::CumSum).infer(&[], &[0]).unwrap_err();
        assert_eq!(error.to_string(), "cumsum: takes 1 arrays, not 0");
    }
}
