//! Random draws that need more than arithmetic on uniform numbers.
//!
//! Every element has its own block of random bits, followed by as many more as it needs. Its number therefore depends
//! only on the stream and the element's index.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Given, List, attributes, family, invalid, mistyped};
use crate::samples::{Look, Sample, Values, call, x};
use forerun_base::DType::{self, F32, F64, I64};
use forerun_base::{Kind, Result, Shape};

family! {
    /// Random draws. Parameters are float64: one for all elements, or one per element.
    Draw {
        Bits {
            name: "random_bits",
            inputs: [],
            attributes: Extents,
            fallible: false,
            doc: "uniformly distributed 64-bit integers",
        }
        Order {
            name: "random_order",
            inputs: [],
            attributes: Extents,
            fallible: false,
            doc: "a random permutation of the integers from 0 on",
        }
        Gamma {
            name: "random_gamma",
            inputs: [alpha],
            attributes: Extents,
            fallible: true,
            doc: "samples of gamma distributions with scale 1",
        }
        Poisson {
            name: "random_poisson",
            inputs: [lam],
            attributes: Extents,
            fallible: true,
            doc: "samples of Poisson distributions",
        }
        Binomial {
            name: "random_binomial",
            inputs: [n, p],
            attributes: Extents,
            fallible: true,
            doc: "samples of binomial distributions",
        }
        Multinomial {
            name: "random_multinomial",
            inputs: [n, p],
            attributes: Extents,
            fallible: true,
            doc: "samples of multinomial distributions along the last axis, from one vector of probabilities",
        }
    }
}

attributes! {
    /// The attributes of all draws.
    Extents {
        /// The shape of the result; a permutation has one dimension.
        shape: List<i64>,
    }
}

impl Family for Draw {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let extents = Extents::read(attributes)?.shape.iter().map(|extent| usize::try_from(*extent)).collect();
        let extents: Vec<usize> = match extents {
            Ok(extents) => extents,
            Err::<_, std::num::TryFromIntError>(_) => return invalid("shape has a negative extent"),
        };
        let shape = Shape::new(&extents)?;
        if self == Draw::Order && shape.rank() != 1 {
            return invalid(format!("a permutation has one dimension, got shape {shape}"));
        }
        for (dtype, other) in given {
            if dtype.kind() != Kind::Float || dtype.size() != 8 {
                return mistyped(format!("parameters must be float64, not {dtype}"));
            }
            let row = self == Draw::Multinomial
                && other.rank() == 1
                && shape.rank() > 0
                && other[0] == shape[shape.rank() - 1];
            if other.size() != 1 && *other != shape && !row {
                return invalid(format!("parameters {other} do not match the shape {shape}"));
            }
        }
        Ok((if self == Draw::Gamma { DType::F64 } else { DType::I64 }, shape))
    }

    fn cost(self, _: &[Given], out: &Given, _: &[i64]) -> usize {
        out.1.size().saturating_mul(if matches!(self, Draw::Bits | Draw::Order) { 8 } else { 60 })
    }

    fn scalars(self) -> usize {
        2
    }

    fn blocks(self, out: &Given) -> u64 {
        out.1.size() as u64
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn samples() -> Vec<Sample> {
        fn draw<const N: usize>(op: &'static str, shape: [i64; N]) -> Sample {
            call(op).with("shape", shape).of([F64])
        }
        let mut all = vec![
            draw("random_bits", [4, 5]).of([I64]),
            draw("random_order", [40]).of([I64]),
            draw("random_order", [4, 5])
                .of([I64])
                .fails("random_order: a permutation has one dimension, got shape (4, 5)"),
            draw("random_bits", [-1]).of([I64]).fails("random_bits: shape has a negative extent"),
        ];
        for op in ["random_gamma", "random_poisson"] {
            for input in [x([]), x([4, 5]), x([4, 5]).look(Look::Transposed)] {
                all.push(draw(op, [4, 5]).on([input.values(Values::Positive)]));
            }
            all.push(draw(op, [40]).on([x([40])]).fails(format!("{op}: ")));
            all.push(draw(op, [2]).on([x([3])]).fails(format!("{op}: parameters (3,) do not match")));
            all.push(draw(op, [2]).on([x([])]).of([F32]).fails(format!("{op}: parameters must be float64, not")));
        }
        let trials = || x([2]).values(Values::Rising);
        all.push(draw("random_binomial", [2]).on([trials(), trials()]));
        all.push(draw("random_binomial", [2]).on([x([9]), trials()]).fails("random_binomial: parameters"));
        all.push(draw("random_multinomial", [2]).on([trials(), trials()]));
        all.push(draw("random_multinomial", [2]).on([x([]), x([3])]).fails("random_multinomial: parameters"));
        all
    }
}
