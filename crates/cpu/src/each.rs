//! Loops over single elements that the compiler vectorizes for the instruction set: integers, comparisons and casts.
//!
//! Loops over slices vectorize better than loops over short arrays of elements: truth values, one byte each, are packed
//! from several registers at once, and the unrolling follows the widest dtype.
//!
//! Invariant: the output may have the address of an operand. The elements of a block are then copied before any result
//! of the block is written.

use crate::casts::CastFrom;
use crate::loops::{Loop, LoopInput};
use crate::simd::{Set, Work};
use forerun_ops::Body;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements copied at a time if the output aliases an operand.
const BLOCK: usize = 256;

/// The loop of an op.
pub(crate) trait Each {
    /// # Safety
    /// As for [`Loop`].
    unsafe fn each(to: *mut u8, from: &[LoopInput; 3], count: usize);
}

/// The loop that runs with the CPU features of a set.
pub(crate) fn find<S: Set, K: Each>(_: S) -> Loop {
    run::<S, K>
}

/// Runs a loop with the CPU features of a set.
///
/// # Safety
/// As for [`Loop`]; the CPU must support the set.
unsafe fn run<S: Set, K: Each>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
    struct Job<'a, K> {
        to: *mut u8,
        from: &'a [LoopInput; 3],
        count: usize,
        kind: PhantomData<K>,
    }
    impl<K: Each> Work for Job<'_, K> {
        type Out = ();
        #[inline(always)]
        unsafe fn run(self) {
            // SAFETY: the caller of a loop guarantees the elements.
            unsafe { K::each(self.to, self.from, self.count) }
        }
    }
    // With no elements, the addresses may be invalid.
    if count == 0 {
        return;
    }
    // SAFETY: the caller of a loop guarantees the set's features.
    unsafe { S::assume() }.vectorize(Job { to, from, count, kind: PhantomData::<K> })
}

/// An operand: contiguous elements, or one broadcast element.
#[derive(Clone, Copy)]
enum Of<'a, T> {
    Each(&'a [T]),
    All(T),
}

/// The address of an operand, and a buffer for a block of it.
struct Source<T> {
    from: *const T,
    moves: bool,
    /// Whether the operand does not overlap the output.
    apart: bool,
    block: [MaybeUninit<T>; BLOCK],
}

impl<T: Copy> Source<T> {
    #[inline(always)]
    fn new<B>(operand: LoopInput, to: *mut B, count: usize) -> Source<T> {
        let moves = operand.step != 0;
        let (from, to) = (operand.from as usize, to as usize);
        let apart = !moves || from + count * size_of::<T>() <= to || to + count * size_of::<B>() <= from;
        Source { from: operand.from.cast(), moves, apart, block: [MaybeUninit::uninit(); BLOCK] }
    }

    /// Elements `start .. start + count`; at most one block, unless the operand does not overlap the output.
    ///
    /// # Safety
    /// The elements must be valid.
    #[inline(always)]
    unsafe fn get(&mut self, start: usize, count: usize) -> Of<'_, T> {
        // SAFETY: elements of the operand, or their copy in the block.
        unsafe {
            if !self.moves {
                return Of::All(self.from.read());
            }
            let mut from = self.from.add(start);
            if !self.apart {
                std::ptr::copy_nonoverlapping(from, self.block.as_mut_ptr().cast(), count);
                from = self.block.as_ptr().cast();
            }
            Of::Each(std::slice::from_raw_parts(from, count))
        }
    }
}

/// Calls `part` with the start of each block and the slice for its results.
///
/// # Safety
/// `count` elements must be writable; `part` may read their old contents through the operands.
#[inline(always)]
unsafe fn pieces<T>(to: *mut T, count: usize, apart: bool, mut part: impl FnMut(usize, &mut [T])) {
    let most = if apart { count.max(1) } else { BLOCK };
    let mut start = 0;
    while start < count {
        let length = most.min(count - start);
        // SAFETY: elements of the output; aliasing operands are copied first, so nothing else refers to them.
        part(start, unsafe { std::slice::from_raw_parts_mut(to.add(start), length) });
        start += length;
    }
}

#[inline(always)]
fn fill<T>(to: &mut [T], element: impl Fn(usize) -> T) {
    for i in 0..to.len() {
        // SAFETY: below the length.
        unsafe { *to.get_unchecked_mut(i) = element(i) };
    }
}

/// Element `i` of a slice that is as long as the output.
#[inline(always)]
fn at<T: Copy>(slice: &[T], i: usize) -> T {
    // SAFETY: the operands of a block have as many elements as its output.
    unsafe { *slice.get_unchecked(i) }
}

