//! Asynchronous arrays with automatic differentiation, for Rust programs.
//!
//! Every op returns immediately; the engine runs it on its own threads, in any order that the data dependencies allow.
//! Printing an array, reading an element, or waiting blocks until the result is computed.
//!
//! ```
//! use forerun::prelude::*;
//! let x = ones(&[1, 2]);
//! let y = ones(&[1, 2]);
//! let z = &x * &y + 2.0;
//! assert_eq!(z.to_string(), "[[3. 3.]]");
//! ```

pub mod device;
pub mod frontend;
mod make;
pub mod memory;
pub mod prelude;
pub mod profile;
pub mod runtime;

pub use forerun_array::{Arg, Array, Index, Snapshot, Wait, ops, seed, wait_all};
/// Fail points, for tests.
#[cfg(any(feature = "faults", debug_assertions))]
pub use forerun_base::fail;
#[doc(hidden)]
pub use forerun_base::fail_point;
pub use forerun_base::{
    BFloat16, Complex, DType, Device, Error, ErrorKind, Float16, Kind, Layout, Loc, Result, Scalar, Shape,
};
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
/// Automatic differentiation: the tape and the backward walk over it.
pub use forerun_grad as grad;
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
pub use make::{arange, array, eye, full, normal, ones, uniform, zeros};
