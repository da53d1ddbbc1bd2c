//! Runs a network that Python exported, without Python.
//!
//! `cargo run --example exported -- [GRAPH PARAMETERS]`, for the files that `net.export("net")` wrote:
//! `net-symbol.json` and `net-0000.params`. By default a small LeNet.

use forerun::nn::{Layer, Network};
use forerun::{Array, Result, ones};
use std::path::PathBuf;

fn main() -> Result<()> {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let own = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exported").join(name);
    let [graph, parameters] =
        <[PathBuf; 2]>::try_from(given).unwrap_or_else(|_| [own("lenet-symbol.json"), own("lenet-0000.params")]);
    let net = Network::load(graph, parameters)?;
    println!("{} ops, {} parameters", net.model().ops(), net.parameters().len());
    for batch in [1, 4] {
        let inputs: Vec<Array> = net
            .model()
            .inputs()
            .iter()
            .map(|input| ones(input.extents().iter().map(|e| e.unwrap_or(batch)).collect::<Vec<_>>()))
            .collect();
        for output in net.run(&inputs)? {
            println!("batch of {batch}: {} {output}", output.shape());
        }
    }
    Ok(())
}
