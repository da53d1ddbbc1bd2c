//! Complex numbers in their memory representation.

/// A real and an imaginary part. Ordered by the real parts, then by the imaginary ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}
