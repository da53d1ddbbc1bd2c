//! Casts as machine instructions. To integers: truncating and saturating, with 0 for NaN; to truth values: whether
//! nonzero.

use super::atoms::{AtomList, Id, Type};
use super::table::Insn::*;

impl AtomList {
    /// Casts a value; `None` if the instruction set cannot.
    pub(super) fn cast(&mut self, a: Id, to: Type) -> Option<Id> {
        use Type::*;
        let from = self.type_of(a);
        Some(match (from, to) {
            (Truth | WideTruth, Truth) => a,
            (Truth | WideTruth, _) => {
                let (one, zero) = (self.number(to, 1.0), self.number(to, 0.0));
                self.select(a, one, zero)
            }
            (_, Truth) => self.is_not_zero(a),
            (F32, F32) | (F64, F64) | (I32, I32) | (I64, I64) => a,
            (F32, F64) => self.insn(Vcvtps2pd, to, &[a]),
            (F64, F32) => self.insn(Vcvtpd2ps, to, &[a]),
            (I32, F32) => self.insn(Vcvtdq2ps, to, &[a]),
            (I32, F64) => self.insn(Vcvtdq2pd, to, &[a]),
            (I32, I64) => self.insn(Vpmovsxdq, to, &[a]),
            (I64, I32) => self.halved(a, to),
            (F32, I32) => {
                // Values out of range become the smallest integer; flipping its bits gives the largest.
                let near = self.insn(Vcvttps2dq, to, &[a]);
                self.clamped(a, near, 2147483648.0)
            }
            (F64, I32) => {
                let (zero, most) = (self.number(from, 0.0), self.number(from, 2147483647.0));
                let number = self.ordered(a);
                let number = self.select(number, a, zero);
                let least = self.insn(Vminpd, from, &[number, most]);
                self.insn(Vcvttpd2dq, to, &[least])
            }
            (F32, I64) if self.is_wide() => {
                let near = self.insn(Vcvttps2qq, to, &[a]);
                self.clamped(a, near, 9223372036854775808.0)
            }
            (F64, I64) if self.is_wide() => {
                let near = self.insn(Vcvttpd2qq, to, &[a]);
                self.clamped(a, near, 9223372036854775808.0)
            }
            (I64, F32) if self.is_wide() => self.insn(Vcvtqq2ps, to, &[a]),
            (I64, F64) if self.is_wide() => self.insn(Vcvtqq2pd, to, &[a]),
            // AVX2 cannot convert 64-bit integers.
            _ => return None,
        })
    }

    /// Corrects the integer `near`, converted from the float `a`: the largest integer from `limit` on, 0 for NaN.
    fn clamped(&mut self, a: Id, near: Id, limit: f64) -> Id {
        let (float, int) = (self.type_of(a), self.type_of(near));
        let limit = self.number(float, limit);
        let beyond = self.less_or_equal(limit, a);
        let most = self.constant(int, if int == Type::I32 { i32::MAX as u64 } else { i64::MAX as u64 });
        let zero = self.number(int, 0.0);
        let number = self.ordered(a);
        let held = self.select(beyond, most, near);
        self.select(number, held, zero)
    }
}
