//! Attributes of routines: named, typed parameters besides the inputs.
//!
//! A struct with a field per attribute is the typed form. [`Encoded`], a list of integers, is the form that signatures
//! and kernels store and compare. Only this module converts between them.

use forerun_base::{Error, ErrorKind, Result};
use smallvec::SmallVec;
use std::slice::Iter;

/// Attributes as integers: one per attribute, two for an optional one; a list is its length followed by its items.
pub type Encoded = SmallVec<[i64; 8]>;

/// A list attribute. Short lists do not allocate.
pub type List<T> = SmallVec<[T; 4]>;

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeKind {
    /// An axis of the first input; negative values count from the end. It is always the first attribute of its op.
    Axis,
    /// An integer.
    Integer,
    /// A truth value; false by default.
    Flag,
    /// A float.
    Float,
    /// An optional float.
    OptionalFloat,
    /// Integers.
    Integers,
    /// Floats.
    Floats,
    /// What no routine takes, by the name of its type.
    Other(&'static str),
}

impl AttributeKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            AttributeKind::Axis => "axis",
            AttributeKind::Integer => "integer",
            AttributeKind::Flag => "flag",
            AttributeKind::Float => "float",
            AttributeKind::OptionalFloat => "optional float",
            AttributeKind::Integers => "integers",
            AttributeKind::Floats => "floats",
            AttributeKind::Other(name) => name,
        }
    }
}

/// A declared attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name in every frontend.
    pub name: &'static str,
    /// Its type.
    pub kind: AttributeKind,
}

/// The attributes of a routine, as a struct with one field each.
pub trait Attributes: Sized {
    /// Names and types, in field order.
    const LIST: &'static [Attribute];

    /// Encodes as integers.
    fn encode(&self) -> Encoded;

    /// Decodes integers; `None` if they are not the output of [`Self::encode`].
    fn decode(encoded: &[i64]) -> Option<Self>;

    /// Decodes integers, or fails with an error that names the attributes.
    fn read(encoded: &[i64]) -> Result<Self> {
        Self::decode(encoded).ok_or_else(|| {
            let names: Vec<&str> = Self::LIST.iter().map(|attribute| attribute.name).collect();
            Error::new(ErrorKind::Type, format!("{encoded:?} does not encode the attributes ({})", names.join(", ")))
        })
    }
}

impl Attributes for () {
    const LIST: &'static [Attribute] = &[];

    fn encode(&self) -> Encoded {
        Encoded::new()
    }

    fn decode(encoded: &[i64]) -> Option<()> {
        encoded.is_empty().then_some(())
    }
}

/// A field type of attribute structs.
pub(crate) trait AttributeType: Sized {
    /// The type that frontends pass.
    const KIND: AttributeKind;

    /// Appends the encoding.
    fn encode(&self, to: &mut Encoded);

    /// Decodes from the front of the iterator.
    fn decode(from: &mut Iter<'_, i64>) -> Option<Self>;
}

macro_rules! scalar_attributes {
    ($($type:ty, $kind:ident, $encode:expr, $decode:expr;)*) => {$(
        impl AttributeType for $type {
            const KIND: AttributeKind = AttributeKind::$kind;
            fn encode(&self, to: &mut Encoded) {
                to.push($encode(*self));
            }
            fn decode(from: &mut Iter<'_, i64>) -> Option<$type> {
                from.next().map(|word| $decode(*word))
            }
        }

        impl AttributeType for List<$type> {
            const KIND: AttributeKind = match AttributeKind::$kind {
                AttributeKind::Float => AttributeKind::Floats,
                _ => AttributeKind::Integers,
            };
            fn encode(&self, to: &mut Encoded) {
                to.push(self.len() as i64);
                self.iter().for_each(|item| item.encode(to));
            }
            fn decode(from: &mut Iter<'_, i64>) -> Option<List<$type>> {
                let count = usize::try_from(*from.next()?).ok().filter(|count| *count <= from.len())?;
                (0..count).map(|_| <$type>::decode(from)).collect()
            }
        }
    )*};
}

scalar_attributes! {
    isize, Axis, |axis| axis as i64, |word| word as isize;
    i64, Integer, |number| number, |word| word;
    bool, Flag, i64::from, |word| word != 0;
    f64, Float, |number: f64| number.to_bits() as i64, |word| f64::from_bits(word as u64);
}

impl AttributeType for Option<f64> {
    const KIND: AttributeKind = AttributeKind::OptionalFloat;

