//! Symbols: the third instantiation of the bodies, besides elements and vectors. A body applied to symbols computes
//! nothing; it records its steps as a script, from which device code is generated.
//!
//! Invariant: a script has exactly the arithmetic of the body: the same steps, constants and order. A device with IEEE
//! rounding therefore gives the same bits as the reference.

use crate::math;
use crate::num::{Double, Format, Mask, Num, NumBits, NumFloat, NumSigned, NumWhole, Single};
use crate::point::{Body, Point, bodies};
use crate::power;
use forerun_base::DType;
use std::cell::RefCell;
use std::marker::PhantomData;

/// The operation of a step. All but the first two are methods of the number traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the method of the number traits of that name")]
pub enum Verb {
    /// The n-th operand of the body.
    Argument(u8),
    /// A constant: the bits of a double, to be rounded to the step's dtype.
    Constant(u64),
    Add,
    Mul,
    Max,
    Min,
    Abs,
    Eq,
    Lt,
    Le,
    Select,
    Sub,
    Neg,
    FloorDiv,
    Remainder,
    Fmod,
    Power,
    Floor,
    Ceil,
    Trunc,
    Rint,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    Gcd,
    Lcm,
    ShiftLeft,
    ShiftRight,
    Div,
    Sqrt,
    MulAdd,
    Lesser,
    Greater,
    Copysign,
    Scale,
    /// The first result of `split`.
    Mantissa,
    /// The second result of `split`.
    Exponent,
    /// The first result of `turns`.
    Quadrant,
    /// The second result of `turns`.
    Rest,
    /// The third result of `turns`.
    RestLow,
    NextAfter,
}

/// One step. Other steps refer to its result by its index in the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The operation.
    pub verb: Verb,
    /// The dtype of its result.
    pub dtype: DType,
    /// The indices of the steps that are its operands.
    pub from: [u16; 3],
    /// The number of operands.
    pub arity: u8,
}

/// The recorded steps of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The steps in topological order.
    pub steps: Vec<Step>,
    /// The indices of the body's results.
    pub results: Vec<u16>,
}

thread_local! {
    /// The script being recorded on this thread. A body receives only operands, so it cannot carry a reference to the
    /// script.
    static SCRIPT: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// A dtype as a marker type.
pub trait Typed: Copy + 'static {
    /// The dtype.
    const DTYPE: DType;
}

/// A float dtype as a marker type.
pub trait TypedFloat: Typed {
    /// Single or double precision.
    type Format: Format;
}

