//! The user's array: a cell and a layout over its value. Handles, views, indexing, element access, waiting.
//!
//! Invariant: views share the cell of their base, so a write through any of them is seen by all; an array never changes
//! the value it points at while anything else can read that value.
//!
//! Must not know: how records are planned or which backend runs them; it submits, waits and reads through
//! [`crate::runtime`].

pub(crate) mod array_like;
pub(crate) mod attachments;
pub(crate) mod convert;
pub(crate) mod debug;
pub(crate) mod display;
#[cfg(feature = "ndarray")]
pub(crate) mod exchange;
pub(crate) mod future;
mod handle;
pub(crate) mod index;
pub(crate) mod operators;
pub(crate) mod read;
pub(crate) mod restore;
pub(crate) mod shared;
pub(crate) mod wait;
pub(crate) mod waker;
pub(crate) mod write_element;

pub use array_like::ArrayLike;
pub use handle::{Arg, Array};
