//! Advanced indexing: reads and writes through integer arrays and masks. Integer arrays never need a wait. The shape of
//! a read through a mask depends on how many of its elements are true, so that read waits; a write through a mask does
//! not.

use crate::array::index::Index;
use crate::array::{Arg, Array};
use crate::observe::read_hooks;
use crate::ops::create::element;
use crate::ops::laid::{Item, Laid, moved};
use crate::ops::routine::routine_with;
use crate::ops::write::{assign_routine, assign_rows, assign_where, refuse_read_only};
use crate::ops::{arange, broadcast_to, cast, copy, full, index, pointwise, reduce, reshape, routine, squeeze, take};
use crate::ops::{transfer, view_as};
use crate::runtime::devices::{self, on_device};
use forerun_base::{DType, Error, ErrorKind, Kind, Layout, Loc, Result, Scalar, Shape};
use forerun_ops::masking::{Chosen, Compression};
use forerun_ops::scattering::{Axes, Rows};
use forerun_ops::{AlongAxis, Attributes, Beyond, List, Masking, Point, ReduceKind, Scattering, infer};

/// The number of true elements of a mask, as an int64 scalar array.
pub fn count(mask: &Array, loc: Loc) -> Result<Array> {
    reduce(ReduceKind::Sum, mask, None, false, loc)
}

/// The positions where a mask is true, given that `count` elements are: one row of positions per dimension.
pub fn nonzero(mask: &Array, count: usize, loc: Loc) -> Result<Array> {
    routine(Masking::Nonzero, &[mask], &Chosen { count: count as i64 }, loc)
}

/// The masks whose true elements must be counted before the index can be read, or written, in order.
pub fn uncounted(items: &[Item], writing: bool) -> Vec<&Array> {
    let masks = items.iter().filter_map(|item| match item {
        Item::Mask(mask) => Some(mask),
        _ => None,
    });
    let alone = !items.iter().any(|item| matches!(item, Item::Places(_) | Item::Truth(_)));
    let masks: Vec<&Array> = masks.collect();
    if writing && alone && masks.len() == 1 { Vec::new() } else { masks }
}

/// The items with positions instead of masks, given the number of true elements of each mask.
fn counted(items: &[Item], counts: &[usize], loc: Loc) -> Result<Vec<Item>> {
    let mut counts = counts.iter();
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        match (item, counts.as_slice().first()) {
            (Item::Mask(mask), Some(_)) => {
                let count = *counts.next().expect("there is a count per mask");
                let rows = nonzero(mask, count, loc)?;
                if mask.ndim() == 0 {
                    all.push(Item::Truth(count > 0));
                }
                for d in 0..mask.ndim() {
                    all.push(Item::Places(index(&rows, &[Index::At(d as isize)])?));
                }
            }
            _ => all.push(item.clone()),
        }
    }
    Ok(all)
}

/// Converts indices to a dtype that kernels read.
fn as_places(items: &[Item], home: &Array, loc: Loc) -> Result<Vec<Item>> {
    let one = |item: &Item| match item {
        Item::Places(array) if array.dtype().kind() != Kind::Int => {
            Err(Error::new(ErrorKind::Index, "arrays used as indices must be of integer (or boolean) type"))
        }
        Item::Places(array) => {
            let near = transfer_to(array, home, loc)?;
            let plain = matches!(near.dtype(), DType::I32 | DType::I64);
            Ok(Item::Places(if plain { near } else { cast(&near, DType::I64, loc)? }))
        }
        Item::Mask(mask) => Ok(Item::Mask(transfer_to(mask, home, loc)?)),
        item => Ok(item.clone()),
    };
    items.iter().map(one).collect()
}

fn transfer_to(x: &Array, home: &Array, loc: Loc) -> Result<Array> {
    if x.device() == home.device() { Ok(x.clone()) } else { transfer(x, home.device(), loc) }
}

/// The integer array that is the whole index, if kernels can read it as it is and the axis is not empty.
fn sole<'a>(x: &Array, items: &'a [Item]) -> Option<&'a Array> {
    match items {
        [Item::Places(indices)] if names_rows(x, indices) => Some(indices),
        _ => None,
    }
}

