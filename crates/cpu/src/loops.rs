//! One vector loop for each op, dtype and instruction set, and the table that finds it. The table is generated from the
//! catalogue, so a new pointwise op needs no change here.
//!
//! Floats and truth values use vectors of the set. Integers, comparisons and casts are element loops (`each.rs`).
//! Arithmetic exists for carriers only; other dtypes need casts (`casts.rs`) and moves. To limit code size, moves, most
//! casts of half floats and complex numbers, and uint64 arithmetic are compiled for the baseline only.
//!
//! Invariant: a loop reads and writes exactly `count` elements per operand. Its tail uses the same vector body as the
//! rest, so results do not depend on how work is split.

use crate::casts;
use crate::complex;
use crate::each;
use crate::simd::{Baseline, Isa, Lanes, Memory, Set, by_set};
use crate::whole;
use forerun_base::DType;
use forerun_ops::{Body, Num, Point, bodies};

/// An input of a loop: an address and the byte distance between consecutive vectors. A broadcast element is a vector of
/// copies with step 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopInput {
    pub(crate) from: *const u8,
    pub(crate) step: usize,
}

impl LoopInput {
    pub(crate) const NONE: LoopInput = LoopInput { from: std::ptr::null(), step: 0 };
}

/// A compiled loop: `to[i] = op(from[0][i], ...)` for `count` elements. `to` may equal the address of an operand.
///
/// To call it, `count` elements must be readable at each operand and writable at `to`. The CPU supports the loop's set, because only the
/// holder of a set gets its loops.
pub(crate) type Loop = unsafe fn(to: *mut u8, from: &[LoopInput; 3], count: usize);

/// # Safety
/// `count` elements must be readable at the operand and writable at `to`, and the CPU must support the set.
#[inline(always)]
pub(crate) unsafe fn unary<V: Memory, B: Body<(V,), Out: Memory>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    let [LoopInput { from: mut a, step: a_step }, _, _] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    if B::IS_LONG {
        for start in (0..count).step_by(V::LANES) {
            let left = count - start;
            // SAFETY: full vectors, then the tail of `count`, which the caller guarantees.
            unsafe {
                let x = if left < V::LANES { V::load_first(a.cast(), left) } else { V::load(a.cast()) };
                let y = B::apply((x,));
                match left < V::LANES {
                    true => y.store_first(to, left),
                    false => y.store(to),
                }
                a = a.wrapping_add(a_step);
                to = to.wrapping_add(V::LANES);
            }
        }
        return;
    }
    // SAFETY: full vectors first, then the tail of `count`, which the caller guarantees.
    unsafe {
        for _ in 0..count / V::LANES {
            B::apply((V::load(a.cast()),)).store(to);
            a = a.add(a_step);
            to = to.add(V::LANES);
        }
        let rest = count % V::LANES;
        if rest != 0 {
            B::apply((V::load_first(a.cast(), rest),)).store_first(to, rest);
        }
    }
}

/// # Safety
/// As for [`unary`].
#[inline(always)]
pub(crate) unsafe fn binary<V: Memory, B: Body<(V, V), Out: Memory>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    let [LoopInput { from: mut a, step: a_step }, LoopInput { from: mut b, step: b_step }, _] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    if B::IS_LONG {
        for start in (0..count).step_by(V::LANES) {
            let left = count - start;
            // SAFETY: full vectors, then the tail of `count`, which the caller guarantees.
            unsafe {
                let x = if left < V::LANES { V::load_first(a.cast(), left) } else { V::load(a.cast()) };
                let y = if left < V::LANES { V::load_first(b.cast(), left) } else { V::load(b.cast()) };
                let made = B::apply((x, y));
                match left < V::LANES {
                    true => made.store_first(to, left),
                    false => made.store(to),
                }
                (a, b) = (a.wrapping_add(a_step), b.wrapping_add(b_step));
                to = to.wrapping_add(V::LANES);
            }
        }
        return;
    }
    // SAFETY: full vectors first, then the tail of `count`, which the caller guarantees.
    unsafe {
        for _ in 0..count / V::LANES {
            B::apply((V::load(a.cast()), V::load(b.cast()))).store(to);
            a = a.add(a_step);
            b = b.add(b_step);
            to = to.add(V::LANES);
        }
        let rest = count % V::LANES;
        if rest != 0 {
            B::apply((V::load_first(a.cast(), rest), V::load_first(b.cast(), rest))).store_first(to, rest);
        }
    }
}

