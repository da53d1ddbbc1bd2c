//! Networks that were exported to files.

use crate::abi::{forerun_array, forerun_network, forerun_status};
use crate::caller::call;
use crate::error::Failure;
use crate::handle::give;
use forerun::Array;
use forerun::nn::{Layer, Network};
use std::ffi::c_char;

/// Reads a network: the file of its ops and the file of its parameters, as `export` of Python writes them. Both may come
/// from strangers: everything in them is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_network_load(
    graph: *const c_char,
    parameters: *const c_char,
    out: *mut *mut forerun_network,
) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        let (graph, parameters) = (caller.text(graph, "the graph")?, caller.text(parameters, "the parameters")?);
        let network = Network::load(graph, parameters).map_err(|error| error.read_at(caller.loc()))?;
        caller.put(out, give::<forerun_network>(network))
    })
}

/// Submits the ops of a network. `outputs` has room for `capacity` arrays; `count` (may be null) becomes their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_network_run(
    network: *const forerun_network,
    inputs: *const *const forerun_array,
    input_count: usize,
    outputs: *mut *mut forerun_array,
    capacity: usize,
    count: *mut usize,
) -> forerun_status {
    call(|caller| {
        let (network, inputs) = (caller.get(network)?, caller.all(inputs, input_count)?);
        let parameters = network.parameters();
        let parameters = parameters.iter().map(|held| held.array()).collect::<forerun::Result<Vec<Array>>>()?;
        let inputs: Vec<&Array> = inputs.iter().map(|input| &**input).collect();
        let made = network.model().run(&inputs, &parameters.iter().collect::<Vec<_>>(), caller.loc())?;
        if made.len() > capacity {
            let text = format!("{} outputs do not fit in {capacity} places", made.len());
            return Err(Failure::value(text).within("graph"));
        }
        if !count.is_null() {
            caller.put(count, made.len())?;
        }
        caller.put_all(outputs, capacity, made.into_iter().map(give::<forerun_array>))
    })
}

/// Frees a network; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_network_free(network: *mut forerun_network) -> forerun_status {
    call(|caller| caller.free(network))
}
