//! Types shared by all crates: shapes, layouts, dtypes, scalars, devices, locs, errors, a hash, and the traits through
//! which kernels request threads and account for bytes.
//!
//! This crate knows no threads, memory policy, operations or frontends.

mod complex;
mod default_float;
mod device;
mod dtype;
mod error;
#[cfg(any(feature = "faults", debug_assertions))]
pub mod fail;
mod fail_point;
mod half;
mod hash;
mod layout;
mod loc;
mod mutex;
mod scalar;
mod setting;
mod shape;
mod team;

pub use complex::Complex;
pub use device::Device;
pub use dtype::{DType, Kind};
pub use error::{Error, ErrorKind, Result};
pub use half::{BFloat16, Float16};
pub use hash::{WordHash, WordHasher};
pub use layout::Layout;
pub use loc::{Loc, LocText, SourceLine, hold_locs};
pub use mutex::{Mutex, MutexGuard};
pub use scalar::Scalar;
pub use setting::Settings;
pub use shape::{MAX_RANK, Shape};
pub use team::{BytesLedger, Solo, Team};