/// # Safety
/// As for [`unary`].
#[inline(always)]
pub(crate) unsafe fn choice<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>(
    to: *mut u8,
    from: &[LoopInput; 3],
    count: usize,
) {
    let [mut m, mut a, mut b] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    // SAFETY: full vectors first, then the tail of `count`, which the caller guarantees.
    unsafe {
        for _ in 0..count / V::LANES {
            let mask = <V::Mask as Memory>::load(m.from.cast());
            B::apply((mask, V::load(a.from.cast()), V::load(b.from.cast()))).store(to);
            for operand in [&mut m, &mut a, &mut b] {
                operand.from = operand.from.add(operand.step);
            }
            to = to.add(V::LANES);
        }
        let rest = count % V::LANES;
        if rest != 0 {
            let mask = <V::Mask as Memory>::load_first(m.from.cast(), rest);
            B::apply((mask, V::load_first(a.from.cast(), rest), V::load_first(b.from.cast(), rest)))
                .store_first(to, rest);
        }
    }
}

/// # Safety
/// As for [`unary`].
#[inline(always)]
pub(crate) unsafe fn ternary<V: Memory, B: Body<(V, V, V), Out: Memory>>(
    to: *mut u8,
    from: &[LoopInput; 3],
    count: usize,
) {
    let [mut a, mut b, mut c] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    // SAFETY: full vectors first, then the tail of `count`, which the caller guarantees.
    unsafe {
        for _ in 0..count / V::LANES {
            B::apply((V::load(a.from.cast()), V::load(b.from.cast()), V::load(c.from.cast()))).store(to);
            for operand in [&mut a, &mut b, &mut c] {
                operand.from = operand.from.add(operand.step);
            }
            to = to.add(V::LANES);
        }
        let rest = count % V::LANES;
        if rest != 0 {
            let first = |operand: LoopInput| V::load_first(operand.from.cast(), rest);
            B::apply((first(a), first(b), first(c))).store_first(to, rest);
        }
    }
}

/// Elements per vector of truth values, if no other dtype is involved: at one byte each, fewer would waste most of a
/// register.
pub(crate) const TRUTHS: usize = 64;

macro_rules! loops_of {
    ($set:ident, $dtype:expr, $out:expr, Cast, $operands:tt, $point:ident) => { casts::find($set, $dtype, $out) };
    ($set:ident, $dtype:expr, $out:expr, Part, $operands:tt, $point:ident) => { None };
    ($set:ident, $dtype:expr, $out:expr, Join, $operands:tt, $point:ident) => { None };
    ($set:ident, $dtype:expr, $out:expr, Any, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, Bool I32 I64 U64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Compare, $operands:tt, $point:ident) => {
        loops_of!(@truths $set, $dtype, $operands, $point).or_else(|| loops_of!(@ $set, $dtype, $operands, $point, Bool I32 I64 U64 F32 F64))
    };
    ($set:ident, $dtype:expr, $out:expr, Select, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, Bool I32 I64 U64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Number, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, I32 I64 U64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Float, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Predicate, $operands:tt, $point:ident) => {
        loops_of!(@truths $set, $dtype, $operands, $point).or_else(|| loops_of!(@ $set, $dtype, $operands, $point, F32 F64))
    };
    ($set:ident, $dtype:expr, $out:expr, Logic, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, Bool)
    };
    ($set:ident, $dtype:expr, $out:expr, Bits, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, Bool I32 I64 U64)
    };
    ($set:ident, $dtype:expr, $out:expr, Whole, $operands:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $operands, $point, I32 I64 U64)
    };
    (@ $set:ident, $dtype:expr, $operands:tt, $point:ident, $($type:ident)*) => {
        match $dtype {
            $(DType::$type => Some(loops_of!(@@ $set, $operands, $point, $type)),)*
            // The op rejects this dtype, or computes it in its carrier.
            _ => None,
        }
    };
    (@truths $set:ident, $dtype:expr, $operands:tt, $point:ident) => {
        match $dtype {
            DType::F32 if !S::HAS_MASKS => Some(loops_of!(@each $set, $operands, $point, f32)),
            DType::F64 if !S::HAS_MASKS => Some(loops_of!(@each $set, $operands, $point, f64)),
            _ => None,
        }
    };
    (@@ $set:ident, $operands:tt, $point:ident, Bool) => { loops_of!(@@@ $set, $operands, $point, Lanes<bool, TRUTHS>) };
    (@@ $set:ident, $operands:tt, $point:ident, I32) => { loops_of!(@each $set, $operands, $point, i32) };
    (@@ $set:ident, $operands:tt, $point:ident, I64) => { loops_of!(@each $set, $operands, $point, i64) };
    (@@ $set:ident, $operands:tt, $point:ident, U64) => { loops_of!(@each Baseline, $operands, $point, u64) };
    (@@ $set:ident, $operands:tt, $point:ident, $type:ident) => { loops_of!(@@@ $set, $operands, $point, S::$type) };
    (@each $set:ident, ($a:ident), $point:ident, $type:ty) => { each::find::<_, each::One<$type, bodies::$point>>($set) };
    (@each $set:ident, ($a:ident, $b:ident), $point:ident, $type:ty) => { each::find::<_, each::Two<$type, bodies::$point>>($set) };
    (@each $set:ident, ($a:ident, $b:ident, $c:ident), Where, $type:ty) => { each::find::<_, each::Three<bool, $type, bodies::Where>>($set) };
    (@each $set:ident, ($a:ident, $b:ident, $c:ident), $point:ident, $type:ty) => { each::find::<_, each::Three<$type, $type, bodies::$point>>($set) };
    (@@@ $set:ident, ($a:ident), $point:ident, $type:ty) => { $set.unary::<$type, bodies::$point>() };
    (@@@ $set:ident, ($a:ident, $b:ident), $point:ident, $type:ty) => { $set.binary::<$type, bodies::$point>() };
    (@@@ $set:ident, ($a:ident, $b:ident, $c:ident), Where, $type:ty) => { $set.choice::<$type, bodies::Where>() };
    (@@@ $set:ident, ($a:ident, $b:ident, $c:ident), $point:ident, $type:ty) => { $set.ternary::<$type, bodies::$point>() };
}

