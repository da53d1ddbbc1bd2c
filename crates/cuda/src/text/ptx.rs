//! Pointwise kernels as PTX, the driver's own assembly: the driver links one in a fraction of the time that a compilation of C takes.
//!
//! Invariant: a value has registers of its own. A thread goes through packs of adjacent elements. A pack is read and written at once; one
//! that is not whole, or whose address is not aligned, element by element.

use super::programs::{Access, Evaluator};
use super::ptx_casts::cast;
use super::ptx_verbs::{Bank, Code, Parts};
use forerun_base::{DType, Kind, Layout, Shape};
use forerun_ops::Point;
use forerun_ops::symbol::{Script, script};
use forerun_ops::turn::{SINGLE_EXPONENTS, SINGLE_FIRST_EXPONENT, SINGLE_TURNS, TWO_OVER_PI};
use forerun_plan::{Instr, Program, ProgramInput, Reg};
use std::collections::HashMap;
use std::fmt::Write;

/// What a text opens with, for an argument of so many bytes. The driver links it for any architecture from this one on.
fn header(bytes: usize) -> String {
    let version = if bytes <= 4096 { "6.0" } else { "8.1" };
    format!(".version {version}\n.target sm_70\n.address_size 64\n")
}

/// Words of the kernel's own: the elements in whole and aligned packs, where to write a ticket when it is done, and the ticket.
const OWN_WORDS: usize = 3;

/// Functions that texts call, a paragraph each.
const FUNCTIONS: &str = include_str!("../kernels/verbs.ptx");

/// Instructions of a kernel with packs of more than two elements, at the most: the driver takes about 15 ms to link a kernel, and 6 more
/// for a hundred instructions. Packs of two are worth twice as many.
const MOST_INSTRUCTIONS: usize = 480;

/// A kernel that uses much of the driver's assembler, for whoever wants that to be loaded.
pub(crate) fn first_ptx() -> String {
    let shape = Shape::of(&[4, 4]);
    let (f, d) = (DType::F32, DType::F64);
    let instr = |op, dtype, out, arg| Instr { op, dtype, out, dst: Reg::Temp(0), args: [arg; 3] };
    let code = vec![
        instr(Point::Tanh, f, f, Reg::Input(0)),
        instr(Point::Cast, f, d, Reg::Temp(0)),
        instr(Point::Sin, d, d, Reg::Temp(0)),
        Instr { dst: Reg::Out(0), ..instr(Point::Cast, d, f, Reg::Temp(0)) },
    ];
    let inputs = vec![ProgramInput { dtype: f, layout: Layout::dense(shape).permute(&[1, 0]) }];
    pointwise_ptx(&Program { shape, inputs, scalars: vec![], code, outputs: vec![f], temps: 1 }).1
}

/// The kernel of a pointwise program, and how it goes through the elements.
pub(crate) fn pointwise_ptx(program: &Program) -> (Evaluator, String) {
    let scripts: Vec<Option<Script>> = program.code.iter().map(|instr| script(instr.op, instr.dtype)).collect();
    let mut most = usize::MAX;
    loop {
        let evaluator = Evaluator::of_program(program, most);
        let code = Kernel::new(program, &evaluator, &scripts).print();
        let pack = evaluator.pack;
        let limit = if pack > 2 { MOST_INSTRUCTIONS } else { 2 * MOST_INSTRUCTIONS };
        if pack == 1 || code.text.lines().count() <= limit {
            let text = whole(&evaluator, &code);
            return (evaluator, text);
        }
        most = pack / 2;
    }
}

/// The text of a kernel.
fn whole(evaluator: &Evaluator, code: &Code) -> String {
    let bits = if evaluator.narrow { "b32" } else { "b64" };
    let bytes = 8 * (evaluator.own() + OWN_WORDS);
    let mut text = header(bytes);
    text.push_str(&functions(&code.text));
    let _ = write!(text, ".visible .entry run(\n\t.param .align 8 .b8 p[{bytes}]\n)\n.maxntid 256, 1, 1\n{{\n");
    let _ = writeln!(text, "\t.reg .pred %none, %more;\n\t.reg .b32 %thread, %block, %blocks;");
    let _ = writeln!(text, "\t.reg .{bits} %at, %step, %count, %whole;");
    text.push_str(&code.registers());
    text.push_str(&code.text);
    text.push_str("}\n");
    text
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
    scripts: &'a [Option<Script>],
    code: Code,
    /// Where inputs and outputs are.
    addresses: Vec<String>,
    scalars: HashMap<Reg, Parts>,
}

