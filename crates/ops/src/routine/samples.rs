//! Samples of routines: as for the rest of the catalogue, with their words in one argument.

use crate::samples::{Input, Look, NUMBERS, Sample, Value, Values, at, call, x};
use forerun_base::DType::{self, Bool, F32, F64, I32, I64};

pub(crate) fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    all.extend(order());
    all.extend(scan());
    all.extend(along());
    all.extend(convolve());
    all.extend(super::complex_samples::samples());
    all.extend(super::fft_samples::samples());
    all.extend(super::linalg_samples::samples());
    all.extend(normalise());
    all.extend(choose());
    all.extend(place());
    all.extend(search());
    all.extend(among());
    all.extend(count());
    all.extend(unique());
    all.extend(draw());
    all
}

fn order() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["sort", "argsort"] {
        for descending in [0, 1] {
            all.push(call(op).on([x([40]).values(Values::Special)]).with("words", [0, descending]));
            // Long enough to be ordered digit by digit, with narrow and with wide digits.
            for count in [201, 20_000] {
                all.push(call(op).on([x([count]).values(Values::Special)]).with("words", [0, descending]));
            }
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
    let top = |axis: i64, descending: i64, count: i64| call("argtop").with("words", [axis, descending, count]);
    for descending in [0, 1] {
        all.push(top(0, descending, 7).on([x([40]).values(Values::Special)]));
        all.push(top(1, descending, 2).on([x([3, 4, 5])]));
        all.push(top(-1, descending, 5).on([x([4, 5]).look(Look::Transposed)]));
        all.push(top(0, descending, 0).on([x([4, 5])]));
    }
    all.push(top(0, 0, 3).on([x([2])]).fails("argtop: 3 elements are wanted of 2 along axis 0"));
    all.extend(parts());
    all
}

fn parts() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["partition", "argpartition"] {
        let part = |words: &[i64]| call(op).with("words", Value::Ints(words.to_vec()));
        all.push(part(&[0, 7]).on([x([40]).values(Values::Special)]));
        all.push(part(&[0, 0, 9, 39]).on([x([40]).values(Values::Special)]));
        // Long enough for samples, and for samples that tell little.
        for count in [600, 20_000, 70_001] {
            all.push(part(&[0, count as i64 / 3]).on([x([count])]));
            all.push(part(&[0, 10]).on([x([count]).values(Values::Special)]));
            all.push(part(&[0, count as i64 - 1]).on([x([count]).values(Values::Rising)]));
        }
        all.push(part(&[1, 2]).on([x([3, 4, 5])]));
        all.push(part(&[-1, 1, 3]).on([x([4, 5]).look(Look::Transposed)]));
        all.push(part(&[1, 0, 1, 2, 3, 4, 5]).on([x([3, 6]).look(Look::Backwards)]));
        all.push(part(&[0, 3]).on([x([2])]).fails(format!("{op}: places [3] do not rise below 2 along axis 0")));
    }
    let quantile = |words: &[i64]| call("quantile").with("words", Value::Ints(words.to_vec())).of([F32, F64]);
    let half = 0.5f64.to_bits() as i64;
    for input in [x([40]), x([601]), x([20_000]), x([40]).values(Values::Special), x([3, 4]), x([0, 3])] {
        all.push(quantile(&[2, half]).on([input.clone()]));
        all.push(quantile(&[0, 0, 1, half, 2, half, 2, 0, 1, 0]).on([input]));
    }
    all.push(quantile(&[3, 0]).on([x([2])]).fails("quantile: [3, 0] are not places and shares among 2 elements"));
    all.push(quantile(&[0, 0]).on([x([2])]).of([I32]).fails("quantile: not defined for int32"));
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
        // Whole runs, side by side, and what is left of one.
        for input in [x([5000]), x([1100, 3])] {
            all.push(call(op).on([input]).with("words", [0]).of([I32, I64]));
        }
        all.push(call(op).on([x([2])]).with("words", [1]).of(NUMBERS).fails(format!("{op}: axis 1 is out of bounds")));
        all.push(
            call(op).on([x([2])]).with("words", [0]).of([DType::Bool]).fails(format!("{op}: not defined for bool")),
        );
    }
    for op in ["argcummax", "argcummin"] {
        for axis in [0, -1] {
            all.push(call(op).on([x([3, 4, 5])]).with("words", [axis]));
            all.push(call(op).on([x([4, 5]).look(Look::Transposed)]).with("words", [axis]));
        }
        all.push(call(op).on([x([40]).values(Values::Special)]).with("words", [0]));
        all.push(call(op).on([x([2])]).with("words", [1]).fails(format!("{op}: axis 1 is out of bounds")));
    }
    let linear = |axis: i64| call("linear_scan").with("words", [axis]);
    for axis in [0, 1, -1] {
        all.push(linear(axis).on([x([3, 4, 2]), x([3, 4, 2]).look(Look::Backwards)]).of([F32, F64]));
    }
    all.push(linear(0).on([x([3]), x([2])]).of([F32]).fails("linear_scan: factors are float32 (2,), not float32 (3,)"));
    all.push(linear(0).on([x([3]), x([3])]).of([I32]).fails("linear_scan: not defined for int32"));
    all
}

