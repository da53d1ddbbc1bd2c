//! Writing: computes a new value and points the cell at it. Views write through to their base, with NumPy's aliasing.

use crate::array::attachments;
use crate::array::wait;
use crate::array::write_element;
use crate::array::{Arg, Array};
use crate::observe::read_hooks;
use crate::ops::create::element;
use crate::ops::pointwise::{cubed, in_place_recipe, plain_recipe, pointwise, simpler, with_elements};
use crate::runtime::devices;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::runtime;
use crate::runtime::submit::{SubmitInput, submit, submit_write};
use crate::runtime::window::{MemoKey, Window, window};
use forerun_base::{DType, Error, ErrorKind, Layout, Loc, Result, Shape};
use forerun_ops::scattering::Rows;
use forerun_ops::{Attributes, FillKind, List, Op, Point, Routine, Scattering, infer};
use forerun_plan::{Attrs, Meta, Signature};
use std::sync::Arc;

/// Points the array's cell at a newer value that no other cell holds.
pub(crate) fn repoint(x: &Array, new: &'static Node) {
    let sync = runtime().sync;
    if sync {
        // Another handle may point the cell elsewhere before this value is computed.
        new.use_by_other();
    }
    point_at(x, new);
    if sync {
        wait::run_now(new);
        new.done(new.is_large(), 1, 1);
    }
}

/// Points the array's cell at a value, which it then holds, and releases the previous one.
fn point_at(x: &Array, new: &Node) {
    let old = x.cell().replace_current(new);
    if old.let_go() {
        Window::retire(old);
    }
}

/// `x[...] = value` for a value that the caller does not need any more: if possible, the array takes over the value
/// instead of a copy. Observers do not see it; code that keeps an attachment for the array sets it again.
pub fn adopt(x: &Array, value: Array, loc: Loc) -> Result<()> {
    if x.is_view() || value.is_view() || !std::ptr::eq(x.meta(), value.meta()) || x.shares_cell(&value) {
        return assign(x, Arg::Array(&value), loc);
    }
    let new = value.cell().with_current(|new| {
        new.hold();
        new as *const Node
    });
    // SAFETY: nodes are never freed, and the hold taken above keeps this generation alive.
    point_at(x, unsafe { &*new });
    Ok(())
}

/// `x[...] = value`, for an array or a view of one. Writing the whole array discards its previous value, including a
/// failure.
pub fn assign(x: &Array, value: Arg<'_>, loc: Loc) -> Result<()> {
    refuse_read_only(x)?;
    match value {
        Arg::Scalar(s) if !s.fits_word(x.dtype()) => assign(x, Arg::Array(&element(s, x.dtype(), loc)?), loc),
        Arg::Scalar(s) => {
            infer::check_cast(s.default_dtype(), x.dtype()).map_err(|e| e.in_op("setitem"))?;
            let bits = s.to_bits_checked(x.dtype()).map_err(|e| e.in_op("setitem"))?;
            attachments::before_write(x, "setitem")?;
            if x.is_view() {
                update(x, None, bits, loc)
            } else {
                let meta = x.cell().meta();
                let op = Op::Fill(FillKind::Full);
                let recipe =
                    known((op.code(), [meta.id, 0, 0]), || Ok(Recipe::of(Signature::of(op, &[], Attrs::None, meta))))?;
                repoint(x, submit_write(recipe, &[], [bits, 0], loc, x));
                Ok(())
            }
        }
        Arg::Array(v) => {
            infer::check_cast(v.dtype(), x.dtype()).map_err(|e| e.in_op("setitem"))?;
            // As in NumPy, leading dimensions of extent 1 are dropped.
            let lead = v.extents().rank().saturating_sub(x.extents().rank());
            let squeezed;
            let mut v = v;
            if lead > 0 && v.shape()[..lead].iter().all(|d| *d == 1) {
                squeezed = super::squeeze(v, Some(&(0..lead as isize).collect::<Vec<_>>()))?;
                v = &squeezed;
            }
            let alike = v.extents() == x.extents();
            if !alike && v.layout().broadcast_to(x.shape()).is_none() {
                let text = format!("could not broadcast input array from shape {} into shape {}", v.shape(), x.shape());
                return Err(Error::new(ErrorKind::Value, text).in_op("setitem"));
            }
            let here;
            if v.device() != x.device() {
                here = super::transfer(v, x.device(), loc)?;
                v = &here;
            }
            attachments::before_write(x, "setitem")?;
            if is_itself(x, v) {
                return Ok(());
            }
            if x.is_view() {
                return update(x, Some(v), 0, loc);
            }
            let meta = x.cell().meta();
            let wide = if alike { v.clone() } else { super::broadcast_to(v, &x.shape())? };
            let op = Op::Point(if v.dtype() == meta.dtype { Point::Copy } else { Point::Cast });
            let recipe = known((op.code(), [wide.meta().id, meta.id, WHOLE]), || {
                let attrs = Attrs::Point { compute: wide.dtype(), scalars: 0, arity: 1 };
                Ok(Recipe::of(Signature::of(op, &[wide.meta()], attrs, meta)))
            })?;
            repoint(x, submit_write(recipe, &[wide.input()], [0; 2], loc, x));
            Ok(())
        }
    }
}

