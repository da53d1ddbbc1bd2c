//! Pointwise programs as PTX, the driver's own assembly: the kernel that does an element at a time, without the C compiler's time.
//! Its argument is that of the kernel in CUDA C, and so are its bits.
//!
//! Invariant: a value has a register of its own, and everything is inlined, in one block of code that a thread goes through for each of
//! its elements. (A far angle makes a detour.)

use super::programs::{Access, Evaluator};
use super::ptx_casts::cast;
use super::ptx_turns;
use super::ptx_verbs::{Bank, Code};
use forerun_base::DType;
use forerun_ops::Point;
use forerun_ops::symbol::script;
use forerun_plan::{Instr, Program, Reg};
use std::collections::HashMap;
use std::fmt::Write;

/// The first version of PTX that knows an architecture.
const VERSIONS: [((i32, i32), &str); 14] = [
    ((7, 0), "6.0"),
    ((7, 2), "6.1"),
    ((7, 5), "6.3"),
    ((8, 0), "7.0"),
    ((8, 6), "7.1"),
    ((8, 7), "7.4"),
    ((8, 9), "7.8"),
    ((9, 0), "7.8"),
    ((10, 0), "8.6"),
    ((10, 1), "8.6"),
    ((10, 3), "8.8"),
    ((11, 0), "9.0"),
    ((12, 0), "8.7"),
    ((12, 1), "8.8"),
];

/// Bytes of an argument that every version takes.
const MOST_ARGUMENT: usize = 4096;

/// What a text opens with; nothing for an architecture that is not in the list.
fn header(arch: (i32, i32)) -> Option<String> {
    let (_, version) = VERSIONS.iter().find(|(known, _)| *known == arch)?;
    Some(format!(".version {version}\n.target sm_{}{}\n.address_size 64\n", arch.0, arch.1))
}

/// The smallest kernel, for whoever wants the driver's assembler to be there.
pub(crate) fn empty_ptx(arch: (i32, i32)) -> Option<String> {
    Some(header(arch)? + ".visible .entry run()\n{\n\tret;\n}\n")
}

/// The kernel of a program with packs of one element; nothing if it uses what is not printed here.
pub(crate) fn plain_ptx(program: &Program, evaluator: &Evaluator, arch: (i32, i32)) -> Option<String> {
    let header = header(arch)?;
    let mut kernel = Kernel { evaluator, code: Code::default() };
    if kernel.argument() > MOST_ARGUMENT {
        return None;
    }
    kernel.open();
    let inputs = kernel.addresses(evaluator.inputs, program.inputs.len());
    let outputs = kernel.addresses(evaluator.outputs, program.outputs.len());
    let mut values = HashMap::new();
    for (n, dtype) in program.scalars.iter().enumerate() {
        let scalar = kernel.code.load("param", *dtype, &word(evaluator.scalars + n))?;
        values.insert(Reg::Scalar(n as u8), scalar);
    }
    kernel.code.line("@%none bra $elements_end");
    kernel.code.text.push_str("$elements:\n");
    let index = kernel.index();
    for (n, input) in program.inputs.iter().enumerate() {
        let address = kernel.address_of_input(n, input.dtype, &inputs[n], &index);
        values.insert(Reg::Input(n as u8), kernel.code.load("global", input.dtype, &address)?);
    }
    for instr in &program.code {
        let value = kernel.instruction(instr, &values)?;
        values.insert(instr.dst, value);
    }
    for (n, dtype) in program.outputs.iter().enumerate() {
        let address = kernel.element(&outputs[n], "%at", *dtype, "u32");
        kernel.code.store(*dtype, &address, &values[&Reg::Out(n as u8)])?;
    }
    kernel.close();
    Some(kernel.print(header))
}

/// A word of the kernel's argument.
fn word(n: usize) -> String {
    format!("p+{}", 8 * n)
}

/// A kernel while it is printed.
struct Kernel<'a> {
    evaluator: &'a Evaluator,
    code: Code,
}

