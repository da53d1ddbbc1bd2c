//! PTX of scripts: each verb of the number traits is a few instructions, or the call of a function in `verbs.ptx`, with the bits of its
//! function in `prelude.cuh`.
//!
//! Nothing is contracted, since every sum and product says how it rounds. A register of integers of 8 and 16 bits has the number in 32,
//! one of half floats the 16 bits, truth is a predicate, and a complex number has two registers.

use forerun_base::{DType, Kind};
use forerun_ops::symbol::{Script, Verb};
use std::collections::HashMap;
use std::fmt::Write;

/// The registers of a value, or constants: one, but two of a complex number.
pub(super) type Parts = Vec<String>;

/// The kinds of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bank {
    Truth,
    Half,
    Word,
    Long,
    Single,
    Double,
}

/// Each kind with its type and the letter of its names.
const BANKS: [(Bank, &str, char); 6] = [
    (Bank::Truth, "pred", 'p'),
    (Bank::Half, "b16", 'h'),
    (Bank::Word, "b32", 'r'),
    (Bank::Long, "b64", 'l'),
    (Bank::Single, "f32", 'f'),
    (Bank::Double, "f64", 'd'),
];

impl Bank {
    /// Where elements of a dtype are, or their parts.
    pub(super) fn of(dtype: DType) -> Bank {
        match dtype {
            DType::Bool => Bank::Truth,
            DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => Bank::Word,
            DType::F16 | DType::BF16 => Bank::Word,
            DType::I64 | DType::U64 => Bank::Long,
            DType::F32 | DType::C64 => Bank::Single,
            DType::F64 | DType::C128 => Bank::Double,
        }
    }
}

/// The type of an element in memory, or of its parts.
fn memory_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 => "u8",
        DType::I8 => "s8",
        DType::I16 => "s16",
        DType::U16 | DType::F16 | DType::BF16 => "u16",
        DType::I32 | DType::U32 => "b32",
        DType::I64 | DType::U64 => "b64",
        DType::F32 | DType::C64 => "f32",
        DType::F64 | DType::C128 => "f64",
    }
}

/// Registers of an element.
fn parts_of(dtype: DType) -> usize {
    if dtype.kind() == Kind::Complex { 2 } else { 1 }
}

/// Registers as one operand.
fn vector(registers: &[String]) -> String {
    if registers.len() == 1 { registers[0].clone() } else { format!("{{{}}}", registers.join(", ")) }
}

/// A number of elements, as an instruction names it.
fn width(count: usize) -> String {
    if count == 1 { String::new() } else { format!(".v{count}") }
}

/// Instructions, and how many registers of each bank they use.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) text: String,
    used: [usize; BANKS.len()],
    /// The angles whose turns are known already.
    angles: HashMap<String, [String; 3]>,
}

impl Code {
    /// An instruction.
    pub(super) fn line(&mut self, instruction: &str) {
        let _ = writeln!(self.text, "\t{instruction};");
    }

    /// An instruction whose result goes to a register of its own, which is given.
    pub(super) fn make(&mut self, bank: Bank, instruction: &str, args: &[&str]) -> String {
        let made = self.register(bank);
        let _ = writeln!(self.text, "\t{instruction} {made}, {};", args.join(", "));
        made
    }

    /// The declarations of all registers.
    pub(super) fn registers(&self) -> String {
        let mut text = String::new();
        for ((_, name, letter), used) in BANKS.iter().zip(self.used).filter(|(_, used)| *used > 0) {
            let _ = writeln!(text, "\t.reg .{name} %{letter}<{used}>;");
        }
        text
    }

    /// A register that nothing is written to yet.
    fn register(&mut self, bank: Bank) -> String {
        let used = &mut self.used[bank as usize];
        *used += 1;
        format!("%{}{}", BANKS[bank as usize].2, *used - 1)
    }

    /// Registers for as many elements as they are in memory.
    pub(super) fn raw(&mut self, dtype: DType, count: usize) -> Parts {
        let bank = if dtype == DType::Bool { Bank::Word } else { Bank::of(dtype) };
        (0..count * parts_of(dtype)).map(|_| self.register(bank)).collect()
    }

