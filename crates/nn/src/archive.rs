//! Files of named arrays in the safetensors format: the length of a JSON header, the header, the elements.
//!
//! Files are untrusted: lengths, offsets, dtypes and shapes are checked against the size of the file before anything is
//! allocated for them.

use crate::replace::replace;
use forerun_array::Snapshot;
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Shape, fail_point};
use safetensors::tensor::{Dtype, TensorInfo as Info};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Maximum length of a header; the format's own limit.
const MOST_HEADER: u64 = 100_000_000;

/// Size of the header's length field in bytes.
const PREFIX: u64 = 8;

/// The header's key for the metadata.
const METADATA: &str = "__metadata__";

/// Text metadata of a file.
pub type Notes = BTreeMap<String, String>;

/// Why a file could not be read or written.
pub enum FileError {
    /// An error of the operating system.
    Os(io::Error),
    /// The content or an argument is invalid.
    Content(Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> FileError {
        FileError::Os(error)
    }
}

impl From<Error> for FileError {
    fn from(error: Error) -> FileError {
        FileError::Content(error)
    }
}

/// The operation and the file, for messages.
pub(crate) struct Named {
    pub(crate) op: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) loc: Loc,
}

impl Named {
    pub(crate) fn error(&self, kind: ErrorKind, cause: impl Display) -> Error {
        Error::new(kind, format!("{}: {cause}", self.path.display())).in_op(self.op).read_at(self.loc)
    }

    /// An error about the content.
    pub(crate) fn value(&self, text: impl Display) -> Error {
        self.error(ErrorKind::Value, text)
    }

    /// An error about one array.
    fn about(&self, name: &str, text: impl Display) -> Error {
        self.value(format!("tensor '{}': {text}", name.escape_debug()))
    }

    /// Converts either kind to one error, for callers that do not distinguish them.
    pub(crate) fn flat(&self, error: FileError) -> Error {
        match error {
            FileError::Os(error) => self.error(ErrorKind::Runtime, error),
            FileError::Content(error) => error,
        }
    }
}

/// Writes named arrays and text metadata. An existing file is replaced atomically at the end.
///
/// # Errors
/// A dtype that the format lacks, a duplicate or reserved name, or a path that cannot be written.
pub fn save_arrays(
    path: &Path,
    arrays: &[(String, Snapshot)],
    notes: &Notes,
    loc: Loc,
) -> std::result::Result<(), FileError> {
    let named = Named { op: "save", path: path.to_owned(), loc };
    let mut header = serde_json::Map::new();
    if !notes.is_empty() {
        header.insert(METADATA.to_owned(), notes.clone().into_iter().collect());
    }
    let mut begin = 0;
    for (name, snapshot) in arrays {
        let (shown, dtype, shape) = (name.escape_debug(), snapshot.dtype(), snapshot.layout().shape);
        if name == METADATA {
            let text = format!("the file format reserves the name '{shown}': rename the array");
            return Err(named.value(text).into());
        }
        let Some(code) = stored(dtype) else {
            let text = format!("'{shown}' has dtype {dtype}, which the file format lacks");
            return Err(named.error(ErrorKind::Type, text).into());
        };
        let end = begin + shape.size() * dtype.size();
        let info = Info { dtype: code, shape: shape.to_vec(), data_offsets: (begin, end) };
        let entry = serde_json::to_value(info).map_err(io::Error::from)?;
        if header.insert(name.clone(), entry).is_some() {
            return Err(named.value(format!("two arrays are named '{shown}'")).into());
        }
        begin = end;
    }
    let mut text = serde_json::to_vec(&header).map_err(io::Error::from)?;
    // Elements start at a multiple of eight bytes, so that a mapped file can be read in place.
    text.resize(text.len().next_multiple_of(8), b' ');
    replace(path, |file| {
        file.write_all(&(text.len() as u64).to_le_bytes())?;
        file.write_all(&text)?;
        for (_, snapshot) in arrays {
            fail_point!("checkpoint.write", error => return Err(named.error(ErrorKind::Runtime, error).into()));
            file.write_all(&snapshot.to_bytes())?;
        }
        Ok(())
    })
}

/// One array of a file.
pub struct StoredArray {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Shape,
    /// Start and end of its bytes, relative to the end of the header.
    range: (usize, usize),
}

/// A file whose header has been checked.
pub struct ArrayFile {
    file: File,
    named: Named,
    start: u64,
    arrays: Vec<StoredArray>,
    notes: Notes,
}