fn names_rows(x: &Array, indices: &Array) -> bool {
    matches!(indices.dtype(), DType::I32 | DType::I64)
        && indices.device() == x.device()
        && x.extents().first().is_some_and(|extent| *extent > 0)
}

/// The rows that an array of integers names, copied, if kernels read it as it is and there is something to name.
pub fn get_rows(x: &Array, indices: &Array, loc: Loc) -> Option<Result<Array>> {
    names_rows(x, indices).then(|| take(x, indices, 0, Beyond::Raise, loc).map_err(|e| e.in_op("getitem")))
}

/// A copy of the elements that an index selects. `counts` are those of the masks that [`uncounted`] returned.
pub fn getitem(x: &Array, items: &[Item], counts: &[usize], loc: Loc) -> Result<Array> {
    if let Some(indices) = sole(x, items) {
        return take(x, indices, 0, Beyond::Raise, loc).map_err(|e| e.in_op("getitem"));
    }
    let named = || -> Result<Array> {
        let items = as_places(items, x, loc)?;
        let masks: Vec<&Array> = uncounted(&items, false);
        if masks.len() != counts.len() {
            return Err(Error::new(ErrorKind::Runtime, "the number of true elements of a mask is missing"));
        }
        if uncounted(&items, true).is_empty() && masks.len() == 1 {
            let laid = Laid::new(x, &items, loc)?;
            let part = &laid.parts[0];
            let compression = Compression { axis: part.at as isize, count: counts[0] as i64 };
            let chosen = routine(Masking::Compress, &[&laid.seen, &part.array], &compression, loc)?;
            return moved(&chosen, part.at, 1, laid.place);
        }
        gather(x, &Laid::new(x, &counted(&items, counts, loc)?, loc)?, loc)
    };
    named().map_err(|e| e.in_op("getitem"))
}

/// Gathers the elements that integer arrays select.
fn gather(x: &Array, laid: &Laid, loc: Loc) -> Result<Array> {
    let common = laid.common()?;
    let arrays = laid.arrays(&common)?;
    let Laid { seen, parts, .. } = laid;
    let rank = common.rank();
    let Some(first) = parts.first() else {
        // The index consists only of 0-d masks: everything, or nothing.
        let wide = laid.result(&common, &laid.rest())?;
        let mut items = vec![Index::ALL; laid.place];
        items.push(Index::NewAxis);
        let all = index(seen, &items)?;
        return if wide.size() == 0 { full(&wide, Scalar::Int(0), seen.dtype(), loc) } else { copy(&all, loc) };
    };
    if parts.len() == 1 {
        let taken = match first.axis == first.at {
            true => take(seen, &arrays[0], first.at as isize, Beyond::Raise, loc)?,
            false => {
                let (straight, back) = laid.straight(x, rank)?;
                index(&take(&straight, &arrays[0], first.axis as isize, Beyond::Raise, loc)?, &back)?
            }
        };
        return moved(&taken, first.at, rank, laid.place);
    }
    // Adjacent indexed dimensions are folded into one.
    let together = parts.iter().enumerate().all(|(i, part)| part.at == first.at + i);
    let rest = laid.rest();
    let (side_by_side, at) = match together {
        true => (seen.clone(), first.at),
        false => {
            let order: Vec<isize> =
                parts.iter().map(|part| part.at).chain(rest.iter().copied()).map(|d| d as isize).collect();
            (super::transpose(seen, Some(&order))?, 0)
        }
    };
    let shape = side_by_side.shape();
    let extents = &shape[at..at + parts.len()];
    let flat = [&shape[..at], &[extents.iter().product()], &shape[at + parts.len()..]].concat();
    let collapses = side_by_side.layout().reshape(Shape::new(&flat)?).is_some();
    let each: usize = rest.iter().map(|d| seen.shape()[*d]).product();
    if !collapses && common.size() * each < seen.size() {
        // Gathering the elements one by one costs less than copying the whole.
        let places = rows_apart(&locate(laid, &arrays, loc)?, laid, &rest, loc)?;
        let whole = seen.base();
        let cell = view_as(seen, Layout::dense(Shape::new(&[whole.size()])?), 0)?;
        return moved(&take(&cell, &places, 0, Beyond::Raise, loc)?, 0, rank, laid.place);
    }
    let mut strides = List::new();
    let mut stride: usize = extents.iter().product();
    for extent in extents {
        stride /= (*extent).max(1);
        strides.push(stride as i64);
    }
    let axes = Axes {
        axes: parts.iter().map(|part| part.axis as i64).collect(),
        extents: extents.iter().map(|extent| *extent as i64).collect(),
        strides,
    };
    let inputs: Vec<&Array> = arrays.iter().collect();
    let places = routine_with(Scattering::Positions.into(), &inputs, &axes.encode(), Some([0; 2]), loc)?;
    let flat: Vec<isize> = flat.iter().map(|d| *d as isize).collect();
    let flattened = reshape(&side_by_side, &flat, loc)?;
    moved(&take(&flattened, &places, at as isize, Beyond::Raise, loc)?, at, rank, laid.place)
}

