//! Samples of what routines do with complex numbers, beside Fourier transforms and linear algebra.

use crate::samples::{COMPLEX, Look, Sample, Value, Values, at, call, x};
use forerun_base::DType::{Bool, C64, I64};

pub(super) fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    let op = |op: &'static str, words: &[i64]| call(op).with("words", Value::Ints(words.to_vec())).of(COMPLEX);
    for name in ["sort", "argsort"] {
        for descending in [0, 1] {
            all.push(op(name, &[0, descending]).on([x([300])]));
            all.push(op(name, &[0, descending]).on([x([41]).values(Values::Rising)]));
            all.push(op(name, &[1, descending]).on([x([3, 4, 5])]));
            all.push(op(name, &[-1, descending]).on([x([4, 5]).look(Look::Transposed)]));
        }
    }
    all.push(op("argtop", &[0, 0, 7]).on([x([40])]));
    for name in ["cumsum", "cumprod"] {
        all.push(op(name, &[1]).on([x([3, 4, 5])]));
        all.push(op(name, &[-1]).on([x([4, 5]).look(Look::Backwards)]));
        all.push(op(name, &[0]).on([x([0, 3])]));
    }
    all.push(op("linear_scan", &[1]).on([x([3, 4]), x([3, 4])]));
    all.push(op("take_along_axis", &[0]).on([x([3, 4]), at([5, 4], 3)]));
    all.push(op("add_along_axis", &[0]).on([x([3, 4]), at([5, 4], 3), x([5, 4])]));
    all.push(op("put_along_axis", &[1]).on([x([3, 4]).look(Look::Transposed), at([3, 6], 4), x([3, 6])]));
    let mask = || x([2]).values(Values::Positive).dtype(Bool);
    all.push(op("compress", &[0, 2]).on([x([2, 3, 4]), mask()]));
    all.push(op("fill_chosen", &[0]).on([x([2, 3]), mask(), x([2, 3])]));
    all.push(op("put", &[2, 6]).on([x([3, 4]), x([5]).values(Values::Positive).dtype(I64), x([5, 2])]));
    for right in [0, 1] {
        all.push(op("searchsorted", &[right]).on([x([7]).values(Values::Rising), x([3, 4])]));
    }
    all.push(op("groups", &[0]).on([x([9]).values(Values::Rising)]));
    all.push(op("row_order", &[0]).on([x([6, 2])]));
    for (name, words) in [("argcummax", vec![0]), ("argcummin", vec![0])] {
        all.push(op(name, &words).on([x([3])]).of([C64]).fails(format!("{name}: not defined for complex64")));
    }
    all.push(op("digitize", &[0]).on([x([3]), x([3])]).of([C64]).fails("digitize: not defined for complex64"));
    all
}
