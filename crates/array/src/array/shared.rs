//! An array that several threads use through one reference.
//!
//! A handle skips the cell's lock while it is the only one, so two threads must not use it at once: [`Array`] is not
//! `Sync`. Here a second handle is kept, so that every use takes the lock.

use crate::array::Array;

/// An array behind a reference that threads share. `Send` and `Sync`, unlike [`Array`], which is only `Send`.
///
/// ```
/// # use forerun_array as forerun;
/// use forerun::prelude::*;
/// let x = SharedArray::from(ones([2]));
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| assert_eq!((x.handle() + 1.0).to_string(), "[2. 2.]"));
///     }
/// });
/// ```
pub struct SharedArray {
    array: Array,
    /// Never used: it makes the number of handles at least two.
    _other: Array,
}

// SAFETY: through a reference only `handle` is reachable, which counts one more handle, atomically. There are always at
// least two, so the handles that it returns take the cell's lock wherever they read or replace its value.
unsafe impl Sync for SharedArray {}

impl SharedArray {
    /// A handle to the same elements, for the calling thread.
    pub fn handle(&self) -> Array {
        self.array.clone()
    }
}

impl From<Array> for SharedArray {
    fn from(array: Array) -> SharedArray {
        SharedArray { _other: array.clone(), array }
    }
}

impl Clone for SharedArray {
    fn clone(&self) -> SharedArray {
        SharedArray::from(self.handle())
    }
}

impl std::fmt::Debug for SharedArray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.handle().fmt(f)
    }
}
