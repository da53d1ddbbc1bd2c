//! Checkpoints: parameters by name, in the safetensors format.
//!
//! A file is checked against the parameters before anything is allocated for its elements, and read as a whole before the
//! first parameter is written: a load that fails changes nothing.

use crate::parameter::{Parameter, open_shape};
use forerun_array::{Array, Snapshot, Wait, ops};
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Shape, fail_point};
use safetensors::tensor::{Dtype, Metadata, TensorInfo as Info, View, serialize_to_file};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The longest header that is read; the format's own limit.
const MOST_HEADER: u64 = 100_000_000;

/// The bytes before the header: its length.
const PREFIX: u64 = 8;

/// Writes the parameters under their names, once they are computed. A file of this name is replaced at the end, as a whole.
#[track_caller]
pub fn save(parameters: &[Parameter], path: impl AsRef<Path>) -> Result<()> {
    let file = Named { op: "save", path: path.as_ref(), loc: Loc::caller() };
    let loc = file.loc;
    let mut names = HashSet::new();
    let mut saved = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let name = parameter.name();
        if !names.insert(name) {
            return Err(file.value(format!("two parameters are named `{name}`")));
        }
        let array = parameter.array_at(loc)?;
        let snapshot = array.snapshot_with(&Wait::at(loc, "save"))?;
        saved.push((name, Saved { snapshot, shape: array.shape() }));
    }
    fail_point!("checkpoint.write", error => return Err(file.broken(error)));
    serialize_to_file(saved, None, file.path).map_err(|e| file.broken(e))
}

/// Reads the parameters: the file must hold all of them and nothing else, in their shapes and dtypes. Shapes that are not
/// known yet become those of the file.
#[track_caller]
pub fn load(parameters: &[Parameter], path: impl AsRef<Path>) -> Result<()> {
    let file = Named { op: "load", path: path.as_ref(), loc: Loc::caller() };
    let loc = file.loc;
    let mut bytes = File::open(file.path).map_err(|e| file.broken(e))?;
    let (metadata, start) = header(&mut bytes, &file)?;
    let infos: Vec<&Info> = parameters.iter().map(|p| check(p, &metadata, &file)).collect::<Result<_>>()?;
    let names: HashSet<&str> = parameters.iter().map(Parameter::name).collect();
    if let Some(name) = metadata.offset_keys().iter().find(|name| !names.contains(name.as_str())) {
        return Err(file.value(format!("`{name}` is none of the parameters")));
    }
    let mut arrays: Vec<Array> = Vec::with_capacity(parameters.len());
    for (parameter, info) in parameters.iter().zip(infos) {
        fail_point!("checkpoint.read", error => return Err(file.broken(error)));
        let (first, end) = info.data_offsets;
        let mut elements = vec![0; end - first];
        bytes.seek(SeekFrom::Start(start + first as u64)).map_err(|e| file.broken(e))?;
        bytes.read_exact(&mut elements).map_err(|e| file.broken(format!("`{}`: {e}", parameter.name())))?;
        arrays.push(ops::from_bytes(&elements, parameter.dtype(), &info.shape, loc)?);
    }
    parameters.iter().zip(&arrays).try_for_each(|(parameter, array)| parameter.set_at(array, loc))
}

/// What the file says it holds, and where its elements begin.
fn header(bytes: &mut File, file: &Named<'_>) -> Result<(Metadata, u64)> {
    let length = bytes.metadata().map_err(|e| file.broken(e))?.len();
    let mut prefix = [0; PREFIX as usize];
    bytes.read_exact(&mut prefix).map_err(|_| file.value(format!("{length} bytes are too few")))?;
    let size = u64::from_le_bytes(prefix);
    if size > MOST_HEADER || size > length - PREFIX {
        return Err(file.value(format!("a header of {size} bytes does not fit into {length}")));
    }
    let mut text = vec![0; size as usize];
    bytes.read_exact(&mut text).map_err(|e| file.broken(e))?;
    let metadata: Metadata = serde_json::from_slice(&text).map_err(|e| file.value(format!("bad header: {e}")))?;
    let start = PREFIX + size;
    if metadata.data_len() as u64 != length - start {
        let text = format!("{} bytes of elements, but the header says {}", length - start, metadata.data_len());
        return Err(file.value(text));
    }
    Ok((metadata, start))
}

/// What the file says about a parameter, if the two agree.
fn check<'a>(parameter: &Parameter, metadata: &'a Metadata, file: &Named<'_>) -> Result<&'a Info> {
    let name = parameter.name();
    let Some(info) = metadata.info(name) else {
        return Err(file.value(format!("`{name}` is missing")));
    };
    if !parameter.fits(&info.shape) {
        let shape = Shape::new(&info.shape).map_err(|e| file.value(format!("`{name}`: {e}")))?;
        let text = format!("`{name}` is of shape {shape}, not {}", open_shape(&parameter.dims()));
        return Err(file.value(text));
    }
    if info.dtype != stored(parameter.dtype()) {
        let text = format!("`{name}` is {}, not {}", info.dtype, stored(parameter.dtype()));
        return Err(file.error(ErrorKind::Type, text));
    }
    Ok(info)
}

/// A dtype, as the format calls it.
fn stored(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::C64 | DType::C128 => unreachable!("parameters are floats"),
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    }
}

/// A parameter on its way into a file.
struct Saved {
    snapshot: Snapshot,
    shape: Shape,
}

impl View for Saved {
    fn dtype(&self) -> Dtype {
        stored(self.snapshot.dtype())
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.snapshot.to_bytes().into()
    }

    fn data_len(&self) -> usize {
        self.shape.size() * self.snapshot.dtype().size()
    }
}

/// The file, and what is done with it, for messages.
struct Named<'a> {
    op: &'static str,
    path: &'a Path,
    loc: Loc,
}

impl Named<'_> {
    fn error(&self, kind: ErrorKind, cause: impl Display) -> Error {
        Error::new(kind, format!("{}: {cause}", self.path.display())).in_op(self.op).read_at(self.loc)
    }

    /// The file does not say what it must.
    fn value(&self, text: String) -> Error {
        self.error(ErrorKind::Value, text)
    }

    /// The file cannot be read or written.
    fn broken(&self, cause: impl Display) -> Error {
        self.error(ErrorKind::Runtime, cause)
    }
}
