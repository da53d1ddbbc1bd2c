//! Lowers the verbs of scripts to machine instructions, with the same arithmetic in the same order as the vectors of
//! `simd`, so that the bits are equal.

use super::atoms::{AtomList, Id, Type, What};
use super::table::Insn::{self, *};
use forerun_ops::symbol::Verb;

const EQUAL: u8 = 0x00;
const LESS: u8 = 0x11;
const LESS_OR_EQUAL: u8 = 0x12;
const UNORDERED: u8 = 0x03;
const NOT_EQUAL: u8 = 0x04;
const ORDERED: u8 = 0x07;

/// The truth table of "the second where the third is set, otherwise the first".
const BY_THIRD: u8 = 0xd8;

/// Selects the instruction for this type.
fn of_type(type_: Type, [single, double, int, long]: [Insn; 4]) -> Insn {
    match type_ {
        Type::F32 => single,
        Type::F64 => double,
        Type::I32 | Type::Truth => int,
        Type::I64 | Type::WideTruth => long,
    }
}

const AND: [Insn; 4] = [Vandps, Vandpd, Vpandd, Vpandq];
const OR: [Insn; 4] = [Vorps, Vorpd, Vpord, Vporq];
const XOR: [Insn; 4] = [Vxorps, Vxorpd, Vpxord, Vpxorq];

impl AtomList {
    /// A constant in every lane.
    pub(super) fn number(&mut self, type_: Type, value: f64) -> Id {
        let bits = match type_ {
            Type::F32 => (value as f32).to_bits() as u64,
            Type::F64 => value.to_bits(),
            Type::I32 => value as i32 as u32 as u64,
            Type::I64 => value as i64 as u64,
            Type::Truth | Type::WideTruth => unreachable!("truth values are no numbers"),
        };
        self.constant(type_, bits)
    }

    /// A mask of the sign bit of a float, or of all other bits.
    fn sign_bit(&mut self, type_: Type, flipped: bool) -> Id {
        let (sign, all) = if type_ == Type::F32 { (1 << 31, u32::MAX as u64) } else { (1 << 63, u64::MAX) };
        self.constant(type_, if flipped { all ^ sign } else { sign })
    }

    fn of(&mut self, insns: [Insn; 4], a: Id, b: Id) -> Id {
        let type_ = self.type_of(a);
        self.insn(of_type(type_, insns), type_, &[a, b])
    }

    pub(super) fn and(&mut self, a: Id, b: Id) -> Id {
        self.logic(Kandw, AND, a, b)
    }

    pub(super) fn xor(&mut self, a: Id, b: Id) -> Id {
        self.logic(Kxorw, XOR, a, b)
    }

    fn or(&mut self, a: Id, b: Id) -> Id {
        self.logic(Korw, OR, a, b)
    }

    fn logic(&mut self, of_masks: Insn, of_vectors: [Insn; 4], a: Id, b: Id) -> Id {
        let (first, second) = (self.type_of(a), self.type_of(b));
        if first.is_truth() && self.is_wide() {
            return self.insn(of_masks, Type::Truth, &[a, b]);
        }
        if first != second && first.is_truth() {
            let (a, b) = (self.truth_as(a, 4), self.truth_as(b, 4));
            return self.of(of_vectors, a, b);
        }
        self.of(of_vectors, a, b)
    }

    pub(super) fn not(&mut self, a: Id) -> Id {
        let type_ = self.type_of(a);
        if type_.is_truth() && self.is_wide() {
            return self.insn(Knotw, type_, &[a]);
        }
        let ones = self.constant(type_, if type_.size() == 4 { u32::MAX as u64 } else { u64::MAX });
        self.of(XOR, a, ones)
    }

    /// Converts a mask to lanes of this many bytes.
    pub(super) fn truth_as(&mut self, mask: Id, size: usize) -> Id {
        match (self.type_of(mask), size) {
            (Type::Truth, 8) if !self.is_wide() => self.insn(Vpmovsxdq, Type::WideTruth, &[mask]),
            (Type::WideTruth, 4) => self.halved(mask, Type::Truth),
            _ => mask,
        }
    }

    /// The lower halves of 8-byte lanes.
    pub(super) fn halved(&mut self, wide: Id, type_: Type) -> Id {
        if self.is_wide() {
            return self.insn(Vpmovqd, type_, &[wide]);
        }
        let high = self.insn_with(Vextractf128, 1, type_, &[wide]);
        self.insn_with(Vshufps, 0x88, type_, &[wide, high])
    }

