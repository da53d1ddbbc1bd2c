//! Counting: `bincount` and `histogram`.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Given, attributes, family, invalid, mistyped};
use crate::samples::{Sample, Values, call, x};
use forerun_base::DType::{self, Bool, F32, F64, I32, I64, U8};
use forerun_base::{Kind, Result, Shape};

family! {
    /// Counting ops.
    Count {
        Numbers {
            name: "bincount",
            inputs: [x],
            attributes: Length,
            fallible: true,
            doc: "the count of each integer from 0 on, followed by the largest integer plus one",
        }
        Intervals {
            name: "histogram",
            inputs: [edges, x],
            attributes: Widths,
            fallible: false,
            doc: "the number of elements in each interval between increasing edges",
        }
    }
}

attributes! {
    /// The attributes of `bincount`.
    Length {
        /// The number of bins. The last element of the result is the number of bins that the data needs, so that a
        /// caller can check its guess: if that is larger, nothing is counted.
        length: i64,
    }
    /// The attributes of `histogram`.
    Widths {
        /// Whether all bins have the same width, apart from rounding.
        even: bool,
    }
}

impl Family for Count {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if shape.rank() != 1 {
            return invalid(format!("not defined for shape {shape}"));
        }
        let count = match self {
            Count::Numbers => {
                if dtype.kind() == Kind::Float {
                    return mistyped(format!("needs integers, not {dtype}"));
                }
                let length = Length::read(attributes)?.length;
                usize::try_from(length).or_else(|_| invalid(format!("length must not be negative, got {length}")))? + 1
            }
            Count::Intervals => {
                if dtype != given[1].0 || !matches!(dtype, DType::F32 | DType::F64) {
                    return mistyped(format!("not defined for edges {dtype} and elements {}", given[1].0));
                }
                if shape[0] < 2 {
                    return invalid(format!("{} edges define no interval", shape[0]));
                }
                shape[0] - 1
            }
        };
        Ok((DType::I64, Shape::new(&[count])?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given.iter().map(|(_, shape)| shape.size()).fold(out.1.size(), usize::saturating_add)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn samples() -> Vec<Sample> {
        let rising = |count: usize| x([count]).values(Values::Rising);
        let bincount = |length: i64| call("bincount").with("length", length).of([Bool, I32, I64, U8]);
        let histogram = |even: bool| call("histogram").with("even", even).of([F32, F64]);
        let mut all = Vec::new();
        for length in [0, 3, 500] {
            for input in [rising(40), x([0]), rising(200)] {
                all.push(bincount(length).on([input]));
            }
        }
        all.push(bincount(5).on([x([40])]).of([I32, I64]).fails("bincount: numbers must not be negative"));
        all.push(bincount(5).on([x([40])]).of([F32]).fails("bincount: needs integers, not float32"));
        all.push(bincount(-1).on([x([4])]).of([I64]).fails("bincount: length must not be negative, got -1"));
        for even in [false, true] {
            for input in [x([40]), x([600]), rising(40), x([0]), x([40]).values(Values::Special), x([3, 4])] {
                all.push(histogram(even).on([rising(9), input]));
            }
        }
        all.push(histogram(false).on([x([1]), x([4])]).fails("histogram: 1 edges define no interval"));
        all.push(histogram(false).on([x([2]), x([4])]).of([I32]).fails("histogram: not defined for edges int32"));
        all
    }
}