    fn encode(&self, to: &mut Encoded) {
        to.push(self.is_some() as i64);
        self.unwrap_or(0.0).encode(to);
    }

    fn decode(from: &mut Iter<'_, i64>) -> Option<Option<f64>> {
        let (is_there, number) = (bool::decode(from)?, f64::decode(from)?);
        Some(is_there.then_some(number))
    }
}

/// Declares attributes: a documented struct with documented fields.
macro_rules! attributes {
    ($($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)+
        }

        impl $crate::routine::Attributes for $name {
            const LIST: &'static [$crate::routine::Attribute] = &[$($crate::routine::Attribute {
                name: stringify!($field),
                kind: <$type as $crate::routine::AttributeType>::KIND,
            }),+];

            fn encode(&self) -> $crate::routine::Encoded {
                let mut encoded = $crate::routine::Encoded::new();
                $($crate::routine::AttributeType::encode(&self.$field, &mut encoded);)+
                encoded
            }

            fn decode(encoded: &[i64]) -> Option<$name> {
                let mut from = encoded.iter();
                let decoded = $name { $($field: $crate::routine::AttributeType::decode(&mut from)?),+ };
                from.next().is_none().then_some(decoded)
            }
        }
    )+};
}
pub(crate) use attributes;

attributes! {
    /// The attribute of ops that work along one axis.
    AlongAxis {
        /// The axis.
        axis: isize,
    }
}

/// An argument that is not an array, as frontends pass it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Integers.
    Ints(Vec<i64>),
    /// A float.
    Float(f64),
    /// Floats.
    Floats(Vec<f64>),
    /// A name.
    Text(&'static str),
}

macro_rules! values {
    ($($from:ty, $variant:ident;)*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Value { Value::$variant(value) }
        })*
    };
}

