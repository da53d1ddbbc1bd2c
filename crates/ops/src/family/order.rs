//! Sorting and selection along an axis. NaN sorts last in both directions.

use crate::AxisIndexing;
use crate::gradient::Needs;
use crate::routine::{
    AlongAxis, Attributes, Family, Flows, Given, GradientBuilder, List, attributes, family, invalid, mistyped,
};
use crate::samples::{COMPLEX, Input, Look, Sample, Value, Values, call, x};
use forerun_base::DType::{self, F32, F64, I32};
use forerun_base::{Result, Shape};

family! {
    /// Sorting and selection. All routines are stable, `partition` included.
    Order {
        /// Return a sorted copy along an axis.
        ///
        /// Parameters
        /// ----------
        /// a
        ///     The elements.
        /// axis
        ///     The axis; ``None`` for the flattened array.
        /// kind, stable
        ///     Ignored: all sorts are stable.
        /// descending
        ///     Whether to sort in descending order.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.sort(np.array([3.0, 1.0, 2.0]))
        /// array([1., 2., 3.])
        Sort {
            name: "sort",
            inputs: [a],
            attributes: Sorting,
            fallible: false,
            doc: "sorted elements along an axis",
            python: np,
            parameters: "a: ArrayLike, axis: SupportsIndex | None = -1, kind: str | None = None, *, stable: bool | None = None, descending: bool = False",
            inputs_as: Given,
        }
        /// Return the indices that sort along an axis.
        ///
        /// Parameters
        /// ----------
        /// a
        ///     The elements.
        /// axis
        ///     The axis; ``None`` for the flattened array.
        /// kind, stable
        ///     Ignored: all sorts are stable.
        /// descending
        ///     Whether to sort in descending order.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.argsort(np.array([3.0, 1.0, 2.0]))
        /// array([1, 2, 0])
        Argsort {
            name: "argsort",
            inputs: [a],
            attributes: Sorting,
            fallible: false,
            doc: "indices that sort the elements along an axis",
            python: np,
            parameters: "a: ArrayLike, axis: SupportsIndex | None = -1, kind: str | None = None, *, stable: bool | None = None, descending: bool = False",
            inputs_as: Given,
        }
        Argtop {
            name: "argtop",
            inputs: [x],
            attributes: Top,
            fallible: false,
            doc: "indices of the first sorted elements along an axis",
        }
        Partition {
            name: "partition",
            inputs: [x],
            attributes: Partitioning,
            fallible: false,
            doc: "elements partitioned around the given ranks along an axis",
        }
        Argpartition {
            name: "argpartition",
            inputs: [x],
            attributes: Partitioning,
            fallible: false,
            doc: "indices that partition elements around the given ranks along an axis",
        }
        Quantile {
            name: "quantile",
            inputs: [x],
            attributes: Quantiles,
            fallible: false,
            doc: "quantiles along the last axis, interpolated between two ranks; NaN if any element is NaN",
        }
    }
}

attributes! {
    /// The attributes of `sort` and `argsort`.
    Sorting {
        /// The axis.
        axis: isize,
        /// Whether the order is descending.
        descending: bool,
    }
    /// The attributes of `argtop`.
    Top {
        /// The axis.
        axis: isize,
        /// Whether the order is descending.
        descending: bool,
        /// The number of leading elements to return.
        count: i64,
    }
    /// The attributes of `partition` and `argpartition`.
    Partitioning {
        /// The axis.
        axis: isize,
        /// Ranks, in ascending order.
        places: List<i64>,
    }
    /// The attributes of `quantile`.
    Quantiles {
        /// The lower rank of each quantile.
        places: List<i64>,
        /// The interpolation weight of the next rank for each quantile.
        shares: List<f64>,
    }
}

impl Family for Order {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        match self {
            Order::Sort | Order::Argsort => {
                shape.axis(Sorting::read(attributes)?.axis)?;
                Ok((if self == Order::Sort { dtype } else { DType::I64 }, shape))
            }
            Order::Argtop => {
                let Top { axis, count, .. } = Top::read(attributes)?;
                let axis = shape.axis(axis)?;
                if count < 0 || count as usize > shape[axis] {
                    return invalid(format!("{count} elements requested of {} along axis {axis}", shape[axis]));
                }
                let mut extents = shape.to_vec();
                extents[axis] = count as usize;
                Ok((DType::I64, Shape::new(&extents)?))
            }
            Order::Partition | Order::Argpartition => {
                let Partitioning { axis, places } = Partitioning::read(attributes)?;
                let axis = shape.axis(axis)?;
                let inside = |place: &i64| (0..shape[axis] as i64).contains(place);
                if places.is_empty() || !places.is_sorted() || !places.iter().all(inside) {
                    let places = &places[..];
                    return invalid(format!(
                        "ranks {places:?} must increase and be less than {} along axis {axis}",
                        shape[axis]
                    ));
                }
                Ok((if self == Order::Partition { dtype } else { DType::I64 }, shape))
            }
            Order::Quantile => quantile(dtype, &shape, &Quantiles::read(attributes)?),
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        let each = match self {
            Order::Sort | Order::Argsort | Order::Argtop => 16,
            Order::Partition | Order::Argpartition | Order::Quantile => 2,
        };
        given[0].1.size().saturating_mul(each)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        match self {
            Order::Sort | Order::Partition => Some(Needs::input(0)),
            // A frontend that needs the gradient gathers from the sorted array instead.
            Order::Argsort | Order::Argtop | Order::Argpartition | Order::Quantile => None,
        }
    }

