//! All generated CUDA sources, for the check that they compile. No device is needed.

use crate::routine_texts::routine_texts;
use crate::text::{
    Evaluator, ReduceShape, copy_text, fill_text, finish_text, first_ptx, pointwise_ptx, product_text, put_text,
    reduce_text, scatter_text, take_text, transpose_text,
};
use forerun_base::{DType, Kind, Layout, Shape};
use forerun_ops::{Beyond, Class, FillKind, Point, ReduceKind};
use forerun_plan::{Instr, Program, ProgramInput, Reduce, Reg};

const KINDS: [ReduceKind; 8] = [
    ReduceKind::Sum,
    ReduceKind::Prod,
    ReduceKind::Max,
    ReduceKind::Min,
    ReduceKind::ArgMax,
    ReduceKind::ArgMin,
    ReduceKind::NanMax,
    ReduceKind::NanMin,
];
const FILLS: [FillKind; 5] = [FillKind::Full, FillKind::Arange, FillKind::Eye, FillKind::Normal, FillKind::Uniform];
const BEYOND: [Beyond; 4] = [Beyond::Raise, Beyond::Clip, Beyond::Wrap, Beyond::Refuse];

/// The layouts of sample operands: dense, column-major, reversed, one repeated row, one element.
fn looks(shape: Shape) -> Vec<Layout> {
    let dense = Layout::dense(shape);
    let (rows, columns) = (shape[0], shape[1]);
    let one = Layout::dense(Shape::SCALAR).broadcast_to(shape);
    let row = Layout::dense(Shape::of(&[columns])).broadcast_to(shape);
    let column = Layout::dense(Shape::of(&[rows, 1])).broadcast_to(shape);
    let mut all = vec![
        dense,
        Layout::dense(Shape::of(&[columns, rows])).permute(&[1, 0]),
        Layout::strided(shape, &[2 * columns as isize, -2]),
        Layout::strided(shape, &[4 * columns as isize, 1]),
    ];
    all.extend([one, row, column].into_iter().flatten());
    all
}

/// A program of one instruction with operands of this layout.
fn single(op: Point, dtype: DType, out: DType, shape: Shape, layout: Layout) -> Program {
    let row = op.row();
    let dtype_of = |n: usize| if row.class == Class::Select && n == 0 { DType::Bool } else { dtype };
    let inputs = (0..row.arity).map(|n| ProgramInput { dtype: dtype_of(n), layout }).collect();
    let arg = |n: usize| Reg::Input(if n < row.arity { n as u8 } else { 0 });
    let code = vec![Instr { op, dtype, out, dst: Reg::Out(0), args: [arg(0), arg(1), arg(2)] }];
    Program { shape, inputs, scalars: vec![], code, outputs: vec![out], temps: 0 }
}

/// A program that casts a dtype to every other, complex or not.
fn casts(dtype: DType, complex: bool, shape: Shape) -> Program {
    let outputs: Vec<DType> = DType::ALL.into_iter().filter(|out| (out.kind() == Kind::Complex) == complex).collect();
    let inputs = vec![ProgramInput { dtype, layout: Layout::dense(shape) }];
    let instr = |(n, out)| Instr { op: Point::Cast, dtype, out, dst: Reg::Out(n as u8), args: [Reg::Input(0); 3] };
    let code = outputs.iter().copied().enumerate().map(instr).collect();
    Program { shape, inputs, scalars: vec![], code, outputs, temps: 0 }
}

/// Names and texts of the kernels in PTX: every row of the catalogue in every dtype, every way to read an operand.
pub fn ptx_texts() -> Vec<(String, String)> {
    let all = programs().into_iter().map(|(name, program)| (name, pointwise_ptx(&program).1));
    all.chain([("first".to_owned(), first_ptx())]).collect()
}

/// Every row, every operand layout, and longer programs.
fn programs() -> Vec<(String, Program)> {
    let wide = Shape::of(&[1 << 20, 1 << 12]);
    let far = single(Point::Add, DType::F32, DType::F32, wide, Layout::strided(wide, &[0, 1]));
    let wide = ("add wide".to_owned(), far);
    rows().into_iter().chain(copies()).chain(chains()).chain([wide]).collect()
}

