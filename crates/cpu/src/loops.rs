//! One vector loop for each op, dtype and instruction set, and the table that finds it. The table is made from
//! the rows of the catalogue: a new pointwise op needs nothing here.
//!
//! Invariant: a loop reads and writes exactly `count` elements an operand, and its tail runs the same vector body as
//! the rest, so no result depends on where a piece of work was cut.

use crate::simd::{Isa, Memory, Set, collect};
use forerun_base::DType;
use forerun_ops::{Body, Num, Point, bodies};

/// Where a loop reads: an address, and how far it moves from one vector to the next. A scalar is a vector of
/// copies that does not move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) from: *const u8,
    pub(crate) step: usize,
}

impl Operand {
    pub(crate) const NONE: Operand = Operand { from: std::ptr::null(), step: 0 };
}

/// A compiled loop: `to[i] = op(from[0][i], ...)` for `count` elements. `to` may be one of the operands.
pub(crate) type Loop = unsafe fn(to: *mut u8, from: &[Operand; 3], count: usize);

/// # Safety
/// `count` elements must be readable at the operand and writable at `to`, and the set's features present.
#[inline(always)]
pub(crate) unsafe fn unary<V: Memory, B: Body<(V,), Out: Memory>>(to: *mut u8, from: &[Operand; 3], count: usize) {
    let [Operand { from: mut a, step: a_step }, _, _] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    // SAFETY: whole vectors first, then what is left of `count`, which the caller promises.
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
pub(crate) unsafe fn binary<V: Memory, B: Body<(V, V), Out: Memory>>(to: *mut u8, from: &[Operand; 3], count: usize) {
    let [Operand { from: mut a, step: a_step }, Operand { from: mut b, step: b_step }, _] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    // SAFETY: whole vectors first, then what is left of `count`, which the caller promises.
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
    from: &[Operand; 3],
    count: usize,
) {
    let [mut m, mut a, mut b] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    // SAFETY: whole vectors first, then what is left of `count`, which the caller promises.
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
    from: &[Operand; 3],
    count: usize,
) {
    let [mut a, mut b, mut c] = *from;
    let mut to = to.cast::<<B::Out as Memory>::Elem>();
    // SAFETY: whole vectors first, then what is left of `count`, which the caller promises.
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
            let first = |operand: Operand| V::load_first(operand.from.cast(), rest);
            B::apply((first(a), first(b), first(c))).store_first(to, rest);
        }
    }
}

/// # Safety
/// As for [`unary`].
#[inline(always)]
pub(crate) unsafe fn cast<A: Copy, B: CastFrom<A>, const N: usize>(to: *mut u8, from: &[Operand; 3], count: usize) {
    let [Operand { from: mut a, step }, _, _] = *from;
    let mut to = to.cast::<B>();
    // SAFETY: whole vectors first, then what is left of `count`, which the caller promises.
    unsafe {
        for _ in 0..count / N {
            let values = a.cast::<[A; N]>().read_unaligned();
            to.cast::<[B; N]>().write_unaligned(collect(|i| B::cast_from(values[i])));
            a = a.add(step);
            to = to.add(N);
        }
        for i in 0..count % N {
            to.add(i).write(B::cast_from(a.cast::<A>().add(i).read()));
        }
    }
}

/// The value in another dtype: to an integer towards zero and clamped (NaN is 0), to bool whether not zero.
pub(crate) trait CastFrom<A>: Copy {
    /// The cast.
    fn cast_from(value: A) -> Self;
}

macro_rules! casts {
    ($($from:ty => $($to:ty)*;)*) => {
        $($(impl CastFrom<$from> for $to {
            #[inline(always)]
            fn cast_from(value: $from) -> $to { value as $to }
        })*
        impl CastFrom<$from> for bool {
            #[inline(always)]
            fn cast_from(value: $from) -> bool { value != (0 as $from) }
        })*
        impl CastFrom<bool> for bool {
            #[inline(always)]
            fn cast_from(value: bool) -> bool { value }
        }
        $(impl CastFrom<bool> for $from {
            #[inline(always)]
            fn cast_from(value: bool) -> $from { value as u8 as $from }
        })*
    };
}

