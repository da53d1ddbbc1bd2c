//! PTX of scripts: each verb of the number traits is a few instructions, with the bits of its function in `prelude.cuh`.
//!
//! Nothing is contracted, since every sum and product says how it rounds. A register of integers of 8 and 16 bits has the number in 32,
//! one of half floats the 16 bits, and truth is a predicate.

use forerun_base::DType;
use forerun_ops::symbol::{Script, Verb};
use std::collections::HashMap;
use std::fmt::Write;

/// The kinds of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bank {
    Truth,
    Word,
    Long,
    Single,
    Double,
}

/// Each kind with its type and the letter of its names.
const BANKS: [(Bank, &str, char); 5] = [
    (Bank::Truth, "pred", 'p'),
    (Bank::Word, "b32", 'r'),
    (Bank::Long, "b64", 'l'),
    (Bank::Single, "f32", 'f'),
    (Bank::Double, "f64", 'd'),
];

impl Bank {
    /// Where elements of a dtype are; nothing for complex numbers.
    pub(super) fn of(dtype: DType) -> Option<Bank> {
        match dtype {
            DType::Bool => Some(Bank::Truth),
            DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => Some(Bank::Word),
            DType::F16 | DType::BF16 => Some(Bank::Word),
            DType::I64 | DType::U64 => Some(Bank::Long),
            DType::F32 => Some(Bank::Single),
            DType::F64 => Some(Bank::Double),
            DType::C64 | DType::C128 => None,
        }
    }
}

