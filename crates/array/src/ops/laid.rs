//! An index that contains arrays, decomposed: the view that the basic items give, and the dimensions of it that arrays
//! index.
//!
//! Invariant: as in NumPy, the dimensions of the index arrays replace the first indexed dimension, or come first if
//! something other than arrays and integers is between them.

use crate::array::Array;
use crate::array::index::Index;
use crate::ops::{broadcast_to, full, index, transpose};
use crate::runtime::devices::on_device;
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Scalar, Shape};

/// One item of an index that may contain arrays.
#[derive(Clone)]
pub enum Item {
    /// An integer, a slice, a new axis or an ellipsis.
    Basic(Index),
    /// Positions along one dimension: an integer array.
    Places(Array),
    /// A boolean array over as many dimensions as it has.
    Mask(Array),
    /// A 0-d mask with a known value.
    Truth(bool),
}

/// An array that indexes dimensions of the view.
pub(super) struct Part {
    pub(super) array: Array,
    /// The first dimension of the view that it indexes, and that of the indexed array.
    pub(super) at: usize,
    pub(super) axis: usize,
}

pub(super) struct Laid {
    pub(super) seen: Array,
    /// The items that gave the view, without an ellipsis; dimensions indexed by arrays are whole.
    basic: Vec<Index>,
    /// Integer arrays, or one mask.
    pub(super) parts: Vec<Part>,
    /// How many elements the 0-d masks select: 0 or 1.
    pub(super) truth: Option<usize>,
    /// The position in the result of the first dimension of the index arrays.
    pub(super) place: usize,
}

fn refused<T>(text: String) -> Result<T> {
    Err(Error::new(ErrorKind::Index, text))
}

impl Laid {
    pub(super) fn new(x: &Array, items: &[Item], loc: Loc) -> Result<Laid> {
        let (shape, rank) = (x.shape(), x.ndim());
        let named: usize = items
            .iter()
            .map(|item| match item {
                Item::Basic(Index::At(_) | Index::Slice { .. }) | Item::Places(_) => 1,
                Item::Mask(mask) => mask.ndim(),
                Item::Basic(Index::NewAxis | Index::Ellipsis) | Item::Truth(_) => 0,
            })
            .sum();
        if items.iter().filter(|item| matches!(item, Item::Basic(Index::Ellipsis))).count() > 1 {
            return refused("an index can only have a single ellipsis ('...')".into());
        }
        if named > rank {
            let text = format!("too many indices for array: array is {rank}-dimensional, but {named} were indexed");
            return refused(text);
        }
        let mut basic = Vec::with_capacity(rank);
        let mut laid = Laid { seen: x.clone(), basic: Vec::new(), parts: Vec::new(), truth: None, place: 0 };
        // The dimension of the array that the next item indexes, and that of the view.
        let (mut axis, mut at) = (0, 0);
        let (mut inside, mut runs) = (false, 0);
        for item in items {
            if let Item::Basic(Index::Slice { .. } | Index::NewAxis | Index::Ellipsis) = item {
                inside = false;
            } else if !inside {
                (inside, runs) = (true, runs + 1);
                laid.place = at;
            }
            match item {
                Item::Basic(item @ Index::At(_)) => {
                    basic.push(*item);
                    axis += 1;
                }
                Item::Basic(item @ Index::Slice { .. }) => {
                    basic.push(*item);
                    (axis, at) = (axis + 1, at + 1);
                }
                Item::Basic(Index::NewAxis) => {
                    basic.push(Index::NewAxis);
                    at += 1;
                }
                Item::Basic(Index::Ellipsis) => {
                    basic.extend(vec![Index::ALL; rank - named]);
                    (axis, at) = (axis + rank - named, at + rank - named);
                }
                Item::Places(array) => {
                    basic.push(Index::ALL);
                    laid.parts.push(Part { array: array.clone(), at, axis });
                    (axis, at) = (axis + 1, at + 1);
                }
                Item::Mask(mask) => {
                    let here = Shape::of(&shape[axis..axis + mask.ndim()]);
                    for (d, extent) in mask.shape().iter().enumerate() {
                        if here[d] != *extent && *extent != 0 {
                            return refused(format!(
                                "boolean index did not match indexed array along axis {}; size of axis is {} but size \
                                 of corresponding boolean axis is {extent}",
                                axis + d,
                                here[d]
                            ));
                        }
                    }
                    // A mask without elements selects nothing, whatever its shape.
                    let nothing = || full(&here, Scalar::Bool(false), DType::Bool, loc);
                    let mask = if mask.shape() == here { mask.clone() } else { on_device(x.device(), nothing)? };
                    basic.extend(vec![Index::ALL; here.rank()]);
                    laid.parts.push(Part { array: mask, at, axis });
                    (axis, at) = (axis + here.rank(), at + here.rank());
                }
                Item::Truth(truth) => laid.truth = Some(laid.truth.unwrap_or(1) & *truth as usize),
            }
        }
        if runs > 1 {
            laid.place = 0;
        }
        basic.extend(vec![Index::ALL; rank - axis]);
        laid.seen = index(x, &basic)?;
        laid.basic = basic;
        Ok(laid)
    }

