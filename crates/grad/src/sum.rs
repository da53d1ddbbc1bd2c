//! What has flowed to one output of an entry so far.
//!
//! Flows through views of parts are kept apart until somebody asks for the whole: parts that cover an axis one after another are then
//! written once, side by side, and a rule that reads parts of a packed result takes them as they came.

use crate::entry::View;
use crate::shapes::{Seen, is_whole, seen, through_view};
use forerun_array::{Arg, Array, Index, on_device, ops};
use forerun_base::{Layout, Loc, Result, Scalar, Shape};
use forerun_ops::Point;
use std::ops::Range;

/// The sum of all flows to an output.
#[derive(Default)]
pub(crate) struct Sum {
    whole: Option<Array>,
    /// The whole was made here, and nobody else holds it.
    own: bool,
    /// Flows to parts, and the shape that they are parts of.
    parts: Vec<Seen>,
    shape: Option<Shape>,
}

impl Sum {
    /// Adds what flows through a view, or to the output itself.
    pub(crate) fn add(&mut self, grad: Array, view: Option<&View>, base: &Shape, loc: Loc) -> Result<()> {
        let grad = match view {
            Some((meta, offset)) if !is_whole(&meta.layout, base) => {
                if meta.layout.shape.size() > 0 {
                    self.parts.push(seen(&grad, &meta.layout, *offset, loc)?);
                } else if self.parts.is_empty() && self.whole.is_none() {
                    self.whole = Some(zeros(&grad, base, loc)?);
                    self.own = true;
                }
                self.shape = Some(*base);
                return Ok(());
            }
            Some((meta, offset)) => through_view(&grad, &meta.layout, *offset, base, loc)?,
            None => grad,
        };
        if let Some(so_far) = self.whole.take() {
            let both = ops::pointwise(Point::Add, &[Arg::Array(&so_far), Arg::Array(&grad)], loc)?;
            (self.whole, self.own) = (Some(both), true);
        } else {
            (self.whole, self.own) = (Some(grad), false);
        }
        Ok(())
    }

    /// Whether it is made of flows to parts alone.
    pub(crate) fn is_in_parts(&self) -> bool {
        self.whole.is_none() && !self.parts.is_empty()
    }

    /// The whole sum, if anything flowed.
    pub(crate) fn whole(&mut self, loc: Loc) -> Result<Option<Array>> {
        let (parts, shape) = (std::mem::take(&mut self.parts), self.shape.unwrap_or(Shape::SCALAR));
        if parts.is_empty() {
            return Ok(self.whole.clone());
        }
        let mut rest = &parts[..];
        let sum = match self.whole.take() {
            Some(whole) if self.own => whole,
            Some(whole) => super::walk::own(&super::walk::dense(whole, loc)?),
            None => match side_by_side(&parts, &shape, loc)? {
                Some(whole) => {
                    rest = &[];
                    whole
                }
                None => {
                    let whole = zeros(&parts[0].grad, &shape, loc)?;
                    parts[0].write(&whole, 0, loc)?;
                    rest = &parts[1..];
                    whole
                }
            },
        };
        for part in rest {
            part.add(&sum, 0, loc)?;
        }
        (self.whole, self.own) = (Some(sum), true);
        Ok(self.whole.clone())
    }

    /// What flowed to a range of the elements, as a vector; `None` if nothing did.
    pub(crate) fn range(&mut self, range: Range<usize>, loc: Loc) -> Result<Option<Array>> {
        let within = |part: &Seen| {
            let reach = part.range();
            (reach.start >= range.start && reach.end <= range.end, reach.start < range.end && reach.end > range.start)
        };
        if self.whole.is_some() || self.parts.iter().any(|part| matches!(within(part), (false, true))) {
            let Some(whole) = self.whole(loc)? else { return Ok(None) };
            let flat = ops::reshape(&whole, &[-1], loc)?;
            let items = [Index::Slice { start: Some(range.start as isize), stop: Some(range.end as isize), step: 1 }];
            return ops::index(&flat, &items).map(Some);
        }
        let inside: Vec<&Seen> = self.parts.iter().filter(|part| within(part).0).collect();
        let Some((first, rest)) = inside.split_first() else { return Ok(None) };
        if rest.is_empty() && first.layout.is_dense() && first.range() == range {
            return ops::reshape(&first.grad, &[-1], loc).map(Some);
        }
        let sum = zeros(&first.grad, &Shape::of(&[range.len()]), loc)?;
        first.write(&sum, range.start, loc)?;
        for part in rest {
            part.add(&sum, range.start, loc)?;
        }
        Ok(Some(sum))
    }
}

