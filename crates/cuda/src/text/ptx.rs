//! Pointwise kernels as PTX, the driver's own assembly: the driver links one in a fraction of the time that a compilation of C takes.
//!
//! Invariant: a value has registers of its own. A thread goes through packs of adjacent elements, each pack read and written by
//! vectors, and then through the elements that are left: the last ones, or all of them if an address is not aligned.

use super::programs::{Access, Evaluator};
use super::ptx_casts::cast;
use super::ptx_verbs::{Bank, Code, Parts};
use forerun_base::{DType, Kind};
use forerun_ops::Point;
use forerun_ops::symbol::{Script, script};
use forerun_ops::turn::{SINGLE_EXPONENTS, SINGLE_FIRST_EXPONENT, SINGLE_TURNS, TWO_OVER_PI};
use forerun_plan::{Instr, Program, Reg};
use std::collections::HashMap;
use std::fmt::Write;

/// What a text opens with, for an argument of so many bytes. The driver links it for any architecture from this one on.
fn header(bytes: usize) -> String {
    let version = if bytes <= 4096 { "6.0" } else { "8.1" };
    format!(".version {version}\n.target sm_70\n.address_size 64\n")
}

/// Words of the kernel's own: the elements that are in packs, where to write a ticket when it is done, and the ticket.
const OWN_WORDS: usize = 3;

/// Functions that texts call, a paragraph each.
const FUNCTIONS: &str = include_str!("../kernels/verbs.ptx");

/// The smallest kernel, for whoever wants the driver's assembler to be there.
pub(crate) fn empty_ptx() -> String {
    header(0) + ".visible .entry run()\n{\n\tret;\n}\n"
}

/// The kernel of a pointwise program.
pub(crate) fn pointwise_ptx(program: &Program, evaluator: &Evaluator) -> String {
    let scripts = program.code.iter().map(|instr| script(instr.op, instr.dtype)).collect();
    let mut kernel =
        Kernel { program, evaluator, scripts, code: Code::default(), addresses: vec![], scalars: HashMap::new() };
    kernel.open();
    if evaluator.pack > 1 {
        kernel.walk("packs", evaluator.pack);
        kernel.code.text.push_str("$packs_end:\n");
    }
    kernel.walk("elements", 1);
    kernel.close();
    kernel.print()
}

/// A word of the kernel's argument.
fn word(n: usize) -> String {
    format!("p+{}", 8 * n)
}

/// A kernel while it is printed.
struct Kernel<'a> {
    program: &'a Program,
    evaluator: &'a Evaluator,
    /// Of each instruction, if it has one.
    scripts: Vec<Option<Script>>,
    code: Code,
    /// Where inputs and outputs are.
    addresses: Vec<String>,
    scalars: HashMap<Reg, Parts>,
}