macro_rules! typed {
    ($($(#[$doc:meta])* $name:ident, $dtype:ident;)*) => {
        $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub enum $name {}
        impl Typed for $name {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}

typed! {
    /// Truth values.
    Truth, Bool;
    /// 32-bit integers.
    Int, I32;
    /// 64-bit integers.
    Long, I64;
    /// Unsigned 64-bit integers.
    Natural, U64;
    /// Single precision.
    Float, F32;
    /// Double precision.
    Real, F64;
}

impl TypedFloat for Float {
    type Format = Single;
}

impl TypedFloat for Real {
    type Format = Double;
}

/// The result of a step.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<D>(u16, PhantomData<D>);

/// Appends a step, or returns the index of an equal step that is already recorded.
fn write<D: Typed>(verb: Verb, taken: &[u16]) -> Symbol<D> {
    let mut from = [0; 3];
    from[..taken.len()].copy_from_slice(taken);
    let step = Step { verb, dtype: D::DTYPE, from, arity: taken.len() as u8 };
    SCRIPT.with_borrow_mut(|steps| {
        let place = steps.iter().position(|known| *known == step).unwrap_or_else(|| {
            steps.push(step);
            steps.len() - 1
        });
        Symbol(place as u16, PhantomData)
    })
}

fn constant<D: Typed>(value: f64) -> Symbol<D> {
    write(Verb::Constant(value.to_bits()), &[])
}

/// Records the script of `body`, which returns the indices of its results.
fn collect(body: impl FnOnce() -> Vec<u16>) -> Script {
    SCRIPT.with_borrow_mut(Vec::clear);
    let results = body();
    Script { steps: SCRIPT.take(), results }
}

macro_rules! verbs {
    ($($name:ident($($other:ident)*) = $verb:ident;)*) => {
        $(fn $name(self, $($other: Self),*) -> Self {
            write(Verb::$verb, &[self.0, $($other.0),*])
        })*
    };
}

impl Mask for Symbol<Truth> {
    verbs! { and(other) = BitAnd; or(other) = BitOr; not() = BitNot; }
}

impl<D: Typed> Num for Symbol<D> {
    type Mask = Symbol<Truth>;
    verbs! { add(other) = Add; mul(other) = Mul; max(other) = Max; min(other) = Min; abs() = Abs; }
    fn eq(self, other: Self) -> Symbol<Truth> {
        write(Verb::Eq, &[self.0, other.0])
    }
    fn lt(self, other: Self) -> Symbol<Truth> {
        write(Verb::Lt, &[self.0, other.0])
    }
    fn le(self, other: Self) -> Symbol<Truth> {
        write(Verb::Le, &[self.0, other.0])
    }
    fn select(mask: Symbol<Truth>, yes: Self, no: Self) -> Self {
        write(Verb::Select, &[mask.0, yes.0, no.0])
    }
}

impl<D: Typed> NumBits for Symbol<D> {
    verbs! { bit_and(other) = BitAnd; bit_or(other) = BitOr; bit_xor(other) = BitXor; bit_not() = BitNot; }
}

/// Records the steps of a float power.
fn float_power<D: TypedFloat, E>(a: u16, b: u16) -> Symbol<E> {
    let made = power::power(Symbol::<D>(a, PhantomData), Symbol::<D>(b, PhantomData));
    Symbol(made.0, PhantomData)
}

impl<D: Typed> NumSigned for Symbol<D> {
    fn small(value: i8) -> Self {
        constant(value as f64)
    }
    fn power(self, other: Self) -> Self {
        match D::DTYPE {
            DType::F32 => float_power::<Float, D>(self.0, other.0),
            DType::F64 => float_power::<Real, D>(self.0, other.0),
            _ => write(Verb::Power, &[self.0, other.0]),
        }
    }
    verbs! {
        sub(other) = Sub; neg() = Neg; floor_div(other) = FloorDiv; remainder(other) = Remainder; fmod(other) = Fmod;
        floor() = Floor; ceil() = Ceil; trunc() = Trunc; rint() = Rint;
    }
}

impl<D: Typed> NumWhole for Symbol<D> {
    verbs! { gcd(other) = Gcd; lcm(other) = Lcm; shift_left(by) = ShiftLeft; shift_right(by) = ShiftRight; }
}

impl<D: TypedFloat> NumFloat for Symbol<D> {
    type Format = D::Format;
    fn constant(value: f64) -> Self {
        constant(value)
    }
    verbs! {
        div(other) = Div; sqrt() = Sqrt; mul_add(b c) = MulAdd; lesser(other) = Lesser; greater(other) = Greater;
        copysign(sign) = Copysign; scale(n) = Scale; next_after(other) = NextAfter;
    }
    fn split(self) -> (Self, Self) {
        (write(Verb::Mantissa, &[self.0]), write(Verb::Exponent, &[self.0]))
    }
    fn turns(self) -> [Self; 3] {
        [Verb::Quadrant, Verb::Rest, Verb::RestLow].map(|verb| write(verb, &[self.0]))
    }
}

fn argument<D: Typed>(n: u8) -> Symbol<D> {
    write(Verb::Argument(n), &[])
}

macro_rules! script_of {
    ($dtype:expr, Cast, $operands:tt, $point:ident) => { None };
    ($dtype:expr, Part, $operands:tt, $point:ident) => { None };
    ($dtype:expr, Join, $operands:tt, $point:ident) => { None };
    ($dtype:expr, Any, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, Bool Truth I32 Int I64 Long U64 Natural F32 Float F64 Real) };
    ($dtype:expr, Compare, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, Bool Truth I32 Int I64 Long U64 Natural F32 Float F64 Real) };
    ($dtype:expr, Select, $operands:tt, $point:ident) => { script_of!(@ $dtype, select, $point, Bool Truth I32 Int I64 Long U64 Natural F32 Float F64 Real) };
    ($dtype:expr, Number, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, I32 Int I64 Long U64 Natural F32 Float F64 Real) };
    ($dtype:expr, Float, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, F32 Float F64 Real) };
    ($dtype:expr, Predicate, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, F32 Float F64 Real) };
    ($dtype:expr, Logic, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, Bool Truth) };
    ($dtype:expr, Bits, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, Bool Truth I32 Int I64 Long U64 Natural) };
    ($dtype:expr, Whole, $operands:tt, $point:ident) => { script_of!(@ $dtype, $operands, $point, I32 Int I64 Long U64 Natural) };
    (@ $dtype:expr, $operands:tt, $point:ident, $($name:ident $type:ty)*) => {
        match $dtype {
            $(DType::$name => Some(collect(|| vec![script_of!(@@ $operands, $point, $type)])),)*
            #[allow(unreachable_patterns, reason = "some ops take every dtype")]
            _ => None,
        }
    };
    (@@ ($a:ident), $point:ident, $type:ty) => { <bodies::$point as Body<_>>::apply((argument::<$type>(0),)).0 };
    (@@ ($a:ident, $b:ident), $point:ident, $type:ty) => { <bodies::$point as Body<_>>::apply((argument::<$type>(0), argument::<$type>(1))).0 };
    (@@ ($a:ident, $b:ident, $c:ident), $point:ident, $type:ty) => {
        <bodies::$point as Body<_>>::apply((argument::<$type>(0), argument::<$type>(1), argument::<$type>(2))).0
    };
    (@@ select, $point:ident, $type:ty) => {
        <bodies::$point as Body<_>>::apply((argument::<Truth>(0), argument::<$type>(1), argument::<$type>(2))).0
    };
}

