//! WebP files: lossy, lossless, with alpha; of an animation, the first frame.

use crate::decode::{Stored, Wanted};
use crate::failure::ImageError;
use crate::limits::{Density, checked_area};
use crate::orientation::orientation;
use crate::pixels::{Pixels, zeros};
use image_webp::WebPDecoder;
use std::io::Cursor;

const NAME: &str = "WebP";

/// An image of one colour takes a few bytes, whatever its extents; photographs take 0.1 bytes a pixel and more.
const DENSITY: Density = Density { per_byte: 1 << 10, least: 1 << 22 };

/// The start of a lossy frame, after three bytes of flags.
const START: [u8; 3] = [0x9d, 0x01, 0x2a];

pub(crate) fn decode(file: &[u8], _: Wanted) -> Stored {
    let failed = |cause| ImageError::new(NAME, cause);
    check_frames(file, file.get(12..).unwrap_or_default(), 0)?;
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(failed)?;
    decoder.set_memory_limit(file.len());
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let area = checked_area(NAME, (width, height), file.len(), &DENSITY)?;
    let mut values = zeros(NAME, area * channels)?;
    decoder.read_image(&mut values).map_err(failed)?;
    let turn = decoder.exif_metadata().map_err(failed)?.map_or(1, |exif| orientation(&exif));
    Ok((Pixels { height, width, channels, values }, turn))
}

/// Checks the extents of each lossy frame: the decoder allocates for them before it compares them with the image's.
fn check_frames(file: &[u8], mut chunks: &[u8], depth: usize) -> Result<(), ImageError> {
    while let Some((&head, rest)) = chunks.split_first_chunk::<8>() {
        let [name, length] = [[head[0], head[1], head[2], head[3]], [head[4], head[5], head[6], head[7]]];
        let length = u32::from_le_bytes(length) as usize;
        let content = &rest[..length.min(rest.len())];
        match &name {
            b"VP8 " if content.len() >= 10 && content[3..6] == START => {
                let extent = |at: usize| usize::from(u16::from_le_bytes([content[at], content[at + 1]]) & 0x3fff);
                checked_area(NAME, (extent(6), extent(8)), file.len(), &DENSITY)?;
            }
            // A frame of an animation holds 16 bytes and chunks.
            b"ANMF" if depth == 0 => check_frames(file, content.get(16..).unwrap_or_default(), 1)?,
            _ => {}
        }
        // Chunks have an even length.
        chunks = rest.get(length.saturating_add(length % 2)..).unwrap_or_default();
    }
    Ok(())
}
