//! The scan backward: from the last step taken to the first.

use super::forward::tanh;
use super::kernel::{Projection, each_piece, is_over};
use crate::pointwise::Shared;
use crate::product::{Packed, Start, Vector, load, store};
use crate::simd::{Set, Work};
use forerun_base::Team;
use forerun_ops::recurrent::{RecurrentExtents, RecurrentMode};
use std::marker::PhantomData;
use std::ptr::null;

/// The arrays that a scan backward reads; a gradient without elements is zero.
pub(super) struct Inputs<'a, T> {
    pub(super) packed: &'a [T],
    pub(super) c0: &'a [T],
    pub(super) weight: &'a [T],
    pub(super) projection: &'a [T],
    pub(super) lengths: Option<&'a [i64]>,
    pub(super) dh: &'a [T],
    pub(super) dc: &'a [T],
    pub(super) dgates: &'a [T],
}

/// What a piece of work knows.
struct Scan<'a, V: Vector> {
    e: &'a RecurrentExtents,
    inputs: &'a Inputs<'a, V::Elem>,
    weight: Packed<V>,
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
    let scan = Scan::<V> {
        e,
        inputs,
        weight: Packed::new(inputs.weight, (e.width(), p), (p, 1), team),
        projection: e.projected.then(|| Packed::new(inputs.projection, (p, h), (h, 1), team)),
        out: Shared(out.as_mut_ptr()),
    };
    each_piece(e.batch, team, &|first, count| scan.piece(set, first, count));
}

/// The address of an element, or null where there are no elements.
fn at<T>(all: &[T], i: usize) -> *const T {
    all.get(i).map_or(null(), std::ptr::from_ref)
}

impl<V: Vector> Scan<'_, V> {
    /// Scans `count` sequences from `first` on.
    fn piece(&self, set: impl Set, first: usize, count: usize) {
        let Scan { e, inputs, .. } = self;
        let (n, h, p, width) = (e.batch, e.hidden, e.state, e.width());
        let saved = e.mode.saved() * h;
        let zeros = |count: usize| vec![V::Elem::default(); count];
        // What flows to the state and the cell of the step at hand; what reaches the state before it past the gates; what flows to
        // the hidden units before they are projected.
        let (mut dh, mut dc) = (zeros(count * p), zeros(if e.has_cells() { count * h } else { 0 }));
        let (mut past, mut unprojected) = (zeros(count * p), zeros(if e.projected { count * h } else { 0 }));
        let packed = |start: usize, i: usize| at(inputs.packed, start + i);
        let out = self.out.get();
        for turn in (0..e.steps).rev() {
            let step = if e.reverse { e.steps - 1 - turn } else { turn };
            let row = step * n + first;
            // SAFETY: offsets are those of the extents, which the arrays have; a piece writes the rows of its own sequences.
            unsafe {
                let to_inputs = out.add(e.back_inputs().start + row * width);
                let to_states = out.add(e.back_states().start + row * width);
                add::<V>(set, &mut dh, at(inputs.dh, row * p));
                add::<V>(set, &mut dc, at(inputs.dc, row * h));
                let units = match &self.projection {
                    Some(projection) => {
                        let to = out.add(e.back_projected().start + row * p);
                        std::ptr::copy_nonoverlapping(dh.as_ptr(), to, count * p);
                        let start = Start { from: null(), stride: 0, bias: null() };
                        projection.multiply(set, count, (dh.as_ptr(), p, 1), start, (unprojected.as_mut_ptr(), h));
                        unprojected.as_ptr()
                    }
                    None => dh.as_ptr(),
                };
                for i in 0..count {
                    let past = past.as_mut_ptr().add(i * p);
                    if is_over(inputs.lengths, first + i, step) {
                        std::ptr::copy_nonoverlapping(dh.as_ptr().add(i * p), past, p);
                        std::ptr::write_bytes(to_inputs.add(i * width), 0, width);
                        std::ptr::write_bytes(to_states.add(i * width), 0, width);
                        if e.projected {
                            std::ptr::write_bytes(out.add(e.back_projected().start + (row + i) * p), 0, p);
                        }
                        continue;
                    }
                    let cell = |row: usize| packed(e.cells().start, row * h);
                    set.vectorize(Units::<V> {
                        mode: e.mode,
                        hidden: h,
                        gates: packed(e.saved().start, (row + i) * saved),
                        state: packed(e.outputs().start, (row + i) * p),
                        former: packed(e.before().start, (row + i) * p),
                        cell: cell(row + i),
                        former_cell: match (turn, e.reverse) {
                            (0, _) => at(inputs.c0, (first + i) * h),
                            (_, true) => cell(row + n + i),
                            (_, false) => cell((row + i).wrapping_sub(n)),
                        },
                        dgates: at(inputs.dgates, (row + i) * saved),
                        dh: units.add(i * h),
                        dc: if e.has_cells() { dc.as_mut_ptr().add(i * h) } else { std::ptr::null_mut() },
                        past,
                        to_inputs: to_inputs.add(i * width),
                        to_states: to_states.add(i * width),
                        kind: PhantomData,
                    });
                }
                let start = Start { from: past.as_ptr(), stride: p, bias: null() };
                self.weight.multiply(set, count, (to_states, width, 1), start, (dh.as_mut_ptr(), p));
                // Only a sequence that is over, or a GRU's update gate, lets something past the gates.
                if inputs.lengths.is_some() {
                    past.fill(V::Elem::default());
                }
            }
        }
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(dh.as_ptr(), out.add(e.back_begin().start + first * p), count * p);
            if e.has_cells() {
                std::ptr::copy_nonoverlapping(dc.as_ptr(), out.add(e.back_cells().start + first * h), count * h);
            }
        }
    }
}

