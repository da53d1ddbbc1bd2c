//! PNG files of every colour type and depth, interlaced or not. Palettes become colours.

use crate::decode::{Stored, Wanted};
use crate::failure::ImageError;
use crate::limits::{Density, checked_area};
use crate::orientation::orientation;
use crate::pixels::{Pixels, zeros};
use png::{BitDepth, Decoder, Limits, Transformations};
use std::io::Cursor;

const NAME: &str = "PNG";

/// Deflate expands a byte to at most this many.
const EXPANSION: u64 = 1032;

/// Memory for chunks other than the pixels, in addition to the length of the file.
const SLACK: usize = 1 << 16;

pub(crate) fn decode(file: &[u8], _: Wanted) -> Stored {
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes: file.len() + SLACK });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let header = decoder.read_header_info().map_err(|cause| ImageError::new(NAME, cause))?;
    let size = (header.width as usize, header.height as usize);
    let bits = header.bits_per_pixel() as u64;
    checked_area(NAME, size, file.len(), &Density { per_byte: (EXPANSION * 8).div_ceil(bits), least: 0 })?;
    let mut reader = decoder.read_info().map_err(|cause| ImageError::new(NAME, cause))?;
    // The decoder indexes past the end of a palette with part of a colour.
    if let Some(palette) = &reader.info().palette
        && (palette.is_empty() || palette.len() % 3 != 0)
    {
        let text = format!("a palette of {} bytes does not consist of colours", palette.len());
        return Err(ImageError::new(NAME, text));
    }
    let Some(count) = reader.output_buffer_size() else { return Err(ImageError::new(NAME, "the image is too large")) };
    let mut values = zeros(NAME, count)?;
    let frame = reader.next_frame(&mut values).map_err(|cause| ImageError::new(NAME, cause))?;
    if (frame.width as usize, frame.height as usize) != size || frame.bit_depth != BitDepth::Eight {
        return Err(ImageError::new(NAME, "the first frame does not have the extents of the image"));
    }
    let channels = frame.color_type.samples();
    let turn = reader.info().exif_metadata.as_ref().map_or(1, |exif| orientation(exif));
    Ok((Pixels { height: size.1, width: size.0, channels, values }, turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palette_that_ends_within_a_colour_is_an_error() {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 1, 1);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(vec![1, 2, 3, 4]);
        encoder.write_header().unwrap().write_image_data(&[0]).unwrap();
        let error = decode(&file, Wanted::Rgb).err().unwrap();
        assert!(error.to_string().contains("a palette of 4 bytes does not consist of colours"), "{error}");
    }
}