fn convolve() -> Vec<Sample> {
    let mut all = Vec::new();
    let part = |first: i64, count: i64| call("convolve").with("words", [first, count]);
    for (n, m) in [(9, 4), (4, 9), (1, 1), (300, 70), (40, 41)] {
        let full = (n + m - 1) as i64;
        for (first, count) in [(0, full), (m as i64 - 1, 3), (-3, full + 9)] {
            let sample = part(first, count).on([x([n]), x([m])]);
            // Long sums of floats are rounded in another order by others.
            all.push(if n < 10 { sample } else { sample.of([Bool, DType::I8, I32, I64]) });
        }
    }
    all.push(part(0, 602).on([x([300]).look(Look::Backwards), x([303]).look(Look::Backwards)]).of([I64]));
    all.push(part(-1, 3).on([x([0]), x([3])]));
    all.push(part(0, 0).on([x([5]), x([3])]));
    all.push(part(0, 4).on([x([2, 2]), x([3])]).fails("convolve: needs two vectors: (2, 2) x (3,)"));
    all.push(part(0, -1).on([x([2]), x([3])]).fails("convolve: count must not be negative, got -1"));
    all
}

fn along() -> Vec<Sample> {
    let mut all = Vec::new();
    let beyond = || x([3, 4]).values(Values::Beyond(3)).dtype(I64);
    let take = |axis: i64| call("take_along_axis").with("words", [axis]);
    let put = |axis: i64| call("put_along_axis").with("words", [axis]);
    let add = |axis: i64| call("add_along_axis").with("words", [axis]);
    for input in [x([3, 4]), x([3, 4]).look(Look::Transposed)] {
        all.push(take(0).on([input.clone(), at([5, 4], 3)]));
        all.push(take(-1).on([input.clone(), at([3, 2], 4).dtype(I32)]));
        all.push(add(0).on([input.clone(), at([5, 4], 3), x([5, 4])]).of(NUMBERS));
        all.push(add(1).on([input.clone(), at([3, 6], 4), x([3, 6])]).of(NUMBERS));
        all.push(put(1).on([input, at([3, 6], 4), x([3, 6])]));
    }
    all.push(take(0).on([x([3, 4]), at([0, 4], 3)]));
    let bad = "index 3 is out of bounds for axis 0 with size 3";
    all.push(take(0).on([x([3, 4]), beyond()]).fails(format!("take_along_axis: {bad}")));
    all.push(take(0).on([x([3, 4]), x([3, 4]).dtype(F32)]).fails("take_along_axis: indices must be integers"));
    all.push(take(0).on([x([3, 4]), at([3, 5], 3)]).fails("take_along_axis: indices (3, 5) do not fit (3, 4)"));
    all.push(put(0).on([x([3, 4]), beyond(), x([3, 4])]).fails(format!("put_along_axis: {bad}")));
    all.push(add(0).on([x([3, 4]), beyond(), x([3, 4])]).of(NUMBERS).fails(format!("add_along_axis: {bad}")));
    all.push(add(0).on([x([3, 4]), at([3, 4], 3), x([2, 4])]).of([F32]).fails("add_along_axis: updates are float32"));
    all
}

