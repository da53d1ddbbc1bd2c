//! JPEG files: baseline and progressive, gray, colours and CMYK, which becomes RGB.

use crate::decode::{Stored, Wanted};
use crate::failure::ImageError;
use crate::limits::{Density, checked_area};
use crate::orientation::orientation;
use crate::pixels::{Pixels, zeros};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

const NAME: &str = "JPEG";

/// A block of 64 pixels takes at least one bit.
const DENSITY: Density = Density { per_byte: 8 * 64, least: 0 };

pub(crate) fn decode(file: &[u8], wanted: Wanted) -> Stored {
    let failed = |cause| ImageError::new(NAME, format_args!("{cause:?}"));
    if !file.ends_with(&[0xff, END]) && !is_whole(file) {
        return Err(ImageError::new(NAME, format_args!("the file of {} bytes is truncated", file.len())));
    }
    // In a whole file the decoder passes over what it cannot read, as other decoders do.
    let options =
        DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(failed)?;
    let (Some((width, height)), Some(stored)) = (decoder.dimensions(), decoder.input_colorspace()) else {
        return Err(ImageError::new(NAME, "the file has no header"));
    };
    let area = checked_area(NAME, (width, height), file.len(), &DENSITY)?;
    let gray = stored == ColorSpace::Luma || (stored == ColorSpace::YCbCr && wanted == Wanted::Gray);
    let (space, channels) = if gray { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(space));
    let mut values = zeros(NAME, area * channels)?;
    decoder.decode_into(&mut values).map_err(failed)?;
    let turn = decoder.exif().map_or(1, |exif| orientation(exif));
    Ok((Pixels { height, width, channels, values }, turn))
}

const START: u8 = 0xd8;
const END: u8 = 0xd9;
const SCAN: u8 = 0xda;
const RESTARTS: std::ops::RangeInclusive<u8> = 0xd0..=0xd7;

/// Whether the marker that ends an image follows its first scan. Bytes after it are allowed.
fn is_whole(file: &[u8]) -> bool {
    let mut at = 0;
    let mut scanned = false;
    // Within a scan, 0 after 0xff stands for a byte 0xff; between segments other bytes may fill gaps.
    while let Some(step) = file[at..].iter().position(|byte| *byte == 0xff) {
        let Some(&marker) = file.get(at + step + 1) else { return false };
        at += step + 1;
        match marker {
            END => return scanned,
            0xff => continue,
            0 | 1 | START => {}
            _ if RESTARTS.contains(&marker) => {}
            _ => {
                scanned |= marker == SCAN;
                let Some(&[high, low]) = file.get(at + 1..at + 3).and_then(|bytes| bytes.first_chunk()) else {
                    return false;
                };
                at += usize::from(u16::from_be_bytes([high, low]));
            }
        }
        at += 1;
        if at > file.len() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_after_the_scan() {
        // A segment that holds a small image with an end of its own, then a scan with a restart and a byte 0xff.
        let head = [0xff, 0xd8, 0xff, 0xe1, 0, 4, 0xff, 0xd9];
        let scan = [0xff, 0xda, 0, 3, 9, 1, 2, 0xff, 0, 0xff, 0xd0, 5];
        let tail = [0xff, 0xff, 0xd9, 7, 7];
        let whole = [&head[..], &scan, &tail].concat();
        assert!(is_whole(&whole));
        for length in 0..whole.len() - 2 {
            assert!(!is_whole(&whole[..length]), "{length}");
        }
        assert!(!is_whole(&[&head[..], &tail].concat()));
    }
}