    /// Reads one element, which nothing else writes to.
    pub(super) fn load(&mut self, space: &str, dtype: DType, address: &str) -> Parts {
        let raw = self.raw(dtype, 1);
        self.line(&format!("ld.{space}{}.{} {}, [{address}]", width(raw.len()), memory_type(dtype), vector(&raw)));
        self.values(dtype, raw).remove(0)
    }

    /// Reads adjacent elements at once, at most 16 bytes of them.
    pub(super) fn load_pack(&mut self, dtype: DType, address: &str, to: &[String]) {
        if dtype.size() >= 4 || to.len() <= 4 {
            let (width, number) = (width(to.len()), memory_type(dtype));
            return self.line(&format!("ld.global{width}.{number} {}, [{address}]", vector(to)));
        }
        let bits = 8 * dtype.size();
        let words: Parts = (0..to.len() * bits / 32).map(|_| self.register(Bank::Word)).collect();
        self.line(&format!("ld.global{}.b32 {}, [{address}]", width(words.len()), vector(&words)));
        let sign = if matches!(dtype, DType::I8 | DType::I16) { "s32" } else { "u32" };
        for (e, to) in to.iter().enumerate() {
            self.line(&format!("bfe.{sign} {to}, {}, {}, {bits}", words[e * bits / 32], e * bits % 32));
        }
    }

    /// Reads those of adjacent elements that are there; the others are 0.
    pub(super) fn load_each(&mut self, dtype: DType, address: &str, to: &[String], there: &[String]) {
        let (parts, number) = (parts_of(dtype), memory_type(dtype));
        let bits = if to[0].starts_with("%r") || to[0].starts_with("%f") { "b32" } else { "b64" };
        for (e, (to, there)) in to.chunks(parts).zip(there).enumerate() {
            to.iter().for_each(|to| self.line(&format!("mov.{bits} {to}, 0")));
            let place = e * dtype.size();
            self.line(&format!("@{there} ld.global{}.{number} {}, [{address}+{place}]", width(parts), vector(to)));
        }
    }

    /// The values of elements as they are in memory.
    pub(super) fn values(&mut self, dtype: DType, mut raw: Parts) -> Vec<Parts> {
        if dtype == DType::Bool {
            raw = raw.iter().map(|byte| self.make(Bank::Truth, "setp.ne.u32", &[byte, "0"])).collect();
        }
        raw.chunks(parts_of(dtype)).map(<[String]>::to_vec).collect()
    }

    /// Elements as they are in memory.
    pub(super) fn stored(&mut self, dtype: DType, values: &[Parts]) -> Parts {
        let values = values.iter().flatten();
        if dtype == DType::Bool { values.map(|truth| self.number(truth)).collect() } else { values.cloned().collect() }
    }

    /// Writes adjacent elements at once, at most 16 bytes of them.
    pub(super) fn store_pack(&mut self, dtype: DType, address: &str, raw: &[String]) {
        if dtype.size() >= 4 || raw.len() <= 4 {
            let (width, number) = (width(raw.len()), memory_type(dtype));
            return self.line(&format!("st.global{width}.{number} [{address}], {}", vector(raw)));
        }
        let bits = 8 * dtype.size();
        let mut insert = |(word, place): (String, usize), value: &String| {
            let shift = (place * bits).to_string();
            (self.make(Bank::Word, "bfi.b32", &[value, &word, &shift, &bits.to_string()]), place + 1)
        };
        let words = raw.chunks(32 / bits).map(|part| part[1..].iter().fold((part[0].clone(), 1), &mut insert).0);
        let words: Parts = words.collect();
        self.line(&format!("st.global{}.b32 [{address}], {}", width(words.len()), vector(&words)));
    }

    /// Writes those of adjacent elements that are there.
    pub(super) fn store_each(&mut self, dtype: DType, address: &str, raw: &[String], there: &[String]) {
        let (parts, number) = (parts_of(dtype), memory_type(dtype));
        for (e, (raw, there)) in raw.chunks(parts).zip(there).enumerate() {
            let place = e * dtype.size();
            self.line(&format!("@{there} st.global{}.{number} [{address}+{place}], {}", width(parts), vector(raw)));
        }
    }

    /// Calls a function of `verbs.ptx`.
    fn call(&mut self, bank: Bank, name: &str, args: &[&str]) -> String {
        let made = self.register(bank);
        self.line(&format!("call ({made}), {name}, ({})", args.join(", ")));
        made
    }

