//! The two half floats as bits, and their conversion from and to the processor's floats.
//!
//! Invariant: narrowing rounds once, to nearest with ties to even, whatever the source. No intermediate result is a
//! denormal single, so a thread that flushes denormals gets the same bits.

use std::cmp::Ordering;

/// A number in half precision.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Float16(pub u16);

/// A bfloat16 number: the upper half of a single.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct BFloat16(pub u16);

macro_rules! as_singles {
    ($($type:ty)*) => {
        $(impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool { self.to_f32() == other.to_f32() }
        }

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &$type) -> Option<Ordering> { self.to_f32().partial_cmp(&other.to_f32()) }
        })*
    };
}

as_singles!(Float16 BFloat16);

impl Float16 {
    /// Rounds to the nearest number.
    #[inline(always)]
    pub fn from_f32(value: f32) -> Float16 {
        let bits = value.to_bits();
        let (sign, size) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
        // Normal numbers: add half of the last place (slightly less for an even one) and adjust the exponent's bias.
        let normal = (size.wrapping_add(0xfff + (size >> 13 & 1)).wrapping_sub(0x3800_0000) >> 13).min(0x7c00);
        // Denormals: a sum with one half has the last place of the denormals, and the processor rounds it.
        let small = (f32::from_bits(size.min(0x3880_0000)) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let nan = 0x7e00 | (size >> 13 & 0x3ff);
        let finite = if size < 0x3880_0000 { small } else { normal };
        Float16((sign | if size > 0x7f80_0000 { nan } else { finite }) as u16)
    }

    /// Rounds to the nearest number.
    #[inline(always)]
    pub fn from_f64(value: f64) -> Float16 {
        Float16::from_f32(to_odd(value))
    }

    /// Converts exactly.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        let (sign, size) = ((self.0 as u32 & 0x8000) << 16, (self.0 as u32 & 0x7fff) << 13);
        let small = (f32::from_bits(size + 0x3880_0000) - f32::from_bits(0x3880_0000)).to_bits();
        let large = size + if size < 0x0f80_0000 { 0x3800_0000 } else { 0x7000_0000 };
        f32::from_bits(sign | if size < 0x0080_0000 { small } else { large })
    }
}

impl BFloat16 {
    /// Rounds to the nearest number.
    #[inline(always)]
    pub fn from_f32(value: f32) -> BFloat16 {
        let bits = value.to_bits();
        let near = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        BFloat16(if value.is_nan() { bits >> 16 | 0x40 } else { near } as u16)
    }

    /// Rounds to the nearest number.
    #[inline(always)]
    pub fn from_f64(value: f64) -> BFloat16 {
        BFloat16::from_f32(to_odd(value))
    }

    /// Converts exactly.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

/// Rounds to odd: sets the last bit of the single if the conversion is inexact, so that rounding it to fewer bits
/// rounds the original number correctly.
#[inline(always)]
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let (back, bits) = (near as f64, near.to_bits());
    let exact = back == value || bits & 1 == 1 || value.is_nan();
    let odd = if back.abs() > value.abs() { bits.wrapping_sub(1) } else { bits + 1 };
    f32::from_bits(if exact { bits } else { odd })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a half float by its definition.
    fn value(bits: u16, exponent_bits: u32) -> f64 {
        let fraction_bits = 15 - exponent_bits;
        let (sign, size) = (if bits >> 15 == 1 { -1.0 } else { 1.0 }, (bits & 0x7fff) as u32);
        let (exponent, fraction) = (size >> fraction_bits, (size & ((1 << fraction_bits) - 1)) as f64);
        let bias = (1 << (exponent_bits - 1)) - 1;
        let unit = 2f64.powi(-(fraction_bits as i32));
        match exponent {
            0 => sign * fraction * unit * 2f64.powi(1 - bias),
            e if e == (1 << exponent_bits) - 1 => sign * if fraction == 0.0 { f64::INFINITY } else { f64::NAN },
            e => sign * (1.0 + fraction * unit) * 2f64.powi(e as i32 - bias),
        }
    }

    #[test]
    fn every_half_float_round_trips() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (Float16(bits).to_f32(), BFloat16(bits).to_f32());
            assert!(half as f64 == value(bits, 5) || half.is_nan() && value(bits, 5).is_nan(), "{bits:x}");
            assert!(brain as f64 == value(bits, 8) || brain.is_nan() && value(bits, 8).is_nan(), "{bits:x}");
            if !half.is_nan() {
                assert_eq!((Float16::from_f32(half).0, Float16::from_f64(half as f64).0), (bits, bits));
            }
            if !brain.is_nan() {
                assert_eq!((BFloat16::from_f32(brain).0, BFloat16::from_f64(brain as f64).0), (bits, bits));
            }
            assert_eq!(half.is_nan(), Float16::from_f32(half).to_f32().is_nan());
            assert_eq!(brain.is_nan(), BFloat16::from_f32(brain).to_f32().is_nan());
        }
    }

    #[test]
    fn ties_go_to_even_and_neighbours_of_ties_do_not() {
        for bits in 0..0x7bffu16 {
            let (a, b) = (value(bits, 5), value(bits + 1, 5));
            let tie = (a + b) / 2.0;
            assert_eq!(Float16::from_f64(tie).0, if bits & 1 == 0 { bits } else { bits + 1 }, "{bits:x}");
            assert_eq!((Float16::from_f64(tie.next_down()).0, Float16::from_f64(tie.next_up()).0), (bits, bits + 1));
            assert_eq!(Float16::from_f64(-tie.next_up()).0, 0x8000 | (bits + 1));
        }
        for bits in 0..0x7f7fu16 {
            let (a, b) = (value(bits, 8), value(bits + 1, 8));
            let tie = (a + b) / 2.0;
            assert_eq!(BFloat16::from_f64(tie).0, if bits & 1 == 0 { bits } else { bits + 1 }, "{bits:x}");
            assert_eq!((BFloat16::from_f64(tie.next_down()).0, BFloat16::from_f64(tie.next_up()).0), (bits, bits + 1));
        }
        assert_eq!(Float16::from_f32(65519.996).0, 0x7bff);
        assert_eq!((Float16::from_f32(65520.0).0, Float16::from_f64(1e300).0), (0x7c00, 0x7c00));
        assert_eq!(BFloat16::from_f32(f32::MAX).0, 0x7f80);
    }
}
