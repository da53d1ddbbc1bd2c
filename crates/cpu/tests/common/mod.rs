//! A reference for kernels, one element at a time, and helpers to run both.
#![allow(dead_code, reason = "each test file uses its part")]

use forerun_base::{DType, Kind, Layout, Scalar, Shape, Solo, Team};
use forerun_cpu::{CpuBackend, Isa};
use forerun_ops::{Body, Point, bodies};
use forerun_plan::{Backend, Executable, Instr, Io, Kernel, Program, ProgramInput, Reg};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A team that spawns threads for each split.
pub(crate) struct Threads(pub(crate) usize);

impl Team for Threads {
    fn width(&self) -> usize {
        self.0
    }

    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= pieces {
                            break;
                        }
                        piece(i);
                    }
                });
            }
        });
    }
}

/// Elements of one dtype, as bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Data {
    pub(crate) dtype: DType,
    pub(crate) bits: Vec<u64>,
}

impl Data {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let size = self.dtype.size();
        self.bits.iter().flat_map(|b| b.to_le_bytes()[..size].to_vec()).collect()
    }

    pub(crate) fn from_bytes(dtype: DType, bytes: &[u8]) -> Data {
        let bits = bytes
            .chunks_exact(dtype.size())
            .map(|c| c.iter().rev().fold(0u64, |word, &byte| word << 8 | byte as u64))
            .collect();
        Data { dtype, bits }
    }

    pub(crate) fn f64(&self) -> Vec<f64> {
        self.bits.iter().map(|&b| Scalar::from_bits(b, self.dtype).as_f64()).collect()
    }
}

/// A small random generator for test data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Ordinary numbers.
    pub(crate) fn data(&mut self, dtype: DType, count: usize) -> Data {
        let bits = (0..count)
            .map(|_| match dtype {
                DType::Bool => self.next() & 1,
                _ if dtype.is_unsigned() => Scalar::Int((self.next() % 41) as i64).to_bits(dtype),
                _ if dtype.kind() == Kind::Int => Scalar::Int((self.next() % 41) as i64 - 20).to_bits(dtype),
                _ => Scalar::Float(self.unit() * 8.0 - 4.0).to_bits(dtype),
            })
            .collect();
        Data { dtype, bits }
    }

    /// Edge cases mixed with ordinary numbers and random bits.
    pub(crate) fn edges(&mut self, dtype: DType, count: usize) -> Data {
        let special: Vec<u64> = match dtype {
            DType::Bool => vec![0, 1],
            _ if dtype.kind() == Kind::Int => {
                let (low, high) = dtype.integer_range();
                let bits = |i: i128| Scalar::Int(i as i64).to_bits(dtype);
                [0, 1, -1, 2, low, high, high / 2 + 1, 7, -7].map(bits).to_vec()
            }
            _ => {
                let tiny = match dtype {
                    DType::F16 => 2f64.powi(-14),
                    DType::F64 => f64::MIN_POSITIVE,
                    _ => f32::MIN_POSITIVE as f64,
                };
                [
                    0.0,
                    -0.0,
                    1.0,
                    -1.0,
                    0.5,
                    1.5,
                    2.5,
                    -2.5,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::NAN,
                    tiny,
                    -tiny,
                    tiny / 8.0,
                    88.7,
                    -87.4,
                    -103.0,
                    709.5,
                    -745.0,
                    0.75,
                    3e9,
                    -3e9,
                    1e19,
                    65504.0,
                    65520.0,
                    300.7,
                    -129.5,
                    40000.25,
                ]
                .map(|f| Scalar::Float(f).to_bits(dtype))
                .to_vec()
            }
        };
        let mut ordinary = self.data(dtype, count).bits;
        for bits in &mut ordinary {
            match self.next() % 3 {
                0 => *bits = special[self.next() as usize % special.len()],
                1 if dtype != DType::Bool && dtype.carrier() != DType::I32 && dtype.carrier() != DType::I64 => {
                    *bits = self.next() >> (64 - 8 * dtype.size())
                }
                _ => {}
            }
        }
        Data { dtype, bits: ordinary }
    }
}

trait Bits: Copy {
    fn from(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($type:ty, $from:expr, $to:expr;)*) => {
        $(impl Bits for $type {
            fn from(bits: u64) -> Self { ($from)(bits) }
            fn bits(self) -> u64 { ($to)(self) }
        })*
    };
}

bits! {
    bool, |b| b != 0, |v| v as u64;
    i32, |b| b as i32, |v: i32| v as u32 as u64;
    i64, |b| b as i64, |v: i64| v as u64;
    u64, |b| b, |v: u64| v;
    f32, |b| f32::from_bits(b as u32), |v: f32| v.to_bits() as u64;
    f64, f64::from_bits, f64::to_bits;
}

