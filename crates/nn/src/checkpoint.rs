//! Checkpoints: named parameters in the safetensors format.
//!
//! The header is checked against the parameters before anything is allocated for elements, and the whole file is read
//! before the first parameter is written: a failed load changes nothing.

use crate::archive::{ArrayFile, Named, Notes, StoredArray, save_arrays};
use crate::parameter::{Parameter, open_shape};
use forerun_array::{Array, Wait, ops};
use forerun_base::{ErrorKind, Loc, Result};
use std::collections::HashSet;
use std::path::Path;

/// Waits for the parameters and writes them under their names. An existing file is replaced atomically at the end.
#[track_caller]
pub fn save(parameters: &[Parameter], path: impl AsRef<Path>) -> Result<()> {
    let loc = Loc::caller();
    let file = Named { op: "save", path: path.as_ref().to_owned(), loc };
    let snapshot = |parameter: &Parameter| {
        let array = parameter.array_at(loc)?;
        Ok((parameter.name().to_owned(), array.snapshot_with(&Wait::at(loc, "save"))?))
    };
    let arrays = parameters.iter().map(snapshot).collect::<Result<Vec<_>>>()?;
    save_arrays(&file.path, &arrays, &Notes::new(), loc).map_err(|error| file.flat(error))
}

/// Reads the parameters. The file must contain exactly these, with their shapes and dtypes. Open shapes are taken from
/// the file.
#[track_caller]
pub fn load(parameters: &[Parameter], path: impl AsRef<Path>) -> Result<()> {
    load_at(parameters, path.as_ref(), Loc::caller())
}

/// The same for a caller that knows the line of the program.
pub(crate) fn load_at(parameters: &[Parameter], path: &Path, loc: Loc) -> Result<()> {
    let file = Named { op: "load", path: path.to_owned(), loc };
    let opened = ArrayFile::open(&file.path, loc).map_err(|error| file.flat(error))?;
    let arrays: Vec<&StoredArray> = parameters.iter().map(|p| check(p, &opened, &file)).collect::<Result<_>>()?;
    let names: HashSet<&str> = parameters.iter().map(Parameter::name).collect();
    if let Some(array) = opened.arrays().iter().find(|array| !names.contains(array.name.as_str())) {
        return Err(file.value(format!("`{}` is not a parameter", array.name)));
    }
    let read = |array: &&StoredArray| {
        let bytes = opened.read(array).map_err(|error| file.flat(error))?;
        ops::from_bytes(&bytes, array.dtype, &array.shape, loc)
    };
    let arrays: Vec<Array> = arrays.iter().map(read).collect::<Result<_>>()?;
    parameters.iter().zip(&arrays).try_for_each(|(parameter, array)| parameter.set_at(array, loc))
}

/// The file's entry for a parameter, if the two agree.
fn check<'a>(parameter: &Parameter, opened: &'a ArrayFile, file: &Named) -> Result<&'a StoredArray> {
    let name = parameter.name();
    let Some(array) = opened.arrays().iter().find(|array| array.name == name) else {
        return Err(file.value(format!("`{name}` is missing")));
    };
    if !parameter.fits(&array.shape) {
        let text = format!("`{name}` is of shape {}, not {}", array.shape, open_shape(&parameter.dims()));
        return Err(file.value(text));
    }
    if array.dtype != parameter.dtype() {
        let text = format!("`{name}` is {}, not {}", array.dtype, parameter.dtype());
        return Err(file.error(ErrorKind::Type, text));
    }
    Ok(array)
}
