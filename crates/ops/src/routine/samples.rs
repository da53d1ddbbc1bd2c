//! Samples of routines: as for the rest of the catalogue, with their words in one argument.

use crate::samples::{Look, Sample, Values, at, call, x};
use forerun_base::DType::{self, F32, F64, I32, I64};

const NUMBERS: [DType; 4] = [I32, I64, F32, F64];

pub(crate) fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    all.extend(order());
    all.extend(scan());
    all.extend(along());
    all
}

fn order() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["sort", "argsort"] {
        for descending in [0, 1] {
            all.push(call(op).on([x([40]).values(Values::Special)]).with("words", [0, descending]));
            for axis in [0, 1, -1] {
                for input in
                    [x([3, 4, 5]), x([4, 5]).look(Look::Transposed), x([3, 4]).look(Look::Backwards), x([0, 3])]
                {
                    all.push(call(op).on([input]).with("words", [axis, descending]));
                }
            }
        }
        all.push(call(op).on([x([2, 3])]).with("words", [2, 0]).fails(format!("{op}: axis 2 is out of bounds")));
    }
    all
}

fn scan() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["cumsum", "cumprod"] {
        for axis in [0, 1, -1] {
            for input in [x([3, 4, 5]), x([4, 5]).look(Look::Transposed), x([3, 4]).look(Look::Backwards), x([0, 3])] {
                all.push(call(op).on([input]).with("words", [axis]).of(NUMBERS));
            }
        }
        all.push(call(op).on([x([2])]).with("words", [1]).of(NUMBERS).fails(format!("{op}: axis 1 is out of bounds")));
        all.push(
            call(op).on([x([2])]).with("words", [0]).of([DType::Bool]).fails(format!("{op}: not defined for bool")),
        );
    }
    all
}

fn along() -> Vec<Sample> {
    let mut all = Vec::new();
    let beyond = || x([3, 4]).values(Values::Beyond(3)).dtype(I64);
    let take = |axis: i64| call("take_along_axis").with("words", [axis]);
    let add = |axis: i64| call("add_along_axis").with("words", [axis]);
    for input in [x([3, 4]), x([3, 4]).look(Look::Transposed)] {
        all.push(take(0).on([input.clone(), at([5, 4], 3)]));
        all.push(take(-1).on([input.clone(), at([3, 2], 4).dtype(I32)]));
        all.push(add(0).on([input.clone(), at([5, 4], 3), x([5, 4])]).of(NUMBERS));
        all.push(add(1).on([input, at([3, 6], 4), x([3, 6])]).of(NUMBERS));
    }
    all.push(take(0).on([x([3, 4]), at([0, 4], 3)]));
    let bad = "index 3 is out of bounds for axis 0 with size 3";
    all.push(take(0).on([x([3, 4]), beyond()]).fails(format!("take_along_axis: {bad}")));
    all.push(take(0).on([x([3, 4]), x([3, 4]).dtype(F32)]).fails("take_along_axis: indices must be integers"));
    all.push(take(0).on([x([3, 4]), at([3, 5], 3)]).fails("take_along_axis: indices (3, 5) do not fit (3, 4)"));
    all.push(add(0).on([x([3, 4]), beyond(), x([3, 4])]).of(NUMBERS).fails(format!("add_along_axis: {bad}")));
    all.push(add(0).on([x([3, 4]), at([3, 4], 3), x([2, 4])]).of([F32]).fails("add_along_axis: updates are float32"));
    all
}
