//! How a kernel goes through the elements of a program; and, for reductions, the program as a function in CUDA C.

use super::bodies::{self, c_type};
use super::index::{Collapsed, divisor};
use crate::gpu::DeviceIo;
use forerun_base::{DType, Layout};
use forerun_ops::Point;
use forerun_plan::{Program, Reduce, Reg};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// How a kernel reads one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// One element for all.
    Constant,
    /// Where the iteration space is.
    Dense,
    /// Adjacent along the innermost dimension, at multiples of a pack.
    Packed,
    /// One element for the innermost dimension.
    Repeated,
    /// Anything else.
    Gathered,
}

impl Access {
    /// Whether it needs the index in every dimension.
    pub(super) fn walks(self) -> bool {
        !matches!(self, Access::Constant | Access::Dense)
    }
}

/// How the elements of a program are read and written, and the words of the kernel's argument that say where.
#[derive(Clone, Debug)]
pub(crate) struct Evaluator {
    /// The words that are known when the kernel is compiled; addresses and scalars are zero.
    words: Vec<u64>,
    /// The first word of inputs, of outputs and of scalars.
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) scalars: usize,
    /// How each input is read, and the first word of its strides if that walks.
    pub(super) accesses: Vec<Access>,
    pub(super) strides: Vec<usize>,
    /// Dimensions of the iteration space.
    pub(super) rank: usize,
    /// Elements of a pack.
    pub(crate) pack: usize,
    /// Whether indices have 32 bits.
    pub(super) narrow: bool,
    /// Bytes to which the address of each input and output must be a multiple.
    alignment: Vec<usize>,
}

impl Evaluator {
    /// The evaluator of a pointwise program, with packs of so many elements at the most.
    pub(super) fn of_program(program: &Program, most: usize) -> Evaluator {
        let space = space_of(program);
        let pack = pack_of(program, &space, None, 0).min(most);
        Evaluator::with_pack(program, &space, pack)
    }

    /// The evaluator of what feeds a reduction: packs must not reach over the ends of rows.
    pub(crate) fn of_reduce(reduce: &Reduce) -> Evaluator {
        let row = match (reduce.outer, reduce.inner) {
            (1, 1) => 0,
            (_, 1) => reduce.reduced,
            (_, inner) => inner,
        };
        let space = space_of(&reduce.program);
        let pack = pack_of(&reduce.program, &space, Some(reduce.dtype), row);
        Evaluator::with_pack(&reduce.program, &space, pack)
    }

    /// The same with packs of one element, for addresses that are not aligned.
    pub(crate) fn plain(program: &Program) -> Evaluator {
        Evaluator::with_pack(program, &space_of(program), 1)
    }

    fn with_pack(program: &Program, space: &Collapsed, pack: usize) -> Evaluator {
        let accesses: Vec<Access> = (0..program.inputs.len()).map(|n| access_of(space, n, pack)).collect();
        let mut words = vec![space.extents.iter().product::<usize>() as u64];
        let narrow = space.is_narrow();
        if accesses.iter().any(|access| access.walks()) {
            for &extent in &space.extents[1..] {
                words.push(extent as u64);
                words.push(if narrow { divisor(extent) } else { extent as u64 });
            }
        }
        let inputs = words.len();
        let outputs = inputs + program.inputs.len();
        let scalars = outputs + program.outputs.len();
        words.resize(scalars + program.scalars.len(), 0);
        let mut strides = vec![0; program.inputs.len()];
        for (n, _) in accesses.iter().enumerate().filter(|(_, access)| access.walks()) {
            strides[n] = words.len();
            words.extend(space.strides[n].iter().map(|&s| s as i64 as u64));
        }
        let packed = |access: &Access| matches!(access, Access::Dense | Access::Packed);
        let read = accesses.iter().zip(&program.inputs).map(|(a, i)| if packed(a) { i.dtype.size() * pack } else { 1 });
        let alignment = read.chain(program.outputs.iter().map(|d| d.size() * pack)).collect();
        Evaluator { words, inputs, outputs, scalars, accesses, strides, rank: space.rank(), pack, narrow, alignment }
    }

    /// Whether an input needs the index in every dimension: then each dimension but the first has two words, from word 1 on.
    pub(super) fn walks(&self) -> bool {
        self.accesses.iter().any(|access| access.walks())
    }

    /// The first word that is the kernel's own.
    pub(super) fn own(&self) -> usize {
        self.words.len()
    }

