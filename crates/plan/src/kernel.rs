//! Kernels, the elements of a plan; the same for every backend.

use forerun_base::{DType, Layout, Shape};
use forerun_ops::{Attributes, Beyond, FillKind, Given, Point, ReduceKind, Routine};

/// One launch: a pass over memory.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a plan has few kernels, made once and not moved")]
pub enum Kernel {
    /// A fused pointwise program.
    Pointwise(Program),
    /// A reduction, with the pointwise program that feeds it.
    Reduce(Reduce),
    /// A matrix product, with the pointwise program that follows it.
    Product(Product),
    /// Several inputs one after another along an axis.
    Concat(Concat),
    /// A copy of a base with a region overwritten.
    Update(Update),
    /// Gathers rows by index.
    Take(Rows),
    /// Adds to rows by index.
    ScatterAdd(Rows),
    /// An array computed from parameters only.
    Fill(Fill),
    /// A function over dense inputs.
    Routine(RoutineCall),
    /// A copy of this many bytes between devices: dense input 0 to output 0.
    Transfer(usize),
}

/// A register of a program. Inputs and scalars are read-only. Outputs and temporaries have exactly one live definition
/// at a time and can be read after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reg {
    /// The n-th input at the current element.
    Input(u8),
    /// The n-th scalar.
    Scalar(u8),
    /// A temporary that never reaches memory.
    Temp(u8),
    /// The n-th output at the current element.
    Out(u8),
}

/// One instruction: `dst = op(args)`, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instr {
    /// The operation.
    pub op: Point,
    /// The dtype of the operands (of the last two for `where`, whose first is bool).
    pub dtype: DType,
    /// The dtype of the result: bool for comparisons, the target for a cast, else `dtype`.
    pub out: DType,
    /// The destination register.
    pub dst: Reg,
    /// As many operands as the op's row states; the rest repeat the first.
    pub args: [Reg; 3],
}

/// How a program reads an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgramInput {
    /// Its element type.
    pub dtype: DType,
    /// Its layout over the program's shape (broadcast dimensions have stride 0).
    pub layout: Layout,
}

/// A pointwise program over an iteration space. Outputs are dense and row-major over `shape`.
///
/// In-place rule, which the builder keeps: once an instruction has written an `Out`, no later instruction reads an
/// input. Any dense input of the same element size may therefore share its buffer with an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The iteration space.
    pub shape: Shape,
    /// The inputs.
    pub inputs: Vec<ProgramInput>,
    /// The dtypes of the scalars.
    pub scalars: Vec<DType>,
    /// The instructions, in order.
    pub code: Vec<Instr>,
    /// The dtypes of the outputs.
    pub outputs: Vec<DType>,
    /// Maximum number of temporaries live at once; `Temp` indices are below it.
    pub temps: u8,
}

/// A reduction of the program's register `arg` over the middle of three collapsed dimensions.
///
/// The program's iteration space, row-major, is read as `(outer, reduced, inner)`. The program's own outputs are stored
/// as in a pointwise kernel. The reduction's result, dense with `outer * inner` elements, is the last output. The order
/// of additions is a function of the three extents alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The program that feeds it; without code if `arg` is an input.
    pub program: Program,
    /// The register that is reduced.
    pub arg: Reg,
    /// The dtype of `arg`, and of the result except for the index kinds.
    pub dtype: DType,
    /// The kind of reduction.
    pub kind: ReduceKind,
    /// Extent before the reduced dimensions.
    pub outer: usize,
    /// Extent reduced.
    pub reduced: usize,
    /// Extent after the reduced dimensions.
    pub inner: usize,
}

/// `C = A x B` for matrices or batches of them: inputs 0 and 1. C is dense with shape `batch + (m, n)`.
///
/// Without a tail (an epilogue), C is output 0. With a tail, C is input 0 of the tail program; its other inputs are the
/// kernel's inputs from 2 on, and the scalars are the tail's. C is computed in the buffer of output 0, which has the
/// product's dtype, and the tail then runs over it, in place where the program does so. If C itself must be kept, an
/// instruction of the tail copies it to an output of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Element type of A, B and C.
    pub dtype: DType,
    /// Batch dimensions, broadcast to a common shape; empty for plain matrices.
    pub batch: Shape,
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// The dimension summed over.
    pub k: usize,
    /// Layout of A over `batch + (m, k)`.
    pub a: Layout,
    /// Layout of B over `batch + (k, n)`.
    pub b: Layout,
    /// The epilogue, over the shape of C.
    pub tail: Option<Program>,
}