    /// Truth as 1 or 0.
    pub(super) fn number(&mut self, truth: &str) -> String {
        self.make(Bank::Word, "selp.u32", &["1", "0", truth])
    }

    /// The first of two values if a truth is true, else the second.
    pub(super) fn select(&mut self, dtype: DType, truth: &str, yes: &Parts, no: &Parts) -> Parts {
        let bank = Bank::of(dtype);
        let select = format!("selp.{}", BANKS[bank as usize].1);
        yes.iter().zip(no).map(|(yes, no)| self.make(bank, &select, &[yes, no, truth])).collect()
    }

    /// What a script gives for these arguments.
    pub(super) fn script(&mut self, script: &Script, args: &[&Parts]) -> String {
        let mut values: Vec<String> = Vec::with_capacity(script.steps.len());
        for step in &script.steps {
            let from = &step.from[..step.arity as usize];
            let value = match step.verb {
                Verb::Argument(n) => args[n as usize][0].clone(),
                Verb::Constant(bits) => constant(bits, step.dtype),
                verb => {
                    let taken: Vec<&str> = from.iter().map(|&place| values[place as usize].as_str()).collect();
                    // A comparison is named by what it compares.
                    let dtype = from.last().map_or(step.dtype, |last| script.steps[*last as usize].dtype);
                    self.verb(verb, dtype, &taken)
                }
            };
            values.push(value);
        }
        values.swap_remove(script.results[0] as usize)
    }

    /// The parts of an angle's turns, which are computed once.
    fn angle(&mut self, dtype: DType, angle: &str) -> &[String; 3] {
        if !self.angles.contains_key(angle) {
            let format = if dtype == DType::F64 { &DOUBLE } else { &SINGLE };
            let turns = self.turns(format, angle, self.angles.len());
            self.angles.insert(angle.to_owned(), turns);
        }
        &self.angles[angle]
    }

    fn verb(&mut self, verb: Verb, dtype: DType, args: &[&str]) -> String {
        match (verb, dtype) {
            (Verb::Quadrant, _) => self.angle(dtype, args[0])[0].clone(),
            (Verb::Rest, _) => self.angle(dtype, args[0])[1].clone(),
            (Verb::RestLow, _) => self.angle(dtype, args[0])[2].clone(),
            (_, DType::Bool) => self.truth(verb, args),
            (_, DType::I32) => self.integer(verb, &WORD, args),
            (_, DType::I64) => self.integer(verb, &LONG, args),
            (_, DType::U64) => self.integer(verb, &NATURAL, args),
            (_, DType::F32) => self.float(verb, &SINGLE, args),
            (_, DType::F64) => self.float(verb, &DOUBLE, args),
            _ => unreachable!("{verb:?}: no script computes in {dtype}"),
        }
    }

    fn truth(&mut self, verb: Verb, args: &[&str]) -> String {
        let mut make = |instruction, args: &[&str]| self.make(Bank::Truth, instruction, args);
        match verb {
            Verb::Add | Verb::Max | Verb::BitOr => make("or.pred", args),
            Verb::Mul | Verb::Min | Verb::BitAnd => make("and.pred", args),
            Verb::BitXor => make("xor.pred", args),
            Verb::BitNot => make("not.pred", args),
            Verb::Abs => args[0].to_owned(),
            Verb::Eq => {
                let differ = make("xor.pred", args);
                make("not.pred", &[&differ])
            }
            Verb::Lt | Verb::Le => {
                let not = make("not.pred", &args[..1]);
                make(if verb == Verb::Lt { "and.pred" } else { "or.pred" }, &[&not, args[1]])
            }
            Verb::Select => {
                let yes = make("and.pred", &args[..2]);
                let not = make("not.pred", &args[..1]);
                let no = make("and.pred", &[&not, args[2]]);
                make("or.pred", &[&yes, &no])
            }
            _ => unreachable!("{verb:?} of truth"),
        }
    }

