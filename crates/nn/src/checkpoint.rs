//! Checkpoints: parameters by name, in the safetensors format.
//!
//! A file is checked against the parameters before anything is allocated for its elements, and read as a whole before the
//! first parameter is written: a load that fails changes nothing.

use crate::parameter::{Parameter, open_shape};
use crate::tensors::{Named, Notes, Tensor, TensorFile, write_tensors};
use forerun_array::{Array, Wait, ops};
use forerun_base::{ErrorKind, Loc, Result};
use std::collections::HashSet;
use std::path::Path;

/// Writes the parameters under their names, once they are computed. A file of this name is replaced at the end, as a whole.
#[track_caller]
pub fn save(parameters: &[Parameter], path: impl AsRef<Path>) -> Result<()> {
    let loc = Loc::caller();
    let file = Named { op: "save", path: path.as_ref().to_owned(), loc };
    let snapshot = |parameter: &Parameter| {
        let array = parameter.array_at(loc)?;
        Ok((parameter.name().to_owned(), array.snapshot_with(&Wait::at(loc, "save"))?))
    };
    let tensors = parameters.iter().map(snapshot).collect::<Result<Vec<_>>>()?;
    write_tensors(&file.path, &tensors, &Notes::new(), loc).map_err(|error| file.flat(error))
}

/// Reads the parameters: the file must hold all of them and nothing else, in their shapes and dtypes. Shapes that are not
/// known yet become those of the file.
#[track_caller]
pub fn load(parameters: &[Parameter], path: impl AsRef<Path>) -> Result<()> {
    let loc = Loc::caller();
    let file = Named { op: "load", path: path.as_ref().to_owned(), loc };
    let opened = TensorFile::open(&file.path, loc).map_err(|error| file.flat(error))?;
    let tensors: Vec<&Tensor> = parameters.iter().map(|p| check(p, &opened, &file)).collect::<Result<_>>()?;
    let names: HashSet<&str> = parameters.iter().map(Parameter::name).collect();
    if let Some(tensor) = opened.tensors().iter().find(|tensor| !names.contains(tensor.name.as_str())) {
        return Err(file.value(format!("`{}` is none of the parameters", tensor.name)));
    }
    let read = |tensor: &&Tensor| {
        let bytes = opened.read(tensor).map_err(|error| file.flat(error))?;
        ops::from_bytes(&bytes, tensor.dtype, &tensor.shape, loc)
    };
    let arrays: Vec<Array> = tensors.iter().map(read).collect::<Result<_>>()?;
    parameters.iter().zip(&arrays).try_for_each(|(parameter, array)| parameter.set_at(array, loc))
}

/// What the file holds for a parameter, if the two agree.
fn check<'a>(parameter: &Parameter, opened: &'a TensorFile, file: &Named) -> Result<&'a Tensor> {
    let name = parameter.name();
    let Some(tensor) = opened.tensors().iter().find(|tensor| tensor.name == name) else {
        return Err(file.value(format!("`{name}` is missing")));
    };
    if !parameter.fits(&tensor.shape) {
        let text = format!("`{name}` is of shape {}, not {}", tensor.shape, open_shape(&parameter.dims()));
        return Err(file.value(text));
    }
    if tensor.dtype != parameter.dtype() {
        let text = format!("`{name}` is {}, not {}", tensor.dtype, parameter.dtype());
        return Err(file.error(ErrorKind::Type, text));
    }
    Ok(tensor)
}