    /// The functions of ops, and a function `eval(p, at, count, r)`: it evaluates elements `at .. at + count`, at most a pack, stores
    /// the program's outputs, and gives this register.
    pub(super) fn text(&self, program: &Program, watched: Reg, dtype: DType) -> String {
        let mut text = functions(program);
        let (pack, accesses, strides) = (self.pack, &self.accesses, &self.strides);
        let _ = writeln!(text, "DEV void eval(const P& p, I at, int count, {}* r) {{", c_type(dtype));
        if self.walks() {
            self.print_index(&mut text);
        }
        for (n, (input, access)) in program.inputs.iter().zip(accesses).enumerate() {
            let (t, word) = (c_type(input.dtype), self.inputs + n);
            let base = format!("(const {t}*)p.w[{word}]");
            if access.walks() {
                let sum: Vec<String> =
                    (0..self.rank).map(|d| format!("(O)x{d} * (O)p.w[{}]", strides[n] + d)).collect();
                let _ = writeln!(text, "    const O f{n} = {};", sum.join(" + "));
            }
            let last = strides[n] + self.rank - 1;
            let _ = match access {
                Access::Constant => writeln!(text, "    const {t} i{n} = *({base});"),
                Access::Repeated => writeln!(text, "    const {t} i{n} = ({base})[f{n}];"),
                Access::Dense => writeln!(text, "    {t} i{n}[{pack}]; load<{pack}>({base} + at, count, i{n});"),
                Access::Packed => writeln!(text, "    {t} i{n}[{pack}]; load<{pack}>({base} + f{n}, count, i{n});"),
                Access::Gathered => writeln!(
                    text,
                    "    {t} i{n}[{pack}]; gather<{pack}>({base} + f{n}, (i64)p.w[{last}], count, i{n});"
                ),
            };
        }
        for (n, dtype) in program.scalars.iter().enumerate() {
            let t = c_type(*dtype);
            let _ = writeln!(text, "    const {t} s{n} = scalar<{t}>(p.w[{}]);", self.scalars + n);
        }
        for (n, dtype) in program.outputs.iter().enumerate() {
            let _ = writeln!(text, "    {} o{n}[{pack}];", c_type(*dtype));
        }
        let _ = writeln!(text, "#pragma unroll\n    for (int e = 0; e < {pack}; ++e) {{");
        let mut names = HashMap::new();
        for (n, access) in accesses.iter().enumerate() {
            let single = matches!(access, Access::Constant | Access::Repeated);
            names.insert(Reg::Input(n as u8), if single { format!("i{n}") } else { format!("i{n}[e]") });
        }
        for n in 0..program.scalars.len() {
            names.insert(Reg::Scalar(n as u8), format!("s{n}"));
        }
        for (n, instr) in program.code.iter().enumerate() {
            let args: Vec<&str> = instr.args[..instr.op.row().arity].iter().map(|reg| names[reg].as_str()).collect();
            let function = match instr.op {
                Point::Cast => format!("to_{}", bodies::short(instr.out)),
                op => bodies::function(op, instr.dtype),
            };
            let _ = writeln!(text, "        const {} v{n} = {function}({});", c_type(instr.out), args.join(", "));
            names.insert(instr.dst, format!("v{n}"));
        }
        for n in 0..program.outputs.len() {
            let _ = writeln!(text, "        o{n}[e] = {};", names[&Reg::Out(n as u8)]);
        }
        let _ = writeln!(text, "        r[e] = {};\n    }}", names[&watched]);
        for (n, dtype) in program.outputs.iter().enumerate() {
            let (t, word) = (c_type(*dtype), self.outputs + n);
            let _ = writeln!(text, "    store<{pack}>(({t}*)p.w[{word}] + at, count, o{n});");
        }
        text.push_str("}\n");
        text
    }

    /// The index of the element in every dimension, as `x0`, `x1`, ...
    fn print_index(&self, text: &mut String) {
        let mut left = "at".to_owned();
        for d in (1..self.rank).rev() {
            let (extent, by) = (1 + 2 * (d - 1), 2 + 2 * (d - 1));
            let quotient =
                if self.narrow { format!("quotient({left}, p.w[{by}])") } else { format!("{left} / p.w[{by}]") };
            let _ = writeln!(text, "    const I q{d} = {quotient}, x{d} = {left} - q{d} * (I)p.w[{extent}];");
            left = format!("q{d}");
        }
        let _ = writeln!(text, "    const I x0 = {left};");
    }

    /// The types of indices and offsets, and of the kernel's argument with `more` words of the kernel's own.
    pub(crate) fn opening(&self, more: usize) -> String {
        let (index, offset) = if self.narrow { ("u32", "int") } else { ("u64", "i64") };
        format!(
            "typedef {index} I;\ntypedef {offset} O;\nstruct P {{ u64 w[{}]; }};\n#define PACK {}\n#define OWN {}\n",
            self.own() + more,
            self.pack,
            self.own()
        )
    }

    /// Whether these addresses may be read and written in packs.
    pub(crate) fn takes(&self, io: DeviceIo<'_>) -> bool {
        let addresses = io.inputs.iter().chain(io.outputs);
        addresses.zip(&self.alignment).all(|(address, align)| address.is_multiple_of(*align as u64))
    }

