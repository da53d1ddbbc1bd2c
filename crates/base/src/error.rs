//! The error type: what went wrong, in which op, at which line.

use crate::Loc;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A result, by default with this crate's error, so that programs that import the name may have another.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error; Python raises the exception that NumPy would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A bad argument or shape: `ValueError`.
    Value,
    /// A bad dtype or argument type: `TypeError`.
    Type,
    /// An index or axis out of bounds: `IndexError`.
    Index,
    /// A number that does not fit the dtype: `OverflowError`.
    Overflow,
    /// An unexpected NaN or infinity: `FloatingPointError`.
    Float,
    /// A matrix that an op cannot handle: `numpy.linalg.LinAlgError`, a `ValueError`.
    Linear,
    /// Out of memory: `MemoryError`.
    Memory,
    /// A wait was interrupted: `KeyboardInterrupt`.
    Interrupted,
    /// An error of the engine or of a kernel: `RuntimeError`.
    Runtime,
}

/// An error. Cheap to clone: everything that depends on a failed op may raise it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    op: &'static str,
    message: String,
    submitted: Loc,
    read: Loc,
}

impl Error {
    /// An error that is not attributed to an op yet.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Arc::new(Inner { kind, op: "", message: message.into(), submitted: Loc::UNKNOWN, read: Loc::UNKNOWN }))
    }

    /// The error of something that panicked.
    pub fn panicked(what: &str, panic: &(dyn Any + Send)) -> Error {
        let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(text), _) => text,
            (_, Some(text)) => text.as_str(),
            _ => "without a message",
        };
        Error::new(ErrorKind::Runtime, format!("{what} panicked: {text}"))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Error {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the op, unless one is set.
    pub fn in_op(self, op: &'static str) -> Error {
        if self.0.op.is_empty() { self.with(|e| e.op = op) } else { self }
    }

    /// Derives an error of another op from this one: `text`, then the cause. The lines stay.
    pub fn for_op(self, op: &'static str, text: &str) -> Error {
        self.with(|e| {
            let cause = std::mem::take(&mut e.message);
            e.message = if e.op.is_empty() { format!("{text}: {cause}") } else { format!("{text}: {}: {cause}", e.op) };
            e.op = op;
        })
    }

    /// Sets the line that submitted the op, unless one is set.
    pub fn submitted_at(self, loc: Loc) -> Error {
        if self.0.submitted == Loc::UNKNOWN { self.with(|e| e.submitted = loc) } else { self }
    }

    /// Sets the line that read the result; each read sets its own.
    pub fn read_at(self, loc: Loc) -> Error {
        self.with(|e| e.read = loc)
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The op that failed; empty if there is none.
    pub fn op(&self) -> &'static str {
        self.0.op
    }

    /// The message, without op and lines.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The line that submitted the op.
    pub fn submitted(&self) -> Loc {
        self.0.submitted
    }

    /// The line that read the result.
    pub fn read(&self) -> Loc {
        self.0.read
    }

    /// Whether both are the same failure, however often it was cloned or read.
    pub fn same_failure(&self, other: &Error) -> bool {
        self.0.kind == other.0.kind
            && self.0.op == other.0.op
            && self.0.submitted == other.0.submitted
            && self.0.message == other.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &*self.0;
        if !e.op.is_empty() {
            write!(f, "{}: ", e.op)?;
        }
        f.write_str(&e.message)?;
        if e.submitted != Loc::UNKNOWN {
            write!(f, "\n  submitted at {}", e.submitted.text())?;
        }
        if e.read != Loc::UNKNOWN {
            write!(f, "\n  read at {}", e.read.text())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.0.kind)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cause_wins_and_each_read_is_named() {
        let e = Error::new(ErrorKind::Value, "inner dimensions differ").in_op("matmul").in_op("add");
        assert_eq!(e.to_string(), "matmul: inner dimensions differ");
        let here = Loc::caller();
        let e = e.submitted_at(here).submitted_at(Loc::foreign("a.py", 1, "f")).read_at(here);
        assert_eq!(e.submitted(), here);
        assert!(e.to_string().contains("submitted at") && e.to_string().contains("read at"));
        let follows = e.clone().for_op("restore", "nothing is left");
        assert!(
            follows.to_string().starts_with("restore: nothing is left: matmul: inner dimensions differ\n  submitted")
        );
    }
}