impl<'a> Kernel<'a> {
    fn new(program: &'a Program, evaluator: &'a Evaluator, scripts: &'a [Option<Script>]) -> Kernel<'a> {
        Kernel { program, evaluator, scripts, code: Code::default(), addresses: vec![], scalars: HashMap::new() }
    }

    /// All instructions.
    fn print(mut self) -> Code {
        self.open();
        self.elements();
        self.close();
        self.code
    }

    /// The name of the index type.
    fn index_type(&self) -> &'static str {
        if self.evaluator.narrow { "u32" } else { "u64" }
    }

    /// The index of the thread's first element, the step to the next pack, and what all elements share.
    fn open(&mut self) {
        let (evaluator, program) = (self.evaluator, self.program);
        let (number, pack) = (self.index_type(), evaluator.pack);
        self.code.line("mov.u32 %thread, %tid.x");
        self.code.line("mov.u32 %block, %ctaid.x");
        self.code.line("mov.u32 %blocks, %nctaid.x");
        self.code.line(&format!("ld.param.{number} %count, [p]"));
        self.code.line(&format!("ld.param.{number} %whole, [{}]", word(evaluator.own())));
        self.code.line("mad.lo.u32 %block, %block, 256, %thread");
        self.code.line(&format!("mul.{}.u32 %at, %block, {pack}", if evaluator.narrow { "lo" } else { "wide" }));
        self.code.line(&format!(
            "mul.{}.u32 %step, %blocks, {}",
            if evaluator.narrow { "lo" } else { "wide" },
            256 * pack
        ));
        for n in evaluator.inputs..evaluator.scalars {
            let any = self.code.make(Bank::Long, "ld.param.u64", &[&format!("[{}]", word(n))]);
            self.addresses.push(self.code.make(Bank::Long, "cvta.to.global.u64", &[&any]));
        }
        for (n, dtype) in program.scalars.iter().enumerate() {
            let place = word(evaluator.scalars + n);
            // The word of a complex128 is its real part.
            let value = match dtype {
                DType::C128 => {
                    let real = self.code.load("param", DType::F64, &place);
                    cast(&mut self.code, DType::F64, DType::C128, &real)
                }
                dtype => self.code.load("param", *dtype, &place),
            };
            self.scalars.insert(Reg::Scalar(n as u8), value);
        }
    }

    /// The loop over packs: all elements of one are read, then each is computed, then all are written.
    fn elements(&mut self) {
        let (program, pack, number) = (self.program, self.evaluator.pack, self.index_type());
        self.code.line(&format!("setp.ge.{number} %none, %at, %count"));
        self.code.line("@%none bra $packs_end");
        self.code.text.push_str("$packs:\n");
        // Few go through the loop twice, and copies of it take time to link.
        self.code.line(".pragma \"nounroll\"");
        let mut values = vec![self.scalars.clone(); pack];
        for (n, read) in self.read().into_iter().enumerate() {
            values.iter_mut().zip(read).for_each(|(values, value)| drop(values.insert(Reg::Input(n as u8), value)));
        }
        for values in &mut values {
            for (n, instr) in program.code.iter().enumerate() {
                let value = self.instruction(n, instr, values);
                values.insert(instr.dst, value);
            }
        }
        let mut made = Vec::new();
        for (n, dtype) in program.outputs.iter().enumerate() {
            let base = self.addresses[program.inputs.len() + n].clone();
            let address = self.element(&base, "%at", *dtype, "u32");
            let elements: Vec<Parts> = values.iter().map(|values| values[&Reg::Out(n as u8)].clone()).collect();
            made.push((*dtype, address, self.code.stored(*dtype, &elements)));
        }
        self.in_packs("written", |code, there| {
            for (dtype, address, raw) in &made {
                match there {
                    None => code.store_pack(*dtype, address, raw),
                    Some(there) => code.store_each(*dtype, address, raw, there),
                }
            }
        });
        self.code.line(&format!("add.{number} %at, %at, %step"));
        self.code.line(&format!("setp.lt.{number} %more, %at, %count"));
        self.code.line("@%more bra $packs");
    }

