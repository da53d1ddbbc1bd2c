//! Asynchronous arrays with automatic differentiation, for Rust programs.
//!
//! Every op returns immediately; the engine runs it on its own threads, in any order that the data dependencies allow.
//! Printing an array, reading an element, or waiting blocks until the result is computed.
//!
//! ```
//! use forerun::prelude::*;
//!
//! fn main() -> Result<()> {
//!     let x = Array::from([[1.0, 2.0], [3.0, 4.0]]);
//!     let y = (&x + 1).softmax(-1); // returns at once
//!     println!("{y}"); // needs the values, so it waits
//!     println!("{y:?}"); // shape, dtype, device and state: never waits
//!     let total: f64 = y.sum().item()?; // waits
//!     let elements = y.to_vec::<f64>()?; // waits
//!     assert!((total - 2.0).abs() < 1e-9 && elements.len() == 4);
//!     Ok(())
//! }
//! ```
//!
//! A clone of an array shares its elements, and `x += 1` changes them for both; `x.copy()` has elements of its own.
//! Methods panic at the user's line on a mistake; with `try_` before the name they return it.

pub mod device;
pub mod frontend;
pub mod memory;
pub mod prelude;
pub mod profile;
pub mod runtime;

pub use forerun_array::functions::*;
pub use forerun_array::{Arg, Array, ArrayLike, Index, SharedArray, Snapshot, Wait, ops, s, seed, wait_all};
/// Fail points, for tests.
#[cfg(any(feature = "faults", debug_assertions))]
pub use forerun_base::fail;
#[doc(hidden)]
pub use forerun_base::fail_point;
pub use forerun_base::{
    BFloat16, Complex, DType, Device, Error, ErrorKind, Float16, Kind, Layout, Loc, Result, Scalar, Shape,
};
/// Automatic differentiation: the tape and the backward walk over it.
pub use forerun_grad as grad;
/// Image files: JPEG, PNG and WebP to pixels, pixels to JPEG and PNG.
///
/// ```
/// use forerun::image::{Wanted, decode, encode_png};
/// # fn main() -> Result<(), forerun::image::ImageError> {
/// let file = encode_png(&[10, 20, 30, 40, 50, 60], (1, 2), 3, 6)?;
/// let pixels = decode(&file, Wanted::Rgb)?;
/// assert_eq!((pixels.height, pixels.width, pixels.values[3]), (1, 2, 40));
/// # Ok(())
/// # }
/// ```
pub use forerun_image as image;
/// Layers, losses, optimisers, batches and checkpoints.
///
/// ```
/// use forerun::grad::{Differentiable, record};
/// use forerun::nn::{Activation, Dense, Layer, Sequential, Sgd, l2_loss};
/// # fn main() -> forerun::Result<()> {
/// let net = Sequential::new().then(Dense::new(8).activation(Activation::Relu)).then(Dense::new(1));
/// let (x, y) = (forerun::normal(&[32, 4]), forerun::ones(&[32, 1]));
/// let mut sgd = Sgd::new(net.parameters(), 0.1);
/// for _ in 0..3 {
///     let loss = record(|| l2_loss(&net.forward(&x)?, &y))?;
///     loss.backward()?;
///     sgd.step(32)?;
/// }
/// assert_eq!(net.parameters()[0].name(), "0.weight");
/// # Ok(())
/// # }
/// ```
pub use forerun_nn as nn;
/// How a recurrent layer computes its next state.
pub use forerun_ops::recurrent::RecurrentMode;
pub use forerun_ops::{Beyond, Point, ReduceKind, Routine};
