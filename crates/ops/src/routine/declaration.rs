//! The declaration of routine families, and the enum of all routines generated from them.

use super::attributes::{Attribute, AttributeKind, Encoded, Value, decode_named, encode_named};
use super::backward::{ComplexGradient, Flows, GradientBuilder};
use crate::family::Routine;
use crate::gradient::Needs;
use crate::samples::Sample;
use forerun_base::{DType, Error, ErrorKind, Kind, Result, Shape};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Dtype and shape of an input or of the result.
pub type Given = (DType, Shape);

/// The properties of a family's routines that are not in their rows.
pub(crate) trait Family: Copy {
    /// The dtype and shape of the result, or an error. The number of inputs matches the row, and the integers encode its
    /// attributes.
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given>;

    /// A rough estimate of the run time in nanoseconds.
    fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize;

    /// The number of floating-point operations, for a profile: two for each multiply-add of a product. 0 if the routine
    /// is not made of products.
    fn flops(self, _given: &[Given], _attributes: &[i64]) -> usize {
        0
    }

    /// Calls for the tests of every frontend. Each routine has some, including one that fails if the routine can fail.
    fn samples() -> Vec<Sample>;

    /// The values that the gradient of input `i` reads; `None` if the input has no gradient.
    fn needs(self, i: usize) -> Option<Needs>;

    /// The gradient of each input, for a routine whose [`Self::needs`] returns something. It must not read values that `needs` does not
    /// name.
    fn gradient<B: GradientBuilder>(self, _: &B, _: &[i64]) -> Flows<B> {
        unreachable!("a routine without needs is never on the tape")
    }

    /// Whether the gradient rule reads the gradients of ranges of a packed result, and never that of the whole.
    fn reads_ranges(self) -> bool {
        false
    }

    /// How [`Self::gradient`] applies to complex numbers.
    fn complex_gradient(self) -> ComplexGradient {
        ComplexGradient::Same
    }

    /// The number of the record's immediates that it uses.
    fn scalars(self) -> usize {
        0
    }

    /// The number of blocks of random numbers that the result uses. If not 0, its immediates are the key and the first
    /// block.
    fn blocks(self, _: &Given) -> u64 {
        0
    }

    /// Whether it can write its result over its first input, changing only some elements. Such a routine must detect
    /// failures before it writes.
    fn in_place(self) -> bool {
        false
    }

    /// Whether it accepts complex numbers.
    fn takes_complex(self) -> bool {
        false
    }
}

/// Declares a family and its routines: name in every frontend, inputs (`[x, ...]` for one or more), attributes, whether
/// it can fail at run time, and a description. A routine with a generated Python function also declares the namespace, the
/// parameters and the dtypes that inputs are converted to; the comment before the routine is the docstring.
macro_rules! family {
    ($(#[$meta:meta])* $family:ident { $($(#[doc = $line:literal])* $routine:ident {
        name: $name:literal, inputs: $inputs:tt, attributes: $attributes:ty, fallible: $fallible:literal, doc: $doc:literal
        $(, python: $module:ident $(. $submodule:ident)?, parameters: $parameters:literal, inputs_as: $promotion:ident)? $(,)?
    })+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $family {
            $(#[doc = $doc] $routine,)+
        }

        impl $family {
            /// Every routine of the family.
            pub const ALL: &'static [$family] = &[$($family::$routine),+];

            /// The row in the catalogue.
            pub fn row(self) -> &'static $crate::OpRow {
                static ROWS: &[$crate::OpRow] = &[$($crate::OpRow {
                    name: $name,
                    inputs: $crate::routine::family!(@names $inputs),
                    variadic: $crate::routine::family!(@variadic $inputs),
                    attributes: <$attributes as $crate::Attributes>::LIST,
                    tier: $crate::Tier::Structured,
                    infallible: !$fallible,
                    doc: $doc,
                    python: $crate::python::function!(
                        [$($line)*] $($module $(. $submodule)?, $parameters, $promotion)?
                    ),
                },)+];
                &ROWS[self as usize]
            }

            /// Returns an error unless the integers encode the declared attributes.
            pub(crate) fn check(self, encoded: &[i64]) -> forerun_base::Result<()> {
                match self {
                    $($family::$routine => <$attributes as $crate::Attributes>::read(encoded).map(drop),)+
                }
            }
        }
    };
    (@names [$first:ident, ...]) => { &[stringify!($first)] };
    (@names [$($input:ident),*]) => { &[$(stringify!($input)),*] };
    (@variadic [$first:ident, ...]) => { true };
    (@variadic $inputs:tt) => { false };
}
pub(crate) use family;