values! { bool, Bool; i64, Int; f64, Float; Vec<i64>, Ints; Vec<f64>, Floats; &'static str, Text; }

impl<const N: usize> From<[i64; N]> for Value {
    fn from(value: [i64; N]) -> Value {
        Value::Ints(value.to_vec())
    }
}

/// Encodes attributes that are passed by name. Flags and optional attributes may be omitted.
pub(crate) fn encode_named(declared: &[Attribute], named: &[(&str, Value)]) -> Result<Encoded> {
    let refused = |text: String| Err(Error::new(ErrorKind::Type, text));
    if let Some((name, _)) = named.iter().find(|(name, _)| declared.iter().all(|attribute| attribute.name != *name)) {
        return refused(format!("unexpected attribute {name}"));
    }
    let mut encoded = Encoded::new();
    for Attribute { name, kind } in declared {
        let value = named.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        match (kind, value) {
            (AttributeKind::Axis | AttributeKind::Integer, Some(Value::Int(number))) => encoded.push(*number),
            (AttributeKind::Flag, Some(Value::Bool(flag))) => flag.encode(&mut encoded),
            (AttributeKind::Flag, None) => false.encode(&mut encoded),
            (AttributeKind::Float, Some(Value::Float(number))) => number.encode(&mut encoded),
            (AttributeKind::OptionalFloat, Some(Value::Float(number))) => Some(*number).encode(&mut encoded),
            (AttributeKind::OptionalFloat, None) => None.encode(&mut encoded),
            (AttributeKind::Integers, Some(Value::Ints(numbers))) => {
                List::from_slice(numbers).encode(&mut encoded);
            }
            (AttributeKind::Floats, Some(Value::Floats(numbers))) => {
                List::from_slice(numbers).encode(&mut encoded);
            }
            (_, Some(value)) => return refused(format!("attribute {name} must not be {value:?}")),
            (_, None) => return refused(format!("attribute {name} is missing")),
        }
    }
    Ok(encoded)
}

/// Decodes attributes into named values; `None` if the integers do not encode them. Omits absent optional ones.
pub(crate) fn decode_named(declared: &[Attribute], encoded: &[i64]) -> Option<Vec<(&'static str, Value)>> {
    let mut from = encoded.iter();
    let mut named = Vec::with_capacity(declared.len());
    for Attribute { name, kind } in declared {
        let value = match kind {
            AttributeKind::Axis | AttributeKind::Integer => Value::Int(i64::decode(&mut from)?),
            AttributeKind::Flag => Value::Bool(bool::decode(&mut from)?),
            AttributeKind::Float => Value::Float(f64::decode(&mut from)?),
            AttributeKind::OptionalFloat => match Option::<f64>::decode(&mut from)? {
                Some(number) => Value::Float(number),
                None => continue,
            },
            AttributeKind::Integers => Value::Ints(List::<i64>::decode(&mut from)?.into_vec()),
            AttributeKind::Floats => Value::Floats(List::<f64>::decode(&mut from)?.into_vec()),
            AttributeKind::Other(_) => return None,
        };
        named.push((*name, value));
    }
    from.next().is_none().then_some(named)
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "attributes are declared public")]
mod tests {
    use super::*;

    attributes! {
        /// One attribute of each type.
        Every {
            /// An axis.
            axis: isize,
            /// A flag.
            flag: bool,
            /// A list.
            places: List<i64>,
            /// An optional number.
            end: Option<f64>,
            /// Another list.
            shares: List<f64>,
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let shares = List::from_slice(&[0.5, -0.0, f64::INFINITY]);
        let every = Every { axis: -2, flag: true, places: (0..9).collect(), end: Some(-1.5), shares };
        assert_eq!(Every::decode(&every.encode()), Some(every.clone()));
        let none = Every { end: None, places: List::new(), ..every.clone() };
        assert_eq!(Every::decode(&none.encode()), Some(none));
        let mut longer = every.encode();
        longer.push(0);
        assert_eq!(Every::decode(&longer), None);
        assert_eq!(Every::decode(&every.encode()[1..]), None);
        let error = Every::read(&[1]).unwrap_err().to_string();
        assert_eq!(error, "[1] does not encode the attributes (axis, flag, places, end, shares)");
    }

    #[test]
    fn names_are_encoded_as_fields_are() {
        let named = [("shares", Value::Floats(vec![0.5])), ("axis", Value::Int(1)), ("places", Value::from([7, 8]))];
        let shares = List::from_slice(&[0.5]);
        let every = Every { axis: 1, flag: false, places: List::from_slice(&[7, 8]), end: None, shares };
        assert_eq!(encode_named(Every::LIST, &named).unwrap(), every.encode());
        for every in [every.clone(), Every { end: Some(2.5), flag: true, ..every }] {
            let decoded = decode_named(Every::LIST, &every.encode()).unwrap();
            assert_eq!(decoded.len(), 4 + every.end.is_some() as usize);
            assert_eq!(encode_named(Every::LIST, &decoded).unwrap(), every.encode());
            assert_eq!(decode_named(Every::LIST, &every.encode()[1..]), None);
        }
        let text = |named: &[(&str, Value)]| encode_named(Every::LIST, named).unwrap_err().to_string();
        assert_eq!(text(&named[..1]), "attribute axis is missing");
        assert_eq!(text(&[("along", Value::Int(0))]), "unexpected attribute along");
        assert_eq!(text(&[("axis", Value::Bool(true))]), "attribute axis must not be Bool(true)");
    }
}
