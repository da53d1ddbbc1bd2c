//! Turns segments of records into plans of kernels. Pure: no threads and no clock, so every step can be tested on its
//! own.

mod accelerator;
mod backend;
mod complex;
mod fuse;
mod kernel;
mod program;
mod segment;
mod signature;

pub use accelerator::{Accelerator, DeviceBlock, Lane, Launchable, Launches};
pub use backend::{Backend, Executable, Io};
pub use forerun_ops::{Beyond, FillKind, Given, ReduceKind, Routine};
pub use fuse::{Group, Plan, plan};
pub use kernel::{
    Concat, Fill, Instr, Kernel, Product, Program, ProgramInput, Reduce, Reg, RoutineCall, Rows, Update, output_bytes,
};
pub use segment::{Fate, Operand, Operands, PlanOptions, SegmentRecord, Source, write_key};
pub use signature::{Attrs, Meta, Signature, forget_unheld, hold_tables, on_growth};