impl Kernel<'_> {
    /// Names of the index type: as a number without a sign, and as bits.
    fn index_types(&self) -> (&'static str, &'static str) {
        if self.evaluator.narrow { ("u32", "b32") } else { ("u64", "b64") }
    }

    /// Bytes of the kernel's argument, the mark's two words included.
    fn argument(&self) -> usize {
        8 * (self.evaluator.own() + 2)
    }

    /// The index of the thread's first element, the step to the next, and whether there is none.
    fn open(&mut self) {
        let (number, _) = self.index_types();
        self.code.line("mov.u32 %thread, %tid.x");
        self.code.line("mov.u32 %block, %ctaid.x");
        self.code.line("mov.u32 %blocks, %nctaid.x");
        self.code.line(&format!("ld.param.{number} %count, [p]"));
        if self.evaluator.narrow {
            self.code.line("mad.lo.u32 %at, %block, 256, %thread");
            self.code.line("mul.lo.u32 %step, %blocks, 256");
        } else {
            let thread = self.code.make(Bank::Long, "cvt.u64.u32", &["%thread"]);
            self.code.line(&format!("mad.wide.u32 %at, %block, 256, {thread}"));
            self.code.line("mul.wide.u32 %step, %blocks, 256");
        }
        self.code.line(&format!("setp.ge.{number} %none, %at, %count"));
    }

    /// The addresses in so many words from this one on.
    fn addresses(&mut self, first: usize, count: usize) -> Vec<String> {
        let code = &mut self.code;
        let mut address = |n: usize| {
            let any = code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(first + n))]);
            code.make(Bank::Long, "cvta.to.global.u64", &[&any])
        };
        (0..count).map(&mut address).collect()
    }

    /// The index of the element in every dimension, if an input needs it.
    fn index(&mut self) -> Vec<String> {
        let mut index = Vec::new();
        if !self.evaluator.walks() {
            return index;
        }
        let mut left = "%at".to_owned();
        for d in (1..self.evaluator.rank).rev() {
            let (extent, by) = (1 + 2 * (d - 1), 2 + 2 * (d - 1));
            let (quotient, whole) = if self.evaluator.narrow {
                let multiplier = self.word("u32", &word(by));
                let shift = self.word("u32", &format!("{}+4", word(by)));
                let high = self.code.make(Bank::Word, "mul.hi.u32", &[&left, &multiplier]);
                let sum = self.code.make(Bank::Word, "add.u32", &[&high, &left]);
                let quotient = self.code.make(Bank::Word, "shr.u32", &[&sum, &shift]);
                let extent = self.word("u32", &word(extent));
                let whole = self.code.make(Bank::Word, "mul.lo.u32", &[&quotient, &extent]);
                (quotient, whole)
            } else {
                let extent = self.word("u64", &word(extent));
                let quotient = self.code.make(Bank::Long, "div.u64", &[&left, &extent]);
                let whole = self.code.make(Bank::Long, "mul.lo.u64", &[&quotient, &extent]);
                (quotient, whole)
            };
            let (number, _) = self.index_types();
            let bank = self.bank();
            index.push(self.code.make(bank, &format!("sub.{number}"), &[&left, &whole]));
            left = quotient;
        }
        index.push(left);
        index.reverse();
        index
    }

    /// The bank of indices.
    fn bank(&self) -> Bank {
        if self.evaluator.narrow { Bank::Word } else { Bank::Long }
    }

    /// A number of the argument.
    fn word(&mut self, number: &str, place: &str) -> String {
        let bank = if number == "u32" { Bank::Word } else { Bank::Long };
        self.code.make(bank, &format!("ld.param.{number}"), &[&format!("[{place}]")])
    }

    /// Where the element of an input is.
    fn address_of_input(&mut self, n: usize, dtype: DType, base: &str, index: &[String]) -> String {
        let (number, bank) = (self.index_types().0, self.bank());
        match self.evaluator.accesses[n] {
            Access::Constant => base.to_owned(),
            Access::Dense => self.element(base, "%at", dtype, "u32"),
            Access::Packed | Access::Repeated | Access::Gathered => {
                let mut offset = "0".to_owned();
                for (d, along) in index.iter().enumerate() {
                    let stride = self.word(number, &word(self.evaluator.strides[n] + d));
                    offset = self.code.make(bank, &format!("mad.lo.{number}"), &[along, &stride, &offset]);
                }
                self.element(base, &offset, dtype, "s32")
            }
        }
    }

    /// The address of an element: narrow offsets are widened as this type.
    fn element(&mut self, base: &str, offset: &str, dtype: DType, narrow: &str) -> String {
        let size = dtype.size().to_string();
        let widen = if self.evaluator.narrow { format!("mad.wide.{narrow}") } else { "mad.lo.u64".to_owned() };
        self.code.make(Bank::Long, &widen, &[offset, &size, base])
    }

    /// What an instruction gives.
    fn instruction(&mut self, instr: &Instr, values: &HashMap<Reg, String>) -> Option<String> {
        let args: Vec<&str> = instr.args[..instr.op.row().arity].iter().map(|reg| values[reg].as_str()).collect();
        if instr.op == Point::Cast {
            return cast(&mut self.code, instr.dtype, instr.out, args[0]);
        }
        if instr.dtype.carrier() != instr.dtype {
            // What is not computed in is moved.
            Bank::of(instr.dtype)?;
            return match instr.op {
                Point::Copy => Some(args[0].to_owned()),
                Point::Where => Some(self.code.make(Bank::Word, "selp.b32", &[args[1], args[2], args[0]])),
                _ => None,
            };
        }
        self.code.script(&script(instr.op, instr.dtype)?, &args)
    }

    /// The next element, and the mark after the last.
    fn close(&mut self) {
        let (number, _) = self.index_types();
        let own = self.evaluator.own();
        let code = &mut self.code;
        code.line(&format!("add.{number} %at, %at, %step"));
        code.line(&format!("setp.lt.{number} %more, %at, %count"));
        code.line("@%more bra $elements");
        code.text.push_str("$elements_end:\n");
        let mark = code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(own))]);
        let unwanted = code.make(Bank::Truth, "setp.eq.u64", &[&mark, "0"]);
        code.line(&format!("@{unwanted} bra $end"));
        code.line("bar.sync 0");
        let other = code.make(Bank::Truth, "setp.ne.u32", &["%thread", "0"]);
        code.line(&format!("@{other} bra $end"));
        code.line("membar.sys");
        let ticket = code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(own + 1))]);
        let place = code.make(Bank::Long, "cvta.to.global.u64", &[&mark]);
        code.line(&format!("st.volatile.global.u64 [{place}], {ticket}"));
        code.text.push_str("$end:\n");
        code.line("ret");
    }

    fn print(self, header: String) -> String {
        let (_, bits) = self.index_types();
        let mut text = header;
        if self.code.has_angles() {
            text.push_str(&ptx_turns::table());
        }
        let bytes = self.argument();
        let _ = write!(text, ".visible .entry run(\n\t.param .align 8 .b8 p[{bytes}]\n)\n.maxntid 256, 1, 1\n{{\n");
        let _ = writeln!(text, "\t.reg .pred %none, %more;\n\t.reg .b32 %thread, %block, %blocks;");
        let _ = writeln!(text, "\t.reg .{bits} %at, %step, %count;");
        text.push_str(&self.code.registers());
        text.push_str(&self.code.text);
        text.push_str("}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::{Layout, Shape};
    use forerun_plan::ProgramInput;

    fn text(op: Point, dtype: DType, out: DType, inputs: &[(DType, Layout)], shape: Shape) -> Option<String> {
        let arg = |n: usize| Reg::Input(if n < inputs.len() { n as u8 } else { 0 });
        let code = vec![Instr { op, dtype, out, dst: Reg::Out(0), args: [arg(0), arg(1), arg(2)] }];
        let inputs = inputs.iter().map(|&(dtype, layout)| ProgramInput { dtype, layout }).collect();
        let program = Program { shape, inputs, scalars: vec![], code, outputs: vec![out], temps: 0 };
        plain_ptx(&program, &Evaluator::plain(&program, None), (9, 0))
    }

    fn dense(op: Point, dtype: DType, out: DType) -> Option<String> {
        let shape = Shape::of(&[100]);
        let inputs = vec![(dtype, Layout::dense(shape)); op.row().arity];
        text(op, dtype, out, &inputs, shape)
    }

    #[test]
    fn a_sum_is_loaded_added_and_stored() {
        let text = dense(Point::Add, DType::F32, DType::F32).unwrap();
        assert!(text.starts_with(".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry run("));
        assert!(text.contains("p[48]"), "four words and the two of the mark");
        let body = &text[text.find("$elements:").unwrap()..text.find("$elements_end:").unwrap()];
        let lines: Vec<&str> = body.lines().map(str::trim).collect();
        let expected = [
            "$elements:",
            "mad.wide.u32 %l6, %at, 4, %l1;",
            "ld.global.f32 %f0, [%l6];",
            "mad.wide.u32 %l7, %at, 4, %l3;",
            "ld.global.f32 %f1, [%l7];",
            "add.rn.f32 %f2, %f0, %f1;",
            "mad.wide.u32 %l8, %at, 4, %l5;",
            "st.global.f32 [%l8], %f2;",
            "add.u32 %at, %at, %step;",
            "setp.lt.u32 %more, %at, %count;",
            "@%more bra $elements;",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn operands_are_walked_as_in_c() {
        let shape = Shape::of(&[6, 8]);
        let turned = Layout::dense(Shape::of(&[8, 6])).permute(&[1, 0]);
        let f = DType::F32;
        let narrow = text(Point::Add, f, f, &[(f, Layout::dense(shape)), (f, turned)], shape).unwrap();
        // Words: the count, an extent and its divisor, two inputs, an output, two strides.
        for part in ["ld.param.u32 %r0, [p+16];", "[p+16+4];", "[p+8];", "[p+48];", "[p+56];", "mad.wide.s32", "p[80]"]
        {
            assert!(narrow.contains(part), "{part}: {narrow}");
        }
        let far = Shape::of(&[1 << 20, 1 << 12]);
        let wide = text(Point::Copy, f, f, &[(f, Layout::strided(far, &[0, 1]))], far).unwrap();
        assert!(wide.contains("div.u64") && wide.contains(".reg .b64 %at") && !wide.contains("mul.hi.u32"));
    }

    #[test]
    fn one_text_in_ptx_serves_all_shapes_of_a_class() {
        let text = |m: usize, n: usize| {
            let shape = Shape::of(&[m, n]);
            let row = Layout::dense(Shape::of(&[n])).broadcast_to(shape).unwrap();
            let f = DType::F32;
            text(Point::Add, f, f, &[(f, Layout::dense(shape)), (f, row)], shape)
        };
        assert_eq!(text(8, 16), text(100, 401));
    }

    #[test]
    fn order_has_the_rules_of_nan() {
        let maximum = dense(Point::Maximum, DType::F32, DType::F32).unwrap();
        assert!(maximum.contains("setp.gt.f32 %p0, %f0, %f1;\n\tsetp.nan.or.f32 %p1, %f0, %f0, %p0;"));
        assert!(dense(Point::Maximum, DType::I32, DType::I32).unwrap().contains("max.s32"));
    }

    #[test]
    fn casts_cut_off_and_clamp() {
        let narrow = dense(Point::Cast, DType::F32, DType::U8).unwrap();
        for part in ["setp.nan.f32", "cvt.rzi.s32.f32", "max.s32", "255", "st.global.u8"] {
            assert!(narrow.contains(part), "{part}: {narrow}");
        }
        assert!(dense(Point::Cast, DType::F32, DType::Bool).unwrap().contains("setp.neu.f32"), "NaN is true");
    }

    #[test]
    fn an_angle_is_turned_once() {
        let shape = Shape::of(&[100]);
        let f = DType::F32;
        let instr = |op, dst| Instr { op, dtype: f, out: f, dst, args: [Reg::Input(0); 3] };
        let code = vec![instr(Point::Sin, Reg::Out(0)), instr(Point::Cos, Reg::Out(1))];
        let inputs = vec![ProgramInput { dtype: f, layout: Layout::dense(shape) }];
        let program = Program { shape, inputs, scalars: vec![], code, outputs: vec![f, f], temps: 0 };
        let text = plain_ptx(&program, &Evaluator::plain(&program, None), (9, 0)).unwrap();
        assert_eq!(text.matches("mov.u64").count(), 1, "one row of the table is looked up: {text}");
        assert!(text.contains(".const .align 8 .b64 single_turns[42] = {0x3fe45f3060000000, "));
    }

    #[test]
    fn what_is_not_known_is_not_printed() {
        assert!(dense(Point::Power, DType::I32, DType::I32).is_none());
        assert!(dense(Point::Sin, DType::F64, DType::F64).is_none());
        assert!(dense(Point::Copy, DType::C64, DType::C64).is_none());
        assert!(header((3, 5)).is_none());
    }
}