/// Concatenates inputs of one dtype along an axis. One output, dense.
#[derive(Clone, Debug, PartialEq)]
pub struct Concat {
    /// Element type of all.
    pub dtype: DType,
    /// The axis of the concatenation.
    pub axis: usize,
    /// The layouts of the inputs.
    pub inputs: Vec<Layout>,
    /// The shape of the output.
    pub shape: Shape,
}

/// Output 0 is input 0 (dense, of `size` elements) with a region overwritten: by input 1 cast to `dtype`, or without
/// one by scalar 1. Scalar 0 is the index of the region's first element in the base. If the output has the address of
/// input 0, only the region is accessed.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Element type of base and output.
    pub dtype: DType,
    /// Number of elements of the base.
    pub size: usize,
    /// Layout of the region within the base.
    pub region: Layout,
    /// Dtype and layout of input 1, over the region's shape.
    pub value: Option<ProgramInput>,
}

/// Rows of input 0 along an axis, selected by input 1. One output, dense.
///
/// As [`Kernel::Take`], the output is the rows, which replace the axis. As [`Kernel::ScatterAdd`], the output is input
/// 0 with input 2, dense and of the shape of such rows, added to them; rows that are selected several times are added
/// to in index order. If the output has the address of input 0, only those rows are accessed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Element type of all but the indices.
    pub dtype: DType,
    /// Layout of input 0.
    pub base: Layout,
    /// The axis that the indices count along.
    pub axis: usize,
    /// Dtype and layout of the indices.
    pub indices: ProgramInput,
    /// How an index out of bounds is handled.
    pub beyond: Beyond,
}

/// One dense output computed from parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Element type.
    pub dtype: DType,
    /// Shape of the output.
    pub shape: Shape,
    /// The contents.
    pub kind: FillKind,
}

/// A routine over dense inputs, with one dense output. If the routine may work in place, the output may have the
/// address of input 0; otherwise it reuses no input's buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineCall {
    /// The routine.
    pub routine: Routine,
    /// Dtype and shape of each input.
    pub inputs: Vec<Given>,
    /// Dtype and shape of the output.
    pub out: Given,
    /// Its attributes, encoded as integers.
    pub encoded: Box<[i64]>,
}

impl RoutineCall {
    /// Its attributes.
    pub fn attributes<A: Attributes>(&self) -> A {
        A::decode(&self.encoded).expect("inference decoded the attributes")
    }

    /// The dimension of input `i` that its axis attribute refers to.
    pub fn axis(&self, i: usize) -> usize {
        let axis = self.routine.axis(&self.encoded).expect("the routine has an axis");
        self.inputs[i].1.axis(axis).expect("inference checked the axis")
    }

    /// The extents of input `i` before, along and after the axis.
    pub fn extents(&self, i: usize) -> [usize; 3] {
        let (axis, shape) = (self.axis(i), &self.inputs[i].1);
        [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
    }
}

/// Size of each output of a kernel in bytes.
pub fn output_bytes(kernel: &Kernel) -> Vec<usize> {
    let of = |program: &Program| program.outputs.iter().map(|dtype| program.shape.size() * dtype.size()).collect();
    match kernel {
        Kernel::Pointwise(program) => of(program),
        Kernel::Reduce(reduce) => {
            let mut bytes: Vec<usize> = of(&reduce.program);
            let dtype = match reduce.kind {
                ReduceKind::ArgMax | ReduceKind::ArgMin => DType::I64,
                ReduceKind::Sum | ReduceKind::Prod => reduce.dtype,
                ReduceKind::Max | ReduceKind::Min | ReduceKind::NanMax | ReduceKind::NanMin => reduce.dtype,
            };
            bytes.push(reduce.outer * reduce.inner * dtype.size());
            bytes
        }
        Kernel::Product(Product { tail: Some(tail), .. }) => of(tail),
        Kernel::Product(product) => vec![product.batch.size() * product.m * product.n * product.dtype.size()],
        Kernel::Concat(concat) => vec![concat.shape.size() * concat.dtype.size()],
        Kernel::Update(update) => vec![update.size * update.dtype.size()],
        Kernel::Take(rows) => {
            let (shape, at) = (rows.base.shape, rows.axis);
            let others: usize = (0..shape.rank()).filter(|d| *d != at).map(|d| shape[d]).product();
            vec![others * rows.indices.layout.shape.size() * rows.dtype.size()]
        }
        Kernel::ScatterAdd(rows) => vec![rows.base.shape.size() * rows.dtype.size()],
        Kernel::Fill(fill) => vec![fill.shape.size() * fill.dtype.size()],
        Kernel::Routine(call) => vec![call.out.1.size() * call.out.0.size()],
        Kernel::Transfer(bytes) => vec![*bytes],
    }
}
