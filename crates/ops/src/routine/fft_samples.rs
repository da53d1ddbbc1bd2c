//! Samples of Fourier transforms.

use crate::samples::{Look, Sample, call, x};
use forerun_base::DType::{C64, C128, F32, F64, I64};

pub(super) fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    let op = |op: &'static str| call(op).of(if op == "rfft" { [F32, F64] } else { [C64, C128] });
    for scale in [0, 1, 2] {
        for back in [0, 1] {
            all.push(op("fft").on([x([8])]).with("words", [0, back, scale]));
            all.push(op("fft").on([x([3, 5])]).with("words", [1, back, scale]));
        }
        all.push(op("rfft").on([x([9])]).with("words", [0, scale]));
        all.push(op("rfft").on([x([6, 3])]).with("words", [-2, scale]));
        all.push(op("irfft").on([x([5])]).with("words", [0, 8, scale]));
        all.push(op("irfft").on([x([2, 5])]).with("words", [-1, 9, scale]));
    }
    all.push(op("fft").on([x([2, 4, 3]).look(Look::Transposed)]).with("words", [0, 0, 0]));
    all.push(op("fft").on([x([3, 2]).look(Look::Backwards)]).with("words", [1, 0, 0]));
    all.push(op("rfft").on([x([3, 4]).look(Look::Transposed)]).with("words", [0, 0]));
    all.push(op("rfft").on([x([3, 0])]).with("words", [0, 0]));
    all.push(op("irfft").on([x([0, 2])]).with("words", [1, 3, 0]));
    all.push(op("fft").on([x([0])]).with("words", [0, 0, 0]).fails("fft: no transform of 0 points: (0,)"));
    all.push(op("rfft").on([x([])]).with("words", [0, 0]).fails("rfft: axis 0 is out of bounds"));
    for (name, words, dtype) in [("fft", [0, 0, 0], F32), ("irfft", [0, 2, 0], F64), ("fft", [0, 0, 0], I64)] {
        all.push(
            op(name).on([x([2])]).with("words", words).of([dtype]).fails(format!("{name}: not defined for {dtype}")),
        );
    }
    for dtype in [I64, C64] {
        let text = format!("rfft: not defined for {dtype}");
        all.push(op("rfft").on([x([2])]).with("words", [0, 0]).of([dtype]).fails(text));
    }
    let text = "irfft: 3 points are not the first half of 8: (3,)";
    all.push(op("irfft").on([x([3])]).with("words", [0, 8, 0]).fails(text));
    all
}
