//! Files of named arrays, in the safetensors format.

use crate::abi::{forerun_archive, forerun_array, forerun_status};
use crate::caller::{Caller, Outcome, call};
use crate::error::{Failure, c_text};
use crate::handle::give;
use forerun::nn::{ArrayFile, FileError, Notes, save_arrays};
use forerun::{Error, ErrorKind, ops};
use std::ffi::c_char;
use std::path::Path;

/// The error of a file, which names its path.
fn refused(caller: &Caller, op: &'static str, path: &Path, error: FileError) -> Failure {
    let error = match error {
        FileError::Content(error) => error,
        FileError::Os(error) => Error::new(ErrorKind::Runtime, format!("{}: {error}", path.display())).in_op(op),
    };
    error.read_at(caller.loc()).into()
}

/// Waits for arrays and writes them to a file under their names. An existing file is replaced atomically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_save(
    path: *const c_char,
    names: *const *const c_char,
    arrays: *const *const forerun_array,
    count: usize,
) -> forerun_status {
    call(|caller| {
        let path = Path::new(caller.text(path, "the path")?);
        let (names, arrays) = (caller.slice(names, count, "the names")?, caller.all(arrays, count)?);
        let mut taken = Vec::with_capacity(count);
        for (name, array) in names.iter().zip(&arrays) {
            let name = caller.text(*name, "the name of an array")?.to_owned();
            taken.push((name, array.snapshot_with(&caller.wait("save"))?));
        }
        let saved = save_arrays(path, &taken, &Notes::new(), caller.loc());
        saved.map_err(|error| refused(caller, "save", path, error))
    })
}

/// Reads all arrays of a file. The file may come from strangers: everything in it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_load(path: *const c_char, out: *mut *mut forerun_archive) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        let path = Path::new(caller.text(path, "the path")?);
        let refused = |error| refused(caller, "load", path, error);
        let file = ArrayFile::open(path, caller.loc()).map_err(refused)?;
        let mut arrays = Vec::with_capacity(file.arrays().len());
        for stored in file.arrays() {
            let bytes = file.read(stored).map_err(refused)?;
            let array = ops::from_bytes(&bytes, stored.dtype, &stored.shape, caller.loc())?;
            arrays.push((c_text(&stored.name), array));
        }
        caller.put(out, give::<forerun_archive>(arrays))
    })
}

/// The number of arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_archive_count(archive: *const forerun_archive, out: *mut usize) -> forerun_status {
    call(|caller| caller.put(out, caller.get(archive)?.len()))
}

fn beyond(number: usize, count: usize) -> Failure {
    Error::new(ErrorKind::Index, format!("there is no array {number} among {count}")).in_op("load").into()
}

/// The name of an array by its number, in the order of the file. It lives as long as the archive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_archive_name(
    archive: *const forerun_archive,
    number: usize,
    out: *mut *const c_char,
) -> forerun_status {
    call(|caller| {
        let arrays = caller.get(archive)?;
        let (name, _) = arrays.get(number).ok_or_else(|| beyond(number, arrays.len()))?;
        caller.put(out, name.as_ptr())
    })
}

/// An array by its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_archive_array(
    archive: *const forerun_archive,
    number: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let arrays = caller.get(archive)?;
        let (_, array) = arrays.get(number).ok_or_else(|| beyond(number, arrays.len()))?;
        caller.give(out, Ok(array.clone()))
    })
}

/// An array by its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_archive_find(
    archive: *const forerun_archive,
    name: *const c_char,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (arrays, name) = (caller.get(archive)?, caller.text(name, "the name")?);
        let found: Outcome<_> = arrays
            .iter()
            .find(|(other, _)| other.to_bytes() == name.as_bytes())
            .ok_or_else(|| Failure::value(format!("there is no array `{name}`")).within("load"));
        caller.give(out, Ok(found?.1.clone()))
    })
}

/// Frees an archive; null is allowed. Its arrays live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_archive_free(archive: *mut forerun_archive) -> forerun_status {
    call(|caller| caller.free(archive))
}
