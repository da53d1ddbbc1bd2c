//! Encoders: JPEG and PNG.

use crate::failure::ImageError;
use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;
use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter};

/// The number of rows and columns.
type Size = (usize, usize);

/// Encodes gray (one channel) or RGB pixels as a baseline JPEG, with a quality from 1 to 100.
pub fn encode_jpeg(values: &[u8], size: Size, channels: usize, quality: u8) -> Result<Vec<u8>, ImageError> {
    let name = "JPEG";
    let (height, width) = checked(name, values, size, channels, u16::MAX.into())?;
    let kind = match channels {
        1 => ExtendedColorType::L8,
        3 => ExtendedColorType::Rgb8,
        _ => return Err(ImageError::new(name, format_args!("cannot hold {channels} channels, only 1 or 3"))),
    };
    if !(1..=100).contains(&quality) {
        return Err(ImageError::new(name, format_args!("quality must be between 1 and 100, not {quality}")));
    }
    let mut file = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut file, quality);
    encoder.encode(values, width, height, kind).map_err(|cause| ImageError::new(name, cause))?;
    Ok(file)
}

/// Encodes gray, gray and alpha, RGB or RGBA pixels as PNG, with a compression from 0 (none) to 9.
pub fn encode_png(values: &[u8], size: Size, channels: usize, compression: u8) -> Result<Vec<u8>, ImageError> {
    let name = "PNG";
    let failed = |cause| ImageError::new(name, cause);
    let (height, width) = checked(name, values, size, channels, i32::MAX as usize)?;
    let kind = [ColorType::Grayscale, ColorType::GrayscaleAlpha, ColorType::Rgb, ColorType::Rgba]
        .into_iter()
        .find(|kind| kind.samples() == channels)
        .ok_or_else(|| ImageError::new(name, format_args!("cannot hold {channels} channels, only 1 to 4")))?;
    if compression > 9 {
        return Err(ImageError::new(name, format_args!("compression must be between 0 and 9, not {compression}")));
    }
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(kind);
    encoder.set_depth(BitDepth::Eight);
    if compression == 0 {
        encoder.set_deflate_compression(DeflateCompression::NoCompression);
    } else {
        encoder.set_deflate_compression(DeflateCompression::Level(compression));
        encoder.set_filter(Filter::Adaptive);
    }
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(values).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

/// Returns rows and columns, or an error if the pixels do not have these extents or the format cannot hold them.
fn checked(
    name: &str,
    values: &[u8],
    (height, width): Size,
    channels: usize,
    most: usize,
) -> Result<(u32, u32), ImageError> {
    let count = height.checked_mul(width).and_then(|area| area.checked_mul(channels));
    if count != Some(values.len()) || values.is_empty() || height.max(width) > most {
        let text = format_args!("cannot hold {height} x {width} pixels of {channels} channels");
        return Err(ImageError::new(name, text));
    }
    Ok((height as u32, width as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pixels, Wanted, decode};

    fn gradient(height: usize, width: usize, channels: usize) -> Vec<u8> {
        (0..height * width * channels).map(|at| ((at * 7 / channels) % 251) as u8).collect()
    }

    #[test]
    fn a_png_holds_the_pixels() {
        for channels in 1..=4 {
            for compression in [0, 1, 6, 9] {
                let values = gradient(5, 7, channels);
                let file = encode_png(&values, (5, 7), channels, compression).unwrap();
                let pixels = decode(&file, Wanted::Unchanged).unwrap();
                assert_eq!(pixels, Pixels { height: 5, width: 7, channels, values });
            }
        }
    }

    #[test]
    fn a_jpeg_of_one_colour_holds_the_pixels() {
        for (channels, colour) in [(1, &[77][..]), (3, &[30, 200, 90][..])] {
            let values = colour.repeat(9 * 17);
            let file = encode_jpeg(&values, (9, 17), channels, 100).unwrap();
            let pixels = decode(&file, Wanted::Unchanged).unwrap();
            assert_eq!((pixels.height, pixels.width, pixels.channels), (9, 17, channels));
            assert!(pixels.values.iter().zip(&values).all(|(made, given)| made.abs_diff(*given) <= 2));
            let gray = decode(&file, Wanted::Gray).unwrap();
            assert_eq!(gray.values.len(), 9 * 17);
        }
    }

    #[test]
    fn what_a_format_cannot_hold_is_an_error() {
        for (values, size, channels) in [(0, (0, 4), 1), (12, (2, 2), 2), (11, (2, 2), 3), (70000, (1, 70000), 1)] {
            assert!(encode_jpeg(&vec![0; values], size, channels, 90).is_err(), "{size:?}");
        }
        assert!(encode_jpeg(&[0; 12], (2, 2), 3, 0).is_err());
        assert!(encode_png(&[0; 12], (2, 2), 3, 10).is_err());
        assert!(encode_png(&[0; 20], (2, 2), 5, 1).is_err());
        assert!(encode_png(&[], (usize::MAX, 2), 3, 1).is_err());
    }

    #[test]
    fn every_prefix_of_a_file_is_an_error_or_pixels_of_the_image() {
        let values = gradient(16, 24, 3);
        let files = [
            encode_jpeg(&values, (16, 24), 3, 90).unwrap(),
            encode_png(&values, (16, 24), 3, 6).unwrap(),
        ];
        for file in files {
            for length in 0..file.len() - 12 {
                assert!(decode(&file[..length], Wanted::Rgb).is_err(), "{length} of {}", file.len());
            }
        }
    }
}
