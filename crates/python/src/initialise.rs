//! Initialisers from Python: names and options, handed to the initialisers of `nn`.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use forerun::nn::{Draw, Fan, Init, Scaling};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Writes every element of a parameter's array. `number` is the scale, deviation, magnitude or value of the kind.
#[pyfunction]
#[pyo3(signature = (name, data, kind, number = 0.0, rnd_type = "uniform", factor_type = "avg"))]
pub(crate) fn initialize(
    py: Python<'_>,
    name: &str,
    data: &Bound<'_, PyArray>,
    kind: &str,
    number: f64,
    rnd_type: &str,
    factor_type: &str,
) -> PyResult<()> {
    let unknown =
        |option: &str, of: &str, given: &str| PyValueError::new_err(format!("{kind}: {option} is {of}, not '{given}'"));
    let draw = match rnd_type {
        "uniform" => Draw::Uniform,
        "gaussian" | "normal" => Draw::Normal,
        _ => return Err(unknown("rnd_type", "'uniform' or 'gaussian'", rnd_type)),
    };
    let fan = match factor_type {
        "in" => Fan::In,
        "out" => Fan::Out,
        "avg" => Fan::Average,
        _ => return Err(unknown("factor_type", "'in', 'out' or 'avg'", factor_type)),
    };
    let init = match kind {
        "normal" => Init::Normal(number),
        "uniform" => Init::Uniform(number),
        "xavier" => Init::Xavier(Scaling { draw, fan, magnitude: number }),
        "orthogonal" => Init::Orthogonal { scale: number, draw },
        "bilinear" => Init::Bilinear,
        "lstm_bias" => Init::LstmBias(number),
        _ => return Err(PyValueError::new_err(format!("initialize: no initialiser is called '{kind}'"))),
    };
    init.write(name, &data.get().0, here(py)).map_err(raise)
}
