//! The forward pass of attention: an online softmax. When a tile has a larger score than the tiles before it, the sums
//! so far are scaled down.

use super::kernel::{Arrays, BLOCK, TILE};
use super::scores::{Exponentials, Prepare, Scaled};
use crate::pointwise::Shared;
use crate::product::{Packed, Start, Vector};
use crate::reduce::Element;
use crate::simd::Set;
use forerun_base::{Solo, Team};
use forerun_ops::{Body, Num, NumFloat, NumSigned, bodies};
use std::marker::PhantomData;
use std::ptr::null;

pub(super) fn run<S: Set, V: Vector>(set: S, arrays: &Arrays<'_, V::Elem>, out: &mut [V::Elem], team: &dyn Team) {
    let e = &arrays.e;
    let mut packed: Vec<Option<(Packed<V>, Packed<V>)>> = (0..e.stack).map(|_| None).collect();
    let slots = Shared(packed.as_mut_ptr());
    team.split(e.stack, &|m| {
        let values = Arrays::matrix(arrays.v, m, e.keys, e.values);
        let both = (arrays.keys(m), Packed::new(values, (e.keys, e.values), (e.values, 1), &Solo));
        // SAFETY: tasks write different slots.
        unsafe { *slots.get().add(m) = Some(both) };
    });
    let blocks = e.queries.div_ceil(BLOCK);
    let (packed, out) = (&packed, Shared(out.as_mut_ptr()));
    team.split(e.stack * blocks, &|piece| {
        let (m, first) = (piece / blocks, piece % blocks * BLOCK);
        let (keys, values) = packed[m].as_ref().expect("all matrices are packed");
        block::<V>(set, arrays, [keys, values], m, first, out.get());
    });
}

/// Computes the block of queries that begins with `first`.
fn block<V: Vector>(
    set: impl Set,
    arrays: &Arrays<'_, V::Elem>,
    [keys, values]: [&Packed<V>; 2],
    m: usize,
    first: usize,
    out: *mut V::Elem,
) {
    let e = &arrays.e;
    let count = BLOCK.min(e.queries - first);
    let zero = V::Elem::ZERO;
    let mut scores = vec![zero; BLOCK * TILE.min(e.keys)];
    let (mut most, mut sums) = ([V::Elem::LOWEST; BLOCK], [zero; BLOCK]);
    let row = m * e.queries + first;
    // SAFETY: inference checked the extents of the arrays, and tasks write the rows of different queries. The backend
    // checked the instruction set.
    unsafe {
        let to = out.add(row * e.values);
        std::ptr::write_bytes(to, 0, count * e.values);
        let q = arrays.q[row * e.width..].as_ptr();
        for tile in (0..e.keys).step_by(TILE) {
            let width = TILE.min(e.keys - tile);
            if arrays.seen(first + count - 1, tile, width) == 0 {
                break;
            }
            let start = Start { from: null(), stride: 0, bias: null() };
            let columns = (0..e.width, tile..tile + width);
            keys.multiply_part(set, count, columns, (q, e.width, 1), start, (scores.as_mut_ptr(), width));
            for i in 0..count {
                let line = scores.as_mut_ptr().add(i * width);
                let largest = set.vectorize(Prepare::<V> {
                    scores: line,
                    count: width,
                    seen: arrays.seen(first + i, tile, width),
                    scale: arrays.how.scale,
                    mask: arrays.mask(m, first + i, tile),
                    kind: PhantomData,
                });
                let former = most[i];
                most[i] = NumFloat::greater(former, largest);
                if most[i].eq(V::Elem::LOWEST) {
                    // The query has seen no key yet; subtracting -infinity from itself would give NaN.
                    std::slice::from_raw_parts_mut(line, width).fill(zero);
                    continue;
                }
                if former.lt(most[i]) {
                    let by = <bodies::Exp as Body<(V::Elem,)>>::apply((former.sub(most[i]),));
                    sums[i] = sums[i].mul(by);
                    set.vectorize(Scaled::<V> { row: to.add(i * e.values), count: e.values, by, kind: PhantomData });
                }
                let sum =
                    set.vectorize(Exponentials::<V> { scores: line, count: width, less: most[i], kind: PhantomData });
                sums[i] = sums[i].add(sum);
            }
            let start = Start { from: to.cast_const(), stride: e.values, bias: null() };
            let rows = (tile..tile + width, 0..e.values);
            values.multiply_part(set, count, rows, (scores.as_ptr(), width, 1), start, (to, e.values));
        }
        for i in 0..count {
            let none = sums[i].eq(zero);
            let by = if none { zero } else { V::Elem::ONE.div(sums[i]) };
            set.vectorize(Scaled::<V> { row: to.add(i * e.values), count: e.values, by, kind: PhantomData });
            let log = <bodies::Log as Body<(V::Elem,)>>::apply((sums[i],));
            out.add(e.sums().start + row + i).write(if none { V::Elem::LOWEST } else { most[i].add(log) });
        }
    }
}