/// An op of one operand.
pub(crate) struct One<A, B>(PhantomData<(A, B)>);

impl<A: Copy, B: Body<(A,)>> Each for One<A, B> {
    #[inline(always)]
    unsafe fn each(to: *mut u8, from: &[LoopInput; 3], count: usize) {
        let to = to.cast::<B::Out>();
        let mut a = Source::<A>::new(from[0], to, count);
        // SAFETY: the caller guarantees the elements.
        unsafe {
            pieces(to, count, a.apart, |start, to| match a.get(start, to.len()) {
                Of::Each(a) => fill(to, |i| B::apply((at(a, i),))),
                Of::All(a) => fill(to, |_| B::apply((a,))),
            });
        }
    }
}

/// An op of two operands.
pub(crate) struct Two<A, B>(PhantomData<(A, B)>);

impl<A: Copy, B: Body<(A, A)>> Each for Two<A, B> {
    #[inline(always)]
    unsafe fn each(to: *mut u8, from: &[LoopInput; 3], count: usize) {
        let to = to.cast::<B::Out>();
        let (mut a, mut b) = (Source::<A>::new(from[0], to, count), Source::<A>::new(from[1], to, count));
        // SAFETY: the caller guarantees the elements.
        unsafe {
            pieces(to, count, a.apart && b.apart, |start, to| match (a.get(start, to.len()), b.get(start, to.len())) {
                (Of::Each(a), Of::Each(b)) => fill(to, |i| B::apply((at(a, i), at(b, i)))),
                (Of::Each(a), Of::All(b)) => fill(to, |i| B::apply((at(a, i), b))),
                (Of::All(a), Of::Each(b)) => fill(to, |i| B::apply((a, at(b, i)))),
                (Of::All(a), Of::All(b)) => fill(to, |_| B::apply((a, b))),
            });
        }
    }
}

/// An op of three operands, the first of its own type.
pub(crate) struct Three<M, A, B>(PhantomData<(M, A, B)>);

impl<M: Copy, A: Copy, B: Body<(M, A, A)>> Each for Three<M, A, B> {
    #[inline(always)]
    unsafe fn each(to: *mut u8, from: &[LoopInput; 3], count: usize) {
        let to = to.cast::<B::Out>();
        let mut m = Source::<M>::new(from[0], to, count);
        let (mut a, mut b) = (Source::<A>::new(from[1], to, count), Source::<A>::new(from[2], to, count));
        // SAFETY: the caller guarantees the elements.
        unsafe {
            pieces(to, count, m.apart && a.apart && b.apart, |start, to| {
                let n = to.len();
                match (m.get(start, n), a.get(start, n), b.get(start, n)) {
                    (Of::Each(m), Of::Each(a), Of::Each(b)) => fill(to, |i| B::apply((at(m, i), at(a, i), at(b, i)))),
                    (m, a, b) => {
                        // Scalar operands are rare here, so all combinations share one loop.
                        fill(to, |i| B::apply((m.at(i), a.at(i), b.at(i))));
                    }
                }
            });
        }
    }
}

impl<T: Copy> Of<'_, T> {
    #[inline(always)]
    fn at(self, i: usize) -> T {
        match self {
            Of::Each(all) => at(all, i),
            Of::All(one) => one,
        }
    }
}

/// A copy of elements of this size. It uses `memcpy`, which selects the fastest method for any length.
pub(crate) struct Move<T>(PhantomData<T>);

impl<T: Copy> Each for Move<T> {
    #[inline(always)]
    unsafe fn each(to: *mut u8, from: &[LoopInput; 3], count: usize) {
        let (to, from, moves) = (to.cast::<T>(), from[0].from.cast::<T>(), from[0].step != 0);
        // SAFETY: the caller guarantees the elements.
        unsafe {
            match moves {
                true => std::ptr::copy(from, to, count),
                false => std::slice::from_raw_parts_mut(to, count).fill(from.read()),
            }
        }
    }
}

/// A cast.
pub(crate) struct Cast<A, B>(PhantomData<(A, B)>);

impl<A: Copy, B: CastFrom<A>> Each for Cast<A, B> {
    #[inline(always)]
    unsafe fn each(to: *mut u8, from: &[LoopInput; 3], count: usize) {
        let to = to.cast::<B>();
        let mut a = Source::<A>::new(from[0], to, count);
        // SAFETY: the caller guarantees the elements.
        unsafe {
            pieces(to, count, a.apart, |start, to| match a.get(start, to.len()) {
                Of::Each(a) => B::cast_all(a, to),
                Of::All(a) => {
                    let made = B::cast_from(a);
                    fill(to, |_| made);
                }
            });
        }
    }
}
