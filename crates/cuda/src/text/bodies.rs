//! The functions of ops: each script of the catalogue as a device function.

use forerun_base::{DType, Kind};
use forerun_ops::symbol::{Script, Verb, normal_pair_script, script};
use forerun_ops::{Class, Point};
use std::fmt::Write;

/// The C type of a dtype.
pub(crate) fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::I32 => "int",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::Bool | DType::I8 | DType::I16 | DType::I64 => short(dtype),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::F16 | DType::BF16 => short(dtype),
        DType::C64 | DType::C128 => short(dtype),
    }
}

/// A type with this many bytes, for elements that are only moved.
pub(crate) fn element_type(size: usize) -> &'static str {
    match size {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        _ => "w16",
    }
}

/// A short name of a dtype, for function names.
pub(super) fn short(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::BF16 => "bf16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::C64 => "c64",
        DType::C128 => "c128",
    }
}

/// The name of the function of an op.
pub(super) fn function(op: Point, dtype: DType) -> String {
    format!("op_{}_{}", op.row().name, short(dtype))
}

fn verb(verb: Verb) -> String {
    format!("n_{}", format!("{verb:?}").to_lowercase())
}

/// A constant, given by its bits, so that it is exact.
fn constant(bits: u64, dtype: DType) -> String {
    let value = f64::from_bits(bits);
    match dtype {
        DType::F32 => format!("__int_as_float(0x{:x})", (value as f32).to_bits()),
        DType::F64 => format!("__longlong_as_double(0x{bits:x}LL)"),
        dtype => format!("({})({})", c_type(dtype), value as i64),
    }
}

/// Prints the steps of a script as declarations; its arguments are `a0`, `a1`, `a2`.
fn steps(script: &Script, to: &mut String) {
    for (place, step) in script.steps.iter().enumerate() {
        let value = match step.verb {
            Verb::Argument(n) => format!("a{n}"),
            Verb::Constant(bits) => constant(bits, step.dtype),
            // The name contains the dtype, so that a source includes only the reduction for its own dtypes.
            Verb::Quadrant => format!("turns_{}(t{}).quadrant", short(step.dtype), step.from[0]),
            Verb::Rest => format!("turns_{}(t{}).rest", short(step.dtype), step.from[0]),
            Verb::RestLow => format!("turns_{}(t{}).low", short(step.dtype), step.from[0]),
            other => {
                let from: Vec<String> = step.from[..step.arity as usize].iter().map(|f| format!("t{f}")).collect();
                format!("{}({})", verb(other), from.join(", "))
            }
        };
        let _ = writeln!(to, "    const {} t{place} = {value};", c_type(step.dtype));
    }
}

/// The function of an op on operands of `dtype`; `None` if the op has no body (a cast) or does not take the dtype.
pub(super) fn op_text(op: Point, dtype: DType) -> Option<String> {
    if op == Point::Compose {
        let (t, c, name) = (c_type(dtype), c_type(dtype.to_complex()), function(op, dtype));
        return (dtype.kind() == Kind::Float && dtype.carrier() == dtype)
            .then(|| format!("DEV {c} {name}({t} a0, {t} a1) {{ return {c}{{a0, a1}}; }}\n"));
    }
    if dtype.carrier() != dtype {
        // Dtypes without arithmetic are copied.
        let (t, name) = (c_type(dtype), function(op, dtype));
        return match op {
            Point::Copy => Some(format!("DEV {t} {name}({t} a0) {{ return a0; }}\n")),
            Point::Imag if dtype.kind() == Kind::Complex => {
                Some(format!("DEV {} {name}({t} a0) {{ return a0.im; }}\n", c_type(dtype.carrier())))
            }
            Point::Where => Some(format!("DEV {t} {name}(bool a0, {t} a1, {t} a2) {{ return a0 ? a1 : a2; }}\n")),
            _ => None,
        };
    }
    let script = script(op, dtype)?;
    let row = op.row();
    let types = |n: usize| if row.class == Class::Select && n == 0 { "bool" } else { c_type(dtype) };
    let args: Vec<String> = (0..row.arity).map(|n| format!("{} a{n}", types(n))).collect();
    let result = script.results[0] as usize;
    let out = c_type(script.steps[result].dtype);
    let mut text = format!("DEV {out} {}({}) {{\n", function(op, dtype), args.join(", "));
    steps(&script, &mut text);
    let _ = write!(text, "    return t{result};\n}}\n");
    Some(text)
}

/// Definitions for sums of elements: converted to the carrier and back; complex numbers directly.
pub(super) fn carried(dtype: DType) -> String {
    if dtype.kind() == Kind::Complex {
        return format!("typedef {} C;\n#define WIDE(x) (x)\n#define NARROW(x) (x)\n", c_type(dtype));
    }
    format!(
        "typedef {} C;\n#define WIDE(x) to_{}(x)\n#define NARROW(x) to_{}(x)\n",
        c_type(dtype.carrier()),
        short(dtype.carrier()),
        short(dtype)
    )
}

/// The function that makes two normal numbers from two uniform ones.
pub(super) fn normal_pair_text(dtype: DType) -> String {
    let script = normal_pair_script(dtype);
    let t = c_type(dtype);
    let mut text = format!("DEV void normal_pair({t} a0, {t} a1, {t}& x, {t}& y) {{\n");
    steps(&script, &mut text);
    let _ = write!(text, "    x = t{};\n    y = t{};\n}}\n", script.results[0], script.results[1]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_follow_the_scripts() {
        let text = op_text(Point::Reciprocal, DType::F32).unwrap();
        assert_eq!(
            text,
            "DEV float op_reciprocal_f32(float a0) {\n    const float t0 = a0;\n    const float t1 = __int_as_float(0x3f800000);\n    const float t2 = n_div(t1, t0);\n    return t2;\n}\n"
        );
        assert!(
            op_text(Point::Where, DType::I64).unwrap().starts_with("DEV i64 op_where_i64(bool a0, i64 a1, i64 a2)")
        );
        assert!(op_text(Point::Cast, DType::F32).is_none() && op_text(Point::Exp, DType::I32).is_none());
    }
}