/// Marks a write of a whole array in a memo key; larger than any meta id.
const WHOLE: u64 = 1 << 62;
/// Flags beside an id: rows along the first axis, and elements of the flattened array.
const ROWS: u64 = 1 << 61;
const ELEMENTS: u64 = 1 << 60;

/// The recipe of a write, from the window's memo or from `make`.
fn known(key: MemoKey, make: impl FnOnce() -> Result<Arc<Recipe>>) -> Result<&'static Recipe> {
    // SAFETY: the calling thread owns this window, and interning does not access it.
    let owner = unsafe { window().owner() };
    // A write has no immediate that needs a dtype.
    let (recipe, _) = owner.recipe(key, || Ok::<_, Error>((make()?, DType::Bool)))?;
    Ok(recipe)
}

/// Whether the value is the array itself, as in the last step of `x[i] += 1`. Observers still see the write.
fn is_itself(x: &Array, value: &Array) -> bool {
    x.shares_cell(value)
        && std::ptr::eq(x.meta(), value.meta())
        && x.offset() == value.offset()
        && read_hooks::bits(read_hooks::OBSERVED) == 0
}

/// Fails for a broadcast array, whose elements share their memory.
pub(crate) fn refuse_read_only(x: &Array) -> Result<()> {
    if x.is_read_only() {
        let text = "assignment destination is read-only: it was broadcast";
        return Err(Error::new(ErrorKind::Value, text).in_op("setitem"));
    }
    Ok(())
}

/// Writes a view: the base with a region overwritten, by an array or by a scalar.
fn update(x: &Array, value: Option<&Array>, bits: u64, loc: Loc) -> Result<()> {
    if x.size() == 0 || write_element::may_write(x) && write_element::write(x, value, bits) {
        return Ok(());
    }
    let base = x.cell().meta();
    let words = [x.offset(), bits];
    let beside = value.map_or(Meta::SCALARS, |v| v.meta().id);
    // SAFETY: the calling thread owns this window, and interning does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe((Op::Update.code(), [base.id, x.meta().id, beside]), || {
        let inputs = [Some(base), value.map(Array::meta)];
        let inputs: Vec<&Meta> = inputs.into_iter().flatten().collect();
        let signature = Signature::of(Op::Update, &inputs, Attrs::Update(Box::new(x.layout())), base);
        Ok::<_, Error>((Recipe::of(signature), base.dtype))
    })?;
    let new = match value {
        Some(v) => submit_write(recipe, &[SubmitInput::Cell(x), v.input()], words, loc, x),
        None => submit_write(recipe, &[SubmitInput::Cell(x)], words, loc, x),
    };
    repoint(x, new);
    Ok(())
}

/// `x op= value`, computed in the promoted dtype and converted to that of `x`.
pub fn in_place(point: Point, x: &Array, value: Arg<'_>, loc: Loc) -> Result<()> {
    in_place_of(point, x, &[value], loc)
}