    /// The words of a launch, with room for more.
    pub(crate) fn bind(&self, io: DeviceIo<'_>) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.words.len() + 16);
        words.extend_from_slice(&self.words);
        words[self.inputs..self.outputs].copy_from_slice(&io.inputs[..self.outputs - self.inputs]);
        words[self.outputs..self.scalars].copy_from_slice(&io.outputs[..self.scalars - self.outputs]);
        words[self.scalars..self.scalars + io.scalars.len()].copy_from_slice(io.scalars);
        words
    }
}

fn access_of(space: &Collapsed, n: usize, pack: usize) -> Access {
    let strides = &space.strides[n];
    let (inner, outer) = (strides[strides.len() - 1], &strides[..strides.len() - 1]);
    if strides.iter().all(|&s| s == 0) {
        Access::Constant
    } else if space.is_dense(n) {
        Access::Dense
    } else if inner == 1 && outer.iter().all(|s| s % pack as isize == 0) {
        Access::Packed
    } else if inner == 0 {
        Access::Repeated
    } else {
        Access::Gathered
    }
}

/// The iteration space of a program.
fn space_of(program: &Program) -> Collapsed {
    let layouts: Vec<Layout> = program.inputs.iter().map(|input| input.layout).collect();
    Collapsed::new(program.shape, &layouts)
}

/// Elements of a pack: 16 bytes of the widest that is read or written in place, if the innermost dimension is made of packs. A
/// reduction folds elements of the `watched` dtype.
fn pack_of(program: &Program, space: &Collapsed, watched: Option<DType>, row: usize) -> usize {
    let dense = program.inputs.iter().enumerate().filter(|(n, _)| space.strides[*n].iter().any(|&s| s != 0));
    let sizes = dense.map(|(_, input)| input.dtype.size()).chain(program.outputs.iter().map(|d| d.size()));
    let widest = sizes.chain(watched.map(|dtype| dtype.size())).max().unwrap_or(4);
    let mut pack = 16 / widest;
    if watched.is_some() {
        // A reduction has at most 4 of its 64 lanes in a thread.
        pack = pack.min(4);
    }
    let walks = (0..program.inputs.len()).any(|n| access_of(space, n, 1).walks());
    let fits = |length: usize, pack: usize| length.is_multiple_of(pack);
    while pack > 1 && (walks && !fits(space.inner(), pack) || !fits(row, pack)) {
        pack /= 2;
    }
    pack
}

/// The functions of the ops that a program uses.
fn functions(program: &Program) -> String {
    let used: BTreeSet<(Point, DType)> = program.code.iter().map(|instr| (instr.op, instr.dtype)).collect();
    used.into_iter().filter_map(|(op, dtype)| bodies::op_text(op, dtype)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::Shape;
    use forerun_plan::{Instr, ProgramInput};

    fn add(shape: Shape, a: Layout, b: Layout) -> Program {
        let f = DType::F32;
        let input = |layout| ProgramInput { dtype: f, layout };
        let args = [Reg::Input(0), Reg::Input(1), Reg::Input(0)];
        let code = vec![Instr { op: Point::Add, dtype: f, out: f, dst: Reg::Out(0), args }];
        Program { shape, inputs: vec![input(a), input(b)], scalars: vec![], code, outputs: vec![f], temps: 0 }
    }

    #[test]
    fn packs_need_aligned_addresses() {
        let shape = Shape::of(&[100]);
        let dense = Layout::dense(shape);
        let evaluator = Evaluator::of_program(&add(shape, dense, dense), 16);
        assert_eq!(evaluator.pack, 4);
        let bound = |inputs| DeviceIo { inputs, outputs: &[512], scalars: &[], status: 0 };
        assert!(evaluator.takes(bound(&[256, 1024])) && !evaluator.takes(bound(&[256, 1028])));
        let words = evaluator.bind(bound(&[256, 1024]));
        assert_eq!(words, [100, 256, 1024, 512]);
    }

    #[test]
    fn strided_operands_are_walked() {
        let shape = Shape::of(&[6, 8]);
        let turned = Layout::dense(Shape::of(&[8, 6])).permute(&[1, 0]);
        let program = add(shape, Layout::dense(shape), turned);
        let evaluator = Evaluator::of_program(&program, 16);
        let text = evaluator.text(&program, Reg::Out(0), DType::F32);
        assert!(text.contains("gather<4>") && text.contains("quotient(at"));
        let words = evaluator.bind(DeviceIo { inputs: &[16, 32], outputs: &[64], scalars: &[], status: 0 });
        assert_eq!(words, [48, 8, divisor(8), 16, 32, 64, 1, 6]);
    }
}