    pub(super) fn select(&mut self, mask: Id, yes: Id, no: Id) -> Id {
        let type_ = self.type_of(yes);
        if type_.is_truth() {
            let (other, mask_not) = (self.and(mask, yes), self.not(mask));
            let rest = self.and(mask_not, no);
            return self.or(other, rest);
        }
        let mask = self.truth_as(mask, type_.size());
        self.atom(What::Select, type_, &[mask, yes, no])
    }

    fn compare_floats(&mut self, how: u8, a: Id, b: Id) -> Id {
        let type_ = self.type_of(a);
        let insn = if type_ == Type::F32 { Vcmpps } else { Vcmppd };
        let result = if type_ == Type::F64 && !self.is_wide() { Type::WideTruth } else { Type::Truth };
        self.insn_with(insn, how, result, &[a, b])
    }

    /// Whether the value is not NaN.
    pub(super) fn ordered(&mut self, a: Id) -> Id {
        self.compare_floats(ORDERED, a, a)
    }

    fn compare(&mut self, verb: Verb, a: Id, b: Id) -> Id {
        let type_ = self.type_of(a);
        if type_.is_float() {
            let how = match verb {
                Verb::Eq => EQUAL,
                Verb::Lt => LESS,
                _ => LESS_OR_EQUAL,
            };
            return self.compare_floats(how, a, b);
        }
        if type_.is_truth() {
            // On truth values, false < true.
            return match verb {
                Verb::Eq => {
                    let differ = self.xor(a, b);
                    self.not(differ)
                }
                Verb::Lt => {
                    let a = self.not(a);
                    self.and(a, b)
                }
                _ => {
                    let a = self.not(a);
                    self.or(a, b)
                }
            };
        }
        if self.is_wide() {
            let how = match verb {
                Verb::Eq => 0,
                Verb::Lt => 1,
                _ => 2,
            };
            let insn = if type_ == Type::I32 { Vpcmpd } else { Vpcmpq };
            return self.insn_with(insn, how, Type::Truth, &[a, b]);
        }
        let (equal, greater, result) = match type_ {
            Type::I32 => (Vpcmpeqd, Vpcmpgtd, Type::Truth),
            _ => (Vpcmpeqq, Vpcmpgtq, Type::WideTruth),
        };
        match verb {
            Verb::Eq => self.insn(equal, result, &[a, b]),
            Verb::Lt => self.insn(greater, result, &[b, a]),
            _ => {
                let more = self.insn(greater, result, &[a, b]);
                self.not(more)
            }
        }
    }

    pub(super) fn less_or_equal(&mut self, a: Id, b: Id) -> Id {
        self.compare(Verb::Le, a, b)
    }

    /// Whether nonzero; false for NaN.
    pub(super) fn is_not_zero(&mut self, a: Id) -> Id {
        let type_ = self.type_of(a);
        let zero = self.number(type_, 0.0);
        if type_.is_float() {
            return self.compare_floats(NOT_EQUAL, a, zero);
        }
        let zero = self.compare(Verb::Eq, a, zero);
        self.not(zero)
    }

    /// Shifts the bits of each element.
    pub(super) fn shift(&mut self, insn: Insn, a: Id, by: u8) -> Id {
        let type_ = self.type_of(a);
        self.insn_with(insn, by, type_, &[a])
    }

    /// The larger or smaller float; NaN if either is NaN.
    fn extreme_float(&mut self, [single, double]: [Insn; 2], a: Id, b: Id) -> Id {
        let (nan, other) = (self.compare_floats(UNORDERED, a, a), self.of([single, double, single, double], a, b));
        self.select(nan, a, other)
    }

    /// `a * 2^n`.
    fn scale(&mut self, a: Id, n: Id) -> Id {
        let type_ = self.type_of(a);
        if self.is_wide() {
            return self.of([Vscalefps, Vscalefpd, Vscalefps, Vscalefpd], a, n);
        }
        // Two factors, like the reference.
        let (to_int, int, place, bias, shift) = match type_ {
            Type::F32 => (Vcvttps2dq, Type::I32, 23, 127.0, Vpslld),
            _ => (Vcvttpd2dq, Type::I64, 52, 1023.0, Vpsllq),
        };
        let n = self.insn(to_int, Type::I32, &[n]);
        let half = self.shift(Vpsrad, n, 1);
        let rest = self.of([Vpsubd; 4], n, half);
        let bias = self.number(int, bias);
        let mut power = |e: Id| {
            let e = if int == Type::I64 { self.insn(Vpmovsxdq, int, &[e]) } else { e };
            let biased = self.of([Vpaddd, Vpaddq, Vpaddd, Vpaddq], e, bias);
            self.insn_with(shift, place, type_, &[biased])
        };
        let (first, second) = (power(half), power(rest));
        let product = self.of([Vmulps, Vmulpd, Vmulps, Vmulpd], a, first);
        self.of([Vmulps, Vmulpd, Vmulps, Vmulpd], product, second)
    }