/// Adds elements to all of a slice, if there are any.
///
/// # Safety
/// The address is null or reaches as many elements; the set's features must be there.
unsafe fn add<V: Vector>(set: impl Set, to: &mut [V::Elem], from: *const V::Elem) {
    if !from.is_null() {
        set.vectorize(Sum::<V> { to, from });
    }
}

struct Sum<'a, V: Vector> {
    to: &'a mut [V::Elem],
    from: *const V::Elem,
}

impl<V: Vector> Work for Sum<'_, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let count = self.to.len();
        for at in (0..count).step_by(V::LANES) {
            let left = (count - at).min(V::LANES);
            // SAFETY: whoever made it promised the elements and the features.
            unsafe {
                let to = self.to.as_mut_ptr().add(at);
                store(load::<V>(to, left).add(load::<V>(self.from.add(at), left)), to, left);
            }
        }
    }
}

/// The units of one sequence at one step. Addresses of what the mode has not are null.
struct Units<V: Vector> {
    mode: RecurrentMode,
    hidden: usize,
    gates: *const V::Elem,
    state: *const V::Elem,
    former: *const V::Elem,
    cell: *const V::Elem,
    former_cell: *const V::Elem,
    /// What flows to what was saved of the gates, or null.
    dgates: *const V::Elem,
    dh: *const V::Elem,
    dc: *mut V::Elem,
    past: *mut V::Elem,
    to_inputs: *mut V::Elem,
    to_states: *mut V::Elem,
    kind: PhantomData<V>,
}

impl<V: Vector> Work for Units<V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let h = self.hidden;
        let one = V::constant(1.0);
        for at in (0..h).step_by(V::LANES) {
            let left = (h - at).min(V::LANES);
            // SAFETY: whoever made it promised `hidden` elements of each gate and state that the mode has, and the features.
            unsafe {
                let from = |all: *const V::Elem| load::<V>(all.add(at), left);
                let gate = |g: usize| load::<V>(self.gates.add(g * h + at), left);
                let direct = |g: usize, x: V| match self.dgates.is_null() {
                    true => x,
                    false => x.add(load::<V>(self.dgates.add(g * h + at), left)),
                };
                let keep = |g: usize, x: V| store(x, self.to_inputs.add(g * h + at), left);
                let dh = from(self.dh);
                match self.mode {
                    RecurrentMode::Relu => {
                        let zero = V::constant(0.0);
                        keep(0, V::select(zero.lt(from(self.state)), dh, zero));
                    }
                    RecurrentMode::Tanh => {
                        let state = from(self.state);
                        keep(0, dh.mul(one.sub(state.mul(state))));
                    }
                    RecurrentMode::Lstm => {
                        let (input, forget, new, output) = (gate(0), gate(1), gate(2), gate(3));
                        let squashed = tanh(from(self.cell));
                        let slope = output.mul(one.sub(squashed.mul(squashed)));
                        let dc = dh.mul(slope).add(from(self.dc));
                        let open = |g: usize, d: V, x: V| keep(g, direct(g, d).mul(x.mul(one.sub(x))));
                        open(0, dc.mul(new), input);
                        open(1, dc.mul(from(self.former_cell)), forget);
                        keep(2, direct(2, dc.mul(input)).mul(one.sub(new.mul(new))));
                        open(3, dh.mul(squashed), output);
                        store(dc.mul(forget), self.dc.add(at), left);
                    }
                    RecurrentMode::Gru => {
                        let (reset, update, new, added) = (gate(0), gate(1), gate(2), gate(3));
                        let dnew = direct(2, dh.mul(one.sub(update))).mul(one.sub(new.mul(new)));
                        let dupdate = direct(1, dh.mul(from(self.former).sub(new))).mul(update.mul(one.sub(update)));
                        let dreset = direct(0, dnew.mul(added)).mul(reset.mul(one.sub(reset)));
                        for (g, x) in [dreset, dupdate, dnew].into_iter().enumerate() {
                            keep(g, x);
                        }
                        let states = [dreset, dupdate, direct(3, dnew.mul(reset))];
                        for (g, x) in states.into_iter().enumerate() {
                            store(x, self.to_states.add(g * h + at), left);
                        }
                        store(dh.mul(update), self.past.add(at), left);
                    }
                }
            }
        }
    }
}
