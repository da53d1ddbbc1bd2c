//! The gradient of a recurrent scan: a backward scan, and one product over all steps for each weight.

use super::declaration::{Recurrence, RecurrenceBack, Recurrent};
use super::extents::RecurrentExtents;
use crate::routine::{Flows, Given, GradientBuilder};
use crate::{Point, ReduceKind};
use forerun_base::{Result, Shape};
use std::ops::Range;

pub(super) fn scan<B: GradientBuilder>(b: &B, attributes: &Recurrence) -> Flows<B> {
    let given: Vec<Given> = (0..7).map(|i| b.given(i)).collect();
    let e = RecurrentExtents::of_scan(&given, attributes)?;
    let dtype = given[0].0;
    let part = |range: Range<usize>| match b.grad_range(range)? {
        Some(flow) => Ok(flow),
        None => b.full(&Shape::of(&[0]), 0, dtype),
    };
    let flows = [part(e.outputs())?, part(e.cells())?, part(e.saved())?];
    let inputs = [b.output(), b.input(2), b.input(3), b.input(5), b.input(6), &flows[0], &flows[1], &flows[2]];
    let how = RecurrenceBack {
        mode: attributes.mode,
        reverse: attributes.reverse,
        steps: e.steps as i64,
        batch: e.batch as i64,
    };
    let back = b.routine(Recurrent::Backward, &inputs, how)?;
    let matrix = |x: &B::Value, range: Range<usize>, columns: usize| -> Result<B::Value> {
        let rows = (range.len() / columns) as isize;
        let flat = b.slice(x, 0, Some(range.start as isize), Some(range.end as isize), 1)?;
        b.reshape(&flat, &[rows, columns as isize])
    };
    let states = matrix(&back, e.back_states(), e.width())?;
    let gates = b.if_wanted(0, || {
        b.in_shape(&matrix(&back, e.back_inputs(), e.width())?, &Shape::of(&[e.steps, e.batch, e.width()]))
    })?;
    let h0 = b.if_wanted(1, || {
        let through = matrix(&back, e.back_begin(), e.state)?;
        match b.grad_range(e.begin())? {
            Some(direct) => b.plus(&through, &b.in_shape(&direct, &Shape::of(&[e.batch, e.state]))?),
            None => Ok(through),
        }
    })?;
    let c0 = b.if_wanted(2, || match e.has_cells() {
        true => matrix(&back, e.back_cells(), e.hidden),
        false => b.full(&given[2].1, 0, dtype),
    })?;
    let weight = b.if_wanted(3, || b.matmul(&b.swap_last(&states)?, &matrix(b.output(), e.before(), e.state)?))?;
    let bias = b.if_wanted(4, || b.reduce(ReduceKind::Sum, &states, &[0], false))?;
    let projection = b.if_wanted(5, || {
        if !e.projected {
            return b.full(&given[5].1, 0, dtype);
        }
        let gates = matrix(b.output(), e.saved(), e.width())?;
        let open = b.slice(&gates, 1, Some(3 * e.hidden as isize), None, 1)?;
        let cells = b.pointwise(Point::Tanh, &[(&matrix(b.output(), e.cells(), e.hidden)?).into()])?;
        b.matmul(&b.swap_last(&matrix(&back, e.back_projected(), e.state)?)?, &b.times(&open, &cells)?)
    })?;
    Ok(vec![gates, h0, c0, weight, bias, projection, None])
}