    /// Mantissa and exponent.
    fn split(&mut self, a: Id) -> (Id, Id) {
        match (self.type_of(a), self.is_wide()) {
            (Type::F32, _) => {
                let two_thirds = self.constant(Type::I32, (2f32 / 3.0).to_bits() as u64);
                let above = self.insn(Vpsubd, Type::I32, &[a, two_thirds]);
                let e = self.shift(Vpsrad, above, 23);
                let back = self.shift(Vpslld, e, 23);
                (self.insn(Vpsubd, Type::F32, &[a, back]), self.insn(Vcvtdq2ps, Type::F32, &[e]))
            }
            (_, true) => {
                let two_thirds = self.constant(Type::I64, (2f64 / 3.0).to_bits());
                let above = self.insn(Vpsubq, Type::I64, &[a, two_thirds]);
                let e = self.shift(Vpsraq, above, 52);
                let back = self.shift(Vpsllq, e, 52);
                (self.insn(Vpsubq, Type::F64, &[a, back]), self.insn(Vcvtqq2pd, Type::F64, &[e]))
            }
            // The biased exponent is positive; placing it in the mantissa of 2^52 converts it to a float.
            (_, false) => {
                let bias = 1023u64 << 52;
                let offset = self.constant(Type::I64, bias - (2f64 / 3.0).to_bits());
                let lifted = self.insn(Vpaddq, Type::I64, &[a, offset]);
                let biased = self.shift(Vpsrlq, lifted, 52);
                let back = self.shift(Vpsllq, biased, 52);
                let low = self.insn(Vpsubq, Type::I64, &[a, back]);
                let bias = self.constant(Type::I64, bias);
                let m = self.insn(Vpaddq, Type::F64, &[low, bias]);
                let magic = self.constant(Type::I64, 4503599627370496f64.to_bits());
                let e = self.insn(Vporq, Type::F64, &[biased, magic]);
                let less = self.number(Type::F64, 4503599627370496.0 + 1023.0);
                (m, self.insn(Vsubpd, Type::F64, &[e, less]))
            }
        }
    }

    /// The product of 64-bit integers without an instruction for it: three products of halves.
    fn long_product(&mut self, a: Id, b: Id) -> Id {
        let long = Type::I64;
        let (a_high, b_high) = (self.shift(Vpsrlq, a, 32), self.shift(Vpsrlq, b, 32));
        let low = self.insn(Vpmuludq, long, &[a, b]);
        let (one, two) = (self.insn(Vpmuludq, long, &[a_high, b]), self.insn(Vpmuludq, long, &[a, b_high]));
        let middle = self.insn(Vpaddq, long, &[one, two]);
        let middle = self.shift(Vpsllq, middle, 32);
        self.insn(Vpaddq, long, &[low, middle])
    }

