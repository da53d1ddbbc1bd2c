//! The catalogue: every op declared once. Pure: no memory, threads, devices or clocks.

pub mod divide;
pub mod elementary;
pub mod family;
pub mod gradient;
pub mod infer;
pub mod math;
mod num;
mod op;
mod point;
mod pointwise;
pub mod power;
mod python;
mod routine;
pub mod samples;
mod scalar;
pub mod special;
mod structured;
pub mod symbol;
mod tables;
pub mod trig;
pub mod turn;

pub use family::*;
pub use num::{Double, Format, Mask, Num, NumBits, NumFloat, NumSigned, NumWhole, Single};
pub use op::{Beyond, FillKind, Op, OpRow, ReduceKind, Tier};
pub use point::{Body, Class, Point, PointRow, bodies};
pub use python::{Namespace, Promotion, PythonFunction};
pub use routine::{
    AlongAxis, Attribute, AttributeKind, Attributes, ComplexGradient, Encoded, Given, GradientBuilder, GradientOperand,
    List,
};
pub use structured::{COMPOSITE, STRUCTURED};
pub use tables::Tables;
pub use turn::Turn;
