//! Checkpoints: round trips, and invalid files.

mod common;

use common::{array, failure, named, values};
use forerun_base::{DType, Error, ErrorKind};
use forerun_nn::{BatchNorm, Dense, Init, Layer, Sequential, load, save};
use std::path::PathBuf;

/// A temporary file, removed when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("forerun-{}-{name}.safetensors", std::process::id())))
    }

    /// A file with this header followed by this many zeros.
    fn of(name: &str, header: &str, zeros: usize) -> Scratch {
        let file = Scratch::new(name);
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; zeros]].concat();
        std::fs::write(&file.0, bytes).unwrap();
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been written.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn net() -> Sequential {
    Sequential::new().then(Dense::new(3)).then(BatchNorm::new())
}

fn elements(net: &dyn Layer) -> Vec<(String, Vec<f64>)> {
    net.parameters().iter().map(|p| (p.name().to_owned(), values(&p.array().unwrap()))).collect()
}

/// The message of an error, after checking that it names the calling line.
fn message(error: &Error) -> String {
    let text = error.to_string();
    let (message, line) = text.split_once('\n').expect("two lines");
    assert!(line.contains(&format!("read at {}:", file!())), "{text}");
    message.to_owned()
}

#[test]
fn a_checkpoint_round_trips() {
    let file = Scratch::new("round");
    let x = array(&[1.0, -2.0, 0.5, 3.0], &[2, 2]);
    let first = net();
    first.initialize(Init::Normal(1.0)).unwrap();
    let y = first.forward(&x).unwrap();
    save(&first.parameters(), &file.0).unwrap();

    // Into a network that has not seen an input yet, and into one that has.
    let fresh = net();
    load(&fresh.parameters(), &file.0).unwrap();
    assert_eq!(elements(&fresh), elements(&first));
    assert_eq!(values(&fresh.forward(&x).unwrap()), values(&y));
    assert!(named(&fresh, "0.weight").gradient().is_some());
    let used = net();
    used.forward(&x).unwrap();
    let weight = named(&used, "0.weight").array().unwrap();
    load(&used.parameters(), &file.0).unwrap();
    assert_eq!(values(&weight), values(&named(&first, "0.weight").array().unwrap()));

    // Over an existing file.
    named(&used, "0.bias").set(&array(&[7.0, 8.0, 9.0], &[3])).unwrap();
    save(&used.parameters(), &file.0).unwrap();
    load(&fresh.parameters(), &file.0).unwrap();
    assert_eq!(values(&named(&fresh, "0.bias").array().unwrap()), [7.0, 8.0, 9.0]);
}

#[test]
fn double_precision_is_kept() {
    let file = Scratch::new("double");
    let first = Dense::new(1).in_units(1);
    first.cast(DType::F64).unwrap();
    first.initialize(Init::Constant(0.1)).unwrap();
    save(&first.parameters(), &file.0).unwrap();
    let second = Dense::new(1).in_units(1);
    let error = failure(load(&second.parameters(), &file.0));
    assert_eq!(error.kind(), ErrorKind::Type);
    assert!(message(&error).ends_with("`weight` is float64, not float32"), "{error}");
    second.cast(DType::F64).unwrap();
    load(&second.parameters(), &file.0).unwrap();
    assert_eq!(values(&named(&second, "weight").array().unwrap()), [0.1]);
}

#[test]
fn saving_errors() {
    let file = Scratch::new("unsaved");
    assert!(failure(save(&net().parameters(), &file.0)).to_string().contains("`0.weight` has no shape yet"));
    let one = Dense::new(1).in_units(1);
    let twice = [one.parameters(), one.parameters()].concat();
    assert!(message(&failure(save(&twice, &file.0))).ends_with("two arrays are named 'weight'"));
    let nowhere = file.0.join("nowhere");
    assert_eq!(failure(save(&one.parameters(), &nowhere)).kind(), ErrorKind::Runtime);
    assert!(!file.0.exists());
}

/// The error of loading into a dense layer of 2 units with 3 inputs; the layer must not change.
fn refused(file: &Scratch) -> Error {
    let net = Dense::new(2).in_units(3);
    net.initialize(Init::One).unwrap();
    let before = elements(&net);
    let error = failure(load(&net.parameters(), &file.0));
    assert_eq!(elements(&net), before);
    assert!(error.to_string().contains(&*file.0.display().to_string()), "{error}");
    error
}

const BIAS: &str = r#""bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#;
const WEIGHT: &str = r#""weight":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}"#;

#[test]
fn a_valid_file_is_read() {
    let file = Scratch::of("right", &format!("{{{BIAS},{WEIGHT}}}"), 32);
    let net = Dense::new(2).in_units(3);
    load(&net.parameters(), &file.0).unwrap();
    assert_eq!(values(&named(&net, "weight").array().unwrap()), [0.0; 6]);
}

#[test]
fn files_that_do_not_fit_the_parameters() {
    let with = |rest: &str| format!("{{{BIAS}{rest}}}");
    let weight = format!(",{WEIGHT}");
    let more = format!(r#"{weight},"more":{{"dtype":"F32","shape":[1],"data_offsets":[32,36]}}"#);
    let cases = [
        ("missing", with(""), 8, "`weight` is missing"),
        ("extra", with(&more), 36, "`more` is not a parameter"),
        ("shape", with(&weight.replace("[2,3]", "[3,2]")), 32, "`weight` is of shape (3, 2), not (2, 3)"),
        ("rank", with(&weight.replace("[2,3]", "[6]")), 32, "`weight` is of shape (6,), not (2, 3)"),
        ("dtype", with(&weight.replace("F32", "I32")), 32, "`weight` is int32, not float32"),
    ];
    for (name, header, zeros, expected) in cases {
        let error = refused(&Scratch::of(name, &header, zeros));
        assert!(message(&error).ends_with(expected), "{error}");
    }
}

#[test]
fn files_that_are_malformed() {
    let good = format!("{{{BIAS},{WEIGHT}}}");
    let cases = [
        ("short", good.clone(), 31, "lie outside the 31 bytes"),
        ("long", good.clone(), 40, "8 bytes at the end belong to no tensor"),
        ("text", "{not json}".to_owned(), 0, "the header is not JSON"),
        ("overlap", good.replace("[8,32]", "[4,28]"), 32, "overlap"),
        ("sizes", good.replace("[2,3]", "[2,4]"), 32, "which needs 32"),
        ("huge", good.replace("[2,3]", "[18446744073709551615,18446744073709551615]"), 32, "too many elements"),
    ];
    for (name, header, zeros, expected) in cases {
        let error = refused(&Scratch::of(name, &header, zeros));
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert_eq!(error.kind(), ErrorKind::Value);
    }
    let raw = |name: &str, bytes: &[u8]| {
        let file = Scratch::new(name);
        std::fs::write(&file.0, bytes).unwrap();
        refused(&file)
    };
    assert!(message(&raw("empty", b"")).ends_with("0 bytes are too few for a header"));
    assert!(message(&raw("few", b"abc")).ends_with("3 bytes are too few for a header"));
    let claims = u64::MAX.to_le_bytes();
    assert!(raw("claims", &claims).to_string().contains("the file has 0 after its length"));
    assert_eq!(refused(&Scratch::new("absent")).kind(), ErrorKind::Runtime);
}