/// The same for an op with more operands: `x = op(x, values...)`.
pub fn in_place_of(point: Point, x: &Array, values: &[Arg<'_>], loc: Loc) -> Result<()> {
    if let &[value] = values
        && let Some((point, _)) = simpler(point, Arg::Array(x), value)
    {
        return in_place_of(point, x, &[], loc);
    }
    if let &[value] = values
        && cubed(point, Arg::Array(x), value).is_some()
    {
        let square = pointwise(Point::Square, &[Arg::Array(x)], loc)?;
        return in_place_of(Point::Multiply, x, &[Arg::Array(&square)], loc);
    }
    refuse_read_only(x)?;
    if values.iter().any(|v| matches!(v, Arg::Scalar(s) if !s.fits_word(x.dtype()))) {
        return with_elements(values, x.dtype(), loc, |values| in_place_of(point, x, values, loc));
    }
    let (recipe, words) = in_place_recipe(point, x, values)?;
    attachments::before_write(x, point.row().name)?;
    if x.is_view() && write_element::may_write(x) && write_element::compute(recipe, x, values, words) {
        return Ok(());
    }
    let mut inputs = [x.input(); 3];
    let mut count = 1;
    for value in values {
        if let Arg::Array(v) = value {
            inputs[count] = v.input();
            count += 1;
        }
    }
    let inputs = &inputs[..count];
    if x.is_view() {
        let result = submit(recipe, inputs, words, loc);
        return update(x, Some(&result), 0, loc);
    }
    repoint(x, submit_write(recipe, inputs, words, loc, x));
    Ok(())
}

/// Writes the value where a mask is true. Mask and value broadcast to the array and have its dtype and device.
pub(crate) fn assign_where(x: &Array, mask: &Array, value: Arg<'_>, loc: Loc) -> Result<()> {
    attachments::before_write_of(x, false, "setitem")?;
    let args = [Arg::Array(mask), value, Arg::Array(x)];
    if x.is_view() {
        return update(x, Some(&super::pointwise(Point::Where, &args, loc)?), 0, loc);
    }
    let (recipe, words) = plain_recipe(Point::Where, &args)?;
    let new = match value {
        Arg::Array(v) => submit_write(recipe, &[mask.input(), v.input(), x.input()], words, loc, x),
        Arg::Scalar(_) => submit_write(recipe, &[mask.input(), x.input()], words, loc, x),
    };
    repoint(x, new);
    Ok(())
}

/// Writes the result of a routine of the whole cell and other dense arrays: it replaces the cell's value.
pub(crate) fn assign_routine(
    routine: Routine,
    x: &Array,
    others: [&Array; 2],
    attributes: &impl Attributes,
    loc: Loc,
) -> Result<()> {
    attachments::before_write_of(x, false, "setitem")?;
    let base = x.cell().meta();
    let given = [base, others[0].meta(), others[1].meta()].map(|m| (m.dtype, m.shape()));
    let encoded = attributes.encode();
    routine.infer(&given, &encoded)?;
    if devices::of(base.device).is_some_and(|own| !own.accelerator.runs(routine, &given)) {
        let whole = x.plain_base();
        let made = super::routine(routine, &[&whole, others[0], others[1]], attributes, loc)?;
        return update(&whole, Some(&made), 0, loc);
    }
    let metas = [base, others[0].meta(), others[1].meta()];
    let signature = Signature::of(Op::Routine(routine), &metas, Attrs::Routine(encoded[..].into()), base);
    let inputs = [SubmitInput::Cell(x), others[0].input(), others[1].input()];
    repoint(x, submit_write(window().keep(Recipe::of(signature)), &inputs, [0; 2], loc, x));
    Ok(())
}

/// Writes rows that dense indices select along the first axis, or with `flat` elements of the flattened array, of a
/// whole cell on the host. The indices are checked when the record runs. There is one value for all, or one per
/// selected row or element.
pub(crate) fn assign_rows(x: &Array, indices: &Array, flat: bool, values: &Array, loc: Loc) -> Result<()> {
    attachments::before_write_of(x, false, "setitem")?;
    let routine = Routine::Scattering(Scattering::Put);
    let metas = [x.cell().meta(), indices.meta(), values.meta()];
    let [base, named, value] = metas.map(|meta| meta.id);
    let kind = if flat { ELEMENTS } else { ROWS };
    // Uses the code of updates, which is a constant; that of a routine must be looked up.
    let recipe = known((Op::Update.code(), [base, named, value | kind]), || {
        let shape = metas[0].shape();
        let row = Layout::dense(if flat { Shape::SCALAR } else { Shape::of(&shape[1..]) });
        let extent = if flat { shape.size() } else { shape[0] };
        let rows = Rows {
            extents: row.shape.iter().map(|extent| *extent as i64).collect(),
            strides: row.strides().iter().map(|stride| *stride as i64).collect(),
            index: List::from_slice(&[0, extent as i64, row.shape.size() as i64]),
        };
        let encoded = rows.encode();
        routine.infer(&metas.map(|meta| (meta.dtype, meta.shape())), &encoded)?;
        Ok(Recipe::of(Signature::of(Op::Routine(routine), &metas, Attrs::Routine(encoded[..].into()), metas[0])))
    })?;
    let inputs = [SubmitInput::Cell(x), indices.input(), values.input()];
    repoint(x, submit_write(recipe, &inputs, [0; 2], loc, x));
    Ok(())
}
