//! Recurrent layers: one product for the inputs of all steps, then one scan, for each layer and direction.

use crate::array::Array;
use crate::array::index::Index;
use crate::ops::terms::Terms;
use crate::ops::{arange, concatenate, dropout, expand_dims, full, index, matmul, reshape, routine, stack, transpose};
use crate::runtime::devices::on_device;
use forerun_base::{DType, Loc, Result, Scalar, Shape};
use forerun_ops::recurrent::{Recurrence, RecurrentExtents, RecurrentMode};
use forerun_ops::{Point, Recurrent};
use std::ops::Range;

/// The parameters of one direction of one layer, gate after gate along their first axis.
#[derive(Clone, Copy)]
pub struct RecurrentWeights<'a> {
    /// From the input, `(gates * hidden, inputs)`.
    pub input: &'a Array,
    /// From the state, `(gates * hidden, state)`.
    pub state: &'a Array,
    /// Added to the input's part of the gates.
    pub input_bias: &'a Array,
    /// Added to the state's part of the gates.
    pub state_bias: &'a Array,
    /// From the hidden units to the state, `(state, hidden)`; LSTM only.
    pub projection: Option<&'a Array>,
}

/// Options of [`recurrent`].
#[derive(Clone, Copy, Debug)]
pub struct RecurrentOptions {
    /// How the next state is computed.
    pub mode: RecurrentMode,
    /// Whether every layer has a second direction, from the last step to the first.
    pub bidirectional: bool,
    /// The probability of dropping an output between two layers.
    pub dropout: f64,
    /// Whether outputs are dropped.
    pub training: bool,
}

/// The begin states and lengths of [`recurrent`]; missing states are zero.
#[derive(Clone, Copy, Default)]
pub struct RecurrentBegin<'a> {
    /// States, `(layers * directions, batch, state)`.
    pub state: Option<&'a Array>,
    /// Cell states of an LSTM, `(layers * directions, batch, hidden)`.
    pub cell: Option<&'a Array>,
    /// The number of steps of each sequence.
    pub lengths: Option<&'a Array>,
}

/// The outputs of the last layer `(steps, batch, directions * state)`, and the last state of every layer and direction,
/// stacked when they are asked for.
pub struct RecurrentResult {
    /// The outputs.
    pub output: Array,
    states: Vec<Array>,
    cells: Vec<Array>,
}

impl RecurrentResult {
    /// The last states, `(layers * directions, batch, state)`.
    pub fn state(&self, loc: Loc) -> Result<Array> {
        stack(&self.states.iter().collect::<Vec<_>>(), 0, loc)
    }

    /// The last cell states of an LSTM, `(layers * directions, batch, hidden)`.
    pub fn cell(&self, loc: Loc) -> Result<Option<Array>> {
        match self.cells.is_empty() {
            true => Ok(None),
            false => stack(&self.cells.iter().collect::<Vec<_>>(), 0, loc).map(Some),
        }
    }
}

/// A recurrent network of one or more layers over `x`, `(steps, batch, inputs)`; `weights` has one entry for each
/// direction of each layer, layer by layer. Outputs beyond the length of a sequence are zero.
pub fn recurrent(
    x: &Array,
    weights: &[RecurrentWeights<'_>],
    begin: RecurrentBegin<'_>,
    how: RecurrentOptions,
    loc: Loc,
) -> Result<RecurrentResult> {
    let t = Terms { op: "rnn", loc };
    let directions = 1 + usize::from(how.bidirectional);
    if x.ndim() != 3 {
        return Err(t.value(format!("data must have the axes step, sequence and input, got shape {}", x.shape())));
    }
    if weights.is_empty() || !weights.len().is_multiple_of(directions) {
        return Err(t.value(format!("{} sets of weights do not make layers of {directions} directions", weights.len())));
    }
    let scans = Scans { t, how, count: weights.len(), begin };
    let live = match begin.lengths {
        Some(lengths) => Some(scans.live(x, lengths)?),
        None => None,
    };
    let mut result = RecurrentResult { output: x.clone(), states: Vec::new(), cells: Vec::new() };
    for (layer, weights) in weights.chunks(directions).enumerate() {
        if layer > 0 && how.dropout > 0.0 && how.training {
            result.output = dropout(&result.output, how.dropout, &[], true, loc)?;
        }
        let mut outputs = Vec::with_capacity(directions);
        for (direction, weights) in weights.iter().enumerate() {
            let output = scans.scan(&result, weights, layer * directions + direction, direction == 1)?;
            outputs.push(match &live {
                Some(live) => t.choose(live, &output.0, 0)?,
                None => output.0,
            });
            result.states.push(output.1);
            result.cells.extend(output.2);
        }
        result.output = match outputs.len() {
            1 => outputs.swap_remove(0),
            _ => concatenate(&outputs.iter().collect::<Vec<_>>(), 2, loc)?,
        };
    }
    Ok(result)
}

/// The arguments that the scans of all layers and directions share.
struct Scans<'a> {
    t: Terms,
    how: RecurrentOptions,
    count: usize,
    begin: RecurrentBegin<'a>,
}

