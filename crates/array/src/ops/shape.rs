//! Views and rearrangements: another layout of the same cell if there is one, else a copy.

use crate::array::Array;
use crate::array::index::{self, Index};
use crate::ops::{cast, copy};
use crate::runtime::devices::common_device;
use crate::runtime::recipe::Recipe;
use crate::runtime::recipe_memo::ListKey;
use crate::runtime::submit::{SubmitInput, submit};
use crate::runtime::window::window;
use forerun_base::{Error, ErrorKind, Layout, Loc, MAX_RANK, Result, Shape};
use forerun_ops::{Op, infer};
use forerun_plan::{Attrs, Meta, Signature};
use smallvec::SmallVec;

pub(super) fn view(x: &Array, layout: Layout, offset: isize) -> Array {
    x.view_as(&Meta::of(x.dtype(), layout, x.device()), (x.offset() as isize + offset) as u64)
}

/// Any layout over the value of the array's cell: a view. `offset` counts from the cell's first element.
pub fn view_as(x: &Array, layout: Layout, offset: u64) -> Result<Array> {
    let base = x.base();
    let inside = layout
        .extent()
        .is_none_or(|(low, high)| offset as isize + low >= 0 && ((offset as isize + high) as usize) < base.size());
    if !inside {
        let text = format!("a view of shape {} reaches beyond an array of shape {}", layout.shape, base.shape());
        return Err(Error::new(ErrorKind::Index, text).in_op("view"));
    }
    Ok(view(&base, layout, offset as isize))
}

/// The elements an index selects: a view.
pub fn index(x: &Array, items: &[Index]) -> Result<Array> {
    let (layout, offset) = index::select(&x.layout(), items).map_err(|e| e.in_op("getitem"))?;
    Ok(view(x, layout, offset))
}

/// The same elements under another shape: a view where the layout allows it, else a copy.
pub fn reshape(x: &Array, dims: &[isize], loc: Loc) -> Result<Array> {
    if let ([-1], 1) = (dims, x.ndim()) {
        return Ok(x.clone());
    }
    let shape = infer::reshape(&x.shape(), dims)?;
    if x.meta().dense {
        // Threads cache dense metas, so this takes no lock.
        return Ok(x.view_as(&Meta::dense(x.dtype(), shape, x.device()), x.offset()));
    }
    match x.layout().reshape(shape) {
        Some(layout) => Ok(view(x, layout, 0)),
        None => Ok(view(&copy(x, loc)?, Layout::dense(shape), 0)),
    }
}

/// Permutes the dimensions, or reverses them without `axes`: a view.
pub fn transpose(x: &Array, axes: Option<&[isize]>) -> Result<Array> {
    let rank = x.ndim();
    let order: Vec<usize> = match axes {
        None => (0..rank).rev().collect(),
        Some(axes) => {
            let order: Result<Vec<usize>> = axes.iter().map(|&a| x.shape().axis(a)).collect();
            let order = order.map_err(|e| e.in_op("transpose"))?;
            if order.len() != rank || (0..rank).any(|i| !order.contains(&i)) {
                return Err(Error::new(ErrorKind::Value, "axes don't match array").in_op("transpose"));
            }
            order
        }
    };
    Ok(view(x, x.layout().permute(&order), 0))
}

/// Broadcasts to a shape: a view.
pub fn broadcast_to(x: &Array, shape: &[usize]) -> Result<Array> {
    let shape = Shape::new(shape)?;
    match x.layout().broadcast_to(shape) {
        Some(layout) => Ok(view(x, layout, 0)),
        None => {
            Err(Error::new(ErrorKind::Value, format!("cannot broadcast {} to {shape}", x.shape()))
                .in_op("broadcast_to"))
        }
    }
}

/// Inserts a dimension of extent 1 before `axis`: a view.
pub fn expand_dims(x: &Array, axis: isize) -> Result<Array> {
    let rank = x.ndim() as isize + 1;
    if axis < -rank || axis >= rank {
        let text = format!("axis {axis} is out of bounds for array of dimension {rank}");
        return Err(Error::new(ErrorKind::Index, text).in_op("expand_dims"));
    }
    let axis = if axis < 0 { axis + rank } else { axis } as usize;
    let mut items = vec![Index::ALL; x.ndim()];
    items.insert(axis, Index::NewAxis);
    index(x, &items)
}

