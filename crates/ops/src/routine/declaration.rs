//! How a family is declared, and the enum of all routines that follows from the declarations.

use super::attributes::{AttributeKind, Encoded, Value, encode_named};
use super::backward::{ComplexGradient, Flows, GradientBuilder};
use crate::family::Routine;
use crate::gradient::Needs;
use crate::samples::Sample;
use forerun_base::{DType, Error, ErrorKind, Kind, Result, Shape};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Dtype and shape of an input or of the result.
pub type Given = (DType, Shape);

/// What a family declares about its routines beside their rows.
pub(crate) trait Family: Copy {
    /// The dtype and shape of the result, or why there is none. There are as many inputs as the row says.
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given>;

    /// A rough count of the work, about a nanosecond each.
    fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize;

    /// Calls that the tests of every frontend make. Each routine has some, and one that fails if it can.
    fn samples() -> Vec<Sample>;

    /// Which values the gradient for input `i` reads again; `None` if nothing flows back to it.
    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    /// What flows back to each input, for a routine with [`Self::needs`]; it reads no value that these leave out.
    fn gradient<B: GradientBuilder>(self, _: &B, _: &[i64]) -> Flows<B> {
        unreachable!("a routine without needs is never on the tape")
    }

    /// Whether the gradient asks for what flows to ranges of a packed result, and never for all of it.
    fn reads_ranges(self) -> bool {
        false
    }

    /// What [`Self::gradient`] means for complex numbers.
    fn complex_gradient(self) -> ComplexGradient {
        ComplexGradient::Same
    }

    /// How many of the record's immediates it takes.
    fn scalars(self) -> usize {
        0
    }

    /// How many blocks of random numbers the result takes; its immediates are then the key and the first block.
    fn blocks(self, _: &Given) -> u64 {
        0
    }

    /// Whether its result may take the place of its first input, of which it then writes only what changes. It says whether it
    /// fails before it does so.
    fn in_place(self) -> bool {
        false
    }

    /// Whether it is defined for complex numbers.
    fn takes_complex(self) -> bool {
        false
    }
}

/// Declares a family and its routines: name in every frontend, inputs (`[x, ...]` for one or more), attributes, whether it can fail
/// when it runs, and what it computes.
macro_rules! family {
    ($(#[$meta:meta])* $family:ident { $($routine:ident {
        name: $name:literal, inputs: $inputs:tt, attributes: $attributes:ty, fallible: $fallible:literal, doc: $doc:literal $(,)?
    })+ }) => {
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
                static ROWS: &[$crate::OpRow] = &[$($crate::OpRow {
                    name: $name,
                    arguments: $crate::routine::family!(@names $inputs),
                    tier: $crate::Tier::Structured,
                    arity: $crate::routine::family!(@arity $inputs),
                    infallible: !$fallible,
                    doc: $doc,
                },)+];
                &ROWS[self as usize]
            }

            /// Its attributes.
            pub fn attributes(self) -> &'static [$crate::Attribute] {
                match self {
                    $($family::$routine => <$attributes as $crate::Attributes>::LIST,)+
                }
            }
        }
    };
    (@names [$first:ident, ...]) => { stringify!($first) };
    (@names [$($first:ident $(, $other:ident)*)?]) => { concat!($(stringify!($first) $(, ", ", stringify!($other))*)?) };
    (@arity [$first:ident, ...]) => { None };
    (@arity [$($input:ident),*]) => { Some(<[&str]>::len(&[$(stringify!($input)),*]) as u8) };
}
pub(crate) use family;

