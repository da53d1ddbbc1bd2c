//! PTX of casts, with the bits of the functions in `prelude.cuh`.

use super::ptx_verbs::{Bank, Code, Parts};
use forerun_base::{DType, Kind};

/// A value of one dtype as another: of a complex number the real part, but to truth whether one of the two is not 0.
pub(super) fn cast(code: &mut Code, from: DType, to: DType, value: &Parts) -> Parts {
    let (is_complex, to_complex) = (from.kind() == Kind::Complex, to.kind() == Kind::Complex);
    match (is_complex, to_complex) {
        (true, true) => value.iter().map(|part| cast_part(code, from.carrier(), to.carrier(), part)).collect(),
        (false, true) => vec![cast_part(code, from, to.carrier(), &value[0]), zero(to.carrier()).to_owned()],
        (true, false) if to == DType::Bool => {
            let [re, im] = [0, 1].map(|n| cast_part(code, from.carrier(), to, &value[n]));
            vec![code.make(Bank::Truth, "or.pred", &[&re, &im])]
        }
        (true, false) => vec![cast_part(code, from.carrier(), to, &value[0])],
        (false, false) => vec![cast_part(code, from, to, &value[0])],
    }
}

fn cast_part(code: &mut Code, from: DType, to: DType, value: &str) -> String {
    if from == to {
        return value.to_owned();
    }
    // Half floats go by way of singles, truth by way of 1 and 0.
    match from {
        DType::F16 => {
            let half = code.make(Bank::Half, "cvt.u16.u32", &[value]);
            let single = code.make(Bank::Single, "cvt.f32.f16", &[&half]);
            // NaN has no sign any more.
            let high = code.make(Bank::Word, "shl.b32", &[value, "16"]);
            let sign = code.make(Bank::Single, "mov.b32", &[&high]);
            let single = code.make(Bank::Single, "copysign.f32", &[&sign, &single]);
            return cast_part(code, DType::F32, to, &single);
        }
        DType::BF16 => {
            let bits = code.make(Bank::Word, "shl.b32", &[value, "16"]);
            let single = code.make(Bank::Single, "mov.b32", &[&bits]);
            return cast_part(code, DType::F32, to, &single);
        }
        DType::Bool => {
            let number = code.number(value);
            return cast_part(code, DType::I32, to, &number);
        }
        _ => {}
    }
    let number = number_type(from);
    let float = from.kind() == Kind::Float;
    match to {
        DType::Bool => {
            let differs = if float { "setp.neu" } else { "setp.ne" };
            code.make(Bank::Truth, &format!("{differs}.{number}"), &[value, zero(from)])
        }
        DType::F16 => {
            let half = code.make(Bank::Half, &format!("cvt.rn.f16.{number}"), &[value]);
            let half = code.make(Bank::Word, "cvt.u32.u16", &[&half]);
            if !float {
                return half;
            }
            // NaN has no sign any more: the last 15 bits are these, the others those of the number.
            let bits = match from {
                DType::F32 => code.make(Bank::Word, "mov.b32", &[value]),
                _ => {
                    let bits = code.make(Bank::Long, "mov.b64", &[value]);
                    let high = code.make(Bank::Long, "shr.u64", &[&bits, "32"]);
                    code.make(Bank::Word, "cvt.u32.u64", &[&high])
                }
            };
            let high = code.make(Bank::Word, "shr.u32", &[&bits, "16"]);
            code.make(Bank::Word, "lop3.b32", &[&half, &high, "0x7fff", "0xe4"])
        }
        DType::BF16 => {
            let single = single_to_round(code, from, value);
            bf16_of(code, &single)
        }
        DType::F64 if from == DType::F32 => code.make(Bank::Double, "cvt.f64.f32", &[value]),
        DType::F32 | DType::F64 => code.make(Bank::of(to), &format!("cvt.rn.{}.{number}", number_type(to)), &[value]),
        _ if float => integer_of_float(code, from, to, value),
        _ => integer_of_integer(code, Bank::of(from), number, to, value),
    }
}

/// The type of what is in a dtype's registers.
fn number_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::I64 => "s64",
        DType::U64 => "u64",
        DType::U32 => "u32",
        _ => "s32",
    }
}

fn zero(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "0f00000000",
        DType::F64 => "0d0000000000000000",
        _ => "0",
    }
}

