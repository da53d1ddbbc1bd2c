//! Searching in sorted arrays.

use crate::gradient::Needs;
use crate::routine::{Family, Given, attributes, family, invalid, mistyped};
use crate::samples::{COMPLEX, Look, Sample, Values, call, x};
use forerun_base::DType::{self, C64, F32, F64, I32, I64};
use forerun_base::Result;

family! {
    /// Searching in sorted arrays; `among` sorts its second input itself.
    Search {
        Sorted {
            name: "searchsorted",
            inputs: [sorted, x],
            attributes: Side,
            fallible: false,
            doc: "insertion points of values in a sorted vector",
        }
        /// Return the index of the bin of each value; 0 for values before the first edge.
        ///
        /// Parameters
        /// ----------
        /// x
        ///     The values.
        /// bins
        ///     The edges, which must be monotonic; otherwise reading the result raises ``ValueError``.
        /// right
        ///     Whether bins include their right edge.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.digitize(np.array([0.5, 1.5, 9.0]), np.array([0.0, 1.0, 2.0]))
        /// array([1, 2, 3])
        Digitize {
            name: "digitize",
            inputs: [bins, x],
            attributes: Side,
            fallible: true,
            doc: "the bin index of each value; edges are monotonic",
            python: np,
            parameters: "x: ArrayLike, bins: ArrayLike, right: bool = False",
            inputs_as: Common,
        }
        Among {
            name: "among",
            inputs: [others, x],
            attributes: (),
            fallible: false,
            doc: "whether each value occurs in another vector, in any order",
        }
        Interp {
            name: "interp",
            inputs: [points, x, values],
            attributes: Ends,
            fallible: false,
            doc: "linear interpolation between increasing points",
        }
    }
}

attributes! {
    /// The attributes of `searchsorted` and `digitize`.
    Side {
        /// Whether a value is inserted after equal elements; for `digitize`, whether intervals include their right
        /// edge.
        right: bool,
    }
    /// The attributes of `interp`.
    Ends {
        /// The result left of the first point; by default the first value.
        left: Option<f64>,
        /// The result right of the last point; by default the last value.
        right: Option<f64>,
    }
}

impl Family for Search {
    fn infer(self, given: &[Given], _: &[i64]) -> Result<Given> {
        let ((dtype, shape), (other, values)) = (given[0], given[1]);
        if shape.rank() != 1 {
            return invalid(format!("the sorted array must have one dimension, got shape {shape}"));
        }
        if dtype != other {
            return mistyped(format!("dtypes differ: {dtype} and {other}"));
        }
        match self {
            Search::Sorted | Search::Digitize => Ok((DType::I64, values)),
            Search::Among => Ok((DType::Bool, values)),
            Search::Interp => {
                if !matches!(dtype, DType::F32 | DType::F64) {
                    return mistyped(format!("not defined for {dtype}"));
                }
                if given[2] != given[0] || shape[0] == 0 {
                    let text = format!("points {shape} and values {} must be vectors of equal length", given[2].1);
                    return invalid(text);
                }
                Ok((dtype, values))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let steps = given[0].1.size().max(1).ilog2() as usize + 1;
        out.1.size().saturating_mul(2 * steps).saturating_add(given[0].1.size())
    }

    fn takes_complex(self) -> bool {
        matches!(self, Search::Sorted | Search::Among)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        // The others give indices or booleans. While a gradient is recorded, Python composes `interp` of other ops.
        None
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let rising = || x([7]).values(Values::Rising);
        let search = |right: bool| call("searchsorted").with("right", right);
        let digitize = |right: bool| call("digitize").with("right", right);
        for right in [false, true] {
            for input in
                [x([3, 4]), x([4, 5]).look(Look::Transposed), x([0, 3]), x([]), x([16]).values(Values::Special)]
            {
                all.push(search(right).on([rising(), input.clone()]));
                all.push(digitize(right).on([rising(), input]));
            }
            all.push(search(right).on([x([0]), x([3])]));
            all.push(search(right).on([rising(), x([3, 4])]).of(COMPLEX));
        }
        let flat = "searchsorted: the sorted array must have one dimension";
        all.push(search(false).on([x([2, 2]), x([3])]).fails(flat));
        let mixed = search(false).on([x([2]).dtype(I32), x([3]).dtype(I64)]);
        all.push(mixed.fails("searchsorted: dtypes differ: int32 and int64"));
        let bins = "digitize: bins must be monotonic";
        all.push(digitize(false).on([x([40]), x([3])]).of([F32, I32]).fails(bins));
        all.push(digitize(false).on([x([3]), x([3])]).of([C64]).fails("digitize: not defined for complex64"));
        all.extend(among());
        all.extend(interp());
        all
    }
}

fn among() -> Vec<Sample> {
    let mut all = Vec::new();
    for others in [x([0]), x([5]), x([30]), x([700]), x([40]).values(Values::Special)] {
        for input in [x([3, 4]), x([4, 5]).look(Look::Transposed), x([0, 3]), x([600]).values(Values::Rising)] {
            all.push(call("among").on([others.clone(), input]));
        }
        all.push(call("among").on([others, x([40]).values(Values::Special)]));
    }
    let error = "among: the sorted array must have one dimension, got shape (2, 2)";
    all.push(call("among").on([x([2, 2]), x([3])]).fails(error));
    all
}

fn interp() -> Vec<Sample> {
    let mut all = Vec::new();
    let rising = |count: usize| x([count]).values(Values::Rising);
    let interp = || call("interp").of([F32, F64]);
    for input in [x([3, 4]), x([4, 5]).look(Look::Transposed), x([0, 3]), x([600]), x([40]).values(Values::Special)] {
        all.push(interp().on([rising(7), input.clone(), x([7])]));
        all.push(interp().with("left", -1.5).with("right", 0.0).on([rising(7), input.clone(), x([7])]));
        all.push(interp().on([rising(1), input, x([1])]));
    }
    all.push(interp().on([x([0]), x([3]), x([0])]).fails("interp: points (0,) and values (0,) must be vectors"));
    all.push(interp().on([x([2]), x([3]), x([2])]).of([I32]).fails("interp: not defined for int32"));
    all
}
