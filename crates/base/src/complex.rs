//! Complex numbers as they lie in memory.

/// A real and an imaginary part. In order: by the real parts, then by the imaginary ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}