    fn integer(&mut self, verb: Verb, format: &Integer, args: &[&str]) -> String {
        let Integer { bank, number, bits, whole, .. } = *format;
        let (of_numbers, of_bits) = (|name: &str| format!("{name}.{number}"), |name: &str| format!("{name}.{bits}"));
        match verb {
            Verb::Add => self.make(bank, &of_numbers("add"), args),
            Verb::Sub => self.make(bank, &of_numbers("sub"), args),
            Verb::Mul => self.make(bank, &of_numbers("mul.lo"), args),
            Verb::Max => self.make(bank, &of_numbers("max"), args),
            Verb::Min => self.make(bank, &of_numbers("min"), args),
            Verb::Neg => self.make(bank, &of_numbers("sub"), &["0", args[0]]),
            Verb::Abs if number == whole => args[0].to_owned(),
            Verb::Abs => {
                let below = self.make(Bank::Truth, &of_numbers("setp.lt"), &[args[0], "0"]);
                let opposite = self.make(bank, &of_numbers("sub"), &["0", args[0]]);
                self.make(bank, &of_bits("selp"), &[&opposite, args[0], &below])
            }
            Verb::Eq => self.make(Bank::Truth, &of_numbers("setp.eq"), args),
            Verb::Lt => self.make(Bank::Truth, &of_numbers("setp.lt"), args),
            Verb::Le => self.make(Bank::Truth, &of_numbers("setp.le"), args),
            Verb::Select => self.make(bank, &of_bits("selp"), &[args[1], args[2], args[0]]),
            Verb::BitAnd => self.make(bank, &of_bits("and"), args),
            Verb::BitOr => self.make(bank, &of_bits("or"), args),
            Verb::BitXor => self.make(bank, &of_bits("xor"), args),
            Verb::BitNot => self.make(bank, &of_bits("not"), args),
            Verb::Floor | Verb::Ceil | Verb::Trunc | Verb::Rint => args[0].to_owned(),
            Verb::ShiftLeft | Verb::ShiftRight => {
                // Shifts by more bits than there are give what is wanted, and negative numbers are large ones.
                let mut by = args[1].to_owned();
                if bank == Bank::Long {
                    let least = self.make(bank, "min.u64", &[&by, "64"]);
                    by = self.make(Bank::Word, "cvt.u32.u64", &[&least]);
                }
                let shift = if verb == Verb::ShiftLeft { of_bits("shl") } else { of_numbers("shr") };
                self.make(bank, &shift, &[args[0], &by])
            }
            Verb::FloorDiv | Verb::Remainder | Verb::Fmod => self.divided(verb, format, args[0], args[1]),
            Verb::Power => self.call(bank, &format!("power_{number}"), args),
            Verb::Gcd | Verb::Lcm => {
                let sizes = [args[0], args[1]].map(|arg| self.integer(Verb::Abs, format, &[arg]));
                let common = self.call(bank, &format!("gcd_{whole}"), &[&sizes[0], &sizes[1]]);
                if verb == Verb::Gcd {
                    return common;
                }
                // Of two zeros it is 0, whatever they are divided by.
                let divisor = self.make(bank, &format!("max.{whole}"), &[&common, "1"]);
                let times = self.make(bank, &format!("div.{whole}"), &[&sizes[0], &divisor]);
                self.make(bank, &format!("mul.lo.{whole}"), &[&times, &sizes[1]])
            }
            _ => unreachable!("{verb:?} of integers"),
        }
    }