/// A program for every row of the catalogue in every dtype it takes.
fn rows() -> Vec<(String, Program)> {
    let mut all = Vec::new();
    let shape = Shape::of(&[8, 16]);
    for &op in Point::ALL {
        for dtype in DType::ALL {
            let moves = matches!(op, Point::Copy | Point::Imag) || op.row().class == Class::Select;
            let program = match op.row().types(dtype) {
                _ if op == Point::Cast => {
                    all.push((format!("{op} {dtype} to complex"), casts(dtype, true, shape)));
                    casts(dtype, false, shape)
                }
                _ if dtype.carrier() != dtype && !moves => continue,
                _ if op == Point::Real => continue,
                Ok((compute, out)) if compute == dtype => single(op, dtype, out, shape, Layout::dense(shape)),
                _ => continue,
            };
            all.push((format!("{op} {dtype}"), program));
        }
    }
    all
}

/// A copy of every dtype for every operand layout.
fn copies() -> Vec<(String, Program)> {
    let shape = Shape::of(&[8, 16]);
    let looks = looks(shape).into_iter().enumerate();
    let copy = |n, dtype, layout| (format!("copy {dtype} look {n}"), single(Point::Copy, dtype, dtype, shape, layout));
    looks.flat_map(|(n, layout)| DType::ALL.map(|dtype| copy(n, dtype, layout))).collect()
}

/// Names and texts of the kernels in CUDA C: reductions of every row of the catalogue, and every kind of structured kernel.
pub fn texts() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = programs()
        .into_iter()
        .filter_map(|(name, program)| Some((format!("{name} summed"), summed(program)?)))
        .collect();
    for kind in KINDS {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.carrier() == *dtype) {
            for extents in [[4, 40, 1], [1, 1 << 20, 1], [2, 33, 1], [2, 40, 64], [1, 4096, 7]] {
                let reduce = reduction(kind, dtype, extents);
                let evaluator = Evaluator::of_reduce(&reduce);
                let shape = ReduceShape::new(&reduce, evaluator.pack);
                all.push((format!("{kind:?} {dtype} {extents:?}"), reduce_text(&reduce, &evaluator, &shape)));
            }
            for extents in [[1, 8, 1], [1, 8, 2]] {
                let text = finish_text(&reduction(kind, dtype, extents));
                all.push((format!("{kind:?} {dtype} {extents:?} finish"), text));
            }
        }
    }
    for kind in FILLS {
        for dtype in DType::ALL {
            let random = matches!(kind, FillKind::Normal | FillKind::Uniform);
            if !random || matches!(dtype, DType::F32 | DType::F64) {
                all.push((format!("{kind:?} {dtype}"), fill_text(kind, dtype).0));
            }
        }
    }
    for size in [1, 2, 4, 8, 16] {
        for rank in [1, 3] {
            for narrow in [false, true] {
                all.push((format!("copy {size} {rank} {narrow}"), copy_text(size, rank, 16 / size, narrow)));
            }
            all.push((format!("transpose {size} {rank}"), transpose_text(size, rank - 1)));
        }
    }
    for to in DType::ALL {
        for from in [Some(to.carrier()), Some(DType::U8), Some(DType::F16), None] {
            all.push((format!("put {from:?} {to}"), put_text(from, to, 2, 1, true)));
        }
        for indices in [DType::I32, DType::I64] {
            for beyond in BEYOND {
                all.push((
                    format!("take {to} {indices} {beyond:?}"),
                    take_text(to.size(), indices, beyond, 16 / to.size(), true),
                ));
                all.push((format!("scatter_add {to} {indices} {beyond:?}"), scatter_text(to, indices, beyond)));
            }
        }
    }
    all.push(("take wide".to_owned(), take_text(4, DType::I64, Beyond::Raise, 1, false)));
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.kind() != Kind::Complex) {
        all.push((format!("matmul {dtype}"), product_text(dtype)));
    }
    all.extend(routine_texts());
    all
}

/// A chain over two dense inputs and two float32 scalars: each item is an op and its arguments. The result of each op
/// goes to its own register, the last one to the output.
fn chain(shape: Shape, ops: &[(Point, DType, DType, [Reg; 3])]) -> Program {
    let input = ProgramInput { dtype: DType::F32, layout: Layout::dense(shape) };
    let last = ops.len() - 1;
    let place = |n: usize| if n == last { Reg::Out(0) } else { Reg::Temp(n as u8) };
    let instr = |(n, &(op, dtype, out, args)): (usize, &_)| Instr { op, dtype, out, dst: place(n), args };
    let code = ops.iter().enumerate().map(instr).collect();
    let outputs = vec![ops[last].2];
    Program { shape, inputs: vec![input; 2], scalars: vec![DType::F32; 2], code, outputs, temps: last as u8 }
}