impl ArrayFile {
    /// Opens a file and checks its header.
    ///
    /// # Errors
    /// A path that cannot be read, or a header that is malformed or does not describe the rest of the file.
    pub fn open(path: &Path, loc: Loc) -> std::result::Result<ArrayFile, FileError> {
        let named = Named { op: "load", path: path.to_owned(), loc };
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut prefix = [0; PREFIX as usize];
        read_all(&mut file, &mut prefix, || named.value(format!("{size} bytes are too few for a header")))?;
        let (length, rest) = (u64::from_le_bytes(prefix), size.saturating_sub(PREFIX));
        if length > rest.min(MOST_HEADER) {
            let text = format!("the header claims {length} bytes, the file has {rest} after its length");
            return Err(named.value(text).into());
        }
        let mut text = vec![0; length as usize];
        read_all(&mut file, &mut text, || named.value("the file ended inside its header"))?;
        let header = Header::parse(&text).map_err(|error| match error.is_data() {
            true => named.value(error),
            false => named.value(format!("the header is not JSON: {error}")),
        })?;
        let arrays = header.check((rest - length) as usize, &named)?;
        Ok(ArrayFile { file, named, start: PREFIX + length, arrays, notes: header.notes })
    }

    /// The arrays of the file, in storage order.
    pub fn arrays(&self) -> &[StoredArray] {
        &self.arrays
    }

    /// The text metadata of the file.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Reads the bytes of an array's elements, in row-major order.
    ///
    /// # Errors
    /// A file that cannot be read, or bytes that are not valid elements of the dtype.
    pub fn read(&self, array: &StoredArray) -> std::result::Result<Vec<u8>, FileError> {
        let named = &self.named;
        fail_point!("checkpoint.read", error => return Err(named.error(ErrorKind::Runtime, error).into()));
        let mut bytes = vec![0; array.range.1 - array.range.0];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start + array.range.0 as u64))?;
        read_all(&mut file, &mut bytes, || named.about(&array.name, "the file ended inside its elements"))?;
        if array.dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
            return Err(named.about(&array.name, "a bool is neither 0 nor 1").into());
        }
        Ok(bytes)
    }
}

/// Fills a buffer; a file that ends too early is an error of its content.
fn read_all(
    mut file: impl Read,
    buffer: &mut [u8],
    ended: impl FnOnce() -> Error,
) -> std::result::Result<(), FileError> {
    file.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ended().into(),
        _ => error.into(),
    })
}

/// A parsed header.
#[derive(Default)]
struct Header {
    notes: Notes,
    entries: Vec<(String, Info)>,
}

impl Header {
    fn parse(text: &[u8]) -> serde_json::Result<Header> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let header = json.deserialize_map(Header::default())?;
        json.end()?;
        Ok(header)
    }

    /// Checks the entries against the number of bytes after the header: they must cover it without gaps or overlaps.
    fn check(&self, size: usize, named: &Named) -> Result<Vec<StoredArray>> {
        let mut found: Vec<StoredArray> =
            self.entries.iter().map(|(name, info)| check_entry(name, info, size, named)).collect::<Result<_>>()?;
        found.sort_by_key(|array| array.range);
        let (mut reached, mut last) = (0, "");
        for StoredArray { name, range: (begin, end), .. } in &found {
            let shown = name.escape_debug();
            if *begin < reached {
                return Err(named.value(format!("tensors '{}' and '{shown}' overlap", last.escape_debug())));
            }
            if *begin > reached {
                return Err(named.value(format!("{} bytes before tensor '{shown}' belong to none", begin - reached)));
            }
            (reached, last) = (*end, name);
        }
        if reached != size {
            return Err(named.value(format!("{} bytes at the end belong to no tensor", size - reached)));
        }
        Ok(found)
    }
}

impl<'de> Visitor<'de> for Header {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a header that maps names to tensors")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<Header, A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let shown = name.escape_debug();
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("the header names '{shown}' twice")));
            }
            if name == METADATA {
                let text = |error| A::Error::custom(format!("the metadata is not a mapping of strings: {error}"));
                self.notes = map.next_value().map_err(text)?;
            } else {
                let text = |error| A::Error::custom(format!("tensor '{shown}': {error}"));
                let info = map.next_value().map_err(text)?;
                self.entries.push((name, info));
            }
        }
        Ok(self)
    }
}

/// Checks the header's entry of one array.
fn check_entry(name: &str, info: &Info, size: usize, named: &Named) -> Result<StoredArray> {
    let Some(dtype) = DType::ALL.into_iter().find(|dtype| stored(*dtype) == Some(info.dtype)) else {
        return Err(named.about(name, format!("dtype {} is not supported", info.dtype)));
    };
    let shape = Shape::new(&info.shape).map_err(|error| named.about(name, error))?;
    let (begin, end) = info.data_offsets;
    if begin > end || end > size {
        let text = format!("data_offsets [{begin}, {end}] lie outside the {size} bytes of data");
        return Err(named.about(name, text));
    }
    let needed = shape.size() * dtype.size();
    if end - begin != needed {
        let text = format!("{} bytes for {dtype} of shape {shape}, which needs {needed}", end - begin);
        return Err(named.about(name, text));
    }
    Ok(StoredArray { name: name.to_owned(), dtype, shape, range: (begin, end) })
}

/// The format's name of a dtype. Complex numbers are not supported, because other programs do not read them.
fn stored(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
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
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::C64 | DType::C128 => return None,
    })
}