    /// Quotient or remainder: by 0 both are 0, and the quotient by -1 wraps.
    fn divided(&mut self, verb: Verb, format: &Integer, a: &str, b: &str) -> String {
        let Integer { bank, number, bits, whole, .. } = *format;
        let (of_numbers, of_bits) = (|name: &str| format!("{name}.{number}"), |name: &str| format!("{name}.{bits}"));
        let signed = number != whole;
        let zero = self.make(Bank::Truth, &of_numbers("setp.eq"), &[b, "0"]);
        let mut special = zero.clone();
        if signed {
            special = self.make(Bank::Truth, &of_numbers("setp.eq.or"), &[b, "-1", &zero]);
        }
        let by = self.make(bank, &of_bits("selp"), &["1", b, &special]);
        let quotient = self.make(bank, &of_numbers("div"), &[a, &by]);
        let taken = self.make(bank, &of_numbers("mul.lo"), &[&quotient, &by]);
        let rest = self.make(bank, &of_numbers("sub"), &[a, &taken]);
        // What is left has the divisor's sign, if it is not the dividend's that counts.
        let floored = verb != Verb::Fmod && signed;
        let mut off = String::new();
        if floored {
            let signs = self.make(bank, &of_bits("xor"), &[&rest, b]);
            let differ = self.make(Bank::Truth, &of_numbers("setp.lt"), &[&signs, "0"]);
            off = self.make(Bank::Truth, &of_numbers("setp.ne.and"), &[&rest, "0", &differ]);
        }
        if verb != Verb::FloorDiv {
            if !floored {
                return rest;
            }
            let moved = self.make(bank, &of_numbers("add"), &[&rest, b]);
            return self.make(bank, &of_bits("selp"), &[&moved, &rest, &off]);
        }
        let mut made = quotient;
        if signed {
            let below = self.make(bank, &of_numbers("sub"), &[&made, "1"]);
            made = self.make(bank, &of_bits("selp"), &[&below, &made, &off]);
            let opposite = self.make(bank, &of_numbers("sub"), &["0", a]);
            made = self.make(bank, &of_bits("selp"), &[&opposite, &made, &special]);
        }
        self.make(bank, &of_bits("selp"), &["0", &made, &zero])
    }

    fn float(&mut self, verb: Verb, format: &Format, args: &[&str]) -> String {
        let (bank, name) = (format.bank, format.name);
        let of = |instruction: &str| format!("{instruction}.{name}");
        match verb {
            Verb::Add => self.make(bank, &of("add.rn"), args),
            Verb::Sub => self.make(bank, &of("sub.rn"), args),
            Verb::Mul => self.make(bank, &of("mul.rn"), args),
            Verb::Div => self.make(bank, &of("div.rn"), args),
            Verb::MulAdd => self.make(bank, &of("fma.rn"), args),
            Verb::Sqrt => self.make(bank, &of("sqrt.rn"), args),
            Verb::Neg => self.make(bank, &of("neg"), args),
            Verb::Abs => self.make(bank, &of("abs"), args),
            Verb::Copysign => self.make(bank, &of("copysign"), &[args[1], args[0]]),
            Verb::Eq => self.make(Bank::Truth, &of("setp.eq"), args),
            Verb::Lt => self.make(Bank::Truth, &of("setp.lt"), args),
            Verb::Le => self.make(Bank::Truth, &of("setp.le"), args),
            Verb::Select => self.make(bank, &of("selp"), &[args[1], args[2], args[0]]),
            Verb::Max => self.first_if("setp.gt", true, format, args),
            Verb::Min => self.first_if("setp.lt", true, format, args),
            Verb::Greater => self.first_if("setp.gt", false, format, args),
            Verb::Lesser => self.first_if("setp.lt", false, format, args),
            Verb::Floor => self.make(bank, &of(&of("cvt.rmi")), args),
            Verb::Ceil => self.make(bank, &of(&of("cvt.rpi")), args),
            Verb::Trunc => self.make(bank, &of(&of("cvt.rzi")), args),
            Verb::Rint => self.make(bank, &of(&of("cvt.rni")), args),
            Verb::Scale => self.scale(format, args[0], args[1]),
            Verb::Mantissa => {
                let (bits, exponent) = self.split(format, args[0]);
                let place = self.make(format.bits, &format!("shl.{}", format.raw), &[&exponent, format.mantissa]);
                let mantissa = self.make(format.bits, &format!("sub.{}", format.whole), &[&bits, &place]);
                self.make(bank, &format!("mov.{}", format.raw), &[&mantissa])
            }
            Verb::Exponent => {
                let (_, exponent) = self.split(format, args[0]);
                self.make(bank, &format!("cvt.rn.{name}.{}", format.whole), &[&exponent])
            }
            Verb::FloorDiv => self.call(bank, &format!("floor_divide_{name}"), args),
            Verb::Remainder => self.call(bank, &format!("remainder_{name}"), args),
            Verb::Fmod => self.call(bank, &format!("fmod_{name}"), args),
            Verb::NextAfter => self.call(bank, &format!("next_after_{name}"), args),
            _ => unreachable!("{verb:?} of floats"),
        }
    }

