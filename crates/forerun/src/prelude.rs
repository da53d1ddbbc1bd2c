//! The names that most programs use: `use forerun::prelude::*`.
//!
//! ```
//! use forerun::prelude::*;
//!
//! fn main() -> Result<()> {
//!     let x = Array::from([1.0f32, 2.0]);
//!     x.attach_grad();
//!     let loss = record(|| (&x * &x).sum());
//!     loss.backward()?;
//!     assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [2.0, 4.0]);
//!     Ok(())
//! }
//! ```

pub use crate::grad::{Differentiable, record};
pub use crate::nn::Layer;
pub use forerun_array::prelude::*;
