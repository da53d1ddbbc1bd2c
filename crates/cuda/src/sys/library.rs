//! Finds and opens shared libraries: those the process has already loaded, the loader's search path, the CUDA toolkit's
//! folder, and the folders of pip packages.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// An open library. It is never closed, because its functions may be called until the process ends.
#[derive(Debug)]
pub(crate) struct Library {
    handle: *mut c_void,
    name: String,
}

// SAFETY: any thread may use a handle of the loader.
unsafe impl Send for Library {}
// SAFETY: any thread may use a handle of the loader.
unsafe impl Sync for Library {}

/// Folders with pip packages, set by the frontend.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds folders that may contain packages such as `nvidia/cuda_nvrtc`: the entries of Python's path.
pub fn search_in(folders: impl IntoIterator<Item = PathBuf>) {
    let mut known = FOLDERS.lock().unwrap_or_else(|e| e.into_inner());
    for folder in folders {
        if !known.contains(&folder) {
            known.push(folder);
        }
    }
}

/// Where pip packages keep the libraries of release 13 (one folder for all), and those of release 12.
const NEW: &str = "nvidia/cu13/lib";

impl Library {
    /// Opens the first of these file names that is found. `package` is the folder of the pip package of release 12.
    pub(crate) fn open(names: &[&str], package: &str) -> Result<Library, String> {
        let loaded = names.iter().find_map(|name| open_as(name, libc::RTLD_NOLOAD));
        if let Some(library) = loaded.or_else(|| names.iter().find_map(|name| open_as(name, 0))) {
            return Ok(library);
        }
        let folders = folders(package);
        let paths = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        paths
            .filter(|path| path.is_file())
            .find_map(|path| open_as(&path.to_string_lossy(), 0))
            .ok_or_else(|| format!("{} was not found", names.join(" or ")))
    }

    /// The name or path by which it was opened.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The path of the file that has a symbol; `name` must end with a zero byte.
    pub(crate) fn path_by(&self, name: &str) -> Result<String, String> {
        let address = self.symbol(name)?;
        // SAFETY: all fields are numbers or pointers, for which zero is valid.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes to a local variable only, and compares the address with those of the loaded files.
        if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
            return Ok(self.name.clone());
        }
        // SAFETY: the loader's string ends with a zero byte, and lives as long as the file is loaded.
        Ok(unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
    }

    /// The address of a symbol; `name` must end with a zero byte.
    pub(crate) fn symbol(&self, name: &str) -> Result<*mut c_void, String> {
        let text = CStr::from_bytes_with_nul(name.as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the library is open, and the name is zero-terminated.
        let address = unsafe { libc::dlsym(self.handle, text.as_ptr()) };
        let plain = name.trim_end_matches('\0');
        if address.is_null() { Err(format!("{} has no {plain}", self.name)) } else { Ok(address) }
    }
}

fn open_as(name: &str, flag: i32) -> Option<Library> {
    let path = CString::new(name).ok()?;
    // SAFETY: the name is zero-terminated; the libraries' initialisers have no preconditions.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flag) };
    (!handle.is_null()).then(|| Library { handle, name: name.to_owned() })
}

fn folders(package: &str) -> Vec<PathBuf> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    let mut all: Vec<PathBuf> = toolkits
        .flat_map(|list| entries(&list))
        .chain([PathBuf::from("/usr/local/cuda")])
        .flat_map(|home| [home.join("lib64"), home.join("lib"), home.join("targets/x86_64-linux/lib")])
        .collect();
    let named = std::env::var_os("FORERUN_CUDA_PATH").map(|list| entries(&list));
    let known = FOLDERS.lock().unwrap_or_else(|e| e.into_inner()).clone();
    for folder in named.into_iter().flatten().chain(known) {
        all.extend(beside(&folder, package));
    }
    all
}

/// The folders that a variable lists. An empty entry would mean the current folder, where anybody may have put a library.
fn entries(list: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// A folder itself, and the package folders in it.
fn beside(folder: &Path, package: &str) -> [PathBuf; 3] {
    [folder.to_owned(), folder.join(NEW), folder.join(format!("nvidia/{package}/lib"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_is_found_and_what_is_missing_is_named() {
        let c = Library::open(&["libc.so.6"], "none").unwrap();
        assert!(c.symbol("malloc\0").is_ok());
        assert_eq!(c.symbol("no_such_symbol\0").unwrap_err(), "libc.so.6 has no no_such_symbol");
        assert!(c.path_by("malloc\0").unwrap().starts_with('/'));
        let error = Library::open(&["libnone.so.1", "libnone.so.2"], "none").unwrap_err();
        assert_eq!(error, "libnone.so.1 or libnone.so.2 was not found");
    }

    #[test]
    fn an_empty_entry_is_not_the_current_folder() {
        assert!(entries(OsStr::new("")).is_empty());
        assert_eq!(entries(OsStr::new("/a::b")), [PathBuf::from("/a"), PathBuf::from("b")]);
    }

    #[test]
    fn packages_are_looked_for_beside_the_path() {
        let found = beside(Path::new("site"), "cublas");
        assert_eq!(found[1..], [PathBuf::from("site/nvidia/cu13/lib"), PathBuf::from("site/nvidia/cublas/lib")]);
    }
}
