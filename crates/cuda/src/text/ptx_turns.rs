//! PTX of quarter turns: the quadrant of an angle and what is left of it, with the bits of `turns_f32` and `turns_f64` in `prelude.cuh`.

use super::ptx_verbs::{Bank, Code, Format};
use std::fmt::Write;

impl Code {
    /// Quadrant, rest, and what the rest lacks. The `number` is of no other angle.
    pub(super) fn turns(&mut self, format: &Format, angle: &str, number: usize) -> [String; 3] {
        let Format { bank, name, .. } = *format;
        let size = self.make(bank, &format!("abs.{name}"), &[angle]);
        let is_near = self.make(Bank::Truth, &format!("setp.leu.{name}"), &[&size, format.near]);
        let turns = if bank == Bank::Single { self.near_singles(angle) } else { self.near_doubles(angle) };
        self.line(&format!("@{is_near} bra $near{number}"));
        self.text.push_str("\t{\n");
        self.line(&format!(".param .{name} angle"));
        self.line(".param .align 8 .b8 turns[24]");
        self.line(&format!("st.param.{name} [angle], {angle}"));
        self.line(&format!("call (turns), far_turns_{name}, (angle)"));
        // These registers are the only ones that are written twice.
        for (place, to) in turns.iter().enumerate() {
            self.line(&format!("ld.param.{name} {to}, [turns+{}]", 8 * place));
        }
        let _ = writeln!(self.text, "\t}}\n$near{number}:");
        turns
    }

    /// The turns of a near single.
    fn near_singles(&mut self, angle: &str) -> [String; 3] {
        let [first, second, third] = ["0f3FC90FDB", "0fB33BBD2E", "0fA6F72CED"];
        let mut of = |instruction: &str, args: &[&str]| self.make(Bank::Single, &format!("{instruction}.f32"), args);
        let turned = of("mul.rn", &[angle, "0f3F22F983"]);
        let n = of("cvt.rni.f32", &[&turned]);
        let back = of("neg", &[&n]);
        let a = of("fma.rn", &[&back, first, angle]);
        let b = of("mul.rn", &[&n, second]);
        let minus = of("neg", &[&b]);
        let product = of("fma.rn", &[&n, second, &minus]);
        let least = of("mul.rn", &[&n, third]);
        self.rest(Bank::Single, [&n, &a, &b], &[&product, &least])
    }

    /// The turns of a near double.
    fn near_doubles(&mut self, angle: &str) -> [String; 3] {
        let mut of = |instruction: &str, args: &[&str]| self.make(Bank::Double, &format!("{instruction}.f64"), args);
        let turned = of("mul.rn", &[angle, "0d3FE45F306DC9C883"]);
        let n = of("cvt.rni.f64", &[&turned]);
        let product = of("mul.rn", &[&n, "0d3FF921FB54400000"]);
        let a = of("sub.rn", &[angle, &product]);
        let b = of("mul.rn", &[&n, "0d3DD0B4611A600000"]);
        let least = of("mul.rn", &[&n, "0d3BA3198A2E037073"]);
        self.rest(Bank::Double, [&n, &a, &b], &[&least])
    }

    /// The quadrant of `n` turns, and `a - b` less what else is to be taken away, as a sum of two.
    fn rest(&mut self, bank: Bank, [n, a, b]: [&str; 3], less: &[&str]) -> [String; 3] {
        let (name, quarter, four) = match bank {
            Bank::Single => ("f32", "0f3E800000", "0f40800000"),
            _ => ("f64", "0d3FD0000000000000", "0d4010000000000000"),
        };
        let mut of =
            |instruction: &str, a: &str, b: &str| self.make(bank, &format!("{instruction}.rn.{name}"), &[a, b]);
        let s = of("sub", a, b);
        let t = of("sub", &s, a);
        let above = of("sub", &s, &t);
        let above = of("sub", a, &above);
        let below = of("add", b, &t);
        let lost = of("sub", &above, &below);
        let lost = less.iter().fold(lost, |lost, part| of("sub", &lost, part));
        let high = of("add", &s, &lost);
        let low = of("sub", &s, &high);
        let low = of("add", &low, &lost);
        let turns = of("mul", n, quarter);
        let whole = self.make(bank, &format!("cvt.rmi.{name}.{name}"), &[&turns]);
        let mut of =
            |instruction: &str, a: &str, b: &str| self.make(bank, &format!("{instruction}.rn.{name}"), &[a, b]);
        let whole = of("mul", &whole, four);
        [of("sub", n, &whole), high, low]
    }
}
