//! Samples of recurrent scans.

use crate::samples::{Input, Sample, Values, call, x};
use forerun_base::DType::{BF16, F16, F32, F64, I32, I64};

/// The inputs of a scan of a mode with these extents: steps, batch, hidden units, and size of the projection (0: none).
fn scan(mode: usize, [steps, batch, hidden, projection]: [usize; 4]) -> Vec<Input> {
    let (width, state) = ([1, 1, 4, 3][mode] * hidden, if projection > 0 { projection } else { hidden });
    let cells = if mode == 2 { x([batch, hidden]) } else { x([0]) };
    let projected = if projection > 0 { x([projection, hidden]) } else { x([0]) };
    vec![x([steps, batch, width]), x([batch, state]), cells, x([width, state]), x([width]), projected, x([0])]
}

/// The inputs of the backward scan: what the scan saved, and the gradients of states, cells and gates.
fn back(mode: usize, [steps, batch, hidden, projection]: [usize; 4], flows: [bool; 3]) -> Vec<Input> {
    let forward = scan(mode, [steps, batch, hidden, projection]);
    let state = if projection > 0 { projection } else { hidden };
    let (cells, saved) = (usize::from(mode == 2), if mode >= 2 { 4 } else { 0 });
    let parts = [steps * batch * state, cells * steps * batch * hidden, saved * steps * batch * hidden];
    let packed = batch * state + parts.iter().sum::<usize>();
    let flow = |i: usize| x([if flows[i] { parts[i] } else { 0 }]);
    let [_, _, c0, weight, _, projected, lengths] = &forward[..] else { unreachable!("a scan has seven inputs") };
    let others = [c0.clone(), weight.clone(), projected.clone(), lengths.clone()];
    [x([packed])].into_iter().chain(others).chain([flow(0), flow(1), flow(2)]).collect()
}

pub(super) fn samples() -> Vec<Sample> {
    let op = |mode: usize, reverse: bool| call("recurrent_scan").with("mode", mode as i64).with("reverse", reverse);
    let mut all = Vec::new();
    for mode in 0..4 {
        for reverse in [false, true] {
            all.push(op(mode, reverse).on(scan(mode, [3, 2, 2, 0])).of([F16, BF16, F32, F64]));
            let way = call("recurrent_scan_back").with("mode", mode as i64).with("reverse", reverse);
            for flows in [[true; 3], [true, false, false]] {
                let way = way.clone().with("steps", 3).with("batch", 2);
                all.push(way.on(back(mode, [3, 2, 2, 0], flows)).of([F32, F64]));
            }
        }
        // More rows than a block of the product, more columns than a panel.
        all.push(op(mode, false).on(scan(mode, [2, 37, 19, 0])).of([F32, F64]));
        // Sequences of different lengths, and scans without steps.
        let mut uneven = scan(mode, [4, 3, 2, 0]);
        uneven[6] = x([3]).values(Values::Rising).dtype(I64);
        all.push(op(mode, mode % 2 == 0).on(uneven).of([F32, F64]));
        all.push(op(mode, false).on(scan(mode, [0, 2, 2, 0])).of([F32]));
    }
    all.push(op(2, false).on(scan(2, [3, 2, 4, 3])).of([F16, BF16, F32, F64]));
    all.push(op(2, true).on(scan(2, [2, 3, 2, 1])).of([F32, F64]));
    let way = call("recurrent_scan_back").with("mode", 2).with("reverse", false).with("steps", 3).with("batch", 2);
    all.push(way.clone().on(back(2, [3, 2, 4, 3], [true, false, false])).of([F32, F64]));

    let mut bad = scan(2, [3, 2, 2, 0]);
    bad[1] = x([2, 3]);
    let text = "recurrent_scan: begin state (2, 3) does not fit 2 hidden units";
    all.push(op(2, false).on(bad).of([F32]).fails(text));
    let mut bad = scan(0, [3, 2, 2, 0]);
    bad[1] = x([3, 2]);
    all.push(op(0, false).on(bad).of([F32]).fails("recurrent_scan: begin state must have shape (2, 2), not (3, 2)"));
    let mut bad = scan(1, [2, 4, 2, 0]);
    bad[6] = x([4]).values(Values::Beyond(3)).dtype(I64);
    all.push(op(1, false).on(bad).of([F32]).fails("recurrent_scan: length 3 of sequence 1 is not between 0 and 2"));
    all.push(op(0, false).on(scan(0, [1, 1, 1, 0])).of([I32]).fails("recurrent_scan: not defined for int32"));
    let mut bad = back(2, [3, 2, 2, 0], [true; 3]);
    bad[0] = x([7]);
    let text = "recurrent_scan_back: what the scan saved must have shape (76,), not (7,)";
    all.push(way.on(bad).of([F32]).fails(text));
    all
}
