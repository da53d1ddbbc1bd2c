//! The scan forward.

use super::kernel::{Projection, each_piece, is_over};
use crate::pointwise::Shared;
use crate::product::{Packed, Start, Vector, load, store};
use crate::simd::{Set, Work};
use forerun_base::Team;
use forerun_ops::recurrent::{RecurrentExtents, RecurrentMode};
use forerun_ops::{Body, bodies};
use std::marker::PhantomData;
use std::ptr::null;

/// The arrays that a scan reads.
pub(super) struct Inputs<'a, T> {
    pub(super) gates: &'a [T],
    pub(super) h0: &'a [T],
    pub(super) c0: &'a [T],
    pub(super) weight: &'a [T],
    pub(super) bias: &'a [T],
    pub(super) projection: &'a [T],
    pub(super) lengths: Option<&'a [i64]>,
}

/// What a piece of work knows.
struct Scan<'a, V: Vector> {
    e: &'a RecurrentExtents,
    inputs: &'a Inputs<'a, V::Elem>,
    /// The state's part of all gates; of a GRU, of reset and update.
    weight: Packed<V>,
    /// Of a GRU, the state's part of the new gate.
    new: Option<Packed<V>>,
    projection: Projection<V>,
    out: Shared<*mut V::Elem>,
}

pub(super) fn scan<S: Set, V: Vector>(
    set: S,
    e: &RecurrentExtents,
    inputs: &Inputs<'_, V::Elem>,
    out: &mut [V::Elem],
    team: &dyn Team,
) {
    let (h, p) = (e.hidden, e.state);
    let rows = |from: usize, count: usize| Packed::<V>::new(&inputs.weight[from * p..], (p, count), (1, p), team);
    let is_gru = e.mode == RecurrentMode::Gru;
    let scan = Scan::<V> {
        e,
        inputs,
        weight: rows(0, if is_gru { 2 * h } else { e.width() }),
        new: is_gru.then(|| rows(2 * h, h)),
        projection: e.projected.then(|| Packed::new(inputs.projection, (h, p), (1, h), team)),
        out: Shared(out.as_mut_ptr()),
    };
    each_piece(e.batch, team, &|first, count| scan.piece(set, first, count));
}

impl<V: Vector> Scan<'_, V> {
    /// Scans `count` sequences from `first` on.
    fn piece(&self, set: impl Set, first: usize, count: usize) {
        let Scan { e, inputs, .. } = self;
        let (n, h, p, width) = (e.batch, e.hidden, e.state, e.width());
        let saved = e.mode.saved() * h;
        let out = self.out.get();
        let mut unprojected = vec![V::Elem::default(); if e.projected { count * h } else { 0 }];
        // SAFETY: offsets are those of the extents, which the arrays have; a piece writes the rows of its own sequences.
        unsafe {
            let begin = out.add(e.begin().start + first * p);
            std::ptr::copy_nonoverlapping(inputs.h0.as_ptr().add(first * p), begin, count * p);
            let (states, before) = (out.add(e.outputs().start), out.add(e.before().start));
            let (cells, gates) = (out.add(e.cells().start), out.add(e.saved().start));
            for turn in 0..e.steps {
                let step = if e.reverse { e.steps - 1 - turn } else { turn };
                let row = step * n + first;
                let former = before.add(row * p).cast_const();
                let from = inputs.gates.as_ptr().add(row * width);
                let state = states.add(row * p);
                let to = if saved == 0 { (state, p) } else { (gates.add(row * saved), saved) };
                let start = Start { from, stride: width, bias: inputs.bias.as_ptr() };
                self.weight.multiply(set, count, (former, p, 1), start, to);
                if let Some(new) = &self.new {
                    let start = Start { from: null(), stride: 0, bias: inputs.bias.as_ptr().add(2 * h) };
                    new.multiply(set, count, (former, p, 1), start, (to.0.add(3 * h), saved));
                }
                let former_cell = match turn {
                    _ if !e.has_cells() => null(),
                    0 => inputs.c0.as_ptr().add(first * h),
                    _ => cells.add(row * h).offset((n * h) as isize * if e.reverse { 1 } else { -1 }).cast_const(),
                };
                let made = if e.projected { unprojected.as_mut_ptr() } else { state };
                for i in 0..count {
                    let at = |rows: *mut V::Elem, width: usize| rows.add(i * width);
                    if is_over(inputs.lengths, first + i, step) {
                        std::ptr::write_bytes(at(to.0, to.1), 0, saved);
                        std::ptr::copy_nonoverlapping(former.add(i * p), state.add(i * p), p);
                        if e.has_cells() {
                            std::ptr::copy_nonoverlapping(former_cell.add(i * h), at(cells.add(row * h), h), h);
                        }
                        continue;
                    }
                    set.vectorize(Units::<V> {
                        mode: e.mode,
                        hidden: h,
                        gates: at(to.0, to.1),
                        given: from.add(i * width),
                        former: former.add(i * p),
                        former_cell: if e.has_cells() { former_cell.add(i * h) } else { null() },
                        cell: at(cells.add(if e.has_cells() { row * h } else { 0 }), h),
                        state: at(made, h),
                        kind: PhantomData,
                    });
                }
                if let Some(projection) = &self.projection {
                    let start = Start { from: null(), stride: 0, bias: null() };
                    for i in (0..count).filter(|i| !is_over(inputs.lengths, first + i, step)) {
                        // Row by row only where lengths differ.
                        let rows = if inputs.lengths.is_none() { count } else { 1 };
                        let (from, to) = (unprojected.as_ptr().add(i * h), state.add(i * p));
                        projection.multiply(set, rows, (from, h, 1), start, (to, p));
                        if rows == count {
                            break;
                        }
                    }
                }
            }
        }
    }
}

