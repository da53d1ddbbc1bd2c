//! The generic kernel: it interprets any program, so that nothing waits for a compiler. One text for everything.

use super::bodies::{self, c_type, short};
use super::index::Collapsed;
use super::prelude;
use crate::gpu::DeviceIo;
use forerun_base::{DType, Layout};
use forerun_ops::symbol::script;
use forerun_ops::{Class, Point};
use forerun_plan::{Program, Reg};
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::OnceLock;

/// Words of the kernel's argument, within the 4 KiB that every device takes.
const CODE_WORDS: usize = 500;

/// Steps of an op that the kernel knows, at the most: with the long ones it takes half a minute to compile. Programs with such ops
/// wait for their own kernel.
const STEPS: usize = 80;

/// Registers of a program, and inputs.
const SLOTS: usize = 96;
const INPUTS: usize = 24;

/// The text of the generic kernel.
pub(crate) fn generic_text() -> String {
    let mut text = String::new();
    let _ = writeln!(text, "#define CODE_WORDS {CODE_WORDS}\n#define SLOTS {SLOTS}\n#define INPUTS {INPUTS}");
    let mut cases = String::new();
    for &op in Point::ALL {
        for dtype in DType::ALL.into_iter().filter(|dtype| fits(*dtype)) {
            if is_long(op, dtype) {
                continue;
            }
            let Some(function) = bodies::op_text(op, dtype) else { continue };
            // Called, not inlined: the switch then compiles in no time.
            text.push_str(&function.replacen("DEV", "static __device__ __noinline__", 1));
            let t = c_type(dtype);
            let row = op.row();
            let read = |n: usize| {
                let t = if row.class == Class::Select && n == 0 { "bool" } else { t };
                format!("scalar<{t}>({})", ["a", "b", "x"][n])
            };
            let args: Vec<String> = (0..row.arity).map(read).collect();
            if row.types(dtype).is_ok_and(|(_, out)| !fits(out)) {
                continue;
            }
            let code = op as u32 * 16 + dtype as u32;
            let name = bodies::function(op, dtype);
            let _ = writeln!(cases, "        case {code}: made = packed({name}({})); break;", args.join(", "));
        }
    }
    let mut casts = String::new();
    for from in DType::ALL.into_iter().filter(|dtype| fits(*dtype)) {
        for to in DType::ALL.into_iter().filter(|dtype| fits(*dtype)) {
            let code = from as u32 * 16 + to as u32;
            let _ = writeln!(
                casts,
                "            case {code}: made = packed(to_{}(scalar<{}>(a))); break;",
                short(to),
                c_type(from)
            );
        }
    }
    let _ = write!(
        text,
        "DEV void step_of(int op, int dtype, int out, u64 a, u64 b, u64 x, u64& made) {{\n    if (op == {}) {{\n        \
         switch (dtype * 16 + out) {{\n{casts}        }}\n        return;\n    }}\n    switch (op * 16 + dtype) {{\n{cases}    }}\n}}\n",
        Point::Cast as u32
    );
    text.push_str(include_str!("../kernels/generic.cuh"));
    prelude::open(&text)
}

/// Whether the generic kernel leaves an op out.
fn is_long(op: Point, dtype: DType) -> bool {
    static LONG: OnceLock<HashSet<(Point, DType)>> = OnceLock::new();
    let count = |op, dtype| script(op, dtype).map_or(0, |script| script.steps.len());
    LONG.get_or_init(|| {
        let all = Point::ALL.iter().flat_map(|&op| DType::ALL.map(|dtype| (op, dtype)));
        all.filter(|&(op, dtype)| count(op, dtype) > STEPS).collect()
    })
    .contains(&(op, dtype))
}

/// Whether the registers of the generic kernel, words, hold elements of a dtype.
fn fits(dtype: DType) -> bool {
    dtype.size() <= 8
}

/// The words for one launch of a program; `None` if it is too large for the generic kernel.
pub(crate) fn encode(program: &Program, io: DeviceIo<'_>) -> Option<Vec<u64>> {
    let (inputs, scalars, outputs) = (program.inputs.len(), program.scalars.len(), program.outputs.len());
    let slots = inputs + scalars + outputs + program.temps as usize;
    let layouts: Vec<Layout> = program.inputs.iter().map(|input| input.layout).collect();
    let space = Collapsed::new(program.shape, &layouts);
    let rank = space.rank();
    let total = 6 + rank + inputs * (2 + rank) + scalars + 2 * outputs + program.code.len();
    let dtypes = program.code.iter().flat_map(|instr| [instr.dtype, instr.out]);
    if program.code.iter().any(|instr| is_long(instr.op, instr.dtype)) {
        return None;
    }
    if slots > SLOTS || inputs > INPUTS || total > CODE_WORDS || !dtypes.into_iter().all(fits) {
        return None;
    }
    let mut words = vec![program.shape.size(), inputs, scalars, outputs, program.code.len(), rank];
    words.extend(&space.extents);
    let mut words: Vec<u64> = words.into_iter().map(|word| word as u64).collect();
    for (n, input) in program.inputs.iter().enumerate() {
        words.push(io.inputs[n]);
        words.push(input.dtype.size() as u64);
        words.extend(space.strides[n].iter().map(|&s| s as i64 as u64));
    }
    words.extend(&io.scalars[..scalars]);
    for (dtype, address) in program.outputs.iter().zip(io.outputs) {
        words.extend([*address, dtype.size() as u64]);
    }
    let slot = |reg: Reg| match reg {
        Reg::Input(n) => n as usize,
        Reg::Scalar(n) => inputs + n as usize,
        Reg::Out(n) => inputs + scalars + n as usize,
        Reg::Temp(n) => inputs + scalars + outputs + n as usize,
    } as u64;
    for instr in &program.code {
        let [a, b, c] = instr.args.map(slot);
        let kind = instr.op as u64 | (instr.dtype as u64) << 8 | (instr.out as u64) << 12;
        words.push(kind | slot(instr.dst) << 16 | a << 28 | b << 40 | c << 52);
    }
    words.resize(CODE_WORDS, 0);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::Shape;
    use forerun_plan::{Instr, ProgramInput};

    #[test]
    fn a_program_becomes_words() {
        let (f, shape) = (DType::F32, Shape::of(&[10]));
        let program = Program {
            shape,
            inputs: vec![ProgramInput { dtype: f, layout: Layout::dense(shape) }],
            scalars: vec![f],
            code: vec![Instr {
                op: Point::Add,
                dtype: f,
                out: f,
                dst: Reg::Out(0),
                args: [Reg::Input(0), Reg::Scalar(0), Reg::Input(0)],
            }],
            outputs: vec![f],
            temps: 0,
        };
        let words = encode(&program, DeviceIo { inputs: &[64], outputs: &[128], scalars: &[7], status: 0 }).unwrap();
        let add = 1 | 11 << 8 | 11 << 12 | 2 << 16 | 1 << 40;
        assert_eq!(words[..14], [10, 1, 1, 1, 1, 1, 10, 64, 4, 1, 7, 128, 4, add]);
        let large = Program { temps: 120, ..program };
        assert!(encode(&large, DeviceIo { inputs: &[64], outputs: &[128], scalars: &[7], status: 0 }).is_none());
    }

    #[test]
    fn every_row_has_a_case() {
        let text = generic_text();
        assert!(text.contains("case 27: made = packed(op_add_f32(scalar<float>(a), scalar<float>(b))); break;"));
        assert_eq!(text.matches("made = packed(to_").count(), 14 * 14, "all but complex128");
    }
}