macro_rules! apply_of {
    ($args:expr, $dtype:expr, Cast, $operands:tt, $point:ident) => { unreachable!() };
    ($args:expr, $dtype:expr, Part, $operands:tt, $point:ident) => { unreachable!() };
    ($args:expr, $dtype:expr, Join, $operands:tt, $point:ident) => { unreachable!() };
    ($args:expr, $dtype:expr, Any, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, Bool bool I32 i32 I64 i64 U64 u64 F32 f32 F64 f64) };
    ($args:expr, $dtype:expr, Compare, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, Bool bool I32 i32 I64 i64 U64 u64 F32 f32 F64 f64) };
    ($args:expr, $dtype:expr, Select, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, Bool bool I32 i32 I64 i64 U64 u64 F32 f32 F64 f64) };
    ($args:expr, $dtype:expr, Number, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, I32 i32 I64 i64 U64 u64 F32 f32 F64 f64) };
    ($args:expr, $dtype:expr, Float, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, F32 f32 F64 f64) };
    ($args:expr, $dtype:expr, Predicate, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, F32 f32 F64 f64) };
    ($args:expr, $dtype:expr, Logic, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, Bool bool) };
    ($args:expr, $dtype:expr, Bits, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, Bool bool I32 i32 I64 i64 U64 u64) };
    ($args:expr, $dtype:expr, Whole, $operands:tt, $point:ident) => { apply_of!(@ $args, $dtype, $operands, $point, I32 i32 I64 i64 U64 u64) };
    (@ $args:expr, $dtype:expr, $operands:tt, $point:ident, $($name:ident $type:ty)*) => {
        match $dtype {
            $(DType::$name => apply_of!(@@ $args, $operands, $point, $type),)*
            #[allow(unreachable_patterns)]
            _ => unreachable!(),
        }
    };
    (@@ $args:expr, ($a:ident), $point:ident, $type:ty) => {
        Bits::bits(<bodies::$point as Body<($type,)>>::apply((Bits::from($args[0]),)))
    };
    (@@ $args:expr, ($a:ident, $b:ident), $point:ident, $type:ty) => {
        Bits::bits(<bodies::$point as Body<($type, $type)>>::apply((Bits::from($args[0]), Bits::from($args[1]))))
    };
    (@@ $args:expr, ($a:ident, $b:ident, $c:ident), Where, $type:ty) => { apply_of!(@@@ $args, Where, bool, $type) };
    (@@ $args:expr, ($a:ident, $b:ident, $c:ident), $point:ident, $type:ty) => { apply_of!(@@@ $args, $point, $type, $type) };
    (@@@ $args:expr, $point:ident, $first:ty, $type:ty) => {
        Bits::bits(<bodies::$point as Body<($first, $type, $type)>>::apply((
            Bits::from($args[0]), Bits::from($args[1]), Bits::from($args[2]),
        )))
    };
}

macro_rules! reference {
    ($($point:ident {
        name: $name:literal, class: $class:ident, $(ulp: $ulp:literal,)? doc: $doc:literal,
        body: |$($arg:ident),+| $($rest:tt)*
    })*) => {
        /// The op on one element.
        pub(crate) fn apply(op: Point, dtype: DType, args: &[u64]) -> u64 {
            match op {
                $(Point::$point => apply_of!(args, dtype, $class, ($($arg),+), $point),)*
            }
        }
    };
}

forerun_ops::for_each_point!(reference);

/// The op on one element of any dtype, computed in its carrier.
pub(crate) fn carried(op: Point, dtype: DType, args: &[u64]) -> u64 {
    let carrier = dtype.carrier();
    let args: Vec<u64> = args.iter().map(|&arg| cast(arg, dtype, carrier)).collect();
    cast(apply(op, carrier, &args), carrier, dtype)
}

/// The dtypes that have vectors in every instruction set, and machine code.
pub(crate) const FAST: [DType; 5] = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];

/// The dtypes whose elements are one number of at most a word.
pub(crate) fn plain_dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| dtype.kind() != Kind::Complex)
}

/// A cast of one element.
pub(crate) fn cast(bits: u64, from: DType, to: DType) -> u64 {
    if from == to { bits } else { Scalar::from_bits(bits, from).to_bits(to) }
}

/// The offset of element `i` of a layout, in row-major order, relative to the first element.
pub(crate) fn offset(layout: &Layout, i: usize) -> isize {
    let (mut left, mut at) = (i, 0);
    for (&extent, &stride) in layout.shape.iter().zip(layout.strides()).rev() {
        at += (left % extent) as isize * stride;
        left /= extent;
    }
    at
}