    fn binary(&mut self, verb: Verb, a: Id, b: Id) -> Option<Id> {
        let type_ = self.type_of(a);
        let old_long = type_ == Type::I64 && !self.is_wide();
        Some(match verb {
            Verb::Eq | Verb::Lt | Verb::Le => self.compare(verb, a, b),
            Verb::BitAnd => self.and(a, b),
            Verb::BitOr => self.or(a, b),
            Verb::BitXor => self.xor(a, b),
            Verb::Add | Verb::Max if type_.is_truth() => self.or(a, b),
            Verb::Mul | Verb::Min if type_.is_truth() => self.and(a, b),
            Verb::Add => self.of([Vaddps, Vaddpd, Vpaddd, Vpaddq], a, b),
            Verb::Sub => self.of([Vsubps, Vsubpd, Vpsubd, Vpsubq], a, b),
            Verb::Mul if old_long => self.long_product(a, b),
            Verb::Mul => self.of([Vmulps, Vmulpd, Vpmulld, Vpmullq], a, b),
            Verb::Max if type_.is_float() => self.extreme_float([Vmaxps, Vmaxpd], a, b),
            Verb::Min if type_.is_float() => self.extreme_float([Vminps, Vminpd], a, b),
            Verb::Max | Verb::Min if old_long => {
                let (more, less) = if verb == Verb::Max { (a, b) } else { (b, a) };
                let is_more = self.insn(Vpcmpgtq, Type::WideTruth, &[more, less]);
                self.select(is_more, a, b)
            }
            Verb::Max => self.of([Vmaxps, Vmaxpd, Vpmaxsd, Vpmaxsq], a, b),
            Verb::Min => self.of([Vminps, Vminpd, Vpminsd, Vpminsq], a, b),
            Verb::Div if type_.is_float() => self.of([Vdivps, Vdivpd, Vdivps, Vdivpd], a, b),
            Verb::Lesser if type_.is_float() => self.of([Vminps, Vminpd, Vminps, Vminpd], a, b),
            Verb::Greater if type_.is_float() => self.of([Vmaxps, Vmaxpd, Vmaxps, Vmaxpd], a, b),
            Verb::Copysign => {
                let sign = self.sign_bit(type_, false);
                if self.is_wide() {
                    let insn = if type_ == Type::F32 { Vpternlogd } else { Vpternlogq };
                    return Some(self.insn_with(insn, BY_THIRD, type_, &[a, b, sign]));
                }
                let others = self.sign_bit(type_, true);
                let (magnitude, sign) = (self.and(a, others), self.and(b, sign));
                self.or(magnitude, sign)
            }
            Verb::Scale => self.scale(a, b),
            // Integer division and powers use the reference, element by element, so there is no machine code.
            _ => return None,
        })
    }

    fn unary(&mut self, verb: Verb, a: Id) -> Option<Id> {
        let type_ = self.type_of(a);
        let round = |how: u8, atoms: &mut AtomList| match type_ {
            Type::F32 => atoms.insn_with(Vroundps, how, type_, &[a]),
            Type::F64 => atoms.insn_with(Vroundpd, how, type_, &[a]),
            _ => a,
        };
        Some(match verb {
            Verb::Rint => round(0x08, self),
            Verb::Floor => round(0x09, self),
            Verb::Ceil => round(0x0a, self),
            Verb::Trunc => round(0x0b, self),
            Verb::BitNot => self.not(a),
            Verb::Abs => match type_ {
                Type::F32 | Type::F64 => {
                    let others = self.sign_bit(type_, true);
                    self.and(a, others)
                }
                Type::I32 => self.insn(Vpabsd, type_, &[a]),
                Type::I64 if self.is_wide() => self.insn(Vpabsq, type_, &[a]),
                Type::I64 => {
                    let zero = self.number(type_, 0.0);
                    let negative = self.insn(Vpcmpgtq, type_, &[zero, a]);
                    let flipped = self.xor(a, negative);
                    self.insn(Vpsubq, type_, &[flipped, negative])
                }
                Type::Truth | Type::WideTruth => a,
            },
            Verb::Neg if type_.is_float() => {
                let sign = self.sign_bit(type_, false);
                self.xor(a, sign)
            }
            Verb::Neg => {
                let zero = self.number(type_, 0.0);
                self.of([Vpsubd, Vpsubq, Vpsubd, Vpsubq], zero, a)
            }
            Verb::Sqrt => self.insn(if type_ == Type::F32 { Vsqrtps } else { Vsqrtpd }, type_, &[a]),
            Verb::Mantissa => self.split(a).0,
            Verb::Exponent => self.split(a).1,
            _ => return None,
        })
    }

    /// Lowers one step of a script; `None` if there are no instructions for it.
    pub(super) fn step(&mut self, verb: Verb, type_: Type, args: &[Id]) -> Option<Id> {
        match (verb, args) {
            (Verb::Constant(bits), _) if !type_.is_truth() => Some(self.number(type_, f64::from_bits(bits))),
            (Verb::Select, &[mask, yes, no]) => Some(self.select(mask, yes, no)),
            (Verb::MulAdd, &[a, b, c]) => Some(self.atom(What::MulAdd, type_, &[a, b, c])),
            (_, &[a, b]) => self.binary(verb, a, b),
            (_, &[a]) => self.unary(verb, a),
            _ => None,
        }
    }
}
