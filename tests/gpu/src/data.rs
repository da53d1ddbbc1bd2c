//! Test data: ordinary numbers and edge cases.

use forerun_base::{DType, Kind, Scalar};

/// A small random generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn ordinary(&mut self, dtype: DType) -> u64 {
        match dtype {
            DType::Bool => self.next() & 1,
            _ if dtype.is_unsigned() => Scalar::Int((self.next() % 41) as i64).to_bits(dtype),
            _ if dtype.kind() == Kind::Int => Scalar::Int((self.next() % 41) as i64 - 20).to_bits(dtype),
            _ => Scalar::Float(self.unit() * 8.0 - 4.0).to_bits(dtype),
        }
    }

    /// Ordinary numbers, as bytes.
    pub(crate) fn bytes(&mut self, dtype: DType, count: usize) -> Vec<u8> {
        if dtype.kind() == Kind::Complex {
            return self.bytes(dtype.carrier(), 2 * count);
        }
        let mut all = Vec::with_capacity(count * dtype.size());
        (0..count).for_each(|_| all.extend(&self.ordinary(dtype).to_le_bytes()[..dtype.size()]));
        all
    }

    /// Integers from 0 on, below a limit, as bytes.
    pub(crate) fn below(&mut self, limit: i64, dtype: DType, count: usize) -> Vec<u8> {
        let draw = |random: &mut Random| Scalar::Int((random.next() % limit as u64) as i64).to_bits(dtype);
        (0..count).flat_map(|_| draw(self).to_le_bytes()[..dtype.size()].to_vec()).collect()
    }

    /// Edge cases mixed with ordinary numbers and random bits, as bytes.
    pub(crate) fn edges(&mut self, dtype: DType, count: usize) -> Vec<u8> {
        if dtype.kind() == Kind::Complex {
            return self.edges(dtype.carrier(), 2 * count);
        }
        let special: Vec<u64> = match dtype {
            DType::Bool => vec![0, 1],
            _ if dtype.kind() == Kind::Int => {
                let (low, high) = dtype.integer_range();
                [0, 1, -1, 2, low, high, 7, -7].map(|i: i128| Scalar::Int(i as i64).to_bits(dtype)).to_vec()
            }
            _ => {
                let tiny = match dtype {
                    DType::F16 => 2f64.powi(-14),
                    DType::F64 => f64::MIN_POSITIVE,
                    _ => f32::MIN_POSITIVE as f64,
                };
                let list =
                    [0.0, 1.0, 0.5, 1.5, 2.5, f64::INFINITY, f64::NAN, tiny, tiny / 8.0, 88.7, 103.0, 709.5, 745.0];
                let more = [0.75, 3e9, 1e19, 87.4];
                let both = list.iter().chain(&more).flat_map(|x| [*x, -*x]);
                both.map(|f| Scalar::Float(f).to_bits(dtype)).collect()
            }
        };
        let mut all = Vec::with_capacity(count * dtype.size());
        for _ in 0..count {
            let bits = match self.next() % 3 {
                0 => special[self.next() as usize % special.len()],
                1 if dtype.kind() == Kind::Float => quiet(dtype, self.next()),
                _ => self.ordinary(dtype),
            };
            all.extend(&bits.to_le_bytes()[..dtype.size()]);
        }
        all
    }
}

/// Makes NaN quiet: the result of a signalling NaN depends on the first operation that touches it, even a conversion.
fn quiet(dtype: DType, bits: u64) -> u64 {
    let mantissa = match dtype {
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::F32 => 23,
        _ => 52,
    };
    let is_nan = Scalar::from_bits(bits, dtype).as_f64().is_nan();
    bits | u64::from(is_nan) << (mantissa - 1)
}

/// The bits of every element.
pub(crate) fn bits(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let word = |part: &[u8]| part.iter().rev().fold(0u64, |word, byte| word << 8 | *byte as u64);
    bytes.chunks_exact(dtype.size()).map(word).collect()
}

/// The distance of two elements in ulp; integers and truth values are equal or not.
pub(crate) fn distance(dtype: DType, a: u64, b: u64) -> f64 {
    let value = |bits: u64| Scalar::from_bits(bits, dtype).as_f64();
    if a == b {
        return 0.0;
    }
    let ordered = |bits: u64, width: u32| {
        let sign = 1u64 << (width - 1);
        if bits & sign != 0 { -((bits & (sign - 1)) as i128) } else { bits as i128 }
    };
    if dtype.kind() != Kind::Float {
        return f64::INFINITY;
    }
    let width = 8 * dtype.size() as u32;
    match (value(a).is_nan(), value(b).is_nan()) {
        (true, true) => 0.0,
        (false, false) if value(a) == value(b) => 0.5,
        (false, false) => (ordered(a, width) - ordered(b, width)).unsigned_abs() as f64,
        _ => f64::INFINITY,
    }
}
