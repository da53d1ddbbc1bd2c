//! Creates arrays from parameters, from random streams and from host memory.

use crate::array::{Arg, Array};
use crate::observe::read_hooks;
use crate::observe::submissions;
use crate::observe::trace;
use crate::ops::{self, pointwise, transfer};
use crate::runtime::buffer::Buffer;
use crate::runtime::devices::{current_device, host_device};
use crate::runtime::memory::no_memory;
use crate::runtime::node::INLINE;
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::submit;
use crate::runtime::window::window;
use forerun_base::{DType, Device, Error, ErrorKind, Kind, Layout, Loc, Result, Scalar, Shape, Solo, fail_point};
use forerun_ops::{FillKind, Op, Point, infer};
use forerun_plan::{Attrs, Instr, Io, Kernel, Meta, Program, ProgramInput, Reg, Signature};

fn fill(kind: FillKind, shape: &[usize], dtype: DType, words: [u64; 2], loc: Loc) -> Result<Array> {
    Ok(submit(fill_recipe(kind, shape, dtype)?, &[], words, loc))
}

/// In the keys of the memo: extents follow. No id of a meta is as large.
const EXTENTS: u64 = 1 << 59;

/// The recipe of an array from parameters on the current device. Those of at most two dimensions are found in the memo by
/// their extents, without making a shape.
fn fill_recipe(kind: FillKind, shape: &[usize], dtype: DType) -> Result<&'static Recipe> {
    let device = current_device();
    let meta = || Shape::new(shape).map(|shape| Meta::dense(dtype, shape, device));
    let make = |meta: &Meta| Recipe::of(Signature::of(Op::Fill(kind), &[], Attrs::None, meta));
    // SAFETY: the calling thread owns this window, and interning does not access it.
    let owner = unsafe { window().owner() };
    let code = Op::Fill(kind).code();
    let (recipe, _) = if let [] | [_] | [_, _] = shape {
        let place = match device {
            Device::Cpu(number) => number as u64,
            Device::Gpu(number) => 0x100 | number as u64,
        };
        let extent = |axis: usize| shape.get(axis).map_or(0, |extent| *extent as u64);
        let first = EXTENTS | (shape.len() as u64) << 32 | (dtype as u64) << 16 | place;
        owner.recipe((code, [first, extent(0), extent(1)]), || meta().map(|meta| (make(&meta), dtype)))?
    } else {
        let meta = meta()?;
        owner.recipe((code, [meta.id, 0, 0]), || Ok::<_, Error>((make(&meta), dtype)))?
    };
    Ok(recipe)
}

/// A 0-d array of one element, for scalars that do not fit into a record.
pub(crate) fn element(value: Scalar, dtype: DType, loc: Loc) -> Result<Array> {
    let bytes = value.to_bytes(dtype);
    // SAFETY: `bytes` holds one element of this dtype.
    unsafe { from_host(bytes.as_ptr(), dtype, Layout::dense(Shape::SCALAR), loc) }
}

/// An array filled with one value.
pub fn full(shape: &[usize], value: Scalar, dtype: DType, loc: Loc) -> Result<Array> {
    if !value.fits_word(dtype) {
        let shape = Shape::new(shape).map_err(|e| e.in_op("full"))?;
        return ops::copy(&ops::broadcast_to(&element(value, dtype, loc)?, &shape)?, loc);
    }
    infer::check_cast(value.default_dtype(), dtype).map_err(|e| e.in_op("full"))?;
    let bits = value.to_bits_checked(dtype).map_err(|e| e.in_op("full"))?;
    fill(FillKind::Full, shape, dtype, [bits, 0], loc)
}