fn zeros(like: &Array, shape: &Shape, loc: Loc) -> Result<Array> {
    on_device(like.device(), || ops::full(shape, Scalar::Int(0), like.dtype(), loc))
}

/// The parts one after another along an axis, if they are slices of it that cover all of it once.
fn side_by_side(parts: &[Seen], shape: &Shape, loc: Loc) -> Result<Option<Array>> {
    let base = Layout::dense(*shape);
    // The outermost axis along which a part is not the whole: all of them are slices of that one.
    let Some(axis) = parts[0].axis_within(&base) else { return Ok(None) };
    let mut slices = Vec::with_capacity(parts.len());
    for part in parts {
        let Some(slice) = part.slice_of(&base, axis) else { return Ok(None) };
        slices.push((slice, part));
    }
    slices.sort_by_key(|(slice, _)| slice.start);
    let covers = slices.windows(2).all(|pair| pair[0].0.end == pair[1].0.start);
    if !covers || slices[0].0.start != 0 || slices[slices.len() - 1].0.end != shape[axis] {
        return Ok(None);
    }
    let mut made = Vec::with_capacity(parts.len());
    for (slice, part) in slices {
        let mut dims: Vec<isize> = shape.iter().map(|d| *d as isize).collect();
        dims[axis] = slice.len() as isize;
        made.push(ops::reshape(&part.grad, &dims, loc)?);
    }
    ops::concatenate(&made.iter().collect::<Vec<_>>(), axis as isize, loc).map(Some)
}

impl Seen {
    /// The elements between its first and its last.
    fn range(&self) -> Range<usize> {
        let (low, high) = self.layout.extent().unwrap_or((0, -1));
        (self.offset as isize + low) as usize..(self.offset as isize + high + 1) as usize
    }

    /// The axis of a dense array that it is a slice of, if it is one.
    fn axis_within(&self, base: &Layout) -> Option<usize> {
        (0..base.shape.rank()).find(|axis| self.slice_of(base, *axis).is_some())
    }

    /// Which slice of an axis of a dense array it is, if it is one in the array's own order.
    fn slice_of(&self, base: &Layout, axis: usize) -> Option<Range<usize>> {
        let stride = base.strides()[axis] as usize;
        let others: usize = (0..base.shape.rank()).filter(|i| *i != axis).map(|i| base.shape[i]).product();
        let (first, size) = (self.offset as usize, self.layout.shape.size());
        let count = size / others.max(1);
        if stride == 0
            || others == 0
            || size % others != 0
            || first % stride != 0
            || first / stride + count > base.shape[axis]
        {
            return None;
        }
        let mut shape = base.shape;
        shape.dims_mut()[axis] = count;
        let slice = Layout::strided(shape, base.strides());
        (squeezed(&slice) == squeezed(&self.layout)).then(|| first / stride..first / stride + count)
    }

    /// Writes it to its place in an array that begins with element `first` of the base.
    fn write(&self, to: &Array, first: usize, loc: Loc) -> Result<()> {
        let place = ops::view_as(to, self.layout, self.offset - first as u64)?;
        ops::assign(&place, Arg::Array(&self.grad), loc)
    }

    /// Adds it to its place in an array that begins with element `first` of the base.
    fn add(&self, to: &Array, first: usize, loc: Loc) -> Result<()> {
        let place = ops::view_as(to, self.layout, self.offset - first as u64)?;
        ops::in_place(Point::Add, &place, Arg::Array(&self.grad), loc)
    }
}

/// Extents and strides, with neighbouring dimensions that lie together as one.
fn squeezed(layout: &Layout) -> Vec<(usize, isize)> {
    let mut all: Vec<(usize, isize)> = Vec::new();
    for (extent, stride) in layout.shape.iter().zip(layout.strides()).filter(|(extent, _)| **extent != 1) {
        match all.last_mut() {
            Some(last) if last.1 == *stride * *extent as isize => *last = (last.0 * extent, *stride),
            _ => all.push((*extent, *stride)),
        }
    }
    all
}
