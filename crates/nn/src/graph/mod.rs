//! Graphs: the ops of a network and their parameters, as files that other programs run.
//!
//! A graph file is JSON; [docs/export.md](../../../../../docs/export.md) describes the format. It comes from anybody:
//! [`read`] rejects what is malformed, and [`check`] infers every shape and dtype, and checks every view, before the
//! first op is submitted. Nothing in a file is executed except ops of the catalogue that [`ops`] lists.

mod check;
mod describe;
mod file;
mod json;
mod model;
mod ops;
mod read;
mod run;
mod symbolic;
mod trace;
mod write;

pub use describe::{GraphInput, GraphParameter, Role};
pub use file::Network;
pub use model::GraphModel;
pub use trace::{NamedArray, TracedGraph, trace_graph};