macro_rules! table {
    ($($point:ident {
        name: $name:literal, class: $class:ident, $(ulp: $ulp:literal,)? doc: $doc:literal,
        body: |$($arg:ident),+| $($rest:tt)*
    })*) => {
        fn find_in<S: Set>(set: S, op: Point, dtype: DType, out: DType) -> Option<Loop> {
            match op {
                $(Point::$point => loops_of!(set, dtype, out, $class, ($($arg),+), $point),)*
            }
        }
    };
}

forerun_ops::for_each_point!(table);

fn find_of<S: Set>(set: S, op: Point, dtype: DType, out: DType) -> Option<Loop> {
    whole::find(set, op, dtype).or_else(|| find_in(set, op, dtype, out))
}

/// A loop and the number of elements in its vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorLoop {
    pub(crate) run: Loop,
    pub(crate) lanes: usize,
}

/// The loop for operands of `dtype` and, for a cast, a result of `out`; `None` if the op does not take the dtype.
pub(crate) fn find(isa: Isa, op: Point, dtype: DType, out: DType) -> Option<VectorLoop> {
    if let Some(run) = complex::find(op, dtype).or_else(|| find_move(op, dtype)) {
        return Some(VectorLoop { run, lanes: complex::LANES });
    }
    let run = by_set!(isa, set => find_of(set, op, dtype, out));
    let lanes = match op {
        Point::Cast if casts::is_fast(dtype, out) => lanes(isa),
        Point::Cast => 8,
        _ if dtype == DType::Bool => TRUTHS,
        _ if is_fast(dtype) => lanes(isa),
        _ => 8,
    };
    run.map(|run| VectorLoop { run, lanes })
}

/// Whether a dtype has vectors for every instruction set.
pub(crate) const fn is_fast(dtype: DType) -> bool {
    match dtype {
        DType::Bool | DType::I32 | DType::I64 | DType::F32 | DType::F64 => true,
        DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::F16 | DType::BF16 => false,
        DType::C64 | DType::C128 => false,
    }
}

/// The loop of an op that only moves elements, by their size in bytes. `where` on carriers uses vectors instead.
fn find_move(op: Point, dtype: DType) -> Option<Loop> {
    fn of_size<T: Copy, V: Memory + Num<Mask: Memory>>(op: Point, carried: bool) -> Option<Loop> {
        match op {
            Point::Copy => Some(each::find::<Baseline, each::Move<T>>(Baseline)),
            Point::Where if carried => Some(Baseline.choice::<V, bodies::Where>()),
            _ => None,
        }
    }
    let carried = dtype.carrier() != dtype;
    match dtype.size() {
        1 => of_size::<u8, Lanes<i8, 8>>(op, carried),
        2 => of_size::<u16, Lanes<i16, 8>>(op, carried),
        4 => of_size::<u32, Lanes<i32, 8>>(op, carried),
        8 => of_size::<u64, Lanes<i64, 8>>(op, carried),
        _ => None,
    }
}

/// Elements per vector of the set.
pub(crate) const fn lanes(isa: Isa) -> usize {
    match isa {
        Isa::Baseline | Isa::Avx2(_) => 8,
        Isa::Avx512(_) => 16,
    }
}