/// Positions of the selected elements within the cell.
fn locate(laid: &Laid, arrays: &[Array], loc: Loc) -> Result<Array> {
    let (shape, layout) = (laid.seen.shape(), laid.seen.layout());
    let axes = Axes {
        axes: laid.parts.iter().map(|part| part.axis as i64).collect(),
        extents: laid.parts.iter().map(|part| shape[part.at] as i64).collect(),
        strides: laid.parts.iter().map(|part| layout.strides()[part.at] as i64).collect(),
    };
    let inputs: Vec<&Array> = arrays.iter().collect();
    routine_with(Scattering::Positions.into(), &inputs, &axes.encode(), Some([laid.seen.offset(), 0]), loc)
}

/// Positions of the elements of rows, from the positions of their first elements.
fn rows_apart(first: &Array, laid: &Laid, rest: &[usize], loc: Loc) -> Result<Array> {
    let layout = laid.seen.layout();
    let dims: Vec<(usize, isize)> = rest.iter().map(|d| (layout.shape[*d], layout.strides()[*d])).collect();
    spread_rows(first, &dims, loc)
}

/// The same for rows with these extents and strides.
fn spread_rows(first: &Array, dims: &[(usize, isize)], loc: Loc) -> Result<Array> {
    let mut all = first.clone();
    for (extent, stride) in dims {
        let steps = on_device(first.device(), || {
            arange(Scalar::Int(0), Scalar::Int(*extent as i64), Scalar::Int(1), Some(DType::I64), loc)
        })?;
        let apart = pointwise(Point::Multiply, &[Arg::Array(&steps), Arg::Scalar(Scalar::Int(*stride as i64))], loc)?;
        let wide = index(&all, &[Index::Ellipsis, Index::NewAxis])?;
        all = pointwise(Point::Add, &[Arg::Array(&wide), Arg::Array(&apart)], loc)?;
    }
    Ok(all)
}

/// `x[items] = value`. If several indices select one element, the last value wins. `counts` are those of the masks that
/// [`uncounted`] returned.
pub fn setitem(x: &Array, items: &[Item], counts: &[usize], value: Arg<'_>, loc: Loc) -> Result<()> {
    refuse_read_only(x)?;
    if let Some(indices) = sole(x, items).filter(|indices| takes_indices(x, indices)) {
        return put_rows(x, indices, false, value, loc).map_err(|e| e.in_op("setitem"));
    }
    let named = || -> Result<()> {
        let items = as_places(items, x, loc)?;
        if uncounted(&items, true).len() != counts.len() {
            return Err(Error::new(ErrorKind::Runtime, "the number of true elements of a mask is missing"));
        }
        let laid = Laid::new(x, &counted(&items, counts, loc)?, loc)?;
        let value = as_value(value, x, loc)?;
        if items.iter().any(|item| matches!(item, Item::Mask(_))) && counts.is_empty() {
            return choose(&laid, &value, loc);
        }
        scatter(x, &laid, &value, loc)
    };
    named().map_err(|e| e.in_op("setitem"))
}

