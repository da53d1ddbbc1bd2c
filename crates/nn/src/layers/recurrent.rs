//! Recurrent layers over whole sequences, `(steps, batch, inputs)`.

use crate::init::Init;
use crate::layer::Layer;
use crate::parameter::Parameter;
use crate::terms::value;
use forerun_array::Array;
use forerun_array::ops::{self, RecurrentBegin, RecurrentOptions, RecurrentResult, RecurrentWeights};
use forerun_base::{Loc, Result};
use forerun_grad::is_training;
use forerun_ops::recurrent::RecurrentMode;

/// One or more recurrent layers: plain, LSTM (long short-term memory) or GRU (gated recurrent units).
///
/// The parameters of a direction of a layer are called as in `l0_i2h_weight`: `l` from the first step to the last, `r`
/// the other way.
pub struct Recurrent {
    mode: RecurrentMode,
    hidden: usize,
    bidirectional: bool,
    projection: Option<usize>,
    dropout: f64,
    layers: usize,
    /// Five for each direction of each layer; the last is the projection.
    sets: Vec<Vec<Parameter>>,
}

/// The last states of a recurrent network.
pub struct RecurrentStates {
    /// `(layers * directions, batch, state)`.
    pub state: Array,
    /// The cell states of an LSTM, `(layers * directions, batch, hidden)`.
    pub cell: Option<Array>,
}

impl Recurrent {
    fn new(mode: RecurrentMode, hidden: usize) -> Recurrent {
        let plain = Recurrent {
            mode,
            hidden,
            bidirectional: false,
            projection: None,
            dropout: 0.0,
            layers: 1,
            sets: Vec::new(),
        };
        plain.rebuilt()
    }

    /// `h' = tanh(W_i x + b_i + W_h h + b_h)`.
    pub fn tanh(hidden: usize) -> Recurrent {
        Recurrent::new(RecurrentMode::Tanh, hidden)
    }

    /// `h' = relu(W_i x + b_i + W_h h + b_h)`.
    pub fn relu(hidden: usize) -> Recurrent {
        Recurrent::new(RecurrentMode::Relu, hidden)
    }

    /// Long short-term memory.
    pub fn lstm(hidden: usize) -> Recurrent {
        Recurrent::new(RecurrentMode::Lstm, hidden)
    }

    /// Gated recurrent units.
    pub fn gru(hidden: usize) -> Recurrent {
        Recurrent::new(RecurrentMode::Gru, hidden)
    }

    /// Sets the number of layers; each reads the outputs of the one before.
    pub fn layers(mut self, layers: usize) -> Recurrent {
        self.layers = layers;
        self.rebuilt()
    }

    /// Lets every layer also run from the last step to the first; the outputs of both directions are concatenated.
    pub fn bidirectional(mut self) -> Recurrent {
        self.bidirectional = true;
        self.rebuilt()
    }

    /// Projects the hidden units of an LSTM to a state of this size.
    pub fn projection(mut self, state: usize) -> Recurrent {
        self.projection = Some(state);
        self.rebuilt()
    }

    /// Sets the probability of dropping an output between two layers in training.
    pub fn dropout(mut self, probability: f64) -> Recurrent {
        self.dropout = probability;
        self
    }

    fn directions(&self) -> usize {
        1 + usize::from(self.bidirectional)
    }

    fn rebuilt(mut self) -> Recurrent {
        let (width, state) = (self.mode.gates() * self.hidden, self.projection.unwrap_or(self.hidden));
        self.sets.clear();
        for layer in 0..self.layers {
            let inputs = (layer > 0).then_some(state * self.directions());
            for way in ["l", "r"].iter().take(self.directions()) {
                let name = |part: &str| format!("{way}{layer}_{part}");
                let bias = |part| Parameter::starting_as(&name(part), &[Some(width)], Init::Zero);
                let mut set = vec![
                    Parameter::weight(&name("i2h_weight"), &[Some(width), inputs]),
                    Parameter::weight(&name("h2h_weight"), &[Some(width), Some(state)]),
                    bias("i2h_bias"),
                    bias("h2h_bias"),
                ];
                if self.projection.is_some() {
                    set.push(Parameter::weight(&name("h2r_weight"), &[Some(state), Some(self.hidden)]));
                }
                self.sets.push(set);
            }
        }
        self
    }

    fn run(&self, x: &Array, begin: RecurrentBegin<'_>, loc: Loc) -> Result<RecurrentResult> {
        if x.ndim() != 3 {
            return Err(value("rnn", format!("needs the axes step, sequence and input, not {}", x.shape())));
        }
        let (width, state) = (self.mode.gates() * self.hidden, self.projection.unwrap_or(self.hidden));
        let mut arrays = Vec::with_capacity(self.sets.len());
        for (n, set) in self.sets.iter().enumerate() {
            let inputs = if n < self.directions() { x.shape()[2] } else { state * self.directions() };
            let mut own = vec![set[0].array_for(&[width, inputs], loc)?];
            for parameter in &set[1..] {
                own.push(parameter.array_at(loc)?);
            }
            arrays.push(own);
        }
        let weights: Vec<RecurrentWeights<'_>> = arrays
            .iter()
            .map(|own| RecurrentWeights {
                input: &own[0],
                state: &own[1],
                input_bias: &own[2],
                state_bias: &own[3],
                projection: own.get(4),
            })
            .collect();
        let how = RecurrentOptions {
            mode: self.mode,
            bidirectional: self.bidirectional,
            dropout: self.dropout,
            training: is_training(),
        };
        ops::recurrent(x, &weights, begin, how, loc)
    }

    /// Computes the outputs and last states, with the given begin states and lengths of sequences (int64).
    #[track_caller]
    pub fn forward_from(&self, x: &Array, begin: RecurrentBegin<'_>) -> Result<(Array, RecurrentStates)> {
        let loc = Loc::caller();
        let made = self.run(x, begin, loc)?;
        let states = RecurrentStates { state: made.state(loc)?, cell: made.cell(loc)? };
        Ok((made.output, states))
    }
}

impl Layer for Recurrent {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        Ok(self.run(x, RecurrentBegin::default(), loc)?.output)
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.sets.iter().flatten().cloned().collect()
    }
}
