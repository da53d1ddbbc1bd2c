//! Benches: programs that print a table with a ratio against a peer measured in the same run.

mod graph;
mod rounds;

pub use graph::{Graph, run_rayon, run_tokio};
pub use rounds::{Contender, Samples, interleave, time};
