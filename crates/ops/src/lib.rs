//! The catalogue: every op declared once. Pure: no memory, threads, devices or clocks.

pub mod gradient;
pub mod infer;
pub mod math;
mod num;
mod op;
mod pointwise;
mod routine;
pub mod samples;
mod scalar;
mod structured;
pub mod symbol;

pub use num::{Double, Format, Mask, Num, NumBits, NumFloat, NumSigned, Single};
pub use op::{Beyond, FillKind, Op, OpRow, ReduceKind, Tier};
pub use pointwise::{Body, Class, Point, PointRow, bodies};
pub use routine::{Along, Choose, Given, Order, Place, Routine, Scan, Search, Unique};
pub use structured::{COMPOSITE, STRUCTURED};
