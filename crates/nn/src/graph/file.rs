//! Graphs with their parameters, loaded from files.

use super::describe::Role;
use super::model::GraphModel;
use super::read::MOST_BYTES;
use crate::archive::{FileError, Named};
use crate::checkpoint;
use crate::layer::Layer;
use crate::parameter::Parameter;
use crate::replace::replace;
use forerun_array::Array;
use forerun_base::{Error, ErrorKind, Loc, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

impl GraphModel {
    /// Reads a graph file and checks it.
    ///
    /// # Errors
    /// A path that cannot be read, or a file that is not a valid graph.
    pub fn open(path: &Path, loc: Loc) -> std::result::Result<GraphModel, FileError> {
        let named = Named { op: "load", path: path.to_owned(), loc };
        let mut text = Vec::new();
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
        GraphModel::parse(&text).map_err(|error| named.value(error).into())
    }

    /// Writes the graph file. An existing file is replaced atomically.
    ///
    /// # Errors
    /// A path that cannot be written.
    pub fn save(&self, path: &Path) -> std::result::Result<(), FileError> {
        let text = self.to_text();
        replace(path, |file| Ok(file.write_all(text.as_bytes())?))
    }
}

/// A network that was exported to files: its ops and its parameters.
///
/// ```no_run
/// use forerun_array::Array;
/// use forerun_base::Result;
/// use forerun_nn::{Network, Layer};
///
/// fn scores(images: &Array) -> Result<Array> {
///     let net = Network::load("lenet-symbol.json", "lenet-0000.params")?;
///     net.forward(images)
/// }
/// ```
pub struct Network {
    model: GraphModel,
    parameters: Vec<Parameter>,
}

impl Network {
    /// Reads a graph file and the file of its parameters. Both may come from strangers: everything is checked, and
    /// nothing is executed. See `docs/export.md` for the limits.
    ///
    /// # Errors
    /// A file that cannot be read or is invalid, or parameters that do not fit the graph.
    #[track_caller]
    pub fn load(graph: impl AsRef<Path>, parameters: impl AsRef<Path>) -> Result<Network> {
        let loc = Loc::caller();
        let named = Named { op: "load", path: graph.as_ref().to_owned(), loc };
        let model = GraphModel::open(graph.as_ref(), loc).map_err(|error| named.flat(error))?;
        let held: Vec<Parameter> = model
            .parameters()
            .iter()
            .map(|known| Parameter::stored(&known.name, &known.shape, known.dtype, known.role == Role::Trained))
            .collect();
        checkpoint::load_at(&held, parameters.as_ref(), loc)?;
        Ok(Network { model, parameters: held })
    }

    /// Inputs, parameters and outputs of the graph.
    pub fn model(&self) -> &GraphModel {
        &self.model
    }

    /// Runs the graph. The batch size may differ from that of the export if the graph allows it.
    ///
    /// # Errors
    /// Inputs whose number, dtypes or shapes do not fit.
    #[track_caller]
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        self.run_at(&inputs.iter().collect::<Vec<_>>(), Loc::caller())
    }

    fn run_at(&self, inputs: &[&Array], loc: Loc) -> Result<Vec<Array>> {
        let arrays = self.parameters.iter().map(|p| p.array_at(loc)).collect::<Result<Vec<Array>>>()?;
        self.model.run(inputs, &arrays.iter().collect::<Vec<_>>(), loc)
    }
}

impl Layer for Network {
    /// Runs a graph of one input; returns its first output.
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let first = self.run_at(&[x], loc)?.into_iter().next();
        first.ok_or_else(|| Error::new(ErrorKind::Value, "it has no output").in_op("graph"))
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }
}