    /// The common broadcast shape of the integer arrays.
    pub(super) fn common(&self) -> Result<Shape> {
        let mut shape = self.truth.map_or(Shape::SCALAR, |count| Shape::of(&[count]));
        for part in &self.parts {
            let Some(both) = shape.broadcast(&part.array.shape()) else {
                let all: Vec<String> = self.parts.iter().map(|part| part.array.shape().to_string()).collect();
                let text = "shape mismatch: indexing arrays could not be broadcast together with shapes";
                return refused(format!("{text} {}", all.join(" ")));
            };
            shape = both;
        }
        // A 0-d index is an integer, which selects an element even if the other indices select none.
        let names = |part: &&Part| shape.size() > 0 || part.array.ndim() == 0;
        match self.parts.iter().filter(names).find(|part| self.seen.shape()[part.at] == 0) {
            Some(part) => refused(format!("index out of bounds: axis {} is empty", part.axis)),
            None => shape.checked(),
        }
    }

    /// The view with all dimensions of the indexed array, so that errors can name them; and the items that convert such
    /// a view, with `rank` dimensions instead of the indexed one, to the requested view.
    pub(super) fn straight(&self, x: &Array, rank: usize) -> Result<(Array, Vec<Index>)> {
        let kept = self.basic.iter().filter(|item| **item != Index::NewAxis).map(|item| match item {
            Index::At(-1) => Index::Slice { start: Some(-1), stop: None, step: 1 },
            Index::At(i) => Index::Slice { start: Some(*i), stop: Some(i + 1), step: 1 },
            item => *item,
        });
        let mut back = Vec::new();
        let mut axis = 0;
        for item in &self.basic {
            match item {
                Index::NewAxis => back.push(Index::NewAxis),
                Index::At(_) => back.push(Index::At(0)),
                _ if self.parts.iter().any(|part| part.axis == axis) => back.extend(vec![Index::ALL; rank]),
                _ => back.push(Index::ALL),
            }
            axis += (*item != Index::NewAxis) as usize;
        }
        Ok((index(x, &kept.collect::<Vec<_>>())?, back))
    }

    /// The integer arrays; the first is broadcast to the common shape.
    pub(super) fn arrays(&self, common: &Shape) -> Result<Vec<Array>> {
        let wide = |(i, part): (usize, &Part)| match i {
            0 if part.array.shape() != *common => broadcast_to(&part.array, common),
            _ => Ok(part.array.clone()),
        };
        self.parts.iter().enumerate().map(wide).collect()
    }

    /// The dimensions of the view that no array indexes.
    pub(super) fn rest(&self) -> Vec<usize> {
        (0..self.seen.ndim()).filter(|d| self.parts.iter().all(|part| part.at != *d)).collect()
    }

    /// The shape of the selection: `common` inserted among the remaining extents.
    pub(super) fn result(&self, common: &[usize], rest: &[usize]) -> Result<Shape> {
        let rest: Vec<usize> = rest.iter().map(|d| self.seen.shape()[*d]).collect();
        let (before, after) = rest.split_at(self.place);
        Shape::new(&[before, common, after].concat())?.checked()
    }
}

/// A view with `count` dimensions moved from `from` to `to`.
pub(super) fn moved(x: &Array, from: usize, count: usize, to: usize) -> Result<Array> {
    if from == to || count == 0 {
        return Ok(x.clone());
    }
    let mut order: Vec<isize> = (0..x.ndim() as isize).collect();
    let block: Vec<isize> = order.drain(from..from + count).collect();
    order.splice(to..to, block);
    transpose(x, Some(&order))
}
