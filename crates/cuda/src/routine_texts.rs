//! The texts of routines, for the check that all of them compile.

use crate::run::{plan, runs, scale_text};
use forerun_base::{DType, Kind, Shape};
use forerun_ops::{Along, Choose, Draw, Given, Linalg, Normalise, Order, Place, Routine, Scan, Search, Unique};
use forerun_plan::RoutineCall;
use std::collections::HashSet;

/// The texts of routines, each once: every dtype that they compute in, every way they are done.
pub(crate) fn routine_texts() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut seen = HashSet::new();
    for call in calls() {
        for (n, text) in plan(&call).texts.into_iter().enumerate() {
            if seen.insert(text.clone()) {
                let given: Vec<String> = call.inputs.iter().map(|(dtype, shape)| format!("{dtype} {shape}")).collect();
                all.push((format!("{} {} {:?} {n}", call.routine.name(), given.join(" "), call.words), text));
            }
        }
    }
    for dtype in [DType::F32, DType::F64] {
        all.push((format!("scale {dtype}"), scale_text(dtype)));
    }
    all
}

/// A call of every routine that the device runs, for each dtype and each way to do it.
fn calls() -> Vec<RoutineCall> {
    let mut all = Vec::new();
    let mut add = |routine: Routine, given: &[(DType, &[usize])], words: &[i64]| {
        let inputs: Vec<Given> = given.iter().map(|(dtype, dims)| (*dtype, Shape::of(dims))).collect();
        let Ok(out) = routine.infer(&inputs, words) else { return };
        if runs(routine, &inputs) && !matches!(routine, Routine::Fft(_)) {
            all.push(RoutineCall { routine, inputs, out, words: words.into() });
        }
    };
    let whole = DType::ALL.into_iter().filter(|dtype| dtype.kind() == Kind::Int);
    for routine in Along::ALL.iter().map(|r| Routine::Along(*r)) {
        for (dims, index) in [&[8, 40][..], &[8, 3]].into_iter().flat_map(|dims| whole.clone().map(move |i| (dims, i)))
        {
            add(routine, &[(DType::F32, dims), (index, dims), (DType::F32, dims)][..arity(routine)], &[0]);
        }
        for (dims, dtype) in [&[8, 40][..], &[8, 3]].into_iter().flat_map(|dims| DType::ALL.map(|d| (dims, d))) {
            add(routine, &[(dtype, dims), (DType::I64, dims), (dtype, dims)][..arity(routine)], &[0]);
        }
    }
    let (bits, long) = (DType::Bool, DType::I64);
    add(Routine::Choose(Choose::Nonzero), &[(bits, &[9])], &[3]);
    add(Routine::Place(Place::Positions), &[(long, &[4])], &[0, 3, 1]);
    add(Routine::Place(Place::Positions), &[(long, &[4]), (DType::I32, &[4])], &[0, 3, 4, 1, 4, 1]);
    add(Routine::Place(Place::Last), &[(long, &[4])], &[]);
    add(Routine::Unique(Unique::Starts), &[(long, &[4])], &[2]);
    for routine in Draw::ALL.iter().filter(|r| **r != Draw::Order).map(|r| Routine::Draw(*r)) {
        add(routine, &[(DType::F64, &[3][..]); 2][..arity(routine)], &[3]);
    }
    for dtype in DType::ALL {
        add(Routine::Choose(Choose::Compress), &[(dtype, &[9, 2]), (bits, &[9])], &[0, 3]);
        add(Routine::Choose(Choose::Fill), &[(dtype, &[9, 2]), (bits, &[9]), (dtype, &[3, 2])], &[0]);
        add(Routine::Place(Place::Put), &[(dtype, &[9]), (long, &[4]), (dtype, &[4])], &[]);
        // Products and minima differ from sums and maxima in one function: they are tried in the dtypes that it is for.
        let own = |scan: &&Scan| !matches!(scan, Scan::CumProd | Scan::ArgCumMin) || dtype.carrier() == dtype;
        for routine in Scan::ALL.iter().filter(own).map(|r| Routine::Scan(*r)) {
            for dims in [&[700][..], &[7], &[700, 10_000]] {
                add(routine, &[(dtype, dims), (dtype, dims)][..arity(routine)], &[0]);
            }
        }
        for routine in [Search::Sorted, Search::Digitize].map(Routine::Search) {
            add(routine, &[(dtype, &[9]), (dtype, &[4])], &[0]);
        }
        add(Routine::Unique(Unique::Groups), &[(dtype, &[9])], &[0]);
        add(Routine::Unique(Unique::RowOrder), &[(dtype, &[9, 2])], &[]);
        add(Routine::Order(Order::Sort), &[(dtype, &[3000])], &[0, 0]);
        add(Routine::Order(Order::Argsort), &[(dtype, &[2000])], &[0, 0]);
    }
    for dtype in [DType::F32, DType::F64] {
        for routine in Normalise::ALL.iter().map(|r| Routine::Normalise(*r)) {
            add(routine, &[(dtype, &[4, 5][..]), (dtype, &[5]), (dtype, &[5])][..arity(routine)], &[0]);
        }
        for routine in Linalg::ALL.iter().map(|r| Routine::Linalg(*r)) {
            for n in [8, 100] {
                add(routine, &[(dtype, &[n, n][..]); 2][..arity(routine)], &[0, 0, 0]);
            }
        }
    }
    for count in [20, 100, 5000] {
        add(Routine::Order(Order::Sort), &[(DType::F64, &[count])], &[0, 0]);
        add(Routine::Order(Order::Argtop), &[(DType::F16, &[count])], &[0, 1, 3]);
    }
    all
}

fn arity(routine: Routine) -> usize {
    routine.row().arity.map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_is_called_or_left_to_the_host() {
        let calls = calls();
        for routine in Routine::all() {
            let square = (DType::F32, Shape::of(&[4, 4]));
            let left = matches!(routine, Routine::Fft(_)) || !runs(routine, &[square; 2]);
            assert!(left != calls.iter().any(|call| call.routine == routine), "{}", routine.name());
        }
    }
}
