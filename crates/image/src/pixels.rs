//! Decoded pixels, and conversions between gray, colours and alpha.

use crate::failure::ImageError;

/// Rows of 8-bit pixels, channels last: 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGB and alpha).
#[derive(Debug, PartialEq)]
pub struct Pixels {
    /// The number of rows.
    pub height: usize,
    /// The number of columns.
    pub width: usize,
    /// The number of channels.
    pub channels: usize,
    /// `height * width * channels` values.
    pub values: Vec<u8>,
}

/// Zeros, or an error if there is no memory for them.
pub(crate) fn zeros(format: &str, count: usize) -> Result<Vec<u8>, ImageError> {
    let mut values = Vec::new();
    if values.try_reserve_exact(count).is_err() {
        return Err(ImageError::new(format, format_args!("no memory for {count} bytes of pixels")));
    }
    values.resize(count, 0);
    Ok(values)
}

impl Pixels {
    /// The same image with one channel: the brightness of colours, without alpha.
    pub(crate) fn into_gray(self) -> Pixels {
        let values = match self.channels {
            1 => return self,
            2 => self.values.chunks_exact(2).map(|pixel| pixel[0]).collect(),
            count => self.values.chunks_exact(count).map(gray).collect(),
        };
        Pixels { channels: 1, values, ..self }
    }

    /// The same image with three channels, without alpha.
    pub(crate) fn into_rgb(self) -> Pixels {
        let values = match self.channels {
            3 => return self,
            4 => self.values.as_chunks::<4>().0.iter().flat_map(|&[red, green, blue, _]| [red, green, blue]).collect(),
            count => self.values.chunks_exact(count).flat_map(|pixel| [pixel[0]; 3]).collect(),
        };
        Pixels { channels: 3, values, ..self }
    }

    /// Exchanges red and blue.
    pub fn swap_red_and_blue(&mut self) {
        if self.channels >= 3 {
            self.values.chunks_exact_mut(self.channels).for_each(|pixel| pixel.swap(0, 2));
        }
    }
}

/// The brightness of a colour, with OpenCV's weights: 0.299, 0.587 and 0.114 in 14 bits, rounded.
fn gray(pixel: &[u8]) -> u8 {
    let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u32::from);
    ((red * 4899 + green * 9617 + blue * 1868 + (1 << 13)) >> 14) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(values: &[u8]) -> Pixels {
        Pixels { height: 1, width: 1, channels: values.len(), values: values.to_vec() }
    }

    #[test]
    fn channels_are_converted() {
        assert_eq!(one(&[255, 0, 0]).into_gray().values, [76]);
        assert_eq!(one(&[255, 255, 255, 3]).into_gray().values, [255]);
        assert_eq!(one(&[9, 3]).into_gray().values, [9]);
        assert_eq!(one(&[9, 3]).into_rgb().values, [9, 9, 9]);
        assert_eq!(one(&[9]).into_rgb().values, [9, 9, 9]);
        assert_eq!(one(&[1, 2, 3, 4]).into_rgb().values, [1, 2, 3]);
        let mut swapped = one(&[1, 2, 3, 4]);
        swapped.swap_red_and_blue();
        assert_eq!(swapped.values, [3, 2, 1, 4]);
    }
}