impl Kernel<'_> {
    /// Names of the index type: as a number without a sign, and as bits.
    fn index_types(&self) -> (&'static str, &'static str) {
        if self.evaluator.narrow { ("u32", "b32") } else { ("u64", "b64") }
    }

    /// The thread's number and how many there are, and what all elements share.
    fn open(&mut self) {
        let (evaluator, program) = (self.evaluator, self.program);
        let (number, _) = self.index_types();
        self.code.line("mov.u32 %thread, %tid.x");
        self.code.line("mov.u32 %block, %ctaid.x");
        self.code.line("mov.u32 %blocks, %nctaid.x");
        self.code.line(&format!("ld.param.{number} %count, [p]"));
        self.code.line(&format!("ld.param.{number} %packed, [{}]", word(evaluator.own())));
        if evaluator.narrow {
            self.code.line("mad.lo.u32 %first, %block, 256, %thread");
            self.code.line("mul.lo.u32 %threads, %blocks, 256");
        } else {
            let thread = self.code.make(Bank::Long, "cvt.u64.u32", &["%thread"]);
            self.code.line(&format!("mad.wide.u32 %first, %block, 256, {thread}"));
            self.code.line("mul.wide.u32 %threads, %blocks, 256");
        }
        for n in evaluator.inputs..evaluator.scalars {
            let any = self.code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(n))]);
            self.addresses.push(self.code.make(Bank::Long, "cvta.to.global.u64", &[&any]));
        }
        for (n, dtype) in program.scalars.iter().enumerate() {
            let place = word(evaluator.scalars + n);
            // The word of a complex128 is its real part.
            let value = match dtype {
                DType::C128 => {
                    let real = self.code.load("param", DType::F64, &place, 1).remove(0);
                    cast(&mut self.code, DType::F64, DType::C128, &real)
                }
                dtype => self.code.load("param", *dtype, &place, 1).remove(0),
            };
            self.scalars.insert(Reg::Scalar(n as u8), value);
        }
    }

    /// A loop over packs of as many elements: those up to `%packed`, or single ones from there on.
    fn walk(&mut self, name: &str, pack: usize) {
        let (number, _) = self.index_types();
        let code = &mut self.code;
        let end = if pack > 1 {
            code.line(&format!("mul.lo.{number} %at, %first, {pack}"));
            code.line(&format!("mul.lo.{number} %step, %threads, {pack}"));
            "%packed"
        } else {
            code.line(&format!("add.{number} %at, %packed, %first"));
            code.line(&format!("mov.{number} %step, %threads"));
            "%count"
        };
        code.line(&format!("setp.ge.{number} %none, %at, {end}"));
        code.line(&format!("@%none bra ${name}_end"));
        let _ = writeln!(code.text, "${name}:");
        if self.evaluator.pack > 1 {
            // Few go through the loop twice, and copies of it take time to link.
            code.line(".pragma \"nounroll\"");
        }
        self.elements(pack);
        self.code.line(&format!("add.{number} %at, %at, %step"));
        self.code.line(&format!("setp.lt.{number} %more, %at, {end}"));
        self.code.line(&format!("@%more bra ${name}"));
    }

    /// As many elements from `%at` on: all are read, then each is computed, then all are written.
    fn elements(&mut self, pack: usize) {
        let program = self.program;
        let index = self.index();
        let mut values = vec![self.scalars.clone(); pack];
        for (n, input) in program.inputs.iter().enumerate() {
            let read = self.read(n, input.dtype, &index, pack);
            values.iter_mut().zip(read).for_each(|(values, value)| drop(values.insert(Reg::Input(n as u8), value)));
        }
        for values in &mut values {
            for (n, instr) in program.code.iter().enumerate() {
                let value = self.instruction(n, instr, values);
                values.insert(instr.dst, value);
            }
        }
        for (n, dtype) in program.outputs.iter().enumerate() {
            let base = self.addresses[program.inputs.len() + n].clone();
            let address = self.element(&base, "%at", *dtype, "u32");
            let made: Vec<Parts> = values.iter().map(|values| values[&Reg::Out(n as u8)].clone()).collect();
            self.code.store(*dtype, &address, &made);
        }
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

    /// As many adjacent elements of an input.
    fn read(&mut self, n: usize, dtype: DType, index: &[String], pack: usize) -> Vec<Parts> {
        let (access, base) = (self.evaluator.accesses[n], self.addresses[n].clone());
        if !access.walks() {
            let repeats = access == Access::Constant;
            let address = if repeats { base } else { self.element(&base, "%at", dtype, "u32") };
            let read = self.code.load("global", dtype, &address, if repeats { 1 } else { pack });
            return if repeats { vec![read[0].clone(); pack] } else { read };
        }
        let (number, bank) = (self.index_types().0, self.bank());
        let (mut offset, mut stride) = ("0".to_owned(), String::new());
        for (d, along) in index.iter().enumerate() {
            stride = self.word(number, &word(self.evaluator.strides[n] + d));
            offset = self.code.make(bank, &format!("mad.lo.{number}"), &[along, &stride, &offset]);
        }
        let address = self.element(&base, &offset, dtype, "s32");
        match access {
            Access::Packed => self.code.load("global", dtype, &address, pack),
            Access::Repeated => vec![self.code.load("global", dtype, &address, 1).remove(0); pack],
            _ => {
                let mut places = vec![address];
                for _ in 1..pack {
                    let next = self.element(&places[places.len() - 1], &stride, dtype, "s32");
                    places.push(next);
                }
                places.iter().map(|place| self.code.load("global", dtype, place, 1).remove(0)).collect()
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
    fn instruction(&mut self, n: usize, instr: &Instr, values: &HashMap<Reg, Parts>) -> Parts {
        let args: Vec<&Parts> = instr.args[..instr.op.row().arity].iter().map(|reg| &values[reg]).collect();
        match (&self.scripts[n], instr.op) {
            (Some(script), _) => vec![self.code.script(script, &args)],
            (None, Point::Cast) => cast(&mut self.code, instr.dtype, instr.out, args[0]),
            (None, Point::Compose) => [args[0].clone(), args[1].clone()].concat(),
            // What is not computed in is moved.
            (None, Point::Where) => self.code.select(instr.dtype, &args[0][0], args[1], args[2]),
            (None, Point::Imag) if instr.dtype.kind() == Kind::Complex => vec![args[0][1].clone()],
            (None, _) => args[0].clone(),
        }
    }

    /// The mark after the last element.
    fn close(&mut self) {
        let own = self.evaluator.own();
        let code = &mut self.code;
        code.text.push_str("$elements_end:\n");
        let mark = code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(own + 1))]);
        let unwanted = code.make(Bank::Truth, "setp.eq.u64", &[&mark, "0"]);
        code.line(&format!("@{unwanted} bra $end"));
        code.line("bar.sync 0");
        let other = code.make(Bank::Truth, "setp.ne.u32", &["%thread", "0"]);
        code.line(&format!("@{other} bra $end"));
        code.line("membar.sys");
        let ticket = code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(own + 2))]);
        let place = code.make(Bank::Long, "cvta.to.global.u64", &[&mark]);
        code.line(&format!("st.volatile.global.u64 [{place}], {ticket}"));
        code.text.push_str("$end:\n");
        code.line("ret");
    }

    fn print(self) -> String {
        let (_, bits) = self.index_types();
        let bytes = 8 * (self.evaluator.own() + OWN_WORDS);
        let mut text = header(bytes);
        text.push_str(&functions(&self.code.text));
        let _ = write!(text, ".visible .entry run(\n\t.param .align 8 .b8 p[{bytes}]\n)\n.maxntid 256, 1, 1\n{{\n");
        let _ = writeln!(text, "\t.reg .pred %none, %more;\n\t.reg .b32 %thread, %block, %blocks;");
        let _ = writeln!(text, "\t.reg .{bits} %first, %threads, %at, %step, %count, %packed;");
        text.push_str(&self.code.registers());
        text.push_str(&self.code.text);
        text.push_str("}\n");
        text
    }
}