/// Whether [`put_rows`] can write the selected elements: the array covers its whole cell, on the host, and no observer
/// wants to see the positions.
fn takes_indices(x: &Array, indices: &Array) -> bool {
    !x.is_view()
        && indices.layout().is_dense()
        && devices::of(x.device()).is_none()
        && read_hooks::bits(read_hooks::OBSERVED) == 0
}

/// Writes the rows that indices select along the first axis, or with `flat` the elements of the flattened array. The
/// kernel reads the indices directly, without computing positions from them.
fn put_rows(x: &Array, indices: &Array, flat: bool, value: Arg<'_>, loc: Loc) -> Result<()> {
    let shape = x.shape();
    let row = if flat { &[] } else { &shape[1..] };
    let result = Shape::new(&[&indices.shape()[..], row].concat())?.checked()?;
    let value = as_value(value, x, loc)?;
    let values = match value.size() {
        1 => dense(&value, x.dtype(), loc)?,
        _ => dense(&broadcast(&narrowed(&value, result.rank())?, &result)?, x.dtype(), loc)?,
    };
    if result.size() == 0 { Ok(()) } else { assign_rows(x, indices, flat, &values, loc) }
}

/// Writes values at positions of the flattened array, one each or one for all. Returns false, without writing, if that
/// would cost more than computing the positions.
pub fn put(x: &Array, indices: &Array, value: Arg<'_>, loc: Loc) -> Result<bool> {
    refuse_read_only(x)?;
    let fits = match value {
        Arg::Scalar(_) => true,
        Arg::Array(value) => value.size() == 1 || value.shape() == indices.shape(),
    };
    let plain = matches!(indices.dtype(), DType::I32 | DType::I64) && indices.device() == x.device();
    if !fits || !plain || x.size() == 0 || !takes_indices(x, indices) {
        return Ok(false);
    }
    put_rows(x, indices, true, value, loc).map_err(|e| e.in_op("put")).map(|()| true)
}

/// As in NumPy, leading dimensions of extent 1 are dropped.
fn narrowed(value: &Array, rank: usize) -> Result<Array> {
    let lead = value.ndim().saturating_sub(rank);
    match value.shape()[..lead].iter().all(|d| *d == 1) {
        true if lead > 0 => squeeze(value, Some(&(0..lead as isize).collect::<Vec<_>>())),
        _ => Ok(value.clone()),
    }
}

fn broadcast(value: &Array, shape: &Shape) -> Result<Array> {
    broadcast_to(value, shape).map_err(|_| {
        let text = "shape mismatch: value array of shape";
        let text = format!("{text} {} could not be broadcast to indexing result of shape {shape}", value.shape());
        Error::new(ErrorKind::Value, text)
    })
}

fn dense(x: &Array, dtype: DType, loc: Loc) -> Result<Array> {
    match (x.dtype() == dtype, x.layout().is_dense()) {
        (true, true) => Ok(x.clone()),
        (true, false) => copy(x, loc),
        (false, _) => cast(x, dtype, loc),
    }
}

/// Writes a value where a mask is true; both broadcast to the array.
pub fn copy_where(x: &Array, mask: &Array, value: Arg<'_>, loc: Loc) -> Result<()> {
    refuse_read_only(x)?;
    let named = || -> Result<()> {
        let mask = match mask.dtype() {
            DType::Bool => transfer_to(mask, x, loc)?,
            dtype => return Err(Error::new(ErrorKind::Type, format!("the mask must be bool, not {dtype}"))),
        };
        let value = as_value(value, x, loc)?;
        let (mask, wide) = (broadcast(&mask, &x.shape())?, broadcast(&narrowed(&value, x.ndim())?, &x.shape())?);
        let wide = if wide.dtype() == x.dtype() { wide } else { cast(&wide, x.dtype(), loc)? };
        assign_where(x, &mask, Arg::Array(&wide), loc)
    };
    named().map_err(|e| e.in_op("copy_where"))
}