/// The type of an element in memory, as it is loaded.
fn memory_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 => "u8",
        DType::I8 => "s8",
        DType::I16 => "s16",
        DType::U16 | DType::F16 | DType::BF16 => "u16",
        DType::I32 | DType::U32 => "b32",
        DType::I64 | DType::U64 | DType::C64 | DType::C128 => "b64",
        DType::F32 => "f32",
        DType::F64 => "f64",
    }
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
        let used = &mut self.used[bank as usize];
        let made = format!("%{}{used}", BANKS[bank as usize].2);
        *used += 1;
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

    /// Reads an element.
    pub(super) fn load(&mut self, space: &str, dtype: DType, address: &str) -> Option<String> {
        let (bank, load) = (Bank::of(dtype)?, format!("ld.{space}.{}", memory_type(dtype)));
        let place = format!("[{address}]");
        if bank != Bank::Truth {
            return Some(self.make(bank, &load, &[&place]));
        }
        let byte = self.make(Bank::Word, &load, &[&place]);
        Some(self.make(Bank::Truth, "setp.ne.u32", &[&byte, "0"]))
    }

    /// Writes an element.
    pub(super) fn store(&mut self, dtype: DType, address: &str, value: &str) -> Option<()> {
        let bank = Bank::of(dtype)?;
        let value = if bank == Bank::Truth { self.number(value) } else { value.to_owned() };
        self.line(&format!("st.global.{} [{address}], {value}", memory_type(dtype)));
        Some(())
    }

    /// Truth as 1 or 0.
    pub(super) fn number(&mut self, truth: &str) -> String {
        self.make(Bank::Word, "selp.u32", &["1", "0", truth])
    }

    /// What a script gives for these arguments.
    pub(super) fn script(&mut self, script: &Script, args: &[&str]) -> Option<String> {
        let mut values: Vec<String> = Vec::with_capacity(script.steps.len());
        for step in &script.steps {
            let from = &step.from[..step.arity as usize];
            let value = match step.verb {
                Verb::Argument(n) => args[n as usize].to_owned(),
                Verb::Constant(bits) => constant(bits, step.dtype)?,
                verb => {
                    let taken: Vec<&str> = from.iter().map(|&place| values[place as usize].as_str()).collect();
                    // A comparison is named by what it compares.
                    let dtype = script.steps[*from.last()? as usize].dtype;
                    self.verb(verb, dtype, &taken)?
                }
            };
            values.push(value);
        }
        Some(values.swap_remove(script.results[0] as usize))
    }

    /// Whether there are angles: then the text needs their table.
    pub(super) fn has_angles(&self) -> bool {
        !self.angles.is_empty()
    }

    /// The parts of an angle's turns, which are computed once.
    fn angle(&mut self, angle: &str) -> &[String; 3] {
        if !self.angles.contains_key(angle) {
            let turns = self.turns(angle, self.angles.len());
            self.angles.insert(angle.to_owned(), turns);
        }
        &self.angles[angle]
    }

    fn verb(&mut self, verb: Verb, dtype: DType, args: &[&str]) -> Option<String> {
        match dtype {
            DType::Bool => self.truth(verb, args),
            DType::I32 => self.integer(verb, Bank::Word, "s32", "b32", args),
            DType::I64 => self.integer(verb, Bank::Long, "s64", "b64", args),
            DType::U64 => self.integer(verb, Bank::Long, "u64", "b64", args),
            DType::F32 => match verb {
                Verb::Quadrant => Some(self.angle(args[0])[0].clone()),
                Verb::Rest => Some(self.angle(args[0])[1].clone()),
                Verb::RestLow => Some(self.angle(args[0])[2].clone()),
                _ => self.float(verb, &SINGLE, args),
            },
            DType::F64 => self.float(verb, &DOUBLE, args),
            _ => None,
        }
    }

    fn truth(&mut self, verb: Verb, args: &[&str]) -> Option<String> {
        let mut make = |instruction, args: &[&str]| self.make(Bank::Truth, instruction, args);
        Some(match verb {
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
            _ => return None,
        })
    }

    fn integer(&mut self, verb: Verb, bank: Bank, number: &str, bits: &str, args: &[&str]) -> Option<String> {
        let (of_numbers, of_bits) = (|name: &str| format!("{name}.{number}"), |name: &str| format!("{name}.{bits}"));
        Some(match verb {
            Verb::Add => self.make(bank, &of_numbers("add"), args),
            Verb::Sub => self.make(bank, &of_numbers("sub"), args),
            Verb::Mul => self.make(bank, &of_numbers("mul.lo"), args),
            Verb::Max => self.make(bank, &of_numbers("max"), args),
            Verb::Min => self.make(bank, &of_numbers("min"), args),
            Verb::Neg => self.make(bank, &of_numbers("sub"), &["0", args[0]]),
            Verb::Abs if number == "u64" => args[0].to_owned(),
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
            _ => return None,
        })
    }

    fn float(&mut self, verb: Verb, format: &Format, args: &[&str]) -> Option<String> {
        let (bank, name) = (format.bank, format.name);
        let of = |instruction: &str| format!("{instruction}.{name}");
        Some(match verb {
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
            _ => return None,
        })
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
        let Format { bank, bits, name, raw, whole, .. } = *format;
        let power = self.make(bits, &format!("cvt.rzi.{whole}.{name}"), &[power]);
        let half = self.make(bits, &format!("shr.{whole}"), &[&power, "1"]);
        let rest = self.make(bits, &format!("sub.{whole}"), &[&power, &half]);
        let mut value = value.to_owned();
        for part in [half, rest] {
            let biased = self.make(bits, &format!("add.{whole}"), &[&part, format.bias]);
            let shifted = self.make(bits, &format!("shl.{raw}"), &[&biased, format.mantissa]);
            let factor = self.make(bank, &format!("mov.{raw}"), &[&shifted]);
            value = self.make(bank, &format!("mul.rn.{name}"), &[&value, &factor]);
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

/// A float dtype: its registers and those of its bits, and its numbers.
struct Format {
    bank: Bank,
    bits: Bank,
    name: &'static str,
    raw: &'static str,
    whole: &'static str,
    mantissa: &'static str,
    bias: &'static str,
    two_thirds: &'static str,
}

const SINGLE: Format = Format {
    bank: Bank::Single,
    bits: Bank::Word,
    name: "f32",
    raw: "b32",
    whole: "s32",
    mantissa: "23",
    bias: "127",
    two_thirds: "0x3f2aaaab",
};

const DOUBLE: Format = Format {
    bank: Bank::Double,
    bits: Bank::Long,
    name: "f64",
    raw: "b64",
    whole: "s64",
    mantissa: "52",
    bias: "1023",
    two_thirds: "0x3fe5555555555555",
};

/// A constant, as an operand: floats by their bits.
fn constant(bits: u64, dtype: DType) -> Option<String> {
    let value = f64::from_bits(bits);
    match dtype {
        DType::F32 => Some(format!("0f{:08X}", (value as f32).to_bits())),
        DType::F64 => Some(double(value)),
        DType::I32 | DType::I64 | DType::U64 => Some((value as i64).to_string()),
        _ => None,
    }
}

/// A double, as an operand.
pub(super) fn double(value: f64) -> String {
    format!("0d{:016X}", value.to_bits())
}
