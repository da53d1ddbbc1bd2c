//! PTX of quarter turns of singles: the quadrant of an angle and what is left of it, with the bits of `turns_f32` in `prelude.cuh`.

use super::ptx_verbs::{Bank, Code, double};
use forerun_ops::turn::{SINGLE_EXPONENTS, SINGLE_FIRST_EXPONENT, SINGLE_TURNS};
use std::fmt::Write;

/// The table of far angles, for a text that has angles.
pub(super) fn table() -> String {
    let numbers: Vec<String> = SINGLE_TURNS.iter().flatten().map(|part| format!("0x{:016x}", part.to_bits())).collect();
    format!(".const .align 8 .b64 single_turns[{}] = {{{}}};\n", numbers.len(), numbers.join(", "))
}

impl Code {
    /// Quadrant, rest, and what the rest lacks. The `number` is of no other angle.
    pub(super) fn turns(&mut self, angle: &str, number: usize) -> [String; 3] {
        let size = self.make(Bank::Single, "abs.f32", &[angle]);
        let near = self.make(Bank::Truth, "setp.leu.f32", &[&size, "0f47000000"]);
        let turns = self.near_turns(angle);
        self.line(&format!("@{near} bra $near{number}"));
        let wide = self.make(Bank::Double, "cvt.f64.f32", &[angle]);
        let turned = self.doubles("mul.rn", &wide, &double(std::f64::consts::FRAC_2_PI));
        let turned = self.make(Bank::Double, "cvt.rni.f64.f64", &[&turned]);
        let whole = self.doubles("mul.rn", &turned, &double(1.5707963267341256));
        let left = self.doubles("sub.rn", &wide, &whole);
        let lost = self.doubles("mul.rn", &turned, &double(6.077100506506192e-11));
        let rest = self.doubles("sub.rn", &left, &lost);
        let middle = self.make(Bank::Truth, "setp.leu.f32", &[&size, "0f49800000"]);
        self.line(&format!("@{middle} bra $middle{number}"));
        let far = self.far_turns(angle, &wide);
        // These registers and those of the result are the only ones that are written twice.
        self.line(&format!("mov.f64 {turned}, {}", far[0]));
        self.line(&format!("mov.f64 {rest}, {}", far[1]));
        let _ = writeln!(self.text, "$middle{number}:");
        let quadrant = self.modulo_four(&turned);
        let quadrant = self.make(Bank::Single, "cvt.rn.f32.f64", &[&quadrant]);
        let high = self.make(Bank::Single, "cvt.rn.f32.f64", &[&rest]);
        let back = self.make(Bank::Double, "cvt.f64.f32", &[&high]);
        let lacking = self.doubles("sub.rn", &rest, &back);
        let low = self.make(Bank::Single, "cvt.rn.f32.f64", &[&lacking]);
        for (to, from) in turns.iter().zip([quadrant, high, low]) {
            self.line(&format!("mov.f32 {to}, {from}"));
        }
        let _ = writeln!(self.text, "$near{number}:");
        turns
    }

    /// The turns of a near angle, in single precision.
    fn near_turns(&mut self, angle: &str) -> [String; 3] {
        let [first, second, third] = ["0f3FC90FDB", "0fB33BBD2E", "0fA6F72CED"];
        let turned = self.singles("mul.rn", &[angle, "0f3F22F983"]);
        let n = self.make(Bank::Single, "cvt.rni.f32.f32", &[&turned]);
        let back = self.make(Bank::Single, "neg.f32", &[&n]);
        let a = self.singles("fma.rn", &[&back, first, angle]);
        let b = self.singles("mul.rn", &[&n, second]);
        let s = self.singles("sub.rn", &[&a, &b]);
        let t = self.singles("sub.rn", &[&s, &a]);
        let above = self.singles("sub.rn", &[&s, &t]);
        let above = self.singles("sub.rn", &[&a, &above]);
        let below = self.singles("add.rn", &[&b, &t]);
        let lost = self.singles("sub.rn", &[&above, &below]);
        let minus = self.make(Bank::Single, "neg.f32", &[&b]);
        let product = self.singles("fma.rn", &[&n, second, &minus]);
        let lost = self.singles("sub.rn", &[&lost, &product]);
        let product = self.singles("mul.rn", &[&n, third]);
        let lost = self.singles("sub.rn", &[&lost, &product]);
        let high = self.singles("add.rn", &[&s, &lost]);
        let low = self.singles("sub.rn", &[&s, &high]);
        let low = self.singles("add.rn", &[&low, &lost]);
        let quarter = self.singles("mul.rn", &[&n, "0f3E800000"]);
        let whole = self.make(Bank::Single, "cvt.rmi.f32.f32", &[&quarter]);
        let whole = self.singles("mul.rn", &[&whole, "0f40800000"]);
        [self.singles("sub.rn", &[&n, &whole]), high, low]
    }

    /// Turns and rest of a far angle, by its row of the table.
    fn far_turns(&mut self, angle: &str, wide: &str) -> [String; 2] {
        let bits = self.make(Bank::Word, "mov.b32", &[angle]);
        let bits = self.make(Bank::Word, "shr.u32", &[&bits, "23"]);
        let exponent = self.make(Bank::Word, "and.b32", &[&bits, "0xff"]);
        let above = self.make(Bank::Word, "sub.u32", &[&exponent, &SINGLE_FIRST_EXPONENT.to_string()]);
        let row = self.make(Bank::Word, "div.u32", &[&above, &SINGLE_EXPONENTS.to_string()]);
        let table = self.make(Bank::Long, "mov.u64", &["single_turns"]);
        let row = self.make(Bank::Long, "mad.wide.u32", &[&row, "24", &table]);
        let parts = [0, 8, 16].map(|place| {
            let part = self.make(Bank::Double, "ld.const.f64", &[&format!("[{row}+{place}]")]);
            self.doubles("mul.rn", wide, &part)
        });
        let first = self.modulo_four(&parts[0]);
        let sum = self.doubles("add.rn", &first, &parts[1]);
        let all = self.doubles("add.rn", &sum, &parts[2]);
        let turned = self.make(Bank::Double, "cvt.rni.f64.f64", &[&all]);
        let left = self.doubles("sub.rn", &sum, &turned);
        let left = self.doubles("add.rn", &left, &parts[2]);
        let rest = self.doubles("mul.rn", &left, &double(std::f64::consts::FRAC_PI_2));
        // An infinity has the first quadrant.
        let is_nan = self.make(Bank::Truth, "setp.nan.f64", &[&turned, &turned]);
        let turned = self.make(Bank::Double, "selp.f64", &[&double(0.0), &turned, &is_nan]);
        [turned, rest]
    }

    fn modulo_four(&mut self, value: &str) -> String {
        let quarter = self.doubles("mul.rn", value, &double(0.25));
        let whole = self.make(Bank::Double, "cvt.rmi.f64.f64", &[&quarter]);
        let whole = self.doubles("mul.rn", &whole, &double(4.0));
        self.doubles("sub.rn", value, &whole)
    }

    fn singles(&mut self, instruction: &str, args: &[&str]) -> String {
        self.make(Bank::Single, &format!("{instruction}.f32"), args)
    }

    fn doubles(&mut self, instruction: &str, a: &str, b: &str) -> String {
        self.make(Bank::Double, &format!("{instruction}.f64"), &[a, b])
    }
}