/// The value to write, as an array on the target's device.
fn as_value(value: Arg<'_>, x: &Array, loc: Loc) -> Result<Array> {
    match value {
        Arg::Scalar(s) => {
            s.to_bits_checked(x.dtype())?;
            infer::check_cast(s.default_dtype(), x.dtype())?;
            match x.device().is_host() {
                // One element needs no record.
                true => on_device(x.device(), || element(s, x.dtype(), loc)),
                false => on_device(x.device(), || full(&[], s, x.dtype(), loc)),
            }
        }
        Arg::Array(v) => transfer_to(v, x, loc),
    }
}

/// Writes the elements that integer arrays select.
fn scatter(x: &Array, laid: &Laid, value: &Array, loc: Loc) -> Result<()> {
    let (common, rest) = (laid.common()?, laid.rest());
    let result = laid.result(&common, &rest)?;
    let wide = broadcast(&narrowed(value, result.rank())?, &result)?;
    if laid.parts.is_empty() {
        // The index consists only of 0-d masks: everything, or nothing.
        let mut items = vec![Index::ALL; laid.place];
        items.push(Index::At(0));
        return match result.size() {
            0 => Ok(()),
            _ => super::assign(&laid.seen, Arg::Array(&index(&wide, &items)?), loc),
        };
    }
    if result.size() == 0 {
        return Ok(());
    }
    let places = locate(laid, &laid.arrays(&common)?, loc)?;
    let values = match value.size() {
        1 => dense(value, x.dtype(), loc)?,
        _ => dense(&moved(&wide, laid.place, common.rank(), 0)?, x.dtype(), loc)?,
    };
    let layout = laid.seen.layout();
    let rows = Rows {
        extents: rest.iter().map(|d| layout.shape[*d] as i64).collect(),
        strides: rest.iter().map(|d| layout.strides()[*d] as i64).collect(),
        index: List::new(),
    };
    assign_routine(Scattering::Put.into(), x, [&places, &values], &rows, loc)
}

/// Writes where a mask is true, without counting its true elements.
fn choose(laid: &Laid, value: &Array, loc: Loc) -> Result<()> {
    let (seen, mask, at) = (&laid.seen, &laid.parts[0].array, laid.parts[0].at);
    let (over, rank) = (mask.ndim(), seen.ndim() + 1 - mask.ndim());
    let value = narrowed(value, rank)?;
    // The value's extent along the dimension that the mask selects from.
    let behind = rank - laid.place;
    let count = if value.ndim() >= behind { value.shape()[value.ndim() - behind] } else { 1 };
    let rest: Vec<usize> = (0..seen.ndim()).filter(|d| !(at..at + over).contains(d)).collect();
    let wide = broadcast(&value, &laid.result(&[count], &rest)?)?;
    if count == 1 {
        let wide = if value.size() == 1 { value.clone() } else { beside_mask(&wide, laid.place, over, at)? };
        let single = if value.size() == 1 { reshape(&wide, &[], loc)? } else { wide };
        let single = if single.dtype() == seen.dtype() { single } else { cast(&single, seen.dtype(), loc)? };
        let mut items = vec![Index::Ellipsis];
        items.extend(vec![Index::NewAxis; seen.ndim() - at - over]);
        return assign_where(seen, &index(mask, &items)?, Arg::Array(&single), loc);
    }
    let values = dense(&moved(&wide, laid.place, 1, at)?, seen.dtype(), loc)?;
    let (mask, axis) = (dense(mask, DType::Bool, loc)?, AlongAxis { axis: at as isize });
    if !seen.is_view() {
        return assign_routine(Masking::Fill.into(), seen, [&mask, &values], &axis, loc);
    }
    let made = routine(Masking::Fill, &[seen, &mask, &values], &axis, loc)?;
    super::assign(seen, Arg::Array(&made), loc)
}

/// Replaces the dimension at `from` by as many dimensions of extent 1 as the mask has, at the mask's position.
fn beside_mask(wide: &Array, from: usize, over: usize, at: usize) -> Result<Array> {
    let mut items = vec![Index::ALL; from];
    items.push(Index::At(0));
    items.extend(vec![Index::NewAxis; over]);
    moved(&index(wide, &items)?, from, over, at)
}
