//! The extents of a recurrent layer, and the ranges of the parts of the packed arrays.

use super::declaration::{Recurrence, RecurrenceBack};
use crate::routine::{Given, invalid, mistyped};
use forerun_base::{DType, Kind, Result};
use std::ops::Range;

/// How a recurrent layer computes its next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecurrentMode {
    /// `h' = relu(x + W h + b)`.
    Relu,
    /// `h' = tanh(x + W h + b)`.
    Tanh,
    /// Long short-term memory: gates input, forget, cell, output.
    Lstm,
    /// Gated recurrent unit: gates reset, update, new.
    Gru,
}

impl RecurrentMode {
    /// All modes; an attribute holds the position in this list.
    pub const ALL: [RecurrentMode; 4] =
        [RecurrentMode::Relu, RecurrentMode::Tanh, RecurrentMode::Lstm, RecurrentMode::Gru];

    /// The value of the attribute.
    pub fn attribute(self) -> i64 {
        self as i64
    }

    /// The number of gates of a hidden unit.
    pub fn gates(self) -> usize {
        match self {
            RecurrentMode::Relu | RecurrentMode::Tanh => 1,
            RecurrentMode::Lstm => 4,
            RecurrentMode::Gru => 3,
        }
    }

    /// The number of values per hidden unit and step that the backward scan reads besides the states: activated gates,
    /// and for a GRU also the contribution of the state to the new gate.
    pub fn saved(self) -> usize {
        match self {
            RecurrentMode::Relu | RecurrentMode::Tanh => 0,
            RecurrentMode::Lstm | RecurrentMode::Gru => 4,
        }
    }
}

/// The extents of a scan.
///
/// The result of the scan consists of: the states before the first step and after every step in the order of time
/// (`steps + 1, batch, state`), for an LSTM the cell states (`steps, batch, hidden`), and the saved gates (`steps,
/// batch, saved * hidden`). The result of the backward scan consists of the gradients of: the inputs of the gates, for
/// a GRU the contributions of the states to the gates, with a projection all states, and the begin states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecurrentExtents {
    /// How the next state is computed.
    pub mode: RecurrentMode,
    /// Whether the scan runs from the last step to the first.
    pub reverse: bool,
    /// The number of steps.
    pub steps: usize,
    /// The number of sequences.
    pub batch: usize,
    /// The number of hidden units.
    pub hidden: usize,
    /// The length of a state: the number of hidden units, or the size of the projection.
    pub state: usize,
    /// Whether states are projected.
    pub projected: bool,
}

fn mode_of(attribute: i64) -> Result<RecurrentMode> {
    match usize::try_from(attribute).ok().and_then(|i| RecurrentMode::ALL.get(i)) {
        Some(mode) => Ok(*mode),
        None => invalid(format!("mode must be 0 to 3, not {attribute}")),
    }
}

impl RecurrentExtents {
    /// The extents of a scan over `(gates, h0, c0, weight, bias, projection, lengths)`. Fails if the shapes do not fit
    /// together.
    pub fn of_scan(given: &[Given], attributes: &Recurrence) -> Result<RecurrentExtents> {
        let mode = mode_of(attributes.mode)?;
        let (dtype, shape) = given[0];
        if dtype.kind() != Kind::Float {
            return mistyped(format!("not defined for {dtype}"));
        }
        let &[steps, batch, width] = &shape[..] else {
            return invalid(format!("gates must have three dimensions, got {shape}"));
        };
        if width == 0 || width % mode.gates() != 0 {
            return invalid(format!("gates {shape} do not have {} for each hidden unit", mode.gates()));
        }
        let hidden = width / mode.gates();
        let state = given[1].1.last().copied().unwrap_or(0);
        let projected = given[5].1.size() > 0;
        let extents = RecurrentExtents { mode, reverse: attributes.reverse, steps, batch, hidden, state, projected };
        if state == 0 || (!projected && state != hidden) || (projected && mode != RecurrentMode::Lstm) {
            return invalid(format!("begin state {} does not fit {hidden} hidden units", given[1].1));
        }
        expect("begin state", &given[1], dtype, &[batch, state])?;
        extents.expect_cells(&given[2], dtype)?;
        extents.expect_weights([&given[3], &given[5], &given[6]], dtype)?;
        expect("bias", &given[4], dtype, &[width])?;
        Ok(extents)
    }