    /// The first of two if a comparison holds (or it is not a number), else the second.
    fn first_if(&mut self, compare: &str, or_nan: bool, format: &Format, args: &[&str]) -> String {
        let name = format.name;
        let mut first = self.make(Bank::Truth, &format!("{compare}.{name}"), args);
        if or_nan {
            first = self.make(Bank::Truth, &format!("setp.nan.or.{name}"), &[args[0], args[0], &first]);
        }
        self.make(format.bank, &format!("selp.{name}"), &[args[0], args[1], &first])
    }

    /// A number times a power of two, in two steps.
    fn scale(&mut self, format: &Format, value: &str, power: &str) -> String {
        let Format { bank, name, .. } = *format;
        let power = self.make(Bank::Word, &format!("cvt.rzi.s32.{name}"), &[power]);
        let half = self.make(Bank::Word, "shr.s32", &[&power, "1"]);
        let rest = self.make(Bank::Word, "sub.s32", &[&power, &half]);
        let mut value = value.to_owned();
        for part in [half, rest] {
            let biased = self.make(Bank::Word, "add.s32", &[&part, format.bias]);
            let factor = if bank == Bank::Single {
                let bits = self.make(Bank::Word, "shl.b32", &[&biased, "23"]);
                self.make(bank, "mov.b32", &[&bits])
            } else {
                let high = self.make(Bank::Word, "shl.b32", &[&biased, "20"]);
                let low = self.make(Bank::Word, "mov.b32", &["0"]);
                self.make(bank, "mov.b64", &[&format!("{{{low}, {high}}}")])
            };
            let is_one = value == constant(1f64.to_bits(), format.dtype);
            value = if is_one { factor } else { self.make(bank, &format!("mul.rn.{name}"), &[&value, &factor]) };
        }
        value
    }

    /// The bits of a number, and the exponent that leaves two thirds to four thirds.
    fn split(&mut self, format: &Format, value: &str) -> (String, String) {
        let Format { bits, raw, whole, .. } = *format;
        let of_value = self.make(bits, &format!("mov.{raw}"), &[value]);
        let above = self.make(bits, &format!("sub.{whole}"), &[&of_value, format.two_thirds]);
        let exponent = self.make(bits, &format!("shr.{whole}"), &[&above, format.mantissa]);
        (of_value, exponent)
    }
}

/// An integer dtype: its registers, and its types as a number, as bits and as a number without a sign.
struct Integer {
    bank: Bank,
    number: &'static str,
    bits: &'static str,
    whole: &'static str,
}

const WORD: Integer = Integer { bank: Bank::Word, number: "s32", bits: "b32", whole: "u32" };
const LONG: Integer = Integer { bank: Bank::Long, number: "s64", bits: "b64", whole: "u64" };
const NATURAL: Integer = Integer { bank: Bank::Long, number: "u64", bits: "b64", whole: "u64" };

/// A float dtype: its registers and those of its bits, and its numbers.
pub(super) struct Format {
    dtype: DType,
    pub(super) bank: Bank,
    bits: Bank,
    pub(super) name: &'static str,
    raw: &'static str,
    whole: &'static str,
    mantissa: &'static str,
    bias: &'static str,
    two_thirds: &'static str,
    /// Angles up to this one are near.
    pub(super) near: &'static str,
}

const SINGLE: Format = Format {
    dtype: DType::F32,
    bank: Bank::Single,
    bits: Bank::Word,
    name: "f32",
    raw: "b32",
    whole: "s32",
    mantissa: "23",
    bias: "127",
    two_thirds: "0x3f2aaaab",
    near: "0f47000000",
};

const DOUBLE: Format = Format {
    dtype: DType::F64,
    bank: Bank::Double,
    bits: Bank::Long,
    name: "f64",
    raw: "b64",
    whole: "s64",
    mantissa: "52",
    bias: "1023",
    two_thirds: "0x3fe5555555555555",
    near: "0d4130000000000000",
};

/// A constant, as an operand: floats by their bits.
fn constant(bits: u64, dtype: DType) -> String {
    let value = f64::from_bits(bits);
    match dtype {
        DType::F32 => format!("0f{:08X}", (value as f32).to_bits()),
        DType::F64 => double(value),
        _ => (value as i64).to_string(),
    }
}

/// A double, as an operand.
fn double(value: f64) -> String {
    format!("0d{:016X}", value.to_bits())
}
