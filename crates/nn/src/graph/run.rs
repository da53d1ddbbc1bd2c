//! Runs graphs: submits the ops of a plan. Everything is asynchronous, recorded and captured as any other ops.

use super::check::{ArrayUse, Plan, Step, StepOp, StepOperand};
use super::model::GraphModel;
use forerun_array::{Arg, Array, on_device, ops, whole_inputs};
use forerun_base::{Error, ErrorKind, Loc, Result};

impl GraphModel {
    /// Submits the ops on `inputs`, with the arrays of the parameters, and returns the outputs. All arrays are on one
    /// device. Every shape is checked before the first op is submitted.
    pub fn run(&self, inputs: &[&Array], parameters: &[&Array], loc: Loc) -> Result<Vec<Array>> {
        let batch = self.batch_of(inputs)?;
        let plan = self.plan(batch).map_err(invalid)?;
        for (given, wanted) in parameters.iter().zip(&self.parameters) {
            if (given.dtype(), given.shape()) != (wanted.dtype, wanted.shape) {
                return Err(invalid(format!(
                    "parameter '{}' is {} of shape {}, the graph needs {} of shape {}",
                    wanted.name,
                    given.dtype(),
                    given.shape(),
                    wanted.dtype,
                    wanted.shape
                )));
            }
        }
        if parameters.len() != self.parameters.len() {
            return Err(invalid(format!("{} parameters, not {}", parameters.len(), self.parameters.len())));
        }
        let all: Vec<&Array> = inputs.iter().chain(parameters).copied().collect();
        let arrays = whole_inputs(&all, loc)?;
        match all.first() {
            Some(first) => on_device(first.device(), || self.submit(&plan, arrays, loc)),
            None => self.submit(&plan, arrays, loc),
        }
    }

    /// Checks dtypes and shapes of the inputs; returns the batch size.
    fn batch_of(&self, inputs: &[&Array]) -> Result<usize> {
        if inputs.len() != self.inputs.len() {
            return Err(invalid(format!("takes {} inputs, not {}", self.inputs.len(), inputs.len())));
        }
        let mut batch: Option<usize> = None;
        for (given, wanted) in inputs.iter().zip(&self.inputs) {
            let refused = |batch: Option<usize>| {
                let extents: Vec<String> =
                    wanted.extents().iter().map(|e| e.map_or_else(|| "batch".to_owned(), |e| e.to_string())).collect();
                let at = batch.map_or_else(String::new, |batch| format!(" with batch size {batch}"));
                invalid(format!(
                    "input '{}' is {} of shape {}, the graph needs {} of shape ({}){at}",
                    wanted.name,
                    given.dtype(),
                    given.shape(),
                    wanted.dtype,
                    extents.join(", ")
                ))
            };
            if given.dtype() != wanted.dtype || given.ndim() != wanted.shape.len() {
                return Err(refused(batch));
            }
            for (extent, line) in given.shape().iter().zip(&wanted.shape) {
                let found = *extent as i64;
                if line.per_batch != 0 && batch.is_none() {
                    let solved = found.checked_sub(line.plus).and_then(|rest| rest.checked_div(line.per_batch));
                    batch = Some(solved.and_then(|b| usize::try_from(b).ok()).ok_or_else(|| refused(None))?);
                }
                if line.at(batch.unwrap_or(0) as i64) != Some(found) {
                    return Err(refused(batch));
                }
            }
        }
        Ok(batch.or(self.batch).unwrap_or(1))
    }

    fn submit(&self, plan: &Plan, arrays: Vec<Array>, loc: Loc) -> Result<Vec<Array>> {
        let mut arrays: Vec<Option<Array>> = arrays.into_iter().map(Some).collect();
        for (number, step) in plan.steps.iter().enumerate() {
            let result = submit_step(step, &arrays, loc)
                .and_then(|made| whole_inputs(&[&made], loc))
                .map_err(|error| error.for_op("graph", &self.nodes[number].label(number)))?;
            arrays.extend(result.into_iter().map(Some));
            for array in &plan.released[number] {
                arrays[*array] = None;
            }
        }
        plan.outputs.iter().map(|output| used(output, &arrays)).collect()
    }
}

fn invalid(text: String) -> Error {
    Error::new(ErrorKind::Value, text).in_op("graph")
}

fn used(array_use: &ArrayUse, arrays: &[Option<Array>]) -> Result<Array> {
    let array = arrays[array_use.array].as_ref().expect("an array is kept until its last use");
    let seen = match &array_use.view {
        None => array.clone(),
        Some((layout, offset)) => ops::view_as(array, *layout, *offset)?,
    };
    Ok(if array_use.detached { seen.detach() } else { seen })
}

fn submit_step(step: &Step, arrays: &[Option<Array>], loc: Loc) -> Result<Array> {
    enum Value {
        Array(Array),
        Number(forerun_base::Scalar),
    }
    let operand = |operand: &StepOperand| match operand {
        StepOperand::Array(array_use) => used(array_use, arrays).map(Value::Array),
        StepOperand::Number(scalar) => Ok(Value::Number(*scalar)),
    };
    let operands: Vec<Value> = step.operands.iter().map(operand).collect::<Result<_>>()?;
    let args: Vec<Arg<'_>> = operands
        .iter()
        .map(|value| match value {
            Value::Array(array) => Arg::Array(array),
            Value::Number(scalar) => Arg::Scalar(*scalar),
        })
        .collect();
    let given: Vec<&Array> =
        args.iter().filter_map(|arg| if let Arg::Array(x) = arg { Some(*x) } else { None }).collect();
    let (shape, dtype) = (&step.shape, step.dtype);
    match &step.op {
        StepOp::Point(forerun_ops::Point::Cast) => ops::cast(given[0], dtype, loc),
        StepOp::Point(point) => ops::pointwise(*point, &args, loc),
        StepOp::Reduce { kind, mask, keepdims } => ops::reduce_unrounded(*kind, given[0], *mask, *keepdims, loc),
        StepOp::Matmul => ops::matmul(given[0], given[1], loc),
        StepOp::Concat { axis } => ops::concatenate(&given, *axis, loc),
        StepOp::Take { axis, mode } => ops::take(given[0], given[1], *axis, *mode, loc),
        StepOp::ScatterAdd { axis, mode } => ops::scatter_add(given[0], given[1], given[2], *axis, *mode, loc),
        StepOp::Update(layout, offset) => {
            let written = ops::copy(given[0], loc)?;
            ops::assign(&ops::view_as(&written, **layout, *offset)?, args[1], loc)?;
            Ok(written)
        }
        StepOp::Full(value) => ops::full(shape, *value, dtype, loc),
        StepOp::Arange { start, step } => ops::arange_of(*start, *step, shape.size(), dtype, loc),
        StepOp::Eye { diagonal } => ops::eye(shape[0], shape[1], *diagonal, dtype, loc),
        StepOp::Normal => ops::normal(shape, 0.0, 1.0, dtype, loc),
        StepOp::Uniform => ops::uniform(shape, 0.0, 1.0, dtype, loc),
        StepOp::Routine(routine, encoded) => ops::routine_encoded(*routine, &given, encoded, loc),
    }
}