/// The units of one sequence at one step: gates are activated in place.
struct Units<V: Vector> {
    mode: RecurrentMode,
    hidden: usize,
    gates: *mut V::Elem,
    /// The input's part of the gates.
    given: *const V::Elem,
    former: *const V::Elem,
    former_cell: *const V::Elem,
    cell: *mut V::Elem,
    state: *mut V::Elem,
    kind: PhantomData<V>,
}

#[inline(always)]
fn sigmoid<V: Vector>(x: V) -> V {
    <bodies::Sigmoid as Body<(V,)>>::apply((x,))
}

#[inline(always)]
pub(super) fn tanh<V: Vector>(x: V) -> V {
    <bodies::Tanh as Body<(V,)>>::apply((x,))
}

impl<V: Vector> Work for Units<V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let h = self.hidden;
        for at in (0..h).step_by(V::LANES) {
            let left = (h - at).min(V::LANES);
            // SAFETY: whoever made it promised `hidden` elements of each gate and state that the mode has, and the features.
            unsafe {
                let gate = |g: usize| load::<V>(self.gates.add(g * h + at), left);
                let keep = |g: usize, x: V| store(x, self.gates.add(g * h + at), left);
                let state = match self.mode {
                    RecurrentMode::Relu => <bodies::Relu as Body<(V,)>>::apply((gate(0),)),
                    RecurrentMode::Tanh => tanh(gate(0)),
                    RecurrentMode::Lstm => {
                        let (input, forget) = (sigmoid(gate(0)), sigmoid(gate(1)));
                        let (new, output) = (tanh(gate(2)), sigmoid(gate(3)));
                        let cell = input.mul(new).add(forget.mul(load::<V>(self.former_cell.add(at), left)));
                        keep(0, input);
                        keep(1, forget);
                        keep(2, new);
                        keep(3, output);
                        store(cell, self.cell.add(at), left);
                        output.mul(tanh(cell))
                    }
                    RecurrentMode::Gru => {
                        let (reset, update) = (sigmoid(gate(0)), sigmoid(gate(1)));
                        let given = load::<V>(self.given.add(2 * h + at), left);
                        let new = tanh(given.add(reset.mul(gate(3))));
                        keep(0, reset);
                        keep(1, update);
                        keep(2, new);
                        let former = load::<V>(self.former.add(at), left);
                        new.add(update.mul(former.sub(new)))
                    }
                };
                store(state, self.state.add(at), left);
            }
        }
    }
}
