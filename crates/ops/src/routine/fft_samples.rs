//! Samples of Fourier transforms.

use crate::samples::{Look, Sample, call, x};
use forerun_base::DType::{F32, F64, I64};

pub(super) fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    let op = |op: &'static str| call(op).of([F32, F64]);
    for scale in [0, 1, 2] {
        for back in [0, 1] {
            all.push(op("fft").on([x([8, 2])]).with("words", [0, back, scale]));
            all.push(op("fft").on([x([3, 5, 2])]).with("words", [1, back, scale]));
        }
        all.push(op("rfft").on([x([9])]).with("words", [0, scale]));
        all.push(op("rfft").on([x([6, 3])]).with("words", [-2, scale]));
        all.push(op("irfft").on([x([5, 2])]).with("words", [0, 8, scale]));
        all.push(op("irfft").on([x([2, 5, 2])]).with("words", [-1, 9, scale]));
    }
    all.push(op("fft").on([x([2, 4, 3]).look(Look::Transposed)]).with("words", [0, 0, 0]).fails("fft: the last"));
    all.push(op("fft").on([x([3, 1, 2]).look(Look::Backwards)]).with("words", [1, 0, 0]));
    all.push(op("rfft").on([x([3, 4]).look(Look::Transposed)]).with("words", [0, 0]));
    all.push(op("rfft").on([x([3, 0])]).with("words", [0, 0]));
    all.push(op("irfft").on([x([0, 2, 2])]).with("words", [1, 3, 0]));
    all.push(op("fft").on([x([0, 2])]).with("words", [0, 0, 0]).fails("fft: no transform of 0 points: (0,)"));
    all.push(op("fft").on([x([3, 2])]).with("words", [0, 0, 0]).of([I64]).fails("fft: not defined for int64"));
    all.push(op("rfft").on([x([])]).with("words", [0, 0]).fails("rfft: axis 0 is out of bounds"));
    all.push(op("rfft").on([x([2])]).with("words", [0, 0]).of([I64]).fails("rfft: not defined for int64"));
    let text = "irfft: 3 points are not the first half of 8: (3,)";
    all.push(op("irfft").on([x([3, 2])]).with("words", [0, 8, 0]).fails(text));
    all
}
