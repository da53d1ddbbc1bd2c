//! Bounds on the extents that a header may announce, before anything is allocated for them.
//!
//! A format can compress only so well, so the length of a file bounds its pixels. An absolute bound holds for all files.

use crate::failure::ImageError;

/// The most pixels of an image; they take 384 MiB as RGB.
const MOST_PIXELS: u64 = 1 << 27;

/// How many pixels the bytes of a file may stand for.
pub(crate) struct Density {
    /// Pixels per byte.
    pub(crate) per_byte: u64,
    /// Pixels that a file of any length may have.
    pub(crate) least: u64,
}

/// Returns the number of pixels, or an error if a file of that length cannot hold them.
pub(crate) fn checked_area(
    format: &str,
    (width, height): (usize, usize),
    file: usize,
    density: &Density,
) -> Result<usize, ImageError> {
    let area = (width as u64).saturating_mul(height as u64);
    if area == 0 {
        return Err(ImageError::new(format, format_args!("an image of {width} x {height} has no pixels")));
    }
    let most = (file as u64).saturating_mul(density.per_byte).saturating_add(density.least);
    if area > most.min(MOST_PIXELS) {
        let reason = if area > MOST_PIXELS { "more than 2^27 pixels" } else { "too much for the length of the file" };
        let text = format_args!("the header announces {width} x {height} pixels in {file} bytes, {reason}");
        return Err(ImageError::new(format, text));
    }
    Ok(area as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_file_and_the_absolute_bound_limit_its_pixels() {
        let density = Density { per_byte: 4, least: 10 };
        assert_eq!(checked_area("x", (5, 10), 10, &density).unwrap(), 50);
        assert!(checked_area("x", (51, 1), 10, &density).unwrap_err().to_string().contains("length of the file"));
        assert!(checked_area("x", (0, 7), 10, &density).is_err());
        let huge = checked_area("x", (1 << 14, 1 << 14), usize::MAX, &density).unwrap_err();
        assert!(huge.to_string().contains("2^27"));
        assert!(checked_area("x", (usize::MAX, usize::MAX), usize::MAX, &density).is_err());
    }
}
