//! Locs of Python lines: a code object and an instruction offset, looked up in nanoseconds.
//!
//! | step | what happens |
//! |---|---|
//! | every op | the frame's code object and offset are looked up in a direct-mapped table |
//! | first use of a site | its file, line and function are interned as a loc |
//! | first use of a code object | its file, function and line table are copied; a weak reference tracks it |
//! | a code object dies | its data and its sites in the table are dropped, because its address may be reused |
//!
//! Invariant: a code object in the table is alive. Frames of files under the package's root, in any folder, are
//! skipped: a loc is the user's line. Frames of Python's standard library are skipped if a frame of the user called it:
//! `copy.deepcopy(net)` is the user's line, not one of `copy.py`. Frames of IPython count as the library's: the line that
//! displays an array is the cell's. The code of a notebook's cell has a temporary file name; its loc names the cell.

use crate::pycall;
use forerun::Loc;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Marks an offset that is a line number, for interpreters that do not report the instruction.
const LINE: u32 = 1 << 31;

/// Marks a site inside the package, instead of a loc.
const INSIDE: u32 = u32::MAX;
/// Marks a site in Python's standard library, instead of a loc.
const LIBRARY: u32 = u32::MAX - 1;

const SLOTS: usize = 4096;

#[derive(Clone, Copy)]
struct Site {
    code: usize,
    offset: u32,
    loc: u32,
}

/// The direct-mapped table in front of the interner.
struct Table(UnsafeCell<[Site; SLOTS]>);

// SAFETY: every access goes through `slot`, which requires the GIL token, and copies out of the table without keeping a
// reference.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new([Site { code: 0, offset: 0, loc: 0 }; SLOTS]));

impl Table {
    /// The table entry of a site.
    #[inline]
    fn slot(&self, _py: Python<'_>, code: usize, offset: u32) -> *mut Site {
        // Code objects are aligned to 16 bytes and offsets are even; an odd multiplier spreads both.
        let mixed = ((code >> 4) as u64 ^ (offset as u64) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let index = (mixed >> 52) as usize % SLOTS;
        // SAFETY: the index is below the table's length.
        unsafe { self.0.get().cast::<Site>().add(index) }
    }

    /// Removes the sites of a code object.
    fn forget(&self, _py: Python<'_>, code: usize) {
        // SAFETY: the GIL is held, so no other thread accesses the table.
        let sites = unsafe { &mut *self.0.get() };
        sites.iter_mut().filter(|site| site.code == code).for_each(|site| site.code = 0);
    }
}

/// To which owner the file of a code object belongs.
#[derive(Clone, Copy)]
enum Owner {
    Package,
    Library,
    User,
}

/// The data of a code object.
struct Code {
    owner: Owner,
    file: String,
    function: String,
    /// First offset, offset after the last, line.
    lines: Vec<(u32, u32, u32)>,
}

impl Code {
    /// The loc of an instruction, [`INSIDE`] or [`LIBRARY`].
    fn loc(&self, offset: u32) -> u32 {
        match self.owner {
            Owner::Package => INSIDE,
            Owner::Library => LIBRARY,
            Owner::User => self.line(offset).id(),
        }
    }

