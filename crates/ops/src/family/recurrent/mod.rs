//! Recurrent layers: one scan over the steps of a sequence, forward and backward.

mod declaration;
mod extents;
mod gradient;
mod samples;

pub use declaration::{Recurrence, RecurrenceBack, Recurrent};
pub use extents::{RecurrentExtents, RecurrentMode};
