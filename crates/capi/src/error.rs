//! Errors: every thread keeps the last one, until its next.

use crate::abi::{
    FORERUN_ERROR_FLOAT, FORERUN_ERROR_HANDLE, FORERUN_ERROR_INDEX, FORERUN_ERROR_INTERRUPTED, FORERUN_ERROR_LINEAR,
    FORERUN_ERROR_MEMORY, FORERUN_ERROR_OVERFLOW, FORERUN_ERROR_RUNTIME, FORERUN_ERROR_TYPE, FORERUN_ERROR_VALUE,
    FORERUN_OK, forerun_status,
};
use forerun::{Error, ErrorKind, Loc};
use std::cell::RefCell;
use std::ffi::{CString, c_char};

/// Why a call failed.
pub(crate) struct Failure {
    status: forerun_status,
    error: Error,
    /// Further errors, of a call that waits for everything.
    others: Vec<Error>,
}

impl Failure {
    /// The error of a bad handle.
    #[cold]
    pub(crate) fn handle(text: String) -> Failure {
        Failure { status: FORERUN_ERROR_HANDLE, error: Error::new(ErrorKind::Value, text), others: Vec::new() }
    }

    /// The errors of a call that waits for everything.
    #[cold]
    pub(crate) fn from_all(errors: Vec<Error>) -> Failure {
        let mut errors = errors.into_iter();
        let first = errors.next().unwrap_or_else(|| Error::new(ErrorKind::Runtime, "an operation failed"));
        Failure { others: errors.collect(), ..first.into() }
    }

    /// The error of a bad argument.
    #[cold]
    pub(crate) fn value(text: impl Into<String>) -> Failure {
        Error::new(ErrorKind::Value, text).into()
    }

    /// The error of an argument of the wrong type.
    #[cold]
    pub(crate) fn kind(text: impl Into<String>) -> Failure {
        Error::new(ErrorKind::Type, text).into()
    }

    /// Names the function or the op that failed, unless it is known.
    pub(crate) fn within(self, op: &'static str) -> Failure {
        Failure { error: self.error.in_op(op), ..self }
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        Failure { status: status_of(error.kind()), error, others: Vec::new() }
    }
}

fn status_of(kind: ErrorKind) -> forerun_status {
    match kind {
        ErrorKind::Value => FORERUN_ERROR_VALUE,
        ErrorKind::Type => FORERUN_ERROR_TYPE,
        ErrorKind::Index => FORERUN_ERROR_INDEX,
        ErrorKind::Overflow => FORERUN_ERROR_OVERFLOW,
        ErrorKind::Float => FORERUN_ERROR_FLOAT,
        ErrorKind::Linear => FORERUN_ERROR_LINEAR,
        ErrorKind::Memory => FORERUN_ERROR_MEMORY,
        ErrorKind::Interrupted => FORERUN_ERROR_INTERRUPTED,
        ErrorKind::Runtime => FORERUN_ERROR_RUNTIME,
    }
}

/// The texts of an error, as C reads them.
struct Last {
    status: forerun_status,
    op: CString,
    message: CString,
    text: CString,
    submitted: (CString, u32),
    read: (CString, u32),
}

thread_local! {
    static LAST: RefCell<Option<Box<Last>>> = const { RefCell::new(None) };
}

/// A text without its zero bytes, which C strings cannot hold.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Stores the error of the calling thread; returns its kind.
#[cold]
pub(crate) fn store(failure: Failure, here: Loc) -> forerun_status {
    let Failure { status, error, others } = failure;
    let known = [error.submitted(), error.read()].iter().any(|loc| *loc != Loc::UNKNOWN);
    let error = if known { error } else { error.submitted_at(here) };
    let line = |loc: Loc| loc.resolve().map_or_else(Default::default, |line| (c_text(&line.file), line.line));
    let last = Last {
        status,
        op: c_text(error.op()),
        message: c_text(error.message()),
        text: c_text(&[&error].into_iter().chain(&others).map(Error::to_string).collect::<Vec<_>>().join("\n")),
        submitted: line(error.submitted()),
        read: line(error.read()),
    };
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|place| *place.borrow_mut() = Some(Box::new(last)));
    status
}

/// A text of the last error; empty if there is none. It stays where it is until the next error of the thread.
fn last<R>(read: impl FnOnce(&Last) -> R) -> Option<R> {
    LAST.try_with(|place| place.borrow().as_deref().map(read)).ok().flatten()
}

fn part(read: impl FnOnce(&Last) -> &CString) -> *const c_char {
    last(|last| read(last).as_ptr()).unwrap_or(c"".as_ptr())
}

/// The kind of this thread's last error; FORERUN_OK if there was none, or since forerun_error_clear().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_status() -> forerun_status {
    last(|last| last.status).unwrap_or(FORERUN_OK)
}

/// The whole text of this thread's last error: op, message, the line that submitted the op and the line that read its
/// result. This and the following texts are valid until the thread's next error or forerun_error_clear().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_text() -> *const c_char {
    part(|last| &last.text)
}

/// The message alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_message() -> *const c_char {
    part(|last| &last.message)
}

/// The op that failed; empty if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_op() -> *const c_char {
    part(|last| &last.op)
}

/// The file of the line that submitted the op; empty if unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_submitted_file() -> *const c_char {
    part(|last| &last.submitted.0)
}

/// The line that submitted the op; 0 if unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_submitted_line() -> u32 {
    last(|last| last.submitted.1).unwrap_or(0)
}

/// The file of the line that read the result; empty if unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_read_file() -> *const c_char {
    part(|last| &last.read.0)
}

/// The line that read the result; 0 if unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_read_line() -> u32 {
    last(|last| last.read.1).unwrap_or(0)
}

/// Forgets this thread's last error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_error_clear() {
    let _ = LAST.try_with(|place| *place.borrow_mut() = None);
}