    /// The loc of an instruction, whatever file it is in.
    fn line(&self, offset: u32) -> Loc {
        let line = match self.lines.iter().find(|(start, end, _)| (*start..*end).contains(&offset)) {
            _ if offset & LINE != 0 => offset & !LINE,
            Some((_, _, line)) => *line,
            None => return Loc::UNKNOWN,
        };
        Loc::foreign(&self.file, line, &self.function)
    }
}

/// The data of living code objects, and the weak references that track them.
#[derive(Default)]
struct Codes {
    known: HashMap<usize, Code>,
    /// By the address of the weak reference: the reference and the address of the code object.
    watches: HashMap<usize, (Py<PyAny>, usize)>,
}

type GetLasti = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;
type GetBack = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;

static GET_LASTI: AtomicUsize = AtomicUsize::new(0);
static GET_BACK: AtomicUsize = AtomicUsize::new(0);
static CODES: OnceLock<Mutex<Codes>> = OnceLock::new();
static PACKAGE: OnceLock<Package> = OnceLock::new();

/// Folders of files that are not the user's.
struct Package {
    /// The package's root.
    root: String,
    /// Python's standard library; installed packages may be in folders below it.
    library: String,
}

impl Package {
    fn owner_of(&self, file: &str) -> Owner {
        let installed = || ["site-packages", "dist-packages"].iter().any(|folder| file.contains(folder));
        if is_under(file, &self.root) {
            Owner::Package
        } else if file.starts_with("<frozen ") || is_under(file, &self.library) && !installed() || is_shell(file) {
            Owner::Library
        } else {
            Owner::User
        }
    }
}

/// Whether a file is in a folder or below it.
fn is_under(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', '\\']))
}

/// Whether a file belongs to IPython or to its kernel, which run cells and display their results. Earlier versions of IPython
/// wrap functions by generated code.
fn is_shell(file: &str) -> bool {
    let package = |folder| file.split_once(folder).and_then(|(_, rest)| rest.split(['/', '\\']).nth(1));
    let shell = |folder| matches!(package(folder), Some("IPython" | "ipykernel"));
    file.starts_with("<decorator-gen-") || shell("site-packages") || shell("dist-packages")
}

/// The name of the notebook cell that a file's code comes from; other files keep their names.
fn cell_or_file(py: Python<'_>, file: String) -> String {
    if !file.starts_with("<ipython-input-") && !file.contains("ipykernel_") {
        return file;
    }
    let name = pycall::function(py, "forerun._cells", "cell_of").and_then(|name| pycall::call(&name, (&file,)));
    name.and_then(|name| name.extract()).unwrap_or(file)
}

/// Held for a few instructions at a time, and never while Python code may run.
fn codes() -> MutexGuard<'static, Codes> {
    CODES.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

/// Looks up functions that the stable ABI lacks. Called once, at import.
pub(crate) fn start() {
    GET_LASTI.store(interpreter_symbol(c"PyFrame_GetLasti"), Ordering::Relaxed);
    GET_BACK.store(interpreter_symbol(c"PyFrame_GetBack"), Ordering::Relaxed);
}

/// Sets the folders whose frames are skipped when the user's line is looked for: the package's own Python files, and
/// Python's standard library. Only the first call has an effect.
pub(crate) fn pass_over(root: String, library: String) {
    let _ = PACKAGE.set(Package { root, library });
}

thread_local! {
    /// The line for which an internal thread of the package works: its stack has no user frame.
    static LENT: Cell<Loc> = const { Cell::new(Loc::UNKNOWN) };
}

/// The id of the user's current line, for [`work_for_line`].
#[pyfunction]
pub(crate) fn user_line_id(py: Python<'_>) -> u32 {
    here(py).id()
}

/// Makes an internal thread of the package submit on behalf of a user's line.
#[pyfunction]
pub(crate) fn work_for_line(line: u32) {
    LENT.set(Loc::from_id(line));
}

#[cfg(unix)]
fn interpreter_symbol(name: &CStr) -> usize {
    // SAFETY: the name ends with a nul, and a symbol lookup has no other precondition.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

#[cfg(not(unix))]
fn interpreter_symbol(_name: &CStr) -> usize {
    0
}

/// The user's current line.
#[inline]
pub(crate) fn here(py: Python<'_>) -> Loc {
    // SAFETY: the GIL is held; the frame is borrowed from the running thread and lives until this call returns.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() {
        return Loc::UNKNOWN;
    }
    match note(py, frame) {
        seen @ (INSIDE | LIBRARY) => outside(py, frame, seen),
        loc => Loc::from_id(loc),
    }
}

/// The user's current line as text, for messages of the package's Python files.
#[pyfunction]
pub(crate) fn user_line(py: Python<'_>) -> String {
    here(py).text().to_string()
}

/// The loc of a frame, [`INSIDE`] or [`LIBRARY`].
#[inline]
fn note(py: Python<'_>, frame: *mut ffi::PyFrameObject) -> u32 {
    let (address, offset) = site_of(frame);
    let slot = TABLE.slot(py, address, offset);
    // SAFETY: the slot is in the table, and the GIL is held.
    let site = unsafe { *slot };
    if site.code == address && site.offset == offset {
        return site.loc;
    }
    let loc = learn(py, address, offset);
    // SAFETY: as above; no reference into the table is alive.
    unsafe { *slot = Site { code: address, offset, loc } };
    loc
}

/// The code object and the offset of a frame.
#[inline]
fn site_of(frame: *mut ffi::PyFrameObject) -> (usize, u32) {
    // SAFETY: the GIL is held and the frame is alive, so its code object is alive too.
    let code = unsafe { ffi::PyFrame_GetCode(frame) };
    let address = code as usize;
    // SAFETY: releases the reference that `PyFrame_GetCode` took; the frame holds another.
    unsafe { ffi::Py_DECREF(code.cast()) };
    (address, offset_of(frame))
}

#[inline]
fn offset_of(frame: *mut ffi::PyFrameObject) -> u32 {
    match GET_LASTI.load(Ordering::Relaxed) {
        // SAFETY: the frame is alive and the GIL is held.
        0 => LINE | unsafe { ffi::PyFrame_GetLineNumber(frame) } as u32,
        address => {
            // SAFETY: the dynamic linker returned this address for the function of this signature.
            let get: GetLasti = unsafe { std::mem::transmute(address) };
            // SAFETY: the frame is alive and the GIL is held.
            unsafe { get(frame) as u32 & !LINE }
        }
    }
}

/// The user's innermost line, starting from a frame that is not the user's. If there is none, the line that this thread
/// works for, or the innermost one in the standard library, because a thread's target may be an array's method. `seen`
/// is what was found for the frame.
#[cold]
#[inline(never)]
fn outside(py: Python<'_>, inner: *mut ffi::PyFrameObject, mut seen: u32) -> Loc {
    // SAFETY: the frame is alive; from here on the walk owns a reference to its current frame.
    let mut frame = unsafe { Bound::from_borrowed_ptr(py, inner.cast()) };
    let mut library = None;
    loop {
        match seen {
            INSIDE => {}
            LIBRARY => library = library.or_else(|| Some(site_of(frame.as_ptr().cast()))),
            loc => return Loc::from_id(loc),
        }
        let Some(back) = back_of(&frame) else { break };
        frame = back;
        seen = note(py, frame.as_ptr().cast());
    }
    match (LENT.get(), library) {
        (Loc::UNKNOWN, Some((code, offset))) => {
            codes().known.get(&code).map_or(Loc::UNKNOWN, |known| known.line(offset))
        }
        (lent, _) => lent,
    }
}

fn back_of<'py>(frame: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    match GET_BACK.load(Ordering::Relaxed) {
        0 => pycall::attribute(frame, "f_back").ok().filter(|back| !back.is_none()),
        address => {
            // SAFETY: the dynamic linker returned this address for the function of this signature.
            let get: GetBack = unsafe { std::mem::transmute(address) };
            // SAFETY: the frame is alive and the GIL is held; the result is a new reference or null without an error.
            unsafe { Bound::from_owned_ptr_or_opt(frame.py(), get(frame.as_ptr().cast()).cast()) }
        }
    }
}

