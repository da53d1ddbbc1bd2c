//! An index with arrays in it, taken apart: a view that the basic items give, and which of its dimensions arrays name.
//!
//! Invariant: as in NumPy, the dimensions of the arrays stand where the first of them stood, or first of all if something other
//! than arrays and integers stands between them.

use crate::array::Array;
use crate::array::index::Index;
use crate::ops::{broadcast_to, full, index, transpose};
use crate::runtime::devices::on_device;
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Scalar, Shape};

/// One item of an index that may name elements one by one.
#[derive(Clone)]
pub enum Item {
    /// An integer, a slice, a new axis or an ellipsis.
    Basic(Index),
    /// Positions along one dimension: an array of integers.
    Places(Array),
    /// A mask over as many dimensions as it has: an array of truth values.
    Mask(Array),
    /// A mask without dimensions, whose value is known.
    Truth(bool),
}

/// What names elements of the view.
pub(super) struct Part {
    pub(super) array: Array,
    /// The first dimension of the view that it names, and that of the array that was indexed.
    pub(super) at: usize,
    pub(super) axis: usize,
}

pub(super) struct Laid {
    pub(super) seen: Array,
    /// The items that gave the view, without an ellipsis; what arrays name is whole.
    basic: Vec<Index>,
    /// Arrays of integers, or one mask.
    pub(super) parts: Vec<Part>,
    /// What masks without dimensions choose: 0 or 1.
    pub(super) truth: Option<usize>,
    /// Which dimension of the result the first of the arrays is.
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
        // The dimension of the array that the next item names, and the one of the view.
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
                    // A mask without elements names nothing, of whatever it is laid over.
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

    /// The shape that arrays of integers have together.
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
        // One index alone is an integer, which names something even where nothing else does.
        let names = |part: &&Part| shape.size() > 0 || part.array.ndim() == 0;
        match self.parts.iter().filter(names).find(|part| self.seen.shape()[part.at] == 0) {
            Some(part) => refused(format!("index out of bounds: axis {} is empty", part.axis)),
            None => shape.checked(),
        }
    }

    /// The view with all dimensions of the array that was indexed, in place: what fails can then name them. And what makes of
    /// such a view, with `rank` dimensions in place of the named one, the one that was asked for.
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

    /// The arrays of integers; the first has the shape of all together.
    pub(super) fn arrays(&self, common: &Shape) -> Result<Vec<Array>> {
        let wide = |(i, part): (usize, &Part)| match i {
            0 if part.array.shape() != *common => broadcast_to(&part.array, common),
            _ => Ok(part.array.clone()),
        };
        self.parts.iter().enumerate().map(wide).collect()
    }

    /// The dimensions of the view that no array names.
    pub(super) fn rest(&self) -> Vec<usize> {
        (0..self.seen.ndim()).filter(|d| self.parts.iter().all(|part| part.at != *d)).collect()
    }

    /// The shape of what is named: `common` among the extents of the rest.
    pub(super) fn result(&self, common: &[usize], rest: &[usize]) -> Result<Shape> {
        let rest: Vec<usize> = rest.iter().map(|d| self.seen.shape()[*d]).collect();
        let (before, after) = rest.split_at(self.place);
        Shape::new(&[before, common, after].concat())?.checked()
    }
}

/// A view with `count` dimensions from `from` on moved to `to`, among the others.
pub(super) fn moved(x: &Array, from: usize, count: usize, to: usize) -> Result<Array> {
    if from == to || count == 0 {
        return Ok(x.clone());
    }
    let mut order: Vec<isize> = (0..x.ndim() as isize).collect();
    let block: Vec<isize> = order.drain(from..from + count).collect();
    order.splice(to..to, block);
    transpose(x, Some(&order))
}