/// An array whose elements are uninitialised. On the host they hold whatever the memory held. That is sound: blocks of
/// the pool are pages that the system zeroed, and every bit pattern is a valid element except for booleans. Booleans,
/// small arrays and arrays on a device are zero, and so are those whose creation a capture or a trace sees.
pub fn empty(shape: &[usize], dtype: DType, loc: Loc) -> Result<Array> {
    let meta = &fill_recipe(FillKind::Full, shape, dtype).map_err(|e| e.in_op("empty"))?.signature.out;
    let seen = read_hooks::bits(read_hooks::OBSERVED) != 0 || submissions::is_on() || trace::is_on();
    if dtype == DType::Bool || meta.bytes <= INLINE || !meta.device.is_host() || seen {
        return full(shape, Scalar::Int(0), dtype, loc);
    }
    let no_memory = || no_memory(None, meta.bytes).in_op("empty").submitted_at(loc);
    let buffer = Buffer::alloc(None, meta.bytes, "empty", loc).ok_or_else(no_memory)?;
    // SAFETY: the calling thread owns this window.
    let node = unsafe { window().take_node() };
    let generation = node.open(meta, 1, 0);
    node.begin(generation);
    let array = Array::own(node);
    node.set_buffer(buffer);
    node.publish_ready(generation);
    Ok(array)
}

/// `start`, `start + step`, ... below `stop`.
pub fn arange(start: Scalar, stop: Scalar, step: Scalar, dtype: Option<DType>, loc: Loc) -> Result<Array> {
    let all = [start, stop, step];
    if all.iter().any(|s| s.kind() == Kind::Complex) {
        return Err(Error::new(ErrorKind::Type, "complex arguments are not supported").in_op("arange"));
    }
    let float = all.iter().any(|s| s.kind() == Kind::Float);
    let large = all.iter().any(|s| matches!(s, Scalar::Large(_)));
    let whole = if large { DType::U64 } else { DType::DEFAULT_INT };
    let dtype = dtype.unwrap_or(if float { DType::default_float() } else { whole });
    if step.as_f64() == 0.0 {
        return Err(Error::new(ErrorKind::Value, "step must not be zero").in_op("arange"));
    }
    let count = match all.map(Scalar::as_integer) {
        // Integers are counted as integers, because doubles cannot represent large ones exactly.
        [Some(start), Some(stop), Some(step)] => {
            let span = stop - start;
            (span * step.signum()).max(0).unsigned_abs().div_ceil(step.unsigned_abs()) as f64
        }
        _ => {
            let span = stop.as_f64() - start.as_f64();
            let steps = span / step.as_f64();
            // With a step so long that the quotient underflows, the start is still an element.
            if steps == 0.0 && steps.is_sign_positive() && span != 0.0 { 1.0 } else { steps.ceil() }
        }
    };
    if !count.is_finite() || count > isize::MAX as f64 / 16.0 {
        return Err(Error::new(ErrorKind::Value, "maximum allowed size exceeded").in_op("arange"));
    }
    let count = count.max(0.0);
    if dtype == DType::Bool && count > 2.0 {
        let text = format!("a bool range has at most 2 elements, got {count}");
        return Err(Error::new(ErrorKind::Type, text).in_op("arange"));
    }
    let in_dtype = if dtype.kind() >= Kind::Float { DType::F64 } else { DType::I64 };
    let mut words = [start.to_bits(in_dtype), step.to_bits(in_dtype)];
    if dtype.kind() < Kind::Float && count > 0.0 {
        // As in NumPy the first two elements are converted, and the others are extrapolated from them.
        let second = match (start.as_integer(), step.as_integer()) {
            (Some(start), Some(step)) => i64::try_from(start + step).map(Scalar::Int).ok(),
            _ => Some(Scalar::Float(start.as_f64() + step.as_f64())),
        };
        let bits = |element: Scalar| match dtype {
            DType::Bool => Ok((element.as_f64() != 0.0) as u64),
            _ if element.overflows(dtype) => element.to_bits_checked(dtype).map_err(|e| e.in_op("arange")),
            _ => Ok(element.to_bits(DType::I64)),
        };
        words[0] = bits(start)?;
        if let Some(second) = second.filter(|_| count > 1.0) {
            words[1] = bits(second)?.wrapping_sub(words[0]);
        }
    }
    fill(FillKind::Arange, &[count as usize], dtype, words, loc)
}

