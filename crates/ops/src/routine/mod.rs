//! Routines: structured ops that are one function over dense arrays. They are grouped into families, one file each in
//! [`crate::family`].
//!
//! A routine has one result. A routine that computes several, such as a decomposition, packs them into one dimension,
//! and its caller takes views. Attributes (an axis, a flag) are part of the signature; parameters that change from call
//! to call (random keys) are immediates of the record.
//!
//! Invariant: a family is declared by one [`family!`] table and one implementation of [`Family`], in one file.

mod attributes;
mod backward;
mod declaration;

pub use attributes::{AlongAxis, Attribute, AttributeKind, Attributes, Encoded, List, Value};
pub use backward::{ComplexGradient, GradientBuilder, GradientOperand};
pub use declaration::Given;

pub(crate) use attributes::{AttributeType, attributes};
pub(crate) use backward::Flows;
pub(crate) use declaration::{Family, families, family, invalid, mistyped};