casts! {
    f32 => f32 f64 i32 i64;
    f64 => f32 f64 i32 i64;
    i32 => f32 f64 i32 i64;
    i64 => f32 f64 i32 i64;
}

fn find_cast<S: Set>(from: DType, to: DType) -> Loop {
    fn into<S: Set, A: Copy>(to: DType) -> Loop
    where
        bool: CastFrom<A>,
        i32: CastFrom<A>,
        i64: CastFrom<A>,
        f32: CastFrom<A>,
        f64: CastFrom<A>,
    {
        match to {
            DType::Bool => S::cast::<A, bool>(),
            DType::I32 => S::cast::<A, i32>(),
            DType::I64 => S::cast::<A, i64>(),
            DType::F32 => S::cast::<A, f32>(),
            DType::F64 => S::cast::<A, f64>(),
        }
    }
    match from {
        DType::Bool => into::<S, bool>(to),
        DType::I32 => into::<S, i32>(to),
        DType::I64 => into::<S, i64>(to),
        DType::F32 => into::<S, f32>(to),
        DType::F64 => into::<S, f64>(to),
    }
}

macro_rules! loops_of {
    ($set:ident, $dtype:expr, $out:expr, Cast, 1, $point:ident) => { Some(find_cast::<$set>($dtype, $out)) };
    ($set:ident, $dtype:expr, $out:expr, Any, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, Bool I32 I64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Compare, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, Bool I32 I64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Select, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, Bool I32 I64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Number, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, I32 I64 F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Float, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Predicate, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, F32 F64)
    };
    ($set:ident, $dtype:expr, $out:expr, Logic, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, Bool)
    };
    ($set:ident, $dtype:expr, $out:expr, Bits, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, Bool I32 I64)
    };
    ($set:ident, $dtype:expr, $out:expr, Whole, $arity:tt, $point:ident) => {
        loops_of!(@ $set, $dtype, $arity, $point, I32 I64)
    };
    (@ $set:ident, $dtype:expr, $arity:tt, $point:ident, $($type:ident)*) => {
        match $dtype {
            $(DType::$type => Some(loops_of!(@@ $set, $arity, $point, $type)),)*
            #[allow(unreachable_patterns, reason = "some ops take every dtype")]
            _ => None,
        }
    };
    (@@ $set:ident, 1, $point:ident, $type:ident) => { $set::unary::<$set::$type, bodies::$point>() };
    (@@ $set:ident, 2, $point:ident, $type:ident) => { $set::binary::<$set::$type, bodies::$point>() };
    (@@ $set:ident, 3, Where, $type:ident) => { $set::choice::<$set::$type, bodies::Where>() };
    (@@ $set:ident, 3, $point:ident, $type:ident) => { $set::ternary::<$set::$type, bodies::$point>() };
}

macro_rules! table {
    ($(($point:ident, $name:literal, $arity:tt, $class:ident, $doc:literal, |$($arg:ident),+| $body:expr; $($rest:tt)*))*) => {
        fn find_in<S: Set>(op: Point, dtype: DType, out: DType) -> Option<Loop> {
            match op {
                $(Point::$point => loops_of!(S, dtype, out, $class, $arity, $point),)*
            }
        }
    };
}

forerun_ops::for_each_point!(table);

/// The loop for operands of `dtype`, and for a cast with a result of `out`; `None` if the op does not take that dtype.
pub(crate) fn find(isa: Isa, op: Point, dtype: DType, out: DType) -> Option<Loop> {
    match isa {
        Isa::Baseline => find_in::<crate::simd::Baseline>(op, dtype, out),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => find_in::<crate::simd::Avx2>(op, dtype, out),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => find_in::<crate::simd::Avx512>(op, dtype, out),
        #[cfg(not(target_arch = "x86_64"))]
        _ => find_in::<crate::simd::Baseline>(op, dtype, out),
    }
}

/// Elements in a vector of the set.
pub(crate) const fn lanes(isa: Isa) -> usize {
    match isa {
        Isa::Baseline | Isa::Avx2 => 8,
        Isa::Avx512 => 16,
    }
}
