//! What a routine is: a structured op that is one function over dense arrays. Routines come in families, one file each in
//! [`crate::family`].
//!
//! A routine has one result. One that computes several (a decomposition) packs them one after another into one dimension, and its
//! caller takes views. Attributes (an axis, a flag) are part of its signature; what changes from call to call (random keys) goes into
//! the record's immediates.
//!
//! Invariant: a family is declared by one [`family!`] table and an implementation of [`Family`], in one file.

mod attributes;
mod backward;
mod declaration;

pub use attributes::{AlongAxis, Attribute, AttributeKind, Attributes, Encoded, List, Value};
pub use backward::{ComplexGradient, GradientBuilder, GradientOperand};
pub use declaration::Given;

pub(crate) use attributes::{AttributeType, attributes};
pub(crate) use backward::Flows;
pub(crate) use declaration::{Family, families, family, invalid, mistyped};
