//! The sources of routines, for the check that all of them compile.

use crate::family::kernel;
use crate::run::runs;
use forerun_ops::Routine;
use forerun_plan::RoutineCall;
use std::collections::HashSet;

/// The sources of all routines without duplicates: those of the calls that the families list.
pub(crate) fn routine_texts() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut seen = HashSet::new();
    for call in Routine::all().into_iter().flat_map(calls) {
        let Some(kernel) = kernel(&call.routine) else { continue };
        for (n, text) in kernel.plan(&call).texts.into_iter().enumerate() {
            if seen.insert(text.clone()) {
                let given: Vec<String> = call.inputs.iter().map(|(dtype, shape)| format!("{dtype} {shape}")).collect();
                all.push((format!("{} {} {:?} {n}", call.routine.name(), given.join(" "), call.encoded), text));
            }
        }
    }
    all
}

/// The calls of a routine whose sources are checked; none for a routine that runs on the host.
fn calls(routine: Routine) -> Vec<RoutineCall> {
    let named = kernel(&routine).map(|kernel| kernel.checked_calls(routine)).unwrap_or_default();
    let call = |(inputs, encoded): (Vec<_>, forerun_ops::Encoded)| {
        let out = routine.infer(&inputs, &encoded).ok().filter(|_| runs(routine, &inputs))?;
        Some(RoutineCall { routine, inputs, out, encoded: encoded[..].into() })
    };
    named.into_iter().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample_calls;

    #[test]
    fn every_routine_is_called_or_left_to_the_host() {
        for routine in Routine::all() {
            assert_eq!(sample_calls(routine).is_empty(), calls(routine).is_empty(), "{}", routine.name());
        }
    }
}