fn normalise() -> Vec<Sample> {
    let mut all = Vec::new();
    let none = || Value::Ints(Vec::new());
    // Less than the lanes of a row, just as many, and more, with and without a rest.
    let rows = [1, 3, 17, 64, 70, 200].map(|n| x([3, n]));
    for input in rows.into_iter().chain([x([2, 0, 5]), x([4, 5]).look(Look::Transposed), x([7])]) {
        for op in ["softmax_rows", "log_softmax_rows"] {
            all.push(call(op).on([input.clone()]).with("words", none()).of([F32, F64]));
        }
        let row = input.shape.last().copied().unwrap_or(0);
        let layer = call("layer_norm_rows").with("words", [1e-3f64.to_bits() as i64]);
        all.push(layer.on([input, x([row]), x([row])]).of([F32, F64]));
    }
    for op in ["softmax_rows", "log_softmax_rows"] {
        let text = format!("{op}: a scalar has no rows");
        all.push(call(op).on([x([])]).with("words", none()).of([F32]).fails(text));
    }
    let misfit = "layer_norm_rows: float32 (2,) does not fit the rows of float32 (4, 3)";
    all.push(call("layer_norm_rows").on([x([4, 3]), x([3]), x([2])]).with("words", [0]).of([F32]).fails(misfit));
    all
}

fn choose() -> Vec<Sample> {
    let mut all = Vec::new();
    let mask = |shape: &[usize]| Input { shape: shape.to_vec(), ..x([]) }.values(Values::Positive).dtype(Bool);
    let words = |op: &'static str, words: &[i64]| call(op).with("words", Value::Ints(words.to_vec()));
    all.push(words("nonzero", &[12]).on([mask(&[3, 4])]).of([Bool]));
    all.push(words("nonzero", &[0]).on([mask(&[0, 4])]).of([Bool]));
    all.push(words("nonzero", &[1]).on([mask(&[])]).of([Bool]));
    all.push(
        words("nonzero", &[11]).on([mask(&[3, 4])]).of([Bool]).fails("nonzero: the mask is true 12 times, not 11"),
    );
    all.push(words("nonzero", &[3]).on([x([3])]).of([F32]).fails("nonzero: a mask is of truth values, not float32"));
    for input in [x([2, 3, 4]), x([2, 3, 4]).look(Look::Transposed)] {
        all.push(words("compress", &[0, 2]).on([input.clone(), mask(&[2])]));
        all.push(words("compress", &[1, 12]).on([input.clone(), mask(&[3, 4])]));
        all.push(words("compress", &[2, 1]).on([input.clone(), mask(&[])]));
        all.push(words("fill_chosen", &[0]).on([input.clone(), mask(&[2, 3]), x([6, 4])]));
        all.push(words("fill_chosen", &[1]).on([input, mask(&[3]), x([2, 3, 4])]));
    }
    all.push(words("compress", &[0, 1]).on([x([3]), mask(&[3])]).fails("compress: the mask is true 3 times, not 1"));
    all.push(words("compress", &[0, 4]).on([x([3]), mask(&[4])]).fails("compress: a mask of shape (4,) does not fit"));
    let few = "fill_chosen: cannot assign 2 input values to the 3 places where the mask is true";
    all.push(words("fill_chosen", &[0]).on([x([3]), mask(&[3]), x([2])]).fails(few));
    all.push(words("fill_chosen", &[0]).on([x([3]), mask(&[3]), x([3, 1])]).fails("fill_chosen: values"));
    all
}

