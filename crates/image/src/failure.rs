//! Why an image cannot be decoded or encoded.

use std::fmt;

/// A decoder's or encoder's failure: the format, and what is wrong.
#[derive(Debug)]
pub struct ImageError(String);

impl ImageError {
    pub(crate) fn new(format: &str, cause: impl fmt::Display) -> ImageError {
        ImageError(format!("{format}: {cause}"))
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ImageError {}
