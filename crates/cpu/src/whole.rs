//! Integer division, remainders and powers. No instruction set divides integers, so quotients are computed in double
//! precision, one block of elements at a time, with loops that the compiler vectorizes.
//!
//! Invariant: every element equals the reference; where double precision is not exact, the reference is used.

use crate::loops::{Loop, LoopInput};
use crate::simd::{Set, Work};
use forerun_base::DType;
use forerun_ops::{NumSigned, Point};

/// Elements per block.
const BLOCK: usize = 64;

/// 3 * 2^51: adding an integer up to 2^51 puts it into the lowest bits.
const SHIFTER: f64 = 6755399441055744.0;

/// The constants for division by a number: its reciprocal, and an addend for the product.
///
/// Adding half a unit over the divisor and subtracting one half moves the quotient away from every rounding boundary by
/// more than its error. It can therefore be rounded to nearest, and a reciprocal is as good as a division.
#[inline(always)]
fn divisor(b: f64) -> (f64, f64) {
    let inverse = 1.0 / b;
    (inverse, 0.5 * inverse.abs() - 0.5)
}

/// The floor quotient, in the lowest bits; unspecified if the divisor is zero.
#[inline(always)]
fn quotient(a: f64, (inverse, offset): (f64, f64)) -> u64 {
    (a * inverse + offset + SHIFTER).to_bits()
}

/// Integer types that are divided this way.
trait Whole: NumSigned + PartialOrd {
    const ZERO: Self;
    /// Whether quotients with this operand are exact in double precision.
    fn is_exact(self) -> bool;
    fn to_double(self) -> f64;
    /// Converts the lowest bits of a [`quotient`].
    fn from_bits(bits: u64) -> Self;
    /// The lowest bit, and the number shifted right by one.
    fn halves(self) -> (bool, Self);
    fn or(self, other: Self) -> Self;
}

impl Whole for i32 {
    const ZERO: i32 = 0;
    #[inline(always)]
    fn is_exact(self) -> bool {
        true
    }
    #[inline(always)]
    fn to_double(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> i32 {
        // The quotient of the smallest integer and -1 wraps, as its lowest bits do.
        bits as i32
    }
    #[inline(always)]
    fn halves(self) -> (bool, i32) {
        (self & 1 == 1, self >> 1)
    }
    #[inline(always)]
    fn or(self, other: i32) -> i32 {
        self | other
    }
}

impl Whole for i64 {
    const ZERO: i64 = 0;
    #[inline(always)]
    fn is_exact(self) -> bool {
        // Beyond this, the error of a quotient may reach half a unit over the divisor.
        const MOST: i64 = 1 << 49;
        (-MOST..MOST).contains(&self)
    }
    #[inline(always)]
    fn to_double(self) -> f64 {
        // Bit arithmetic, because AVX2 cannot convert 64-bit integers.
        f64::from_bits((self as u64).wrapping_add(SHIFTER.to_bits())) - SHIFTER
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> i64 {
        bits.wrapping_sub(SHIFTER.to_bits()) as i64
    }
    #[inline(always)]
    fn halves(self) -> (bool, i64) {
        (self & 1 == 1, self >> 1)
    }
    #[inline(always)]
    fn or(self, other: i64) -> i64 {
        self | other
    }
}

/// The operation on a block.
trait Kind {
    /// The reference.
    fn one<E: Whole>(a: E, b: E) -> E;
    /// Computes the result from the quotient; the divisor is not zero.
    fn of<E: Whole>(a: E, b: E, quotient: E) -> E;
}

enum Quotient {}
enum Remainder {}
enum Fmod {}

impl Kind for Quotient {
    #[inline(always)]
    fn one<E: Whole>(a: E, b: E) -> E {
        a.floor_div(b)
    }
    #[inline(always)]
    fn of<E: Whole>(_: E, _: E, quotient: E) -> E {
        quotient
    }
}

impl Kind for Remainder {
    #[inline(always)]
    fn one<E: Whole>(a: E, b: E) -> E {
        a.remainder(b)
    }
    #[inline(always)]
    fn of<E: Whole>(a: E, b: E, quotient: E) -> E {
        a.sub(quotient.mul(b))
    }
}

impl Kind for Fmod {
    #[inline(always)]
    fn one<E: Whole>(a: E, b: E) -> E {
        a.fmod(b)
    }
    #[inline(always)]
    fn of<E: Whole>(a: E, b: E, quotient: E) -> E {
        let rest = a.sub(quotient.mul(b));
        if rest != E::ZERO && (a < E::ZERO) != (b < E::ZERO) { rest.sub(b) } else { rest }
    }
}

/// A function of two blocks, or of a block and a scalar.
trait Blocks<E> {
    fn by_block(a: &[E; BLOCK], b: &[E; BLOCK], to: &mut [E; BLOCK]);
    fn by_number(a: &[E; BLOCK], b: E, to: &mut [E; BLOCK]);
}

struct Division<K>(std::marker::PhantomData<K>);

impl<E: Whole, K: Kind> Blocks<E> for Division<K> {
    #[inline(always)]
    fn by_block(a: &[E; BLOCK], b: &[E; BLOCK], to: &mut [E; BLOCK]) {
        if !a.iter().chain(b).fold(true, |all, x| all & x.is_exact()) {
            return one_by_one::<E, K>(a, b, to);
        }
        for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
            let near = E::from_bits(quotient(a.to_double(), divisor(b.to_double())));
            *to = if b == E::ZERO { E::ZERO } else { K::of(a, b, near) };
        }
    }
    #[inline(always)]
    fn by_number(a: &[E; BLOCK], b: E, to: &mut [E; BLOCK]) {
        if b == E::ZERO || !a.iter().fold(b.is_exact(), |all, x| all & x.is_exact()) {
            return one_by_one::<E, K>(a, &[b; BLOCK], to);
        }
        let by = divisor(b.to_double());
        for (to, &a) in to.iter_mut().zip(a) {
            *to = K::of(a, b, E::from_bits(quotient(a.to_double(), by)));
        }
    }
}

#[cold]
#[inline(never)]
fn one_by_one<E: Whole, K: Kind>(a: &[E; BLOCK], b: &[E; BLOCK], to: &mut [E; BLOCK]) {
    for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
        *to = K::one(a, b);
    }
}