/// Typical chains of user programs.
fn chains() -> Vec<(String, Program)> {
    use DType::{BF16, F32, I32};
    let shape = Shape::of(&[1, 1 << 20]);
    let [x, y, two, three] = [Reg::Input(0), Reg::Input(1), Reg::Scalar(0), Reg::Scalar(1)];
    let t = Reg::Temp;
    let same = |op, a, b| (op, F32, F32, [a, b, a]);
    let cast = |from, out, a| (Point::Cast, from, out, [a; 3]);
    let line = [
        same(Point::Tanh, x, x),
        same(Point::Multiply, t(0), y),
        same(Point::Multiply, x, two),
        same(Point::Add, t(1), t(2)),
        same(Point::Divide, y, three),
        same(Point::Subtract, t(3), t(4)),
    ];
    let angles = [
        same(Point::Sin, x, x),
        same(Point::Multiply, t(0), two),
        same(Point::Tanh, x, x),
        same(Point::Multiply, t(2), y),
        same(Point::Add, t(1), t(3)),
        same(Point::Cos, y, y),
        same(Point::Subtract, t(4), t(5)),
    ];
    let mixed = [
        same(Point::Exp, x, x),
        same(Point::Add, t(0), two),
        same(Point::Log, t(1), t(1)),
        same(Point::Multiply, t(2), y),
        same(Point::Sqrt, t(3), t(3)),
        same(Point::Maximum, t(4), three),
        same(Point::Sigmoid, t(5), t(5)),
        same(Point::Subtract, t(6), x),
        same(Point::Abs, t(7), t(7)),
        same(Point::Divide, t(8), y),
    ];
    let casts = [
        cast(F32, BF16, x),
        cast(BF16, F32, t(0)),
        same(Point::Add, t(1), y),
        cast(F32, I32, t(2)),
        (Point::Multiply, I32, I32, [t(3); 3]),
        cast(I32, F32, t(4)),
    ];
    vec![
        ("chain of one".to_owned(), chain(shape, &[same(Point::Add, x, y)])),
        ("chain with tanh".to_owned(), chain(shape, &line)),
        ("chain with angles".to_owned(), chain(shape, &angles)),
        ("chain of ten".to_owned(), chain(shape, &mixed)),
        ("chain of casts".to_owned(), chain(shape, &casts)),
    ]
}

/// The sum of what a program gives, or else of what it takes; nothing if neither is summed as it is.
fn summed(program: Program) -> Option<String> {
    let given = [(Reg::Out(0), program.outputs[0]), (Reg::Input(0), program.inputs[0].dtype)];
    let (arg, dtype) = given.into_iter().find(|(_, dtype)| dtype.carrier() == *dtype)?;
    let (kind, reduced) = (ReduceKind::Sum, program.shape.size());
    let reduce = Reduce { program, arg, dtype, kind, outer: 1, reduced, inner: 1 };
    let evaluator = Evaluator::of_reduce(&reduce);
    Some(reduce_text(&reduce, &evaluator, &ReduceShape::new(&reduce, evaluator.pack)))
}

/// A reduction of a product of two inputs, with the product stored.
fn reduction(kind: ReduceKind, dtype: DType, [outer, reduced, inner]: [usize; 3]) -> Reduce {
    let shape = Shape::of(&[outer, reduced, inner]);
    let program = single(Point::Multiply, dtype, dtype, shape, Layout::dense(shape));
    Reduce { program, arg: Reg::Out(0), dtype, kind, outer, reduced, inner }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_and_kind_is_among_the_texts() {
        let all = texts();
        let names: BTreeSet<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "names are different");
        // `real` is lowered to a cast.
        for &op in Point::ALL.iter().filter(|op| **op != Point::Real) {
            assert!(all.iter().any(|(name, ..)| name.starts_with(&format!("{op} "))), "{op}");
        }
        assert!(all.iter().all(|(_, text)| text.contains("extern \"C\" __global__ void")));
        assert!(ptx_texts().iter().all(|(_, text)| text.contains(".visible .entry run") && !text.contains("<n>")));
    }
}
