//! Gather and scatter along one axis with an index array.

use crate::Point;
use crate::gradient::Needs;
use crate::routine::{AlongAxis, Attributes, Family, Flows, Given, GradientBuilder, family, invalid};
use crate::samples::{COMPLEX, Look, NUMBERS, Sample, Values, at, call, x};
use forerun_base::DType::{self, F32, I32, I64};
use forerun_base::{Error, ErrorKind, Kind, Result, Shape};

family! {
    /// Gather and scatter along one axis. In all other dimensions, the array and the indices have equal extents.
    AxisIndexing {
        Take {
            name: "take_along_axis",
            inputs: [x, indices],
            attributes: AlongAxis,
            fallible: true,
            doc: "elements selected by an index array along an axis",
        }
        Add {
            name: "add_along_axis",
            inputs: [base, indices, updates],
            attributes: AlongAxis,
            fallible: true,
            doc: "an array with updates added to the elements that an index array selects along an axis",
        }
        Put {
            name: "put_along_axis",
            inputs: [base, indices, updates],
            attributes: AlongAxis,
            fallible: true,
            doc: "an array with the elements that an index array selects along an axis overwritten; the last update wins",
        }
    }
}

impl Family for AxisIndexing {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let ((dtype, shape), (index, named)) = (given[0], given[1]);
        let axis = shape.axis(AlongAxis::read(attributes)?.axis)?;
        if index.kind() != Kind::Int {
            return Err(Error::new(ErrorKind::Index, format!("indices must be integers, not {index}")));
        }
        let apart = |a: &Shape, b: &Shape| a.rank() != b.rank() || (0..a.rank()).any(|d| d != axis && a[d] != b[d]);
        if apart(&shape, &named) {
            return invalid(format!("indices {named} do not fit {shape} along axis {axis}"));
        }
        match self {
            AxisIndexing::Take => Ok((dtype, named)),
            AxisIndexing::Add | AxisIndexing::Put if given[2] == (dtype, named) => Ok((dtype, shape)),
            AxisIndexing::Add | AxisIndexing::Put => {
                invalid(format!("updates are {} {}, not {dtype} {named}", given[2].0, given[2].1))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given[1].1.size().saturating_mul(2).saturating_add(out.1.size())
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match (self, i) {
            (_, 1) => None,
            (AxisIndexing::Add, 0) => Some(Needs::NOTHING),
            (AxisIndexing::Take, _) | (AxisIndexing::Add, _) | (AxisIndexing::Put, _) => Some(Needs::input(1)),
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let call = |routine: AxisIndexing, inputs: &[&B::Value]| b.encoded(routine.into(), inputs, attributes);
        let grad = b.grad();
        match self {
            AxisIndexing::Take => Ok(vec![Some(call(AxisIndexing::Add, &[&b.zeros_of(0)?, b.input(1), grad])?), None]),
            AxisIndexing::Add => {
                let updates = b.if_wanted(2, || call(AxisIndexing::Take, &[grad, b.input(1)]))?;
                Ok(vec![Some(grad.clone()), None, updates])
            }
            AxisIndexing::Put => {
                let (indices, dtype) = (b.input(1), b.describe(grad).0);
                let named = b.shape(indices);
                let base = call(AxisIndexing::Put, &[grad, indices, &b.full(&named, 0, dtype)?])?;
                let updates = b.if_wanted(2, || {
                    // If several updates hit one element, the last one wins: number the updates, write the numbers, and
                    // keep an update whose number survived.
                    let numbers = b.in_shape(&b.arange(0, named.size() as i64)?, &named)?;
                    let none = b.full(&b.shape(grad), -1, DType::I64)?;
                    let winners =
                        call(AxisIndexing::Take, &[&call(AxisIndexing::Put, &[&none, indices, &numbers])?, indices])?;
                    let stays = b.cast(&b.binary(Point::Equal, &winners, &numbers)?, dtype)?;
                    b.times(&call(AxisIndexing::Take, &[grad, indices])?, &stays)
                })?;
                Ok(vec![Some(base), None, updates])
            }
        }
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let beyond = || x([3, 4]).values(Values::Beyond(3)).dtype(I64);
        let take = |axis: i64| call("take_along_axis").with("axis", axis);
        let put = |axis: i64| call("put_along_axis").with("axis", axis);
        let add = |axis: i64| call("add_along_axis").with("axis", axis);
        for input in [x([3, 4]), x([3, 4]).look(Look::Transposed)] {
            all.push(take(0).on([input.clone(), at([5, 4], 3)]));
            all.push(take(-1).on([input.clone(), at([3, 2], 4).dtype(I32)]));
            all.push(add(0).on([input.clone(), at([5, 4], 3), x([5, 4])]).of(NUMBERS));
            all.push(add(1).on([input.clone(), at([3, 6], 4), x([3, 6])]).of(NUMBERS));
            all.push(put(1).on([input, at([3, 6], 4), x([3, 6])]));
        }
        all.push(take(0).on([x([3, 4]), at([0, 4], 3)]));
        all.push(take(0).on([x([3, 4]), at([5, 4], 3)]).of(COMPLEX));
        all.push(add(0).on([x([3, 4]), at([5, 4], 3), x([5, 4])]).of(COMPLEX));
        all.push(put(1).on([x([3, 4]).look(Look::Transposed), at([3, 6], 4), x([3, 6])]).of(COMPLEX));
        let bad = "index 3 is out of bounds for axis 0 with size 3";
        all.push(take(0).on([x([3, 4]), beyond()]).fails(format!("take_along_axis: {bad}")));
        all.push(take(0).on([x([3, 4]), x([3, 4]).dtype(F32)]).fails("take_along_axis: indices must be integers"));
        all.push(take(0).on([x([3, 4]), at([3, 5], 3)]).fails("take_along_axis: indices (3, 5) do not fit (3, 4)"));
        all.push(put(0).on([x([3, 4]), beyond(), x([3, 4])]).fails(format!("put_along_axis: {bad}")));
        all.push(add(0).on([x([3, 4]), beyond(), x([3, 4])]).of(NUMBERS).fails(format!("add_along_axis: {bad}")));
        let misfit = add(0).on([x([3, 4]), at([3, 4], 3), x([2, 4])]).of([F32]);
        all.push(misfit.fails("add_along_axis: updates are float32"));
        all
    }
}
