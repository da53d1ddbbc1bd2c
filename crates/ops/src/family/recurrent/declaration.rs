//! The declaration of the family: names, inputs, attributes and inference.

use super::extents::RecurrentExtents;
use super::{gradient, samples};
use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, attributes, family, invalid};
use crate::samples::Sample;
use forerun_base::{Result, Shape};

family! {
    /// Scans of recurrent layers. An unused input (cell states, projection, lengths, gradients) is an array without
    /// elements.
    Recurrent {
        Forward {
            name: "recurrent_scan",
            inputs: [gates, h0, c0, weight, bias, projection, lengths],
            attributes: Recurrence,
            fallible: true,
            doc: "the states of a recurrent layer after each step, packed with the values that its gradient reads",
        }
        Backward {
            name: "recurrent_scan_back",
            inputs: [packed, c0, weight, projection, lengths, dh, dc, dgates],
            attributes: RecurrenceBack,
            fallible: true,
            doc: "the gradients of a recurrent scan, packed",
        }
    }
}

attributes! {
    /// The attributes of `recurrent_scan`.
    Recurrence {
        /// The position of the mode among [`super::RecurrentMode::ALL`].
        mode: i64,
        /// Whether the scan runs from the last step to the first.
        reverse: bool,
    }

    /// The attributes of `recurrent_scan_back`.
    RecurrenceBack {
        /// As for the scan.
        mode: i64,
        /// As for the scan.
        reverse: bool,
        /// The number of steps.
        steps: i64,
        /// The number of sequences.
        batch: i64,
    }
}

impl Family for Recurrent {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let elements = match self {
            Recurrent::Forward => RecurrentExtents::of_scan(given, &Recurrence::read(attributes)?)?.packed(),
            Recurrent::Backward => {
                RecurrentExtents::of_back(given, &RecurrenceBack::read(attributes)?)?.back_cells().end
            }
        };
        Ok((given[0].0, Shape::of(&[elements])))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let width = given[if self == Recurrent::Forward { 3 } else { 2 }].1.last().copied().unwrap_or(0);
        out.1.size().saturating_mul(1 + width / 64)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match self {
            // Cell states, weight, projection and lengths.
            Recurrent::Forward => (i < 6).then_some(Needs { inputs: 0b110_1100, output: true }),
            Recurrent::Backward => (i != 4).then_some(Needs::NOTHING),
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        match self {
            Recurrent::Forward => gradient::scan(b, &Recurrence::read(attributes)?),
            Recurrent::Backward => invalid(
                "recurrent_scan_back: a fused recurrent layer has no second derivative; unroll its cells instead",
            ),
        }
    }

    fn reads_ranges(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}