/// Integers wrap.
fn integer_of_integer(code: &mut Code, bank: Bank, number: &str, to: DType, value: &str) -> String {
    if to.size() == 8 {
        return match bank {
            Bank::Long => value.to_owned(),
            _ if number == "u32" => code.make(Bank::Long, "cvt.u64.u32", &[value]),
            _ => code.make(Bank::Long, "cvt.s64.s32", &[value]),
        };
    }
    let word = if bank == Bank::Long { code.make(Bank::Word, "cvt.u32.u64", &[value]) } else { value.to_owned() };
    match to {
        DType::I8 => code.make(Bank::Word, "cvt.s32.s8", &[&word]),
        DType::I16 => code.make(Bank::Word, "cvt.s32.s16", &[&word]),
        DType::U8 => code.make(Bank::Word, "and.b32", &[&word, "0xff"]),
        DType::U16 => code.make(Bank::Word, "and.b32", &[&word, "0xffff"]),
        _ => word,
    }
}

/// Floats are cut off towards zero and clamped; NaN is 0.
fn integer_of_float(code: &mut Code, from: DType, to: DType, value: &str) -> String {
    let name = number_type(from);
    // The narrow ones are clamped from 32 bits.
    let (bank, number, bits) = match to {
        DType::I64 => (Bank::Long, "s64", "b64"),
        DType::U64 => (Bank::Long, "u64", "b64"),
        DType::U32 => (Bank::Word, "u32", "b32"),
        _ => (Bank::Word, "s32", "b32"),
    };
    let mut none = code.make(Bank::Truth, &format!("setp.nan.{name}"), &[value, value]);
    if number.starts_with('u') {
        none = code.make(Bank::Truth, &format!("setp.lt.or.{name}"), &[value, zero(from), &none]);
    }
    let cut = code.make(bank, &format!("cvt.rzi.{number}.{name}"), &[value]);
    let whole = code.make(bank, &format!("selp.{bits}"), &["0", &cut, &none]);
    let (low, high) = match to {
        DType::I8 => ("-128", "127"),
        DType::I16 => ("-32768", "32767"),
        DType::U8 => ("0", "255"),
        DType::U16 => ("0", "65535"),
        _ => return whole,
    };
    let raised = code.make(Bank::Word, "max.s32", &[&whole, low]);
    code.make(Bank::Word, "min.s32", &[&raised, high])
}

/// The single that a bfloat16 is rounded from: where it is not the number itself, its last bit is set, so that it may be rounded
/// once more.
fn single_to_round(code: &mut Code, from: DType, value: &str) -> String {
    if from == DType::F32 {
        return value.to_owned();
    }
    let wide = match from {
        DType::F64 => value.to_owned(),
        _ => code.make(Bank::Double, &format!("cvt.rn.f64.{}", number_type(from)), &[value]),
    };
    let near = code.make(Bank::Single, "cvt.rn.f32.f64", &[&wide]);
    let bits = code.make(Bank::Word, "mov.b32", &[&near]);
    let back = code.make(Bank::Double, "cvt.f64.f32", &[&near]);
    let last = code.make(Bank::Word, "and.b32", &[&bits, "1"]);
    // Done if it is the number, not a number, or odd.
    let odd = code.make(Bank::Truth, "setp.ne.u32", &[&last, "0"]);
    let done = code.make(Bank::Truth, "setp.equ.or.f64", &[&back, &wide, &odd]);
    let size_of_back = code.make(Bank::Double, "abs.f64", &[&back]);
    let size = code.make(Bank::Double, "abs.f64", &[&wide]);
    let above = code.make(Bank::Truth, "setp.gt.f64", &[&size_of_back, &size]);
    let step = code.make(Bank::Word, "selp.b32", &["-1", "1", &above]);
    let moved = code.make(Bank::Word, "add.s32", &[&bits, &step]);
    let chosen = code.make(Bank::Word, "selp.b32", &[&bits, &moved, &done]);
    code.make(Bank::Single, "mov.b32", &[&chosen])
}

fn bf16_of(code: &mut Code, single: &str) -> String {
    let bits = code.make(Bank::Word, "mov.b32", &[single]);
    let cut = code.make(Bank::Word, "shr.u32", &[&bits, "16"]);
    let odd = code.make(Bank::Word, "and.b32", &[&cut, "1"]);
    let raised = code.make(Bank::Word, "add.u32", &[&bits, &odd]);
    let raised = code.make(Bank::Word, "add.u32", &[&raised, "0x7fff"]);
    let near = code.make(Bank::Word, "shr.u32", &[&raised, "16"]);
    let quiet = code.make(Bank::Word, "or.b32", &[&cut, "0x40"]);
    let is_nan = code.make(Bank::Truth, "setp.nan.f32", &[single, single]);
    code.make(Bank::Word, "selp.b32", &[&quiet, &near, &is_nan])
}