fn place() -> Vec<Sample> {
    let mut all = Vec::new();
    let named = |op: &'static str, words: &[i64]| call(op).with("words", Value::Ints(words.to_vec())).of([I64]);
    let at_four = || x([5]).values(Values::Positive).dtype(I64);
    all.push(named("positions", &[0, 3, 4, 1, 4, 1]).on([at([2, 3], 3), at([3], 4).dtype(I32)]));
    all.push(named("positions", &[0, 3, -2]).on([at([], 3)]));
    all.push(named("positions", &[0, 3, 1]).on([at([0], 3)]));
    let bad = "positions: index 4 is out of bounds for axis 1 with size 4";
    let beyond = x([3]).values(Values::Beyond(4)).dtype(I64);
    all.push(named("positions", &[0, 3, 4, 1, 4, 1]).on([at([3], 3), beyond]).fails(bad));
    let apart = "positions: shape mismatch: indexing arrays could not be broadcast together: (3,) (2,)";
    all.push(named("positions", &[0, 3, 4, 1, 4, 1]).on([at([3], 3), at([2], 4)]).fails(apart));
    all.push(named("positions", &[0, 3, 4]).on([x([3]).dtype(F32)]).fails("positions: indices must be int32 or int64"));
    for input in [x([3, 4]), x([3, 4]).look(Look::Transposed)] {
        all.push(call("put").with("words", []).on([input.clone(), at_four(), x([5])]));
        all.push(call("put").with("words", [2, 6]).on([input.clone(), at_four(), x([5, 2])]));
        all.push(call("put").with("words", [2, 6]).on([input, at_four(), x([])]));
    }
    let outside = "put: a row at position";
    all.push(
        call("put")
            .with("words", [2, 6])
            .on([x([4]), x([1]).values(Values::Positive).dtype(I64), x([])])
            .fails(outside),
    );
    all.push(call("put").with("words", []).on([x([9]), at_four(), x([4])]).fails("put: values"));
    all.push(named("is_last", &[]).on([at_four()]));
    all.push(named("is_last", &[]).on([at([], 3)]));
    all.push(named("is_last", &[]).on([x([3]).dtype(F32)]).fails("is_last: positions are int64"));
    all
}

fn search() -> Vec<Sample> {
    let mut all = Vec::new();
    let rising = || x([7]).values(Values::Rising);
    for right in [0, 1] {
        let search = || call("searchsorted").with("words", [right]);
        for input in [x([3, 4]), x([4, 5]).look(Look::Transposed), x([0, 3]), x([]), x([16]).values(Values::Special)] {
            all.push(search().on([rising(), input.clone()]));
            all.push(call("digitize").with("words", [right]).on([rising(), input]));
        }
        all.push(search().on([x([0]), x([3])]));
    }
    all.push(
        call("searchsorted")
            .on([x([2, 2]), x([3])])
            .with("words", [0])
            .fails("searchsorted: numbers in order have one dimension"),
    );
    all.push(
        call("searchsorted")
            .on([x([2]).dtype(I32), x([3]).dtype(I64)])
            .with("words", [0])
            .fails("searchsorted: dtypes differ: int32 and int64"),
    );
    all.push(
        call("digitize")
            .on([x([40]), x([3])])
            .with("words", [0])
            .of([F32, I32])
            .fails("digitize: bins must rise or fall"),
    );
    all
}

fn among() -> Vec<Sample> {
    let mut all = Vec::new();
    for others in [x([0]), x([5]), x([30]), x([700]), x([40]).values(Values::Special)] {
        for input in [x([3, 4]), x([4, 5]).look(Look::Transposed), x([0, 3]), x([600]).values(Values::Rising)] {
            all.push(call("among").on([others.clone(), input]).with("words", []));
        }
        all.push(call("among").on([others, x([40]).values(Values::Special)]).with("words", []));
    }
    let error = "among: numbers in order have one dimension, not (2, 2)";
    all.push(call("among").on([x([2, 2]), x([3])]).with("words", []).fails(error));
    let rising = |count: usize| x([count]).values(Values::Rising);
    let interp = |words: [i64; 4]| call("interp").with("words", words).of([F32, F64]);
    for input in [x([3, 4]), x([4, 5]).look(Look::Transposed), x([0, 3]), x([600]), x([40]).values(Values::Special)] {
        all.push(interp([0; 4]).on([rising(7), input.clone(), x([7])]));
        all.push(interp([1, (-1.5f64).to_bits() as i64, 1, 0]).on([rising(7), input.clone(), x([7])]));
        all.push(interp([0; 4]).on([rising(1), input, x([1])]));
    }
    all.push(interp([0; 4]).on([x([0]), x([3]), x([0])]).fails("interp: points (0,) and values (0,) are not vectors"));
    all.push(interp([0; 4]).on([x([2]), x([3]), x([2])]).of([I32]).fails("interp: not defined for int32"));
    all
}