/// `count` elements `start`, `start + step`, ...; both are rounded to float64 for float dtypes, and to int64 for others.
pub fn arange_of(start: Scalar, step: Scalar, count: usize, dtype: DType, loc: Loc) -> Result<Array> {
    let in_dtype = if dtype.kind() >= Kind::Float { DType::F64 } else { DType::I64 };
    fill(FillKind::Arange, &[count], dtype, [start, step].map(|number| number.to_bits(in_dtype)), loc)
}

/// Ones on the k-th diagonal.
pub fn eye(n: usize, m: usize, k: isize, dtype: DType, loc: Loc) -> Result<Array> {
    fill(FillKind::Eye, &[n, m], dtype, [k as i64 as u64, 0], loc)
}

fn draw(kind: FillKind, shape: &[usize], dtype: DType, loc: Loc) -> Result<Array> {
    let name = Op::Fill(kind).name();
    if dtype.kind() != Kind::Float {
        return Err(Error::new(ErrorKind::Type, format!("needs a float dtype, not {dtype}")).in_op(name));
    }
    let shape = Shape::new(shape).map_err(|e| e.in_op(name))?;
    let window = window();
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    let stream = &mut unsafe { window.owner() }.random;
    let words = stream.draw(window.number, forerun_cpu::blocks_for(kind, dtype, shape.size()));
    fill(kind, &shape, dtype, words, loc)
}

/// The immediates of a record that is submitted again: new random numbers for a draw, unchanged otherwise.
pub(crate) fn redraw(signature: &Signature, words: [u64; 2]) -> [u64; 2] {
    match signature.op {
        Op::Fill(kind @ (FillKind::Normal | FillKind::Uniform)) => {
            let window = window();
            // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
            let stream = &mut unsafe { window.owner() }.random;
            stream.draw(window.number, forerun_cpu::blocks_for(kind, signature.out.dtype, signature.out.size))
        }
        Op::Routine(routine) if routine.blocks(&(signature.out.dtype, signature.out.shape())) > 0 => {
            super::routine::draw(routine, &(signature.out.dtype, signature.out.shape()))
        }
        _ => words,
    }
}

/// `scale * x + shift`, without the steps that change nothing.
fn affine(x: Array, scale: f64, shift: f64, loc: Loc) -> Result<Array> {
    let mut x = x;
    if scale != 1.0 {
        x = pointwise(Point::Multiply, &[Arg::Array(&x), Arg::Scalar(Scalar::Float(scale))], loc)?;
    }
    if shift != 0.0 {
        x = pointwise(Point::Add, &[Arg::Array(&x), Arg::Scalar(Scalar::Float(shift))], loc)?;
    }
    Ok(x)
}

/// Normally distributed random numbers. Half floats are drawn in single precision and rounded.
pub fn normal(shape: &[usize], mean: f64, scale: f64, dtype: DType, loc: Loc) -> Result<Array> {
    if scale < 0.0 {
        return Err(Error::new(ErrorKind::Value, "scale must not be negative").in_op("normal"));
    }
    if is_narrow_float(dtype) {
        return ops::cast(&normal(shape, mean, scale, dtype.carrier(), loc)?, dtype, loc);
    }
    affine(draw(FillKind::Normal, shape, dtype, loc)?, scale, mean, loc)
}

fn is_narrow_float(dtype: DType) -> bool {
    dtype.kind() == Kind::Float && dtype.carrier() != dtype
}

/// Uniform random numbers in [low, high). Half floats are drawn in single precision and rounded.
pub fn uniform(shape: &[usize], low: f64, high: f64, dtype: DType, loc: Loc) -> Result<Array> {
    if !(high - low).is_finite() {
        return Err(Error::new(ErrorKind::Overflow, "range exceeds valid bounds").in_op("uniform"));
    }
    if is_narrow_float(dtype) {
        let drawn = ops::cast(&uniform(shape, low, high, dtype.carrier(), loc)?, dtype, loc)?;
        let below = Scalar::Float(just_below(high, dtype).max(low));
        return pointwise(Point::Minimum, &[Arg::Array(&drawn), Arg::Scalar(below)], loc);
    }
    let drawn = affine(draw(FillKind::Uniform, shape, dtype, loc)?, high - low, low, loc)?;
    if high <= low || (low == 0.0 && high == 1.0) {
        return Ok(drawn);
    }
    // Rounding after the scaling may reach `high`, which must be excluded.
    let below = match dtype {
        DType::F32 => (high as f32).next_down().max(low as f32) as f64,
        _ => high.next_down(),
    };
    pointwise(Point::Minimum, &[Arg::Array(&drawn), Arg::Scalar(Scalar::Float(below))], loc)
}