/// Types that functions are printed for, and what stands for their names there.
const TYPES: [(&str, &[(&str, &str)]); 6] = [
    ("s32", &[("<b>", "b32")]),
    ("u32", &[("<b>", "b32")]),
    ("s64", &[("<b>", "b64")]),
    ("u64", &[("<b>", "b64")]),
    (
        "f32",
        &[
            ("<b>", "b32"),
            ("<u>", "u32"),
            ("<0>", "0f00000000"),
            ("<1>", "0f3F800000"),
            ("<half>", "0f3F000000"),
            ("<nan>", "0f7FFFFFFF"),
            ("<infinity>", "0f7F800000"),
            ("<mantissa>", "23"),
            ("<spare>", "8"),
        ],
    ),
    (
        "f64",
        &[
            ("<b>", "b64"),
            ("<u>", "u64"),
            ("<0>", "0d0000000000000000"),
            ("<1>", "0d3FF0000000000000"),
            ("<half>", "0d3FE0000000000000"),
            ("<nan>", "0d7FFFFFFFFFFFFFFF"),
            ("<infinity>", "0d7FF0000000000000"),
            ("<mantissa>", "52"),
            ("<spare>", "11"),
        ],
    ),
];

/// The functions that a text calls, and those that they call, with their tables.
fn functions(text: &str) -> String {
    let mut made = String::new();
    // From the last to the first, since a function calls earlier ones only.
    for paragraph in FUNCTIONS.trim_end().split("\n\n").skip(1).collect::<Vec<_>>().into_iter().rev() {
        let function = &paragraph[paragraph.find(".func").unwrap_or(0)..];
        let name = function.split(") ").nth(1).and_then(|rest| rest.split('(').next()).unwrap_or_default();
        let is_called = |name: &str| [text, &made].iter().any(|text| text.contains(&format!("), {name}, (")));
        let copies: String = TYPES
            .iter()
            .filter(|(number, _)| is_called(&name.replace("<n>", number)) && (name.contains("<n>") || name.ends_with(number)))
            .map(|(number, names)| {
                let typed = function.replace("<n>", number);
                names.iter().fold(typed, |text, (name, value)| text.replace(name, value)) + "\n"
            })
            .collect();
        made.insert_str(0, &copies);
    }
    let turns: Vec<u64> = SINGLE_TURNS.iter().flatten().map(|part| part.to_bits()).collect();
    for (name, table) in [("single_turns", &turns[..]), ("two_over_pi", &TWO_OVER_PI)] {
        if made.contains(name) {
            let numbers: Vec<String> = table.iter().map(|number| format!("0x{number:016x}")).collect();
            made.insert_str(0, &format!(".const .align 8 .b64 {name}[{}] = {{{}}};\n", table.len(), numbers.join(", ")));
        }
    }
    made.replace("<first>", &SINGLE_FIRST_EXPONENT.to_string()).replace("<each>", &SINGLE_EXPONENTS.to_string())
}
