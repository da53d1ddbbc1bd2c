//! Flat positions from index arrays, and writes to rows at such positions.

use crate::gpu::Raised;
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, beyond, checked, walk};
use crate::text::{define, moved, routine_text};
use forerun_base::{DType, Error, ErrorKind, Layout, Result, Shape};
use forerun_ops::scattering::{Axes, Rows};
use forerun_ops::{Given, List, Routine, Scattering};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/place.cuh");

/// Slots of a hash table for this many positions; at least half of them stay free.
fn slots(count: usize) -> usize {
    (2 * count.max(1)).next_power_of_two()
}

/// Bytes before the table, for the flag that a position is invalid.
const NOTE: usize = 512;

impl DeviceKernel for Scattering {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let text = |part: usize, elements: &str| {
            routine_text(&[elements, &define("PART", part), &define("AXES", call.inputs.len())].concat(), &[TEXT])
        };
        match self {
            Scattering::Positions => Plan { texts: vec![text(0, "")], scratch: 0, steps: positions },
            Scattering::Put => {
                let (count, single) = (call.inputs[1].1.size(), call.inputs[2].1.size() == 1);
                let table = if single { 0 } else { 8 * slots(count) };
                let texts = vec![text(1, ""), text(3, &moved(call.inputs[0].0))];
                Plan { texts, scratch: NOTE + table, steps: put }
            }
            Scattering::Last => {
                let texts = vec![text(1, ""), text(2, "")];
                Plan { texts, scratch: 8 * slots(call.inputs[0].1.size()), steps: last }
            }
        }
    }

    fn runs(&self, _: &[Given]) -> bool {
        true
    }

    fn complaint(&self, call: &RoutineCall, raised: Raised) -> Error {
        match self {
            Scattering::Positions => {
                let (Axes { axes, extents, .. }, array) = (call.attributes(), raised.array());
                beyond(raised.index, axes[array] as usize, extents[array] as usize)
            }
            Scattering::Put | Scattering::Last => {
                let (position, size) = (raised.index, call.out.1.size());
                Error::new(
                    ErrorKind::Index,
                    format!("a row at position {position} exceeds an array of {size} elements"),
                )
            }
        }
    }

    fn checked_calls(&self, _: Routine) -> Vec<CheckedCall> {
        let (long, list) = (DType::I64, List::from_slice);
        let axes = |axes: &[i64]| Axes { axes: list(axes), extents: list(axes), strides: list(axes) };
        match self {
            Scattering::Positions => {
                vec![checked(&[(long, &[4])], axes(&[1])), checked(&[(long, &[4]), (DType::I32, &[4])], axes(&[1, 1]))]
            }
            Scattering::Last => vec![checked(&[(long, &[4])], ())],
            Scattering::Put => {
                let elements = || Rows { extents: List::new(), strides: List::new(), index: List::new() };
                let call = |dtype: DType| checked(&[(dtype, &[9]), (long, &[4]), (dtype, &[4])], elements());
                DType::ALL.map(call).into()
            }
        }
    }
}

fn positions(job: &Job<'_>) -> Result<()> {
    let (call, io) = (job.call, &job.io);
    let shape = call.out.1;
    let mut words = vec![shape.size() as u64, io.outputs[0], io.status, io.scalars[0]];
    let Axes { extents, strides, .. } = job.attributes();
    for (k, (dtype, named)) in call.inputs.iter().enumerate() {
        let layout = Layout::dense(*named).broadcast_to(shape).expect("inference has checked the shapes");
        words.extend([io.inputs[k], (*dtype == DType::I32) as u64]);
        words.extend([extents[k] as u64, strides[k] as u64]);
        words.extend(walk(&layout));
    }
    job.each(0, shape.size(), &words)
}

/// The layout of a row, relative to its first element.
fn row(call: &RoutineCall) -> Layout {
    let Rows { extents, strides, .. } = call.attributes();
    let dims: Vec<usize> = extents.iter().map(|d| *d as usize).collect();
    let strides: Vec<isize> = strides.iter().map(|s| *s as isize).collect();
    Layout::strided(Shape::of(&dims), &strides)
}

fn put(job: &Job<'_>) -> Result<()> {
    job.copy_base()?;
    let (row, io) = (row(job.call), &job.io);
    let (count, each) = (job.call.inputs[1].1.size(), row.shape.size());
    let Some((low, high)) = row.extent() else { return Ok(()) };
    if count == 0 {
        return Ok(());
    }
    let single = job.call.inputs[2].1.size() == 1;
    let (note, table) = (job.scratch, if single { 0 } else { job.scratch + NOTE as u64 });
    let slots = slots(count);
    job.clear(note, NOTE + if single { 0 } else { 8 * slots })?;
    let largest = job.call.out.1.size() as i64 - 1 - high as i64;
    let (named, mask) = ([count as u64, io.inputs[1], table], slots as u64 - 1);
    let limits = [io.status, 1, -(low as i64) as u64, largest as u64, note];
    job.each(0, count, &[&named[..], &[mask], &limits].concat())?;
    let words = [(count * each) as u64, io.inputs[1], table, mask, io.outputs[0], io.inputs[2], single as u64];
    job.each(1, count * each, &[&words[..], &[each as u64, note], &walk(&row)].concat())
}

fn last(job: &Job<'_>) -> Result<()> {
    let (count, io) = (job.call.inputs[0].1.size(), &job.io);
    if count == 0 {
        return Ok(());
    }
    let slots = slots(count);
    job.clear(job.scratch, 8 * slots)?;
    let words = [count as u64, io.inputs[0], job.scratch, slots as u64 - 1];
    job.each(0, count, &words)?;
    job.each(1, count, &[&words[..], &[io.outputs[0]]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_ops::Attributes;

    fn scratch(values: &[usize]) -> usize {
        let given = [(DType::F32, &[100][..]), (DType::I64, &[40]), (DType::F32, values)];
        let inputs: Vec<_> = given.iter().map(|(dtype, dims)| (*dtype, Shape::of(dims))).collect();
        let routine = Routine::Scattering(Scattering::Put);
        let rows = Rows { extents: List::new(), strides: List::new(), index: List::new() };
        let out = routine.infer(&inputs, &rows.encode()).unwrap();
        Scattering::Put.plan(&RoutineCall { routine, inputs, out, encoded: rows.encode()[..].into() }).scratch
    }

    #[test]
    fn half_of_the_slots_stay_free() {
        assert_eq!([0, 1, 2, 3, 1000].map(slots), [2, 2, 4, 8, 2048]);
        assert_eq!(scratch(&[40]), NOTE + 8 * 128);
        // One value for all positions: the order of writes does not matter.
        assert_eq!(scratch(&[1]), NOTE);
    }
}
