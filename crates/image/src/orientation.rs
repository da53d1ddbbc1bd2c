//! The orientation that a camera recorded: a number in EXIF metadata, and the image turned upright.

use crate::pixels::Pixels;

/// The tag of the orientation.
const ORIENTATION: u16 = 0x0112;
/// The type of a 16-bit number.
const SHORT: u16 = 3;

/// The orientation, from 1 (upright) to 8, in EXIF metadata: TIFF, perhaps with a prefix. 1 if there is none.
pub(crate) fn orientation(exif: &[u8]) -> u8 {
    read(exif.strip_prefix(b"Exif\0\0").unwrap_or(exif)).filter(|number| (1..=8).contains(number)).unwrap_or(1)
}

fn read(tiff: &[u8]) -> Option<u8> {
    let little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| -> Option<u16> {
        let bytes = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| -> Option<usize> {
        let (first, second) = (usize::from(short(at)?), usize::from(short(at + 2)?));
        Some(if little { second << 16 | first } else { first << 16 | second })
    };
    let directory = long(4)?;
    for entry in 0..usize::from(short(directory)?) {
        let at = directory + 2 + 12 * entry;
        if short(at)? == ORIENTATION {
            return (short(at + 2)? == SHORT).then_some(short(at + 8)?.try_into().ok()?);
        }
    }
    None
}

/// Turns an image with an orientation upright.
pub(crate) fn upright(pixels: Pixels, orientation: u8) -> Pixels {
    let Pixels { height, width, channels, values } = pixels;
    let turned = orientation >= 5;
    let (new_height, new_width) = if turned { (width, height) } else { (height, width) };
    if orientation <= 1 {
        return Pixels { height, width, channels, values };
    }
    let mut made = Vec::with_capacity(values.len());
    for row in 0..new_height {
        for column in 0..new_width {
            let (from_row, from_column) = match orientation {
                2 => (row, width - 1 - column),
                3 => (height - 1 - row, width - 1 - column),
                4 => (height - 1 - row, column),
                5 => (column, row),
                6 => (height - 1 - column, row),
                7 => (height - 1 - column, width - 1 - row),
                _ => (column, width - 1 - row),
            };
            let from = (from_row * width + from_column) * channels;
            made.extend_from_slice(&values[from..from + channels]);
        }
    }
    Pixels { height: new_height, width: new_width, channels, values: made }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exif(little: bool, number: u8) -> Vec<u8> {
        let (short, long) = (
            |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() },
            |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() },
        );
        let mut made = if little { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
        made.extend(long(8));
        made.extend(short(2));
        made.extend([short(1), short(SHORT)].concat());
        made.extend([long(1), long(0)].concat());
        made.extend([short(ORIENTATION), short(SHORT)].concat());
        made.extend(long(1));
        made.extend([short(number.into()), short(0)].concat());
        made
    }

    #[test]
    fn the_number_is_found_in_both_byte_orders() {
        for little in [true, false] {
            assert_eq!(orientation(&exif(little, 6)), 6);
            assert_eq!(orientation(&[b"Exif\0\0".to_vec(), exif(little, 3)].concat()), 3);
            assert_eq!(orientation(&exif(little, 9)), 1);
            for length in 0..exif(little, 6).len() {
                assert!((1..=8).contains(&orientation(&exif(little, 6)[..length])));
            }
        }
        assert_eq!(orientation(b"II*\0\xff\xff\xff\xff"), 1);
    }

    #[test]
    fn every_orientation_turns_upright() {
        // The upright image is 0 1 2 / 3 4 5; each row holds how it is stored.
        let stored: [(u8, usize, [u8; 6]); 8] = [
            (1, 3, [0, 1, 2, 3, 4, 5]),
            (2, 3, [2, 1, 0, 5, 4, 3]),
            (3, 3, [5, 4, 3, 2, 1, 0]),
            (4, 3, [3, 4, 5, 0, 1, 2]),
            (5, 2, [0, 3, 1, 4, 2, 5]),
            (6, 2, [2, 5, 1, 4, 0, 3]),
            (7, 2, [5, 2, 4, 1, 3, 0]),
            (8, 2, [3, 0, 4, 1, 5, 2]),
        ];
        for (number, width, values) in stored {
            let pixels = Pixels { height: 6 / width, width, channels: 1, values: values.to_vec() };
            let made = upright(pixels, number);
            assert_eq!((made.height, made.width, &made.values[..]), (2, 3, &[0, 1, 2, 3, 4, 5][..]), "{number}");
        }
    }
}