    /// The extents of a backward scan over `(packed, c0, weight, projection, lengths, dh, dc, dgates)`. Fails if the
    /// shapes do not fit together.
    pub fn of_back(given: &[Given], attributes: &RecurrenceBack) -> Result<RecurrentExtents> {
        let mode = mode_of(attributes.mode)?;
        let dtype = given[0].0;
        let &[width, state] = &given[2].1[..] else {
            return invalid(format!("weight must be a matrix, got {}", given[2].1));
        };
        let (hidden, projected) = (width / mode.gates(), given[3].1.size() > 0);
        let [steps, batch] = [attributes.steps, attributes.batch].map(|extent| extent as usize);
        let extents = RecurrentExtents { mode, reverse: attributes.reverse, steps, batch, hidden, state, projected };
        if dtype.kind() != Kind::Float {
            return mistyped(format!("not defined for {dtype}"));
        }
        extents.expect_weights([&given[2], &given[3], &given[4]], dtype)?;
        expect("what the scan saved", &given[0], dtype, &[extents.packed()])?;
        extents.expect_cells(&given[1], dtype)?;
        for (i, range) in [extents.outputs(), extents.cells(), extents.saved()].into_iter().enumerate() {
            if given[5 + i].1.size() > 0 {
                expect("a gradient", &given[5 + i], dtype, &[range.len()])?;
            }
        }
        Ok(extents)
    }

    fn expect_cells(&self, given: &Given, dtype: DType) -> Result<()> {
        match self.has_cells() {
            true => expect("cell state", given, dtype, &[self.batch, self.hidden]),
            false => expect("cell state", given, dtype, &[0]),
        }
    }

    fn expect_weights(&self, [weight, projection, lengths]: [&Given; 3], dtype: DType) -> Result<()> {
        expect("weight", weight, dtype, &[self.width(), self.state])?;
        if self.projected {
            expect("projection", projection, dtype, &[self.state, self.hidden])?;
        }
        if lengths.1.size() > 0 {
            expect("lengths", lengths, DType::I64, &[self.batch])?;
        }
        Ok(())
    }

    /// Whether there are cell states besides the hidden states.
    pub fn has_cells(&self) -> bool {
        self.mode == RecurrentMode::Lstm
    }

    /// The length of all gates of a sequence at a step.
    pub fn width(&self) -> usize {
        self.mode.gates() * self.hidden
    }

    /// The number of sequences times the number of steps.
    pub fn rows(&self) -> usize {
        self.steps * self.batch
    }

    /// The number of elements of all states, including those before the first step.
    fn states(&self) -> usize {
        (self.rows() + self.batch) * self.state
    }

    /// The range of the begin states in the result of the scan.
    pub fn begin(&self) -> Range<usize> {
        if self.reverse { self.rows() * self.state..self.states() } else { 0..self.batch * self.state }
    }

    /// The range of the states after every step in the result of the scan.
    pub fn outputs(&self) -> Range<usize> {
        if self.reverse { 0..self.rows() * self.state } else { self.batch * self.state..self.states() }
    }

    /// The range of the states before every step in the result of the scan.
    pub fn before(&self) -> Range<usize> {
        if self.reverse { self.batch * self.state..self.states() } else { 0..self.rows() * self.state }
    }

    /// The range of the last states in the result of the scan.
    pub fn last(&self) -> Range<usize> {
        let first = if self.reverse { 0 } else { self.rows() * self.state };
        first..first + self.batch * self.state
    }

    /// The range of the cell states after every step in the result of the scan.
    pub fn cells(&self) -> Range<usize> {
        let first = self.states();
        first..first + if self.has_cells() { self.rows() * self.hidden } else { 0 }
    }

    /// The range of the saved gates in the result of the scan.
    pub fn saved(&self) -> Range<usize> {
        let first = self.cells().end;
        first..first + self.rows() * self.mode.saved() * self.hidden
    }

    /// The number of elements of the result of the scan.
    pub fn packed(&self) -> usize {
        self.saved().end
    }

    /// The range of the gradients of the inputs of the gates in the result of the backward scan.
    pub fn back_inputs(&self) -> Range<usize> {
        0..self.rows() * self.width()
    }

    /// The range of the gradients of the contributions of the states to the gates in the result of the backward scan.
    pub fn back_states(&self) -> Range<usize> {
        let inputs = self.back_inputs();
        if self.mode == RecurrentMode::Gru { inputs.end..2 * inputs.end } else { inputs }
    }

    /// The range of the gradients of projected states in the result of the backward scan.
    pub fn back_projected(&self) -> Range<usize> {
        let first = self.back_states().end;
        first..first + if self.projected { self.rows() * self.state } else { 0 }
    }

    /// The range of the gradients of the begin states in the result of the backward scan.
    pub fn back_begin(&self) -> Range<usize> {
        let first = self.back_projected().end;
        first..first + self.batch * self.state
    }

    /// The range of the gradients of the begin cell states in the result of the backward scan.
    pub fn back_cells(&self) -> Range<usize> {
        let first = self.back_begin().end;
        first..first + if self.has_cells() { self.batch * self.hidden } else { 0 }
    }
}

fn expect(what: &str, (dtype, shape): &Given, wanted: DType, extents: &[usize]) -> Result<()> {
    if extents != [0] && *dtype != wanted {
        return mistyped(format!("{what} must be {wanted}, not {dtype}"));
    }
    if shape[..] != *extents {
        return invalid(format!("{what} must have shape {}, not {shape}", forerun_base::Shape::of(extents)));
    }
    Ok(())
}
