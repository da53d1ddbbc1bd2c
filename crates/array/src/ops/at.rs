//! Elements and rows by position, `x[i]`, `x[i, j]`: what loops over arrays do most.
//!
//! What is left of a meta once its first dimensions are gone does not depend on the positions, so each thread remembers it.

use crate::array::Array;
use crate::index::Index;
use forerun_base::{Error, ErrorKind, Layout, Result, Shape};
use forerun_plan::Meta;
use std::cell::Cell;

/// Entries of a thread's memory.
const KNOWN: usize = 64;

/// A meta, how many dimensions went, and what was left.
type Entry = Option<(u32, usize, &'static Meta)>;

thread_local! {
    static REST: [Cell<Entry>; KNOWN] = const { [const { Cell::new(None) }; KNOWN] };
}

/// The elements at positions of the first dimensions, which go: a view. As in Python, a negative position counts from the end.
pub fn at(x: &Array, positions: &[isize]) -> Result<Array> {
    let meta = x.meta();
    let layout = &meta.layout;
    if positions.len() > layout.shape.rank() {
        // Told as for any other index.
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
    Ok(x.view_as(rest(meta, positions.len()), offset as u64))
}

/// The meta without its first dimensions.
fn rest(meta: &'static Meta, gone: usize) -> &'static Meta {
    REST.with(|known| {
        let place = &known[(meta.id as usize * 4 + gone) % KNOWN];
        match place.get() {
            Some((id, count, rest)) if id == meta.id && count == gone => rest,
            _ => {
                let layout = &meta.layout;
                let shape = Shape::of(&layout.shape[gone..]);
                let rest = Meta::of(meta.dtype, Layout::strided(shape, &layout.strides()[gone..]), meta.device);
                place.set(Some((meta.id, gone, rest)));
                rest
            }
        }
    })
}