    /// Each element gets the gradient at the position it was sorted to.
    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let (order, axis) = match self {
            Order::Sort => (Order::Argsort, Sorting::read(attributes)?.axis),
            Order::Partition => (Order::Argpartition, Partitioning::read(attributes)?.axis),
            Order::Argsort | Order::Argtop | Order::Argpartition | Order::Quantile => {
                unreachable!("indices and what has no gradient are never on the tape")
            }
        };
        let places = b.encoded(order.into(), &[b.input(0)], attributes)?;
        // The sorted position of each element: the inverse permutation.
        let went = b.routine(Order::Argsort, &[&places], Sorting { axis, descending: false })?;
        Ok(vec![Some(b.routine(AxisIndexing::Take, &[b.grad(), &went], AlongAxis { axis })?)])
    }

    fn takes_complex(self) -> bool {
        self != Order::Quantile
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        for op in ["sort", "argsort"] {
            let sort = |axis: i64, descending: bool| call(op).with("axis", axis).with("descending", descending);
            for descending in [false, true] {
                // Long inputs use radix sort, with narrow and with wide digits.
                for count in [40, 201, 20_000] {
                    all.push(sort(0, descending).on([x([count]).values(Values::Special)]));
                }
                for axis in [0, 1, -1] {
                    for input in
                        [x([3, 4, 5]), x([4, 5]).look(Look::Transposed), x([3, 4]).look(Look::Backwards), x([0, 3])]
                    {
                        all.push(sort(axis, descending).on([input]));
                    }
                }
                all.push(sort(0, descending).on([x([300])]).of(COMPLEX));
                all.push(sort(0, descending).on([x([41]).values(Values::Rising)]).of(COMPLEX));
                all.push(sort(1, descending).on([x([3, 4, 5])]).of(COMPLEX));
                all.push(sort(-1, descending).on([x([4, 5]).look(Look::Transposed)]).of(COMPLEX));
            }
            all.push(sort(2, false).on([x([2, 3])]).fails(format!("{op}: axis 2 is out of bounds")));
        }
        let top = |axis: i64, descending: bool, count: i64| {
            call("argtop").with("axis", axis).with("descending", descending).with("count", count)
        };
        for descending in [false, true] {
            all.push(top(0, descending, 7).on([x([40]).values(Values::Special)]));
            all.push(top(1, descending, 2).on([x([3, 4, 5])]));
            all.push(top(-1, descending, 5).on([x([4, 5]).look(Look::Transposed)]));
            all.push(top(0, descending, 0).on([x([4, 5])]));
        }
        all.push(top(0, false, 7).on([x([40])]).of(COMPLEX));
        all.push(top(0, false, 3).on([x([2])]).fails("argtop: 3 elements requested of 2 along axis 0"));
        all.extend(partitions());
        all.extend(quantiles());
        all
    }
}

fn quantile(dtype: DType, shape: &Shape, Quantiles { places, shares }: &Quantiles) -> Result<Given> {
    if !matches!(dtype, DType::F32 | DType::F64) {
        return mistyped(format!("not defined for {dtype}"));
    }
    let Some((count, rest)) = shape.split_last() else { return invalid("needs an axis") };
    let inside = places.iter().all(|place| (0..*count as i64).contains(place));
    if places.is_empty() || places.len() != shares.len() || !inside {
        let (places, shares) = (&places[..], &shares[..]);
        return invalid(format!("{places:?} and {shares:?} are not ranks and weights for {count} elements"));
    }
    let mut extents = vec![places.len()];
    extents.extend(rest);
    Ok((dtype, Shape::new(&extents)?))
}

fn partitions() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["partition", "argpartition"] {
        let mut part = |axis: i64, places: &[i64], input: Input| {
            let sample = call(op).with("axis", axis).with("places", places.to_vec()).on([input]);
            all.push(sample);
        };
        part(0, &[7], x([40]).values(Values::Special));
        part(0, &[0, 9, 39], x([40]).values(Values::Special));
        // Long enough for sampling, including inputs whose samples are not representative.
        for count in [600, 20_000, 70_001] {
            part(0, &[count as i64 / 3], x([count]));
            part(0, &[10], x([count]).values(Values::Special));
            part(0, &[count as i64 - 1], x([count]).values(Values::Rising));
        }
        part(1, &[2], x([3, 4, 5]));
        part(-1, &[1, 3], x([4, 5]).look(Look::Transposed));
        part(1, &[0, 1, 2, 3, 4, 5], x([3, 6]).look(Look::Backwards));
        let beyond = call(op).with("axis", 0).with("places", [3]).on([x([2])]);
        all.push(beyond.fails(format!("{op}: ranks [3] must increase and be less than 2 along axis 0")));
    }
    all
}

fn quantiles() -> Vec<Sample> {
    let mut all = Vec::new();
    let quantile = |places: &[i64], shares: &[f64]| {
        call("quantile").with("places", places.to_vec()).with("shares", Value::Floats(shares.to_vec())).of([F32, F64])
    };
    for input in [x([40]), x([601]), x([20_000]), x([40]).values(Values::Special), x([3, 4]), x([0, 3])] {
        all.push(quantile(&[2], &[0.5]).on([input.clone()]));
        all.push(quantile(&[0, 1, 2, 2, 1], &[0.0, 0.5, 0.5, 0.0, 0.0]).on([input]));
    }
    let beyond = "quantile: [3] and [0.0] are not ranks and weights for 2 elements";
    all.push(quantile(&[3], &[0.0]).on([x([2])]).fails(beyond));
    all.push(quantile(&[0], &[0.0]).on([x([2])]).of([I32]).fails("quantile: not defined for int32"));
    all
}