/// Removes dimensions of extent 1, or only the named ones: a view.
pub fn squeeze(x: &Array, axes: Option<&[isize]>) -> Result<Array> {
    let shape = x.shape();
    let mask = match axes {
        None => (0..shape.rank()).filter(|i| shape[*i] == 1).fold(0, |m, i| m | 1 << i),
        some => infer::axes_mask(&shape, some).map_err(|e| e.in_op("squeeze"))?,
    };
    let items: Vec<Index> =
        (0..shape.rank()).map(|i| if mask >> i & 1 == 1 { Index::At(0) } else { Index::ALL }).collect();
    if let Some(i) = (0..shape.rank()).find(|i| mask >> i & 1 == 1 && shape[*i] != 1) {
        let text = format!("cannot squeeze axis {i} of extent {}", shape[i]);
        return Err(Error::new(ErrorKind::Value, text).in_op("squeeze"));
    }
    index(x, &items)
}

/// Maximum number of arrays that one record concatenates; more take several records. Keeps the operand count of a
/// segment within 16 bits.
const MOST_INPUTS: usize = 512;

/// Concatenates arrays along an axis.
pub fn concatenate(arrays: &[&Array], axis: isize, loc: Loc) -> Result<Array> {
    let name = Op::Concat.name();
    let Some(first) = arrays.first() else {
        return Err(Error::new(ErrorKind::Value, "needs at least one array").in_op(name));
    };
    if arrays.len() > MOST_INPUTS {
        let parts: Result<Vec<Array>> = arrays.chunks(MOST_INPUTS).map(|part| concatenate(part, axis, loc)).collect();
        return concatenate(&parts?.iter().collect::<Vec<_>>(), axis, loc);
    }
    let axis = first.shape().axis(axis).map_err(|e| e.in_op(name))?;
    let window = window();
    let key = ListKey::new(Op::Concat, first.device(), arrays.iter().map(|a| a.meta().id), &[axis as i64]);
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    if let Some(recipe) = unsafe { window.owner() }.listed(&key) {
        let inputs: SmallVec<[SubmitInput<'_>; 4]> = arrays.iter().map(|a| a.input()).collect();
        return Ok(submit(recipe, &inputs, [0; 2], loc));
    }
    let types: Vec<_> = arrays.iter().map(|a| (a.dtype(), a.shape())).collect();
    let (dtype, shape) = infer::concat(&types, axis)?;
    let same: Result<Vec<Array>> =
        arrays.iter().map(|a| if a.dtype() == dtype { Ok((*a).clone()) } else { cast(a, dtype, loc) }).collect();
    let same = same?;
    let metas: Vec<_> = same.iter().map(|a| a.meta()).collect();
    let out = Meta::dense(dtype, shape, common_device(name, &metas)?);
    let signature = Signature::of(Op::Concat, &metas, Attrs::Concat(axis), &out);
    let inputs: Vec<SubmitInput<'_>> = same.iter().map(|a| a.input()).collect();
    let recipe = Recipe::of(signature);
    let recipe = if arrays.iter().all(|a| a.dtype() == dtype) {
        // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
        unsafe { window.owner() }.remember_listed(key, &recipe)
    } else {
        window.keep(recipe)
    };
    Ok(submit(recipe, &inputs, [0; 2], loc))
}

/// Stacks arrays of one shape along a new axis.
pub fn stack(arrays: &[&Array], axis: isize, loc: Loc) -> Result<Array> {
    if arrays.first().is_some_and(|a| a.ndim() == MAX_RANK) {
        return Err(Error::new(ErrorKind::Value, format!("at most {MAX_RANK} dimensions are supported")).in_op("stack"));
    }
    let expanded: Result<Vec<Array>> = arrays.iter().map(|a| expand_dims(a, axis)).collect();
    let expanded = expanded.map_err(|e| e.in_op("stack"))?;
    if expanded.iter().any(|a| a.shape() != expanded[0].shape()) {
        return Err(Error::new(ErrorKind::Value, "all input arrays must have the same shape").in_op("stack"));
    }
    let axis = expanded.first().map_or(Ok(0), |a| a.shape().axis(axis))?;
    concatenate(&expanded.iter().collect::<Vec<_>>(), axis as isize, loc)
}
