//! The backward pass of attention. It computes the scores again, tile by tile.

use super::kernel::{Arrays, BLOCK, TILE};
use super::scores::{Exponentials, Inner, Prepare, Slopes};
use crate::pointwise::Shared;
use crate::product::{Packed, Start, Vector};
use crate::reduce::Element;
use crate::simd::Set;
use forerun_base::{Solo, Team};
use forerun_ops::{Num, NumSigned};
use std::marker::PhantomData;
use std::ptr::null;

/// `[packed, grad, sums_grad]` are the result of the forward pass and the gradients of its two parts; a gradient
/// without elements is zero.
pub(super) fn run<S: Set, V: Vector>(
    set: S,
    arrays: &Arrays<'_, V::Elem>,
    flows: [&[V::Elem]; 3],
    out: &mut [V::Elem],
    team: &dyn Team,
) {
    let e = &arrays.e;
    let out = Shared(out.as_mut_ptr());
    team.split(e.stack, &|m| {
        let to_keys = e.stack * e.queries * e.width;
        let to_values = to_keys + e.stack * e.keys * e.width;
        // SAFETY: tasks write the gradients of different matrices.
        let parts = unsafe {
            let part = |first: usize, count: usize| {
                let part = std::slice::from_raw_parts_mut(out.get().add(first + m * count), count);
                part.fill(V::Elem::ZERO);
                part
            };
            [part(0, e.queries * e.width), part(to_keys, e.keys * e.width), part(to_values, e.keys * e.values)]
        };
        if !(flows[1].is_empty() && flows[2].is_empty()) {
            matrix::<V>(set, arrays, flows, m, parts);
        }
    });
}

fn matrix<V: Vector>(
    set: impl Set,
    arrays: &Arrays<'_, V::Elem>,
    [packed, grad, sums_grad]: [&[V::Elem]; 3],
    m: usize,
    [dq, dk, dv]: [&mut [V::Elem]; 3],
) {
    let e = &arrays.e;
    let zero = V::Elem::ZERO;
    let (k, v) = (Arrays::matrix(arrays.k, m, e.keys, e.width), Arrays::matrix(arrays.v, m, e.keys, e.values));
    let keys = arrays.keys::<V>(m);
    let rows_of_keys = Packed::<V>::new(k, (e.keys, e.width), (e.width, 1), &Solo);
    let values = Packed::<V>::new(v, (e.values, e.keys), (1, e.values), &Solo);
    let nothing = Start { from: null(), stride: 0, bias: null() };
    let zeros = vec![zero; BLOCK * e.values];
    let tile_size = BLOCK * TILE.min(e.keys);
    let (mut p, mut slopes) = (vec![zero; tile_size], vec![zero; tile_size]);
    for first in (0..e.queries).step_by(BLOCK) {
        let count = BLOCK.min(e.queries - first);
        let row = m * e.queries + first;
        let q = &arrays.q[row * e.width..(row + count) * e.width];
        let flow = match grad.is_empty() {
            true => &zeros[..count * e.values],
            false => &grad[row * e.values..(row + count) * e.values],
        };
        let made = &packed[row * e.values..(row + count) * e.values];
        let block_of_queries = Packed::<V>::new(q, (count, e.width), (e.width, 1), &Solo);
        let block_of_flows = Packed::<V>::new(flow, (count, e.values), (e.values, 1), &Solo);
        // SAFETY: inference checked the extents of the arrays; the backend checked the instruction set.
        unsafe {
            let mut deltas = [zero; BLOCK];
            for (i, delta) in deltas[..count].iter_mut().enumerate() {
                let [a, b] = [flow, made].map(|rows| rows[i * e.values..].as_ptr());
                *delta = set.vectorize(Inner::<V> { a, b, count: e.values, kind: PhantomData });
                if !sums_grad.is_empty() {
                    *delta = delta.sub(sums_grad[row + i]);
                }
            }
            for tile in (0..e.keys).step_by(TILE) {
                let width = TILE.min(e.keys - tile);
                if arrays.seen(first + count - 1, tile, width) == 0 {
                    break;
                }
                let here = tile..tile + width;
                let (probabilities, slopes) = (p.as_mut_ptr(), slopes.as_mut_ptr());
                let columns = (0..e.width, here.clone());
                keys.multiply_part(set, count, columns, (q.as_ptr(), e.width, 1), nothing, (probabilities, width));
                let columns = (0..e.values, here.clone());
                values.multiply_part(set, count, columns, (flow.as_ptr(), e.values, 1), nothing, (slopes, width));
                for i in 0..count {
                    let line = probabilities.add(i * width);
                    let less = packed[e.sums().start + row + i];
                    let seen = arrays.seen(first + i, tile, width);
                    let mask = arrays.mask(m, first + i, tile);
                    let scale = arrays.how.scale;
                    set.vectorize(Prepare::<V> { scores: line, count: width, seen, scale, mask, kind: PhantomData });
                    if less.le(V::Elem::LOWEST) {
                        // The query sees no key.
                        std::slice::from_raw_parts_mut(line, width).fill(zero);
                    } else {
                        set.vectorize(Exponentials::<V> { scores: line, count: width, less, kind: PhantomData });
                    }
                    let dp = slopes.add(i * width);
                    set.vectorize(Slopes::<V> {
                        p: line,
                        dp,
                        count: width,
                        delta: deltas[i],
                        scale,
                        kind: PhantomData,
                    });
                }
                let to = dq[first * e.width..].as_mut_ptr();
                let start = Start { from: to.cast_const(), stride: e.width, bias: null() };
                let part = (here.clone(), 0..e.width);
                rows_of_keys.multiply_part(set, count, part, (slopes, width, 1), start, (to, e.width));
                for (block, from, to, columns) in [
                    (&block_of_queries, slopes, dk[tile * e.width..].as_mut_ptr(), e.width),
                    (&block_of_flows, probabilities, dv[tile * e.values..].as_mut_ptr(), e.values),
                ] {
                    let start = Start { from: to.cast_const(), stride: columns, bias: null() };
                    block.multiply(set, width, (from, 1, width), start, (to, columns));
                }
            }
        }
    }
}
