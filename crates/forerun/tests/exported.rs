//! Networks that Python exported, run and trained by Rust.
//!
//! The files under `exported` were written by `tests/python/exported.py`, which also wrote the inputs and outputs.

use forerun::grad::{Differentiable, record};
use forerun::nn::{ArrayFile, Layer, Network, Parameter, Sgd, l2_loss, load, save};
use forerun::{Array, DType, Loc, Result, Wait, ops};
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exported").join(name)
}

fn arrays(name: &str) -> Vec<(String, Array)> {
    let Ok(opened) = ArrayFile::open(&file(name), Loc::caller()) else { panic!("{name}") };
    let read = |stored: &forerun::nn::StoredArray| {
        let Ok(bytes) = opened.read(stored) else { panic!("{name}: {}", stored.name) };
        let array = ops::from_bytes(&bytes, stored.dtype, &stored.shape, Loc::caller()).unwrap();
        (stored.name.clone(), array)
    };
    opened.arrays().iter().map(read).collect()
}

fn values(x: &Array) -> Vec<f32> {
    assert_eq!(x.dtype(), DType::F32);
    let bytes = x.snapshot_with(&Wait::at(Loc::caller(), "test")).unwrap().to_bytes();
    bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn network(name: &str) -> Network {
    Network::load(file(&format!("{name}-symbol.json")), file(&format!("{name}-0000.params"))).unwrap()
}

#[test]
fn results_are_those_of_python() {
    for name in ["lenet", "mlp"] {
        let (net, samples) = (network(name), arrays("samples.safetensors"));
        let find = |wanted: String| &samples.iter().find(|(known, _)| *known == wanted).unwrap().1;
        // The export was traced with 4 rows.
        for batch in [1, 4, 6] {
            let result = net.forward(find(format!("{name}.input.{batch}"))).unwrap();
            let expected = find(format!("{name}.output.{batch}"));
            assert_eq!(result.shape(), expected.shape());
            for (ours, theirs) in values(&result).iter().zip(values(expected)) {
                // The instruction set may differ from that of the machine that wrote the files.
                assert!((ours - theirs).abs() <= 1e-5 * theirs.abs().max(1.0), "{name} {batch}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn a_graph_can_be_trained_and_saved() -> Result<()> {
    let net = network("mlp");
    assert_eq!(net.parameters().iter().map(Parameter::name).collect::<Vec<_>>()[0], "0.weight");
    let (x, y) = (forerun::normal([16, 3]), forerun::ones([16, 3]));
    let mut sgd = Sgd::new(net.parameters(), 0.1);
    let mut losses = Vec::new();
    for _ in 0..30 {
        let loss = record(|| l2_loss(&net.forward(&x)?, &y))?;
        loss.backward()?;
        sgd.step(16)?;
        losses.push(values(&loss).iter().sum::<f32>());
    }
    assert!(losses[29] < 0.2 * losses[0], "{losses:?}");
    let path = std::env::temp_dir().join(format!("forerun-exported-{}", std::process::id()));
    save(&net.parameters(), &path)?;
    let other = network("mlp");
    load(&other.parameters(), &path)?;
    assert_eq!(values(&other.forward(&x)?), values(&net.forward(&x)?));
    std::fs::remove_file(&path).unwrap();
    Ok(())
}

#[test]
fn inputs_are_checked() {
    let net = network("mlp");
    let error = net.run(&[forerun::ones([2, 5])]).err().unwrap().to_string();
    let text = "graph: input 'data' is float32 of shape (2, 5), the graph needs float32 of shape (batch, 3)";
    assert!(error.starts_with(text), "{error}");
    let error = net.run(&[]).err().unwrap().to_string();
    assert!(error.starts_with("graph: takes 1 inputs, not 0"), "{error}");
    assert!(Network::load(file("lenet-symbol.json"), file("mlp-0000.params")).is_err());
}