macro_rules! table {
    ($($point:ident {
        name: $name:literal, class: $class:ident, $(ulp: $ulp:literal,)? doc: $doc:literal,
        body: |$($arg:ident),+| $($rest:tt)*
    })*) => {
        /// The script of an op's body for operands of `dtype`; `None` if the op does not take the dtype or computes in
        /// another one. A cast has no body.
        pub fn script(point: Point, dtype: DType) -> Option<Script> {
            match point {
                $(Point::$point => script_of!(dtype, $class, ($($arg),+), $point),)*
            }
        }
    };
}

crate::for_each_point!(table);

/// The script of [`math::normal_pair`] in single or double precision.
pub fn normal_pair_script(dtype: DType) -> Script {
    fn pair<D: TypedFloat>() -> Vec<u16> {
        let (a, b) = math::normal_pair(argument::<D>(0), argument::<D>(1));
        vec![a.0, b.0]
    }
    collect(if dtype == DType::F64 { pair::<Real> } else { pair::<Float> })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn a_body_leaves_its_steps() {
        let script = script(Point::Sign, DType::F32).unwrap();
        let verbs: Vec<Verb> = script.steps.iter().map(|step| step.verb).collect();
        assert_eq!(verbs[0], Verb::Argument(0));
        assert_eq!(verbs.iter().filter(|v| **v == Verb::Select).count(), 3);
        assert_eq!(script.results, [verbs.len() as u16 - 1]);
        assert_eq!(script.steps.iter().filter(|s| s.dtype == DType::Bool).count(), 3);
    }

    #[test]
    fn every_row_has_a_script_for_what_it_takes() {
        for &point in Point::ALL {
            for dtype in DType::ALL {
                let carried = dtype.carrier() != dtype;
                let takes = point.row().types(dtype).is_ok_and(|(compute, _)| compute == dtype);
                let bodied = !matches!(point.row().class, Class::Cast | Class::Join);
                let takes = takes && bodied && !carried;
                assert_eq!(script(point, dtype).is_some(), takes, "{point} {dtype}");
            }
        }
    }

    #[test]
    fn steps_come_after_what_they_take() {
        let script = normal_pair_script(DType::F64);
        assert_eq!(script.results.len(), 2);
        for (place, step) in script.steps.iter().enumerate() {
            assert!(step.from[..step.arity as usize].iter().all(|&from| (from as usize) < place));
        }
    }

    /// Evaluates a script with the reference implementation. A device that follows the script must give the same
    /// result.
    fn follow(script: &Script, args: &[f32]) -> f32 {
        let mut values: Vec<f32> = Vec::new();
        for step in &script.steps {
            let a = |n: usize| values[step.from[n] as usize];
            let value = match step.verb {
                Verb::Argument(n) => args[n as usize],
                Verb::Constant(bits) => f64::from_bits(bits) as f32,
                Verb::Add => a(0) + a(1),
                Verb::Sub => a(0) - a(1),
                Verb::Mul => a(0) * a(1),
                Verb::Div => a(0) / a(1),
                Verb::MulAdd => NumFloat::mul_add(a(0), a(1), a(2)),
                Verb::Rint => a(0).round_ties_even(),
                Verb::Abs => a(0).abs(),
                Verb::Lesser => NumFloat::lesser(a(0), a(1)),
                Verb::Greater => NumFloat::greater(a(0), a(1)),
                Verb::Copysign => NumFloat::copysign(a(0), a(1)),
                Verb::Scale => NumFloat::scale(a(0), a(1)),
                Verb::Neg => -a(0),
                verb => unreachable!("{verb:?}"),
            };
            values.push(value);
        }
        values[script.results[0] as usize]
    }

    #[test]
    fn a_script_gives_the_bits_of_its_body() {
        let script = script(Point::Tanh, DType::F32).unwrap();
        for i in -4000..4000 {
            let x = i as f32 * 0.003;
            assert_eq!(follow(&script, &[x]).to_bits(), math::tanh(x).to_bits(), "{x}");
        }
    }
}
