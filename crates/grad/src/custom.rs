//! Functions with a user-defined gradient.

use crate::entry::{Body, Callback, CustomRecorded, Entry, Variable};
use crate::state::is_recording;
use crate::tape::edge_to;
use forerun_array::Array;
use forerun_base::Loc;
use forerun_base::Mutex;
use std::sync::Arc;

/// Records that `outputs` were computed from `inputs` by a function whose gradient is `callback`. The returned arrays
/// replace the outputs. Nothing is recorded while recording is off, or if no input is on the tape.
pub fn record_function(inputs: &[&Array], outputs: &[&Array], callback: Arc<Callback>, loc: Loc) -> Vec<Array> {
    let edges: Vec<_> = inputs.iter().map(|x| edge_to(x)).collect();
    let fresh: Vec<Array> = outputs.iter().map(|y| y.freeze()).collect();
    if !is_recording() || edges.iter().all(Option::is_none) {
        return fresh;
    }
    let metas = outputs.iter().map(|y| y.meta().share()).collect();
    let recorded = CustomRecorded { callback, edges, outputs: metas };
    let entry = Entry::new(Body::Custom(Mutex::new(Some(recorded))), outputs.len(), loc);
    for (i, output) in fresh.iter().enumerate() {
        output.attach(Some(Variable::new(entry.clone(), i)));
    }
    fresh
}
