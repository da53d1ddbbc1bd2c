//! Entry point of the decoders: the first bytes of a file choose one.

use crate::failure::ImageError;
use crate::orientation::upright;
use crate::pixels::Pixels;
use crate::{jpeg, png, webp};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The channels of a decoded image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// One channel: brightness.
    Gray,
    /// Three channels, without alpha.
    Rgb,
    /// The file's own channels, without the turn that its metadata asks for.
    Unchanged,
}

/// A decoder's result: the pixels as stored, and the orientation from the file's metadata.
pub(crate) type Stored = Result<(Pixels, u8), ImageError>;

/// Decodes a JPEG, PNG or WebP file.
///
/// The first frame of an animation is read. Samples of 16 bits lose their low byte. Colour profiles are ignored.
pub fn decode(file: &[u8], wanted: Wanted) -> Result<Pixels, ImageError> {
    let decoder: fn(&[u8], Wanted) -> Stored = match file {
        [0xff, 0xd8, 0xff, ..] => jpeg::decode,
        [0x89, b'P', b'N', b'G', ..] => png::decode,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp::decode,
        _ => return Err(ImageError::new("image", unknown(file))),
    };
    // A defect of a decoder is an error about the file.
    let decoded = catch_unwind(AssertUnwindSafe(|| decoder(file, wanted)));
    let (pixels, orientation) = decoded.unwrap_or_else(|_| Err(ImageError::new("image", "the decoder panicked")))?;
    Ok(match wanted {
        Wanted::Gray => upright(pixels.into_gray(), orientation),
        Wanted::Rgb => upright(pixels.into_rgb(), orientation),
        Wanted::Unchanged => pixels,
    })
}

fn unknown(file: &[u8]) -> String {
    match file.len() {
        0 => "no bytes".to_owned(),
        count => format!("{count} bytes are neither JPEG nor PNG nor WebP; they begin with {:02x?}", &file[..count.min(8)]),
    }
}