/// Generates the enum of all routines from the list of families.
macro_rules! families {
    ($($family:ident)+) => {
        use $crate::gradient::Needs;
        use $crate::op::OpRow;
        use $crate::routine::{ComplexGradient, Family, Given, GradientBuilder};
        use forerun_base::Result;

        /// A routine of any family.
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

            /// The row in the catalogue.
            pub fn row(self) -> &'static OpRow {
                match self { $(Routine::$family(r) => r.row(),)+ }
            }

            pub(crate) fn infer_own(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
                match self { $(Routine::$family(r) => r.check(attributes).and_then(|()| r.infer(given, attributes)),)+ }
            }

            /// A rough estimate of the run time in nanoseconds.
            pub fn cost(self, given: &[Given], out: &Given, attributes: &[i64]) -> usize {
                match self { $(Routine::$family(r) => r.cost(given, out, attributes),)+ }
            }

            /// The number of floating-point operations; 0 if the routine is not made of products.
            pub fn flops(self, given: &[Given], attributes: &[i64]) -> usize {
                match self { $(Routine::$family(r) => r.flops(given, attributes),)+ }
            }

            /// The values that the gradient of input `i` reads; `None` if the input has no gradient.
            pub fn needs(self, i: usize) -> Option<Needs> {
                match self { $(Routine::$family(r) => r.needs(i),)+ }
            }

            /// The gradient of each input; `None` for those that the builder does not want.
            pub fn gradient<B: GradientBuilder>(self, builder: &B, attributes: &[i64]) -> Result<Vec<Option<B::Value>>> {
                match self { $(Routine::$family(r) => r.gradient(builder, attributes),)+ }
            }

            /// Whether the gradient rule reads the gradients of ranges of a packed result, and never that of the whole.
            pub fn reads_ranges(self) -> bool {
                match self { $(Routine::$family(r) => r.reads_ranges(),)+ }
            }

            /// How [`Self::gradient`] applies to complex numbers.
            pub fn complex_gradient(self) -> ComplexGradient {
                match self { $(Routine::$family(r) => r.complex_gradient(),)+ }
            }

            /// The number of the record's immediates that it uses.
            pub fn scalars(self) -> usize {
                match self { $(Routine::$family(r) => r.scalars(),)+ }
            }

            /// The number of blocks of random numbers that it uses. If not 0, its immediates are the key and the first
            /// block.
            pub fn blocks(self, out: &Given) -> u64 {
                match self { $(Routine::$family(r) => r.blocks(out),)+ }
            }

            /// Whether it can write its result over its first input, changing only some elements.
            pub fn in_place(self) -> bool {
                match self { $(Routine::$family(r) => r.in_place(),)+ }
            }

            pub(crate) fn takes_complex(self) -> bool {
                match self { $(Routine::$family(r) => r.takes_complex(),)+ }
            }

            /// A unique code below 0x300.
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

    /// The declared attributes.
    pub fn attributes(self) -> &'static [Attribute] {
        self.row().attributes
    }

    /// The routine with this name.
    pub fn from_name(name: &str) -> Option<Routine> {
        static NAMES: LazyLock<HashMap<&'static str, Routine>> =
            LazyLock::new(|| Routine::all().into_iter().map(|r| (r.name(), r)).collect());
        NAMES.get(name).copied()
    }

    /// The dtype and shape of the result, or an error.
    pub fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let arity = self.row().arity().unwrap_or(given.len());
        let complex = given.iter().find(|(dtype, _)| dtype.kind() == Kind::Complex);
        let inferred = match complex {
            _ if given.len() != arity => mistyped(format!("takes {arity} arrays, not {}", given.len())),
            Some((dtype, _)) if !self.takes_complex() => mistyped(format!("not defined for {dtype}")),
            _ => self.infer_own(given, attributes),
        };
        inferred.map_err(|e| e.in_op(self.name()))
    }

    /// Encodes attributes that are passed by name. Flags and optional attributes may be omitted.
    pub fn encode(self, named: &[(&str, Value)]) -> Result<Encoded> {
        encode_named(self.attributes(), named).map_err(|e| e.in_op(self.name()))
    }

    /// Decodes attributes into named values, as [`Self::encode`] takes them; `None` if the integers do not encode them.
    pub fn decode(self, encoded: &[i64]) -> Option<Vec<(&'static str, Value)>> {
        decode_named(self.attributes(), encoded)
    }

    /// The axis that the routine works along, if any.
    pub fn axis(self, attributes: &[i64]) -> Option<isize> {
        let has_axis = self.attributes().first().is_some_and(|first| first.kind == AttributeKind::Axis);
        attributes.first().filter(|_| has_axis).map(|axis| *axis as isize)
    }
}

/// A value error.
pub(crate) fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::new(ErrorKind::Value, text.into()))
}

/// A dtype error.
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
