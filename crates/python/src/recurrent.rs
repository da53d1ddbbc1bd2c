//! Recurrent layers: arguments as Python writes them.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::submit;
use forerun::ops::{self, RecurrentBegin, RecurrentOptions, RecurrentWeights};
use forerun::{Array, RecurrentMode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Outputs of a recurrent network, its last states and last cell states; states only if they are asked for. `weights` has for each direction of
/// each layer: input, state, both biases, and maybe the projection.
#[pyfunction]
#[pyo3(signature = (x, weights, mode, bidirectional, dropout, training, state = None, cell = None, lengths = None, states = false))]
#[expect(clippy::too_many_arguments, reason = "as many as a recurrent layer has")]
pub(crate) fn recurrent(
    py: Python<'_>,
    x: &Bound<'_, PyArray>,
    weights: Vec<Vec<Bound<'_, PyArray>>>,
    mode: &str,
    bidirectional: bool,
    dropout: f64,
    training: bool,
    state: Option<&Bound<'_, PyArray>>,
    cell: Option<&Bound<'_, PyArray>>,
    lengths: Option<&Bound<'_, PyArray>>,
    states: bool,
) -> PyResult<Vec<Py<PyAny>>> {
    let mode = match mode {
        "rnn_relu" => RecurrentMode::Relu,
        "rnn_tanh" => RecurrentMode::Tanh,
        "lstm" => RecurrentMode::Lstm,
        "gru" => RecurrentMode::Gru,
        other => {
            let text = format!("rnn: mode must be 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru', not '{other}'");
            return Err(PyValueError::new_err(text));
        }
    };
    let mut sets = Vec::with_capacity(weights.len());
    for set in &weights {
        let [input, state, input_bias, state_bias, projection @ ..] = &set[..] else {
            return Err(PyValueError::new_err(format!(
                "rnn: a direction has four or five parameters, not {}",
                set.len()
            )));
        };
        sets.push(RecurrentWeights {
            input: &input.get().0,
            state: &state.get().0,
            input_bias: &input_bias.get().0,
            state_bias: &state_bias.get().0,
            projection: projection.first().map(|x| &x.get().0),
        });
    }
    let plain = |x: Option<&'_ Bound<'_, PyArray>>| x.map(|x| x.get().0.clone());
    let (state, cell, lengths): (Option<Array>, Option<Array>, Option<Array>) =
        (plain(state), plain(cell), plain(lengths));
    let begin = RecurrentBegin { state: state.as_ref(), cell: cell.as_ref(), lengths: lengths.as_ref() };
    let how = RecurrentOptions { mode, bidirectional, dropout, training };
    let loc = here(py);
    let made = ops::recurrent(&x.get().0, &sets, begin, how, loc).map_err(raise)?;
    let mut all = Vec::with_capacity(3);
    if states {
        all.push(submit::object(py, made.state(loc))?);
        if let Some(cell) = made.cell(loc).map_err(raise)? {
            all.push(submit::object(py, Ok(cell))?);
        }
    }
    all.insert(0, submit::object(py, Ok(made.output))?);
    Ok(all)
}