/// The loc of a site that is not in the table, or [`INSIDE`] or [`LIBRARY`].
#[cold]
#[inline(never)]
fn learn(py: Python<'_>, code: usize, offset: u32) -> u32 {
    if let Some(known) = codes().known.get(&code) {
        return known.loc(offset);
    }
    // SAFETY: the running frame holds the code object.
    let object = unsafe { Bound::from_borrowed_ptr(py, code as *mut ffi::PyObject) };
    let read = read_code(&object);
    let loc = read.loc(offset);
    let watch = watch(&object);
    let mut codes = codes();
    codes.known.insert(code, read);
    match watch {
        Ok(watch) => _ = codes.watches.insert(watch.as_ptr() as usize, (watch, code)),
        // Leaked: without a weak reference its address must never be reused.
        Err(_) => std::mem::forget(object),
    }
    loc
}

/// A weak reference that calls [`forget_code`] when the code object dies.
fn watch(object: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let forget = wrap_pyfunction!(forget_code, object.py())?;
    // SAFETY: both objects are alive, and the GIL is held; the result is a new reference, or null with an error.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), ffi::PyWeakref_NewRef(object.as_ptr(), forget.as_ptr())) }
        .map(Bound::unbind)
}

/// Drops the data of a code object that has died.
#[pyfunction]
fn forget_code(py: Python<'_>, watch: &Bound<'_, PyAny>) {
    let gone = {
        let mut codes = codes();
        let Some((watch, code)) = codes.watches.remove(&(watch.as_ptr() as usize)) else { return };
        TABLE.forget(py, code);
        (watch, codes.known.remove(&code))
    };
    // Dropped after the lock is released.
    drop(gone);
}

fn read_code(object: &Bound<'_, PyAny>) -> Code {
    let text = |name: &str| pycall::attribute(object, name).and_then(|text| text.extract::<String>());
    let file = text("co_filename").unwrap_or_default();
    let function = text("co_qualname").or_else(|_| text("co_name")).unwrap_or_default();
    let lines = || -> PyResult<Vec<(u32, u32, u32)>> {
        let mut lines = Vec::new();
        for range in pycall::listed(&pycall::method(object, "co_lines", ())?)? {
            if let (start, end, Some(line)) = range.extract::<(u32, u32, Option<u32>)>()? {
                lines.push((start, end, line));
            }
        }
        Ok(lines)
    };
    let owner = PACKAGE.get().map_or(Owner::User, |package| package.owner_of(&file));
    Code { owner, function, lines: lines().unwrap_or_default(), file: cell_or_file(object.py(), file) }
}
