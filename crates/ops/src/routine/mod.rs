//! Routines: structured ops that are one function over dense arrays, in families of a file each.
//!
//! A routine has one result. What gives several (a decomposition) lays them one after another in one dimension, and whoever
//! called it takes views. Beyond its inputs it knows whole numbers, its *words* (an axis, a flag), which are part of its
//! signature; what changes from call to call (random keys) goes into the record's immediates.
//!
//! Invariant: a family is declared by one [`family!`] table and an implementation of [`Family`].

mod along;
mod choose;
mod complex_samples;
mod convolve;
mod count;
mod draw;
mod families;
mod fft;
mod fft_samples;
mod linalg;
mod linalg_samples;
mod normalise;
mod order;
mod place;
pub(crate) mod samples;
mod scan;
mod search;
mod unique;

pub use along::Along;
pub use choose::Choose;
pub use convolve::Convolve;
pub use count::Count;
pub use draw::Draw;
pub use families::{Given, Routine};
pub use fft::{Fft, scale as fft_scale};
pub use linalg::{Linalg, Stack};
pub use normalise::Normalise;
pub use order::Order;
pub use place::{Place, is_by_index, put_row};
pub use scan::Scan;
pub use search::Search;
pub use unique::Unique;