/// Powers by repeated squaring.
enum Powers {}

impl<E: Whole> Blocks<E> for Powers {
    #[inline(always)]
    fn by_block(a: &[E; BLOCK], b: &[E; BLOCK], to: &mut [E; BLOCK]) {
        let mut bits = b.iter().fold(E::ZERO, |all, &b| all.or(b));
        if bits < E::ZERO {
            for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
                *to = a.power(b);
            }
            return;
        }
        let (mut base, mut left) = (*a, *b);
        *to = [E::small(1); BLOCK];
        while bits != E::ZERO {
            for ((to, base), left) in to.iter_mut().zip(&mut base).zip(&mut left) {
                let (odd, half) = left.halves();
                *to = if odd { to.mul(*base) } else { *to };
                (*base, *left) = (base.mul(*base), half);
            }
            bits = bits.halves().1;
        }
    }
    #[inline(always)]
    fn by_number(a: &[E; BLOCK], b: E, to: &mut [E; BLOCK]) {
        Self::by_block(a, &[b; BLOCK], to);
    }
}

/// The elements of one call, to be run with a set's features.
struct Job<'a, E, F> {
    to: *mut E,
    from: &'a [LoopInput; 3],
    count: usize,
    function: std::marker::PhantomData<F>,
}

impl<E: Whole, F: Blocks<E>> Work for Job<'_, E, F> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let [LoopInput { from: a, step: a_step }, LoopInput { from: b, step: b_step }, _] = *self.from;
        let (a, b) = (a.cast::<E>(), b.cast::<E>());
        let bytes = self.count * size_of::<E>();
        let is_apart = |from: *const E, step: usize| {
            let (from, to) = (from as usize, self.to as usize);
            step == 0 || from + bytes <= to || to + bytes <= from
        };
        // Full blocks need no copies if the output does not alias an operand.
        let direct = a_step != 0 && is_apart(a, a_step) && is_apart(b, b_step);
        let (mut x, mut y, mut made) = ([E::ZERO; BLOCK], [E::ZERO; BLOCK], [E::ZERO; BLOCK]);
        for start in (0..self.count).step_by(BLOCK) {
            let count = BLOCK.min(self.count - start);
            // SAFETY: the caller of the loop guarantees `count` elements of the output and of operands that advance,
            // and one element of the others; blocks of an operand are copied if the output may alias it.
            unsafe {
                if direct && count == BLOCK {
                    let (x, to) = (&*a.add(start).cast(), &mut *self.to.add(start).cast());
                    match b_step {
                        0 => F::by_number(x, b.read(), to),
                        _ => F::by_block(x, &*b.add(start).cast(), to),
                    }
                    continue;
                }
                let fill = |to: &mut [E; BLOCK], from: *const E, moves: bool| match moves {
                    true => std::ptr::copy_nonoverlapping(from.add(start), to.as_mut_ptr(), count),
                    false => *to = [from.read(); BLOCK],
                };
                fill(&mut x, a, a_step != 0);
                if b_step == 0 {
                    F::by_number(&x, b.read(), &mut made);
                } else {
                    fill(&mut y, b, true);
                    F::by_block(&x, &y, &mut made);
                }
                std::ptr::copy_nonoverlapping(made.as_ptr(), self.to.add(start), count);
            }
        }
    }
}

/// The loop of an integer op that this module implements, if any.
pub(crate) fn find<S: Set>(_: S, op: Point, dtype: DType) -> Option<Loop> {
    /// # Safety
    /// As for [`Loop`]; the CPU must support the set.
    unsafe fn run<S: Set, E: Whole, F: Blocks<E>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
        let job = Job::<E, F> { to: to.cast(), from, count, function: std::marker::PhantomData };
        // SAFETY: the caller of a loop guarantees the set's features and the elements.
        unsafe { S::assume() }.vectorize(job)
    }
    fn of<S: Set, E: Whole>(op: Point) -> Option<Loop> {
        match op {
            Point::FloorDivide => Some(run::<S, E, Division<Quotient>>),
            Point::Remainder => Some(run::<S, E, Division<Remainder>>),
            Point::Fmod => Some(run::<S, E, Division<Fmod>>),
            Point::Power => Some(run::<S, E, Powers>),
            _ => None,
        }
    }
    match dtype {
        DType::I32 => of::<S, i32>(op),
        DType::I64 => of::<S, i64>(op),
        _ => None,
    }
}
