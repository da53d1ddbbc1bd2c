//! Image files: JPEG, PNG and WebP to 8-bit pixels, and pixels to JPEG and PNG.
//!
//! Files are untrusted. Invariant: for any bytes a decoder returns pixels or an error, and what it allocates is bounded
//! by the length of the file, see `limits.rs`. Functions run on the thread that calls them and know no arrays.

mod decode;
mod encode;
mod failure;
mod jpeg;
mod limits;
mod orientation;
mod pixels;
mod png;
mod webp;

pub use decode::{Wanted, decode};
pub use encode::{encode_jpeg, encode_png};
pub use failure::ImageError;
pub use pixels::Pixels;