/// Outputs, last state and last cell state of a scan.
type Scanned = (Array, Array, Option<Array>);

impl Scans<'_> {
    /// A mask of the steps within each sequence, `(steps, batch, 1)`.
    fn live(&self, x: &Array, lengths: &Array) -> Result<Array> {
        let (shape, loc) = (x.shape(), self.t.loc);
        if *lengths.shape() != [shape[1]] || lengths.dtype() != DType::I64 {
            let text =
                format!("lengths must be int64 of shape ({},), got {} {}", shape[1], lengths.dtype(), lengths.shape());
            return Err(self.t.value(text));
        }
        let steps = on_device(x.device(), || {
            arange(Scalar::Int(0), Scalar::Int(shape[0] as i64), Scalar::Int(1), Some(DType::I64), loc)
        })?;
        let steps = reshape(&steps, &[-1, 1, 1], loc)?;
        self.t.two(Point::Less, &steps, &expand_dims(lengths, 1)?)
    }

    /// The begin state of a scan: a row of what is given, or zeros.
    fn begin(&self, given: Option<&Array>, what: &str, n: usize, x: &Array, shape: [usize; 2]) -> Result<Array> {
        let Some(given) = given else {
            return on_device(x.device(), || full(&shape, Scalar::Int(0), x.dtype(), self.t.loc));
        };
        let wanted = Shape::of(&[self.count, shape[0], shape[1]]);
        if given.shape() != wanted {
            return Err(self.t.value(format!("{what} must have shape {wanted}, got {}", given.shape())));
        }
        index(given, &[Index::At(n as isize)])
    }

    fn scan(&self, so_far: &RecurrentResult, w: &RecurrentWeights<'_>, n: usize, reverse: bool) -> Result<Scanned> {
        let (t, mode, loc) = (self.t, self.how.mode, self.t.loc);
        let x = &so_far.output;
        let (steps, batch, inputs) = (x.shape()[0], x.shape()[1], x.shape()[2]);
        let width = w.state.shape().first().copied().unwrap_or(0);
        let hidden = width / mode.gates();
        let fits = w.input.ndim() == 2 && w.input.shape()[..] == [width, inputs] && w.state.ndim() == 2;
        if !fits || width == 0 || width % mode.gates() != 0 {
            let text = format!(
                "weights {} and {} do not fit an input of shape {}",
                w.input.shape(),
                w.state.shape(),
                x.shape()
            );
            return Err(t.value(text));
        }
        let rows = reshape(x, &[(steps * batch) as isize, inputs as isize], loc)?;
        let mut gates = matmul(&rows, &transpose(w.input, None)?, loc)?;
        // Only the new gate of a GRU uses the two biases separately.
        let bias = if mode == RecurrentMode::Gru {
            gates = t.two(Point::Add, &gates, w.input_bias)?;
            w.state_bias.clone()
        } else {
            t.two(Point::Add, w.input_bias, w.state_bias)?
        };
        let gates = reshape(&gates, &[steps as isize, batch as isize, width as isize], loc)?;
        let nothing = |dtype: DType| on_device(x.device(), || full(&[0], Scalar::Int(0), dtype, loc));
        let h0 = self.begin(self.begin.state, "begin state", n, x, [batch, w.state.shape()[1]])?;
        let c0 = match mode {
            RecurrentMode::Lstm => self.begin(self.begin.cell, "begin cell state", n, x, [batch, hidden])?,
            _ => nothing(x.dtype())?,
        };
        let projection = w.projection.map_or_else(|| nothing(x.dtype()), |projection| Ok(projection.clone()))?;
        let lengths = self.begin.lengths.map_or_else(|| nothing(DType::I64), |lengths| Ok(lengths.clone()))?;
        let inputs = [&gates, &h0, &c0, w.state, &bias, &projection, &lengths];
        let attributes = Recurrence { mode: mode.attribute(), reverse };
        let packed = routine(Recurrent::Forward, &inputs, &attributes, loc).map_err(|e| e.in_op(t.op))?;
        let given: Vec<_> = inputs.iter().map(|x| (x.dtype(), x.shape())).collect();
        let e = RecurrentExtents::of_scan(&given, &attributes)?;
        let part = |range: Range<usize>, dims: &[usize]| {
            let items = [Index::Slice { start: Some(range.start as isize), stop: Some(range.end as isize), step: 1 }];
            reshape(&index(&packed, &items)?, &dims.iter().map(|d| *d as isize).collect::<Vec<_>>(), loc)
        };
        let output = part(e.outputs(), &[steps, batch, e.state])?;
        let state = part(e.last(), &[batch, e.state])?;
        let cell = match e.has_cells() {
            false => None,
            true if steps == 0 => Some(c0),
            true => {
                let first = e.cells().start + if reverse { 0 } else { (steps - 1) * batch * hidden };
                Some(part(first..first + batch * hidden, &[batch, hidden])?)
            }
        };
        Ok((output, state, cell))
    }
}