/// The largest number of a float dtype below this one.
fn just_below(number: f64, dtype: DType) -> f64 {
    let bits = Scalar::Float(number).to_bits(dtype);
    let value = |bits| Scalar::from_bits(bits, dtype).as_f64();
    let sign = 1 << (8 * dtype.size() - 1);
    match value(bits) {
        near if near < number => near,
        0.0 => value(sign | 1),
        near if near > 0.0 => value(bits - 1),
        _ => value(bits + 1),
    }
}

/// Creates an array from elements in host memory, which are copied before this returns. Never blocks: a loop that feeds
/// data calls [`make_host_room`](crate::make_host_room) first, so that copies cannot pile up.
///
/// # Safety
/// `ptr` must point at the first element, and all elements of the layout must be readable.
pub unsafe fn from_host(ptr: *const u8, dtype: DType, layout: Layout, loc: Loc) -> Result<Array> {
    fail_point!("host.in", error => return Err(error.in_op("array").submitted_at(loc)));
    let meta = Meta::dense(dtype, layout.shape, host_device());
    // SAFETY: the calling thread owns this window.
    let node = unsafe { window().take_node() };
    let generation = node.open(&meta, 1, 0);
    node.begin(generation);
    let array = Array::own(node);
    let target = if meta.bytes > INLINE {
        match Buffer::alloc(None, meta.bytes, "array", loc) {
            Some(buffer) => {
                node.set_buffer(buffer);
                node.data()
            }
            None => {
                let error = no_memory(None, meta.bytes).in_op("array").submitted_at(loc);
                node.publish_failed(generation, error.clone(), None);
                return Err(error);
            }
        }
    } else {
        node.data()
    };
    if layout.is_dense() {
        // SAFETY: the caller's elements are dense, and the target has the same size.
        unsafe { std::ptr::copy_nonoverlapping(ptr, target, meta.bytes) };
    } else if meta.size > 0 {
        // SAFETY: the caller guarantees the layout's elements; no other thread sees the target yet.
        unsafe { gather(ptr, target, if dtype == DType::Bool { DType::U8 } else { dtype }, layout) };
    }
    if dtype == DType::Bool {
        // SAFETY: the target was filled above, one byte per element; no other thread sees it yet.
        let bytes = unsafe { std::slice::from_raw_parts_mut(target, meta.bytes) };
        // Other libraries treat any nonzero byte as true; kernels require 0 or 1.
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    node.publish_ready(generation);
    // An ordinary submission: no wait for the transfer to the device.
    if current_device().is_host() { Ok(array) } else { transfer(&array, current_device(), loc) }
}

/// Copies strided elements into dense ones.
///
/// # Safety
/// The addresses must be valid for the layout, as for a kernel.
unsafe fn gather(from: *const u8, to: *mut u8, dtype: DType, layout: Layout) {
    let input = ProgramInput { dtype, layout };
    let args = [Reg::Input(0); 3];
    let program = Program {
        shape: layout.shape,
        inputs: vec![input],
        scalars: Vec::new(),
        code: vec![Instr { op: Point::Copy, dtype, out: dtype, dst: Reg::Out(0), args }],
        outputs: vec![dtype],
        temps: 0,
    };
    let executable = crate::runtime::runtime().backend.compile(&Kernel::Pointwise(program));
    // SAFETY: the caller guarantees the addresses.
    unsafe { executable.run(Io { inputs: &[from], outputs: &[to], scalars: &[] }, &Solo) };
}
