//! Elements and rows by position, `x[i]` and `x[i, j]`, which loops over arrays use most.
//!
//! The meta that remains after dropping the first dimensions does not depend on the positions, so each thread caches
//! it.

use crate::array::Array;
use crate::array::index::Index;
use forerun_base::{Error, ErrorKind, Layout, Result, Shape};
use forerun_plan::Meta;
use std::cell::RefCell;
use std::sync::Arc;

/// Entries of a thread's cache.
const KNOWN: usize = 64;

/// The id of a meta, the number of dropped dimensions, and the remaining meta.
type Entry = Option<(u64, usize, Arc<Meta>)>;

thread_local! {
    static REST: RefCell<[Entry; KNOWN]> = const { RefCell::new([const { None }; KNOWN]) };
}

/// The elements at positions of the first dimensions, which are dropped: a view. As in Python, a negative position
/// counts from the end.
pub fn at(x: &Array, positions: &[isize]) -> Result<Array> {
    let meta = x.meta();
    let layout = &meta.layout;
    if positions.len() > layout.shape.rank() {
        // The general path reports the error.
        let items: Vec<Index> = positions.iter().map(|position| Index::At(*position)).collect();
        return super::index(x, &items);
    }
    let mut offset = x.offset() as isize;
    for (axis, &position) in positions.iter().enumerate() {
        let extent = layout.shape[axis] as isize;
        if position < -extent || position >= extent {
            let text = format!("index {position} is out of bounds for axis {axis} with size {extent}");
            return Err(Error::new(ErrorKind::Index, text).in_op("getitem"));
        }
        offset += (if position < 0 { position + extent } else { position }) * layout.strides()[axis];
    }
    Ok(with_rest(meta, positions.len(), |rest| x.view_as(rest, offset as u64)))
}

/// Calls `f` with the meta without its first dimensions.
fn with_rest<R>(meta: &Meta, gone: usize, f: impl FnOnce(&Meta) -> R) -> R {
    let find = || {
        let layout = &meta.layout;
        let shape = Shape::of(&layout.shape[gone..]);
        Meta::of(meta.dtype, Layout::strided(shape, &layout.strides()[gone..]), meta.device)
    };
    // A thread that is ending has no cache.
    if REST.try_with(|_| ()).is_err() {
        return f(&find());
    }
    REST.with_borrow_mut(|known| {
        let place = &mut known[(meta.id as usize * 4 + gone) % KNOWN];
        match place {
            Some((id, count, rest)) if *id == meta.id && *count == gone => f(rest),
            place => f(&place.insert((meta.id, gone, find())).2),
        }
    })
}