    /// Accesses whole packs in one way, and else the elements that are there in another.
    fn in_packs(&mut self, name: &str, access: impl Fn(&mut Code, Option<&[String]>)) {
        if self.evaluator.pack == 1 {
            return access(&mut self.code, None);
        }
        let number = self.index_type();
        self.code.line(&format!("setp.lt.{number} %more, %at, %whole"));
        self.code.line(&format!("@%more bra ${name}_at_once"));
        let left = self.code.make(self.bank(), &format!("sub.{number}"), &["%count", "%at"]);
        let there = |e: usize| self.code.make(Bank::Truth, &format!("setp.gt.{number}"), &[&left, &e.to_string()]);
        let there: Vec<String> = (0..self.evaluator.pack).map(there).collect();
        access(&mut self.code, Some(&there));
        self.code.line(&format!("bra ${name}"));
        let _ = writeln!(self.code.text, "${name}_at_once:");
        access(&mut self.code, None);
        let _ = writeln!(self.code.text, "${name}:");
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
            let number = self.index_type();
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

    /// The elements of a pack of every input.
    fn read(&mut self) -> Vec<Vec<Parts>> {
        let (program, pack) = (self.program, self.evaluator.pack);
        let index = self.index();
        let (mut all, mut adjacent) = (Vec::new(), Vec::new());
        for (n, input) in program.inputs.iter().enumerate() {
            let (dtype, access, base) = (input.dtype, self.evaluator.accesses[n], self.addresses[n].clone());
            let (address, stride) = match access {
                Access::Constant => (base, String::new()),
                Access::Dense => (self.element(&base, "%at", dtype, "u32"), String::new()),
                Access::Packed | Access::Repeated | Access::Gathered => self.walked(n, dtype, &base, &index),
            };
            match access {
                Access::Constant | Access::Repeated => all.push(vec![self.code.load("global", dtype, &address); pack]),
                Access::Gathered => {
                    let mut places = vec![address];
                    for e in 1..pack {
                        let next = self.element(&places[e - 1], &stride, dtype, "s32");
                        places.push(next);
                    }
                    all.push(places.iter().map(|place| self.code.load("global", dtype, place)).collect());
                }
                Access::Dense | Access::Packed => {
                    adjacent.push((n, dtype, address, self.code.raw(dtype, pack)));
                    all.push(Vec::new());
                }
            }
        }
        if !adjacent.is_empty() {
            self.in_packs("read", |code, there| {
                for (_, dtype, address, raw) in &adjacent {
                    match there {
                        None => code.load_pack(*dtype, address, raw),
                        Some(there) => code.load_each(*dtype, address, raw, there),
                    }
                }
            });
        }
        for (n, dtype, _, raw) in adjacent {
            all[n] = self.code.values(dtype, raw);
        }
        all
    }

    /// The address of an input's element at this index, and the innermost stride.
    fn walked(&mut self, n: usize, dtype: DType, base: &str, index: &[String]) -> (String, String) {
        let (number, bank) = (self.index_type(), self.bank());
        let (mut offset, mut stride) = ("0".to_owned(), String::new());
        for (d, along) in index.iter().enumerate() {
            stride = self.word(number, &word(self.evaluator.strides[n] + d));
            offset = self.code.make(bank, &format!("mad.lo.{number}"), &[along, &stride, &offset]);
        }
        (self.element(base, &offset, dtype, "s32"), stride)
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
        let scripts = self.scripts;
        match (&scripts[n], instr.op) {
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
        code.text.push_str("$packs_end:\n");
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
}

/// Types that functions are printed for, and what stands for names there.
const TYPES: [(&str, &str); 6] = [
    ("s32", "<b> b32"),
    ("u32", "<b> b32"),
    ("s64", "<b> b64"),
    ("u64", "<b> b64"),
    (
        "f32",
        "<b> b32 <u> u32 <mantissa> 23 <spare> 8 <0> 0f00000000 <half> 0f3F000000 <1> 0f3F800000 <infinity> 0f7F800000 <nan> 0f7FFFFFFF",
    ),
    (
        "f64",
        "<b> b64 <u> u64 <mantissa> 52 <spare> 11 <0> 0d0000000000000000 <half> 0d3FE0000000000000 <1> 0d3FF0000000000000 \
         <infinity> 0d7FF0000000000000 <nan> 0d7FFFFFFFFFFFFFFF",
    ),
];

/// The functions that a text calls, and those that they call, with their tables.
fn functions(text: &str) -> String {
    let mut made = String::new();
    // From the last to the first, since a function calls earlier ones only.
    for paragraph in FUNCTIONS.trim_end().split("\n\n").skip(1).collect::<Vec<_>>().into_iter().rev() {
        let function = &paragraph[paragraph.find(".func").unwrap_or(0)..];
        let name = function.split(") ").nth(1).and_then(|rest| rest.split('(').next()).unwrap_or_default();
        let mut copies = String::new();
        let is_called = |name: &str| [text, &made].iter().any(|text| text.contains(&format!("), {name}, (")));
        for (number, names) in TYPES.iter().filter(|(number, _)| name.contains("<n>") || name.ends_with(number)) {
            if is_called(&name.replace("<n>", number)) {
                let names: Vec<&str> = names.split(' ').collect();
                let copy =
                    names.chunks(2).fold(function.replace("<n>", number), |text, name| text.replace(name[0], name[1]));
                copies = copy + "\n" + &copies;
            }
        }
        made.insert_str(0, &copies);
    }
    let turns: Vec<u64> = SINGLE_TURNS.iter().flatten().map(|part| part.to_bits()).collect();
    for (name, table) in [("single_turns", &turns[..]), ("two_over_pi", &TWO_OVER_PI)] {
        if made.contains(name) {
            let numbers: Vec<String> = table.iter().map(|number| format!("0x{number:016x}")).collect();
            made.insert_str(
                0,
                &format!(".const .align 8 .b64 {name}[{}] = {{{}}};\n", table.len(), numbers.join(", ")),
            );
        }
    }
    made.replace("<first>", &SINGLE_FIRST_EXPONENT.to_string()).replace("<each>", &SINGLE_EXPONENTS.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(op: Point, dtype: DType, out: DType, inputs: &[(DType, Layout)], shape: Shape) -> String {
        let arg = |n: usize| Reg::Input(if n < inputs.len() { n as u8 } else { 0 });
        let code = vec![Instr { op, dtype, out, dst: Reg::Out(0), args: [arg(0), arg(1), arg(2)] }];
        let inputs = inputs.iter().map(|&(dtype, layout)| ProgramInput { dtype, layout }).collect();
        pointwise_ptx(&Program { shape, inputs, scalars: vec![], code, outputs: vec![out], temps: 0 }).1
    }

    fn dense(op: Point, dtype: DType, out: DType) -> String {
        let shape = Shape::of(&[100]);
        let inputs = vec![(dtype, Layout::dense(shape)); op.row().arity];
        text(op, dtype, out, &inputs, shape)
    }

    #[test]
    fn a_pack_is_loaded_added_and_stored() {
        let text = dense(Point::Add, DType::F32, DType::F32);
        assert!(text.starts_with(".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry run("));
        assert!(text.contains("p[56]"), "four words and three of its own");
        let at_once = &text[text.find("$read_at_once:").unwrap()..text.find("$read:").unwrap()];
        let lines: Vec<&str> = at_once.lines().skip(1).map(str::trim).collect();
        let loads = ["ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%l6];", "ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%l7];"];
        assert_eq!(lines, loads);
        assert!(text.contains("@%p3 ld.global.f32 %f7, [%l7+12];"), "element by element");
        for part in ["add.rn.f32 %f8, %f0, %f4;", "add.rn.f32 %f11, %f3, %f7;"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("st.global.v4.f32 [%l8], {%f8, %f9, %f10, %f11};"));
    }

    #[test]
    fn one_text_serves_all_shapes_of_a_class() {
        let of = |m: usize, n: usize| {
            let shape = Shape::of(&[m, n]);
            let row = Layout::dense(Shape::of(&[n])).broadcast_to(shape).unwrap();
            text(Point::Add, DType::F32, DType::F32, &[(DType::F32, Layout::dense(shape)), (DType::F32, row)], shape)
        };
        assert_eq!(of(8, 16), of(100, 400));
        assert_ne!(of(8, 16), of(8, 15), "rows that are not made of packs");
    }

    #[test]
    fn operands_are_walked() {
        let shape = Shape::of(&[6, 8]);
        let turned = Layout::dense(Shape::of(&[8, 6])).permute(&[1, 0]);
        let f = DType::F32;
        let narrow = text(Point::Add, f, f, &[(f, Layout::dense(shape)), (f, turned)], shape);
        // Words: the count, an extent and its divisor, two inputs, an output, two strides.
        for part in ["[p+16];", "[p+16+4];", "[p+8];", "[p+48];", "[p+56];", "mad.wide.s32", "p[88]"] {
            assert!(narrow.contains(part), "{part}: {narrow}");
        }
        let far = Shape::of(&[1 << 20, 1 << 12]);
        let wide = text(Point::Copy, f, f, &[(f, Layout::strided(far, &[0, 1]))], far);
        assert!(wide.contains("div.u64") && wide.contains(".reg .b64 %at") && !wide.contains("mul.hi.u32"));
    }

    #[test]
    fn small_elements_are_packed_into_words() {
        let text = dense(Point::Copy, DType::I8, DType::I8);
        for part in ["ld.global.v4.b32 {", "bfe.s32", "bfi.b32", "st.global.v4.b32 ["] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(dense(Point::Copy, DType::C64, DType::C64).contains("ld.global.v4.f32 {"), "two of two parts");
    }

    #[test]
    fn order_has_the_rules_of_nan() {
        let maximum = dense(Point::Maximum, DType::F32, DType::F32);
        assert!(maximum.contains("setp.nan.or.f32") && maximum.contains("setp.gt.f32"));
        assert!(dense(Point::Maximum, DType::I32, DType::I32).contains("max.s32"));
    }

    #[test]
    fn casts_cut_off_and_clamp() {
        let narrow = dense(Point::Cast, DType::F32, DType::U8);
        for part in ["setp.nan.f32", "cvt.rzi.s32.f32", "max.s32", "255", "st.global.v4.u8"] {
            assert!(narrow.contains(part), "{part}: {narrow}");
        }
        assert!(dense(Point::Cast, DType::F32, DType::Bool).contains("setp.neu.f32"), "NaN is true");
    }

    #[test]
    fn a_text_has_the_functions_that_it_calls() {
        let remainder = dense(Point::Remainder, DType::F64, DType::F64);
        let place = |name: &str| remainder.find(&format!(") {name}("));
        assert!(place("fmod_f64") < place("remainder_f64") && place("fmod_f64").is_some(), "one before what calls it");
        assert_eq!((place("fmod_f32"), place("floor_divide_f64")), (None, None));
        let sine = dense(Point::Sin, DType::F32, DType::F32);
        assert!(sine.contains(".const .align 8 .b64 single_turns[42] = {0x3fe45f3060000000, "));
        assert!(!sine.contains("two_over_pi") && dense(Point::Sin, DType::F64, DType::F64).contains("two_over_pi[20]"));
    }

    #[test]
    fn long_programs_have_short_packs() {
        let packs = |op| dense(op, DType::F32, DType::F32).matches("setp.gt.u32 %p").count();
        assert!(dense(Point::Tanh, DType::F32, DType::F32).contains("ld.global.v4.f32"));
        assert!(!dense(Point::Gamma, DType::F32, DType::F32).contains("ld.global.v4.f32"));
        assert!(packs(Point::Tanh) > packs(Point::Gamma));
    }
}