fn count() -> Vec<Sample> {
    let rising = |count: usize| x([count]).values(Values::Rising);
    let bincount = |length: i64| call("bincount").with("words", [length]).of([Bool, I32, I64, DType::U8]);
    let histogram = |even: i64| call("histogram").with("words", [even]).of([F32, F64]);
    let mut all = Vec::new();
    for length in [0, 3, 500] {
        for input in [rising(40), x([0]), rising(200)] {
            all.push(bincount(length).on([input]));
        }
    }
    all.push(bincount(5).on([x([40])]).of([I32, I64]).fails("bincount: numbers must not be negative"));
    all.push(bincount(5).on([x([40])]).of([F32]).fails("bincount: needs integers, not float32"));
    all.push(bincount(-1).on([x([4])]).of([I64]).fails("bincount: [-1] is no length"));
    for even in [0, 1] {
        for input in [x([40]), x([600]), rising(40), x([0]), x([40]).values(Values::Special), x([3, 4])] {
            all.push(histogram(even).on([rising(9), input]));
        }
    }
    all.push(histogram(0).on([x([1]), x([4])]).fails("histogram: 1 edges enclose nothing"));
    all.push(histogram(0).on([x([2]), x([4])]).of([I32]).fails("histogram: not defined for edges int32"));
    all
}

fn unique() -> Vec<Sample> {
    let mut all = Vec::new();
    for input in [x([9]).values(Values::Rising), x([0]), x([4, 3]).values(Values::Rising), x([5, 0])] {
        all.push(call("groups").on([input]).with("words", [0]));
    }
    all.push(call("groups").on([x([])]).with("words", [0]).fails("groups: not defined for shape ()"));
    let groups = || x([9]).values(Values::Rising);
    all.push(call("group_starts").on([groups()]).with("words", [5]).of([I64]));
    all.push(
        call("group_starts").on([groups()]).with("words", [4]).of([I64]).fails("group_starts: the numbers are not"),
    );
    all.push(call("group_starts").on([x([3])]).with("words", [4]).of([I64]).fails("group_starts: 4 groups of 3"));
    all.push(
        call("group_starts").on([x([3])]).with("words", [1]).of([F32]).fails("group_starts: groups must be int64"),
    );
    for input in [x([6, 2]), x([5, 1]), x([0, 2]), x([3, 0]), x([4, 5]).look(Look::Transposed)] {
        all.push(call("row_order").on([input]).with("words", [0]));
    }
    all.push(call("row_order").on([x([3])]).with("words", [0]).fails("row_order: not defined for shape (3,)"));
    all
}

fn draw() -> Vec<Sample> {
    let one = |input: Input| input.values(Values::Positive);
    let mut all = vec![
        call("random_bits").with("words", [4, 5]).of([I64]),
        call("random_order").with("words", [40]).of([I64]),
        call("random_order")
            .with("words", [4, 5])
            .of([I64])
            .fails("random_order: an order has one dimension, not (4, 5)"),
        call("random_bits").with("words", [-1]).of([I64]).fails("random_bits: shape has a negative extent"),
    ];
    for op in ["random_gamma", "random_poisson"] {
        for input in [x([]), x([4, 5]), x([4, 5]).look(Look::Transposed)] {
            all.push(call(op).on([one(input)]).with("words", [4, 5]).of([F64]));
        }
        all.push(call(op).on([x([40])]).with("words", [40]).of([F64]).fails(format!("{op}: ")));
        all.push(call(op).on([x([3])]).with("words", [2]).of([F64]).fails(format!("{op}: parameters (3,) are not")));
        all.push(call(op).on([x([])]).with("words", [2]).of([F32]).fails(format!("{op}: parameters are float64, not")));
    }
    let trials = || x([2]).values(Values::Rising);
    all.push(call("random_binomial").on([trials(), trials()]).with("words", [2]).of([F64]));
    all.push(
        call("random_binomial")
            .on([x([9]), trials()])
            .with("words", [2])
            .of([F64])
            .fails("random_binomial: parameters"),
    );
    all.push(call("random_multinomial").on([trials(), trials()]).with("words", [2]).of([F64]));
    all.push(
        call("random_multinomial")
            .on([x([]), x([3])])
            .with("words", [2])
            .of([F64])
            .fails("random_multinomial: parameters"),
    );
    all
}