/// The result of a program, one element at a time. Inputs have the program's layouts; `first[i]` is the start of input
/// `i`.
pub(crate) fn interpret(program: &Program, inputs: &[(Data, usize)], scalars: &[u64]) -> Vec<Data> {
    let size = program.shape.size();
    let mut outputs: Vec<Data> = program.outputs.iter().map(|&dtype| Data { dtype, bits: vec![0; size] }).collect();
    for i in 0..size {
        let mut temps = vec![0u64; program.temps as usize];
        for instr in &program.code {
            let read = |reg: Reg| match reg {
                Reg::Input(n) => {
                    let (data, first) = &inputs[n as usize];
                    let at = *first as isize + offset(&program.inputs[n as usize].layout, i);
                    data.bits[at as usize]
                }
                Reg::Scalar(n) => scalars[n as usize],
                Reg::Temp(n) => temps[n as usize],
                Reg::Out(n) => outputs[n as usize].bits[i],
            };
            let args = instr.args.map(read);
            let value = match instr.op {
                Point::Cast => cast(args[0], instr.dtype, instr.out),
                // Dtypes without arithmetic are copied.
                Point::Copy if instr.dtype.carrier() != instr.dtype => args[0],
                Point::Where if instr.dtype.carrier() != instr.dtype => args[if args[0] != 0 { 1 } else { 2 }],
                op => apply(op, instr.dtype, &args),
            };
            match instr.dst {
                Reg::Temp(n) => temps[n as usize] = value,
                Reg::Out(n) => outputs[n as usize].bits[i] = value,
                _ => panic!("written to {:?}", instr.dst),
            }
        }
    }
    outputs
}

/// Whether two results are bitwise equal; all NaNs count as equal.
pub(crate) fn same(a: &Data, b: &Data) -> bool {
    a.dtype == b.dtype
        && a.bits.len() == b.bits.len()
        && a.bits.iter().zip(&b.bits).all(|(&x, &y)| {
            x == y
                || (Scalar::from_bits(x, a.dtype).as_f64().is_nan() && Scalar::from_bits(y, a.dtype).as_f64().is_nan())
        })
}

/// Runs a kernel interpreted and as machine code, which must agree. Buffers are exactly as long as their data,
/// unaligned, with guards around the outputs.
pub(crate) fn run(
    isa: Isa,
    kernel: &Kernel,
    inputs: &[(Data, usize)],
    scalars: &[u64],
    outputs: &[(DType, usize)],
    team: &dyn Team,
) -> Vec<Data> {
    let [interpreted, emitted] = [usize::MAX, 0].map(|least| {
        let exe = CpuBackend::with_isa(isa).emit_from(least).compile(kernel);
        run_one(&exe, inputs, scalars, outputs, team)
    });
    let equal = interpreted.iter().zip(&emitted).all(|(a, b)| same(a, b));
    assert!(equal, "machine code differs: {kernel:?} {isa:?}: {emitted:?} is not {interpreted:?}");
    emitted
}

fn run_one(
    exe: &Arc<dyn Executable>,
    inputs: &[(Data, usize)],
    scalars: &[u64],
    outputs: &[(DType, usize)],
    team: &dyn Team,
) -> Vec<Data> {
    const GUARD: usize = 64;
    let held: Vec<Vec<u8>> = inputs.iter().map(|(data, _)| data.bytes()).collect();
    let addresses: Vec<*const u8> =
        held.iter().zip(inputs).map(|(b, (data, first))| b.as_ptr().wrapping_add(first * data.dtype.size())).collect();
    let mut made: Vec<Vec<u8>> = outputs.iter().map(|&(d, n)| vec![0xa5; n * d.size() + 2 * GUARD]).collect();
    let places: Vec<*mut u8> = made.iter_mut().map(|b| b.as_mut_ptr().wrapping_add(GUARD)).collect();
    // SAFETY: the buffers match the kernel's layouts.
    unsafe { exe.run(Io { inputs: &addresses, outputs: &places, scalars }, team) };
    made.iter()
        .zip(outputs)
        .map(|(b, &(dtype, _))| {
            let (head, rest) = b.split_at(GUARD);
            let (body, tail) = rest.split_at(rest.len() - GUARD);
            assert!(head.iter().chain(tail).all(|&x| x == 0xa5), "wrote beyond its output");
            Data::from_bytes(dtype, body)
        })
        .collect()
}

/// The instruction sets that this CPU supports.
pub(crate) fn isas() -> Vec<Isa> {
    Isa::available()
}

/// A program of one instruction over dense inputs.
pub(crate) fn single(op: Point, dtype: DType, out: DType, shape: &[usize]) -> Program {
    let shape = Shape::of(shape);
    let row = op.row();
    let inputs: Vec<ProgramInput> = (0..row.arity)
        .map(|i| {
            let dtype = if i == 0 && op == Point::Where { DType::Bool } else { dtype };
            ProgramInput { dtype, layout: Layout::dense(shape) }
        })
        .collect();
    let arg = |n: usize| Reg::Input(if n < row.arity { n as u8 } else { 0 });
    let code = vec![Instr { op, dtype, out, dst: Reg::Out(0), args: [arg(0), arg(1), arg(2)] }];
    Program { shape, inputs, scalars: vec![], code, outputs: vec![out], temps: 0 }
}

/// The team of one.
pub(crate) const SOLO: Solo = Solo;
