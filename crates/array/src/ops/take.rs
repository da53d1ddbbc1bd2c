//! Rows by indices, and what is made of them.

use crate::array::Array;
use crate::ops::{broadcast_to, cast, copy};
use crate::recipe::Recipe;
use crate::submit::{Input, submit};
use crate::window::{MemoKey, window};
use forerun_base::{Error, ErrorKind, Loc, Result};
use forerun_ops::{Beyond, Op, infer};
use forerun_plan::{Attrs, Meta, Signature};

/// The memo's key: an axis takes three bits of the code, what lies beyond its ends two.
fn key(op: Op, metas: [u32; 3], axis: usize, beyond: Beyond) -> MemoKey {
    (op.code() | ((axis as u16) << 2 | beyond as u16) << 10, metas)
}

/// Rows of `x` along an axis, named by an array of integers: its shape stands in place of the axis. An index that fails
/// does so when the record runs.
pub fn take(x: &Array, indices: &Array, axis: isize, beyond: Beyond, loc: Loc) -> Result<Array> {
    let axis = x.shape().axis(axis).map_err(|e| e.in_op(Op::Take.name()))?;
    let metas = [x.meta(), indices.meta()];
    // SAFETY: our own window; inference does not touch it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key(Op::Take, [metas[0].id, metas[1].id, 0], axis, beyond), || {
        let shape = infer::take(Op::Take, &x.shape(), (indices.dtype(), indices.shape()), axis)?;
        let out = Meta::dense(x.dtype(), shape);
        let attrs = Attrs::Rows { axis, beyond };
        Ok::<_, Error>((Recipe::of(Signature::of(Op::Take, &metas, attrs, out)), x.dtype()))
    })?;
    Ok(submit(recipe, &[x.input(), indices.input()], [0; 2], loc))
}

/// `base` with updates added to the rows that [`take`] would give; where several indices name one row, in their order.
/// The result has the dtype of the base.
pub fn scatter_add(
    base: &Array,
    indices: &Array,
    updates: &Array,
    axis: isize,
    beyond: Beyond,
    loc: Loc,
) -> Result<Array> {
    let name = Op::ScatterAdd.name();
    let axis = base.shape().axis(axis).map_err(|e| e.in_op(name))?;
    let rows = infer::take(Op::ScatterAdd, &base.shape(), (indices.dtype(), indices.shape()), axis)?;
    let wide = broadcast_to(updates, &rows).map_err(|_| {
        let text = format!("updates {} do not broadcast to the rows {rows}", updates.shape());
        Error::new(ErrorKind::Value, text).in_op(name)
    })?;
    let updates = match (wide.dtype() == base.dtype(), wide.layout().is_dense()) {
        (true, true) => wide,
        (true, false) => copy(&wide, loc)?,
        (false, _) => cast(&wide, base.dtype(), loc)?,
    };
    let metas = [base.meta(), indices.meta(), updates.meta()];
    // SAFETY: our own window; interning does not touch it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key(Op::ScatterAdd, metas.map(|m| m.id), axis, beyond), || {
        let out = Meta::dense(base.dtype(), base.shape());
        let attrs = Attrs::Rows { axis, beyond };
        Ok::<_, Error>((Recipe::of(Signature::of(Op::ScatterAdd, &metas, attrs, out)), base.dtype()))
    })?;
    let inputs: [Input<'_>; 3] = [base.input(), indices.input(), updates.input()];
    Ok(submit(recipe, &inputs, [0; 2], loc))
}