/// The enum of all routines, from the families that a folder holds.
macro_rules! families {
    ($($family:ident)+) => {
        use $crate::gradient::Needs;
        use $crate::op::OpRow;
        use $crate::routine::{Attribute, ComplexGradient, Family, Given, GradientBuilder};
        use forerun_base::Result;

        /// A routine, by family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Routine {
            $(#[doc = concat!("A routine of the family [`", stringify!($family), "`].")] $family($family),)+
        }

        $(impl From<$family> for Routine {
            fn from(routine: $family) -> Routine {
                Routine::$family(routine)
            }
        })+

        impl Routine {
            /// Every routine, family by family.
            pub fn all() -> Vec<Routine> {
                let mut all = Vec::new();
                $(all.extend($family::ALL.iter().map(|r| Routine::$family(*r)));)+
                all
            }

            /// The samples of every routine.
            pub(crate) fn samples() -> Vec<$crate::samples::Sample> {
                let mut all = Vec::new();
                $(all.extend(<$family as Family>::samples());)+
                all
            }

            /// Its row of the catalogue.
            pub fn row(self) -> &'static OpRow {
                match self { $(Routine::$family(r) => r.row(),)+ }
            }

            /// Its attributes.
            pub fn attributes(self) -> &'static [Attribute] {
                match self { $(Routine::$family(r) => r.attributes(),)+ }
            }

            pub(crate) fn infer_own(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
                match self { $(Routine::$family(r) => r.infer(given, attributes),)+ }
            }

            /// A rough count of the work, about a nanosecond each.
            pub fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize {
                match self { $(Routine::$family(r) => r.cost(given, out, attributes),)+ }
            }

            /// Which values the gradient for input `i` reads again; `None` if nothing flows back to it.
            pub fn needs(self, i: usize) -> Option<Needs> {
                match self { $(Routine::$family(r) => r.needs(i),)+ }
            }

            /// What flows back to each input; `None` for those that the builder does not want.
            pub fn gradient<B: GradientBuilder>(self, builder: &B, attributes: &[i64]) -> Result<Vec<Option<B::Value>>> {
                match self { $(Routine::$family(r) => r.gradient(builder, attributes),)+ }
            }

            /// Whether the gradient asks for what flows to ranges of a packed result, and never for all of it.
            pub fn reads_ranges(self) -> bool {
                match self { $(Routine::$family(r) => r.reads_ranges(),)+ }
            }

            /// What [`Self::gradient`] means for complex numbers.
            pub fn complex_gradient(self) -> ComplexGradient {
                match self { $(Routine::$family(r) => r.complex_gradient(),)+ }
            }

            /// How many of the record's immediates it takes.
            pub fn scalars(self) -> usize {
                match self { $(Routine::$family(r) => r.scalars(),)+ }
            }

            /// How many blocks of random numbers it takes; its immediates are then the key and the first block.
            pub fn blocks(self, out: &Given) -> u64 {
                match self { $(Routine::$family(r) => r.blocks(out),)+ }
            }

            /// Whether its result may take the place of its first input, of which it then writes only what changes.
            pub fn in_place(self) -> bool {
                match self { $(Routine::$family(r) => r.in_place(),)+ }
            }

            pub(crate) fn takes_complex(self) -> bool {
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
pub(crate) use families;

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

    /// The dtype and shape of the result, or why there is none.
    pub fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let arity = self.row().arity.map_or(given.len(), usize::from);
        let complex = given.iter().find(|(dtype, _)| dtype.kind() == Kind::Complex);
        let inferred = match complex {
            _ if given.len() != arity => mistyped(format!("takes {arity} arrays, not {}", given.len())),
            Some((dtype, _)) if !self.takes_complex() => mistyped(format!("not defined for {dtype}")),
            _ => self.infer_own(given, attributes),
        };
        inferred.map_err(|e| e.in_op(self.name()))
    }

    /// Encodes attributes that were passed by name. Flags and optional ones may be left out.
    pub fn encode(self, named: &[(&str, Value)]) -> Result<Encoded> {
        encode_named(self.attributes(), named).map_err(|e| e.in_op(self.name()))
    }

    /// The axis that it works along, if it has one.
    pub fn axis(self, attributes: &[i64]) -> Option<isize> {
        let has_axis = self.attributes().first().is_some_and(|first| first.kind == AttributeKind::Axis);
        attributes.first().filter(|_| has_axis).map(|axis| *axis as isize)
    }
}

/// An error about values.
pub(crate) fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::new(ErrorKind::Value, text.into()))
}

/// An error about dtypes.
pub(crate) fn mistyped<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::new(ErrorKind::Type, text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scan;

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
            let axes = routine.attributes().iter().skip(1).filter(|other| other.kind == AttributeKind::Axis);
            assert_eq!(axes.count(), 0, "{}: an axis is the first attribute", routine.name());
        }
        assert_eq!(Routine::from_name("no such routine"), None);
    }

    #[test]
    fn arrays_and_attributes_are_checked() {
        let error = Routine::Scan(Scan::CumSum).infer(&[], &[0]).unwrap_err();
        assert_eq!(error.to_string(), "cumsum: takes 1 arrays, not 0");
        let given = [(DType::F32, Shape::of(&[3]))];
        let error = Routine::Scan(Scan::CumSum).infer(&given, &[0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "cumsum: [0, 1] does not encode the attributes (axis)");
    }
}
