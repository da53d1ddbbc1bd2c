//! Corrupted checkpoints and graphs: whatever the bytes, loading succeeds or fails with a named error. It never panics,
//! never allocates more than the file has bytes for, and a failed load changes nothing.

mod common;

use common::{fill, values};
use forerun_array::{Array, Wait, memory_stats, ops};
use forerun_base::{Error, ErrorKind, Loc, Scalar};
use forerun_nn::{Activation, Dense, GraphModel, Layer, Sequential, load, save};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Records the largest allocation of a thread.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: forwards everything to the system's allocator.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
        // SAFETY: the caller's guarantee is forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantee is forwarded.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Memory for reading besides the bytes of the file: buffers of the library, tables, the text of a message.
const SLACK: usize = 64 << 10;

/// Pseudo-random numbers, determined by the seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Numbers and words that often break parsers.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "1e9",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "4294967296",
    "null",
    "true",
    "[]",
    "{}",
    "[[[[[[[[[[",
    "\"F32\"",
    "\"F64\"",
    "\"I8\"",
    "\"BOOL\"",
    "\"weight\"",
    "\"__metadata__\"",
    "\"data_offsets\"",
    "\"shape\"",
    "\"\\ud800\"",
    "\u{0}",
    ",",
    ":",
    "\"",
];

/// Changes a file in one to four ways.
fn mutate(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let length = dice.below(24).min(bytes.len() - at);
        match dice.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = dice.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let copied = bytes[at..at + length].to_vec();
                let to = dice.below(bytes.len() + 1);
                bytes.splice(to..to, copied).for_each(drop);
            }
            5 => drop(bytes.splice(at..at + length, dice.pick(TOKENS).bytes()).collect::<Vec<_>>()),
            6 => {
                // Replaces a number of the header.
                let digits: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let at = dice.pick(&digits);
                    drop(bytes.splice(at..at + 1, dice.pick(&TOKENS[..7]).bytes()).collect::<Vec<_>>());
                }
            }
            // The length of the header.
            7 if bytes.len() >= 8 => {
                let claims = [0, 1, 7, bytes.len() as u64, u64::MAX, 1 << 40, 100_000_001, dice.next()];
                bytes[..8].copy_from_slice(&dice.pick(&claims).to_le_bytes());
            }
            _ => bytes.extend((0..length).map(|i| i as u8)),
        }
    }
    bytes
}

fn rounds() -> usize {
    if std::env::var("FORERUN_TEST_LONG").is_ok_and(|long| long == "1") { 1_000_000 } else { 10_000 }
}

#[test]
fn corrupted_files_load_or_fail_cleanly() {
    let net =
        Sequential::new().then(Dense::new(4).activation(Activation::Relu).in_units(3)).then(Dense::new(2).in_units(4));
    fill(&net);
    let parameters = net.parameters();
    let now = || parameters.iter().map(|p| values(&p.array().unwrap())).collect::<Vec<_>>();
    let path = std::env::temp_dir().join(format!("forerun-fuzz-{}.safetensors", std::process::id()));
    save(&parameters, &path).unwrap();
    let (valid, mut before) = (std::fs::read(&path).unwrap(), now());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut loaded, mut refused) = (0, 0);
    for round in 0..rounds() {
        let bytes = mutate(&valid, &mut dice);
        std::fs::write(&path, &bytes).unwrap();
        let taken = memory_stats().allocated_bytes;
        LARGEST.set(0);
        let result: Result<(), Error> = catch_unwind(AssertUnwindSafe(|| load(&parameters, &path)))
            .unwrap_or_else(|_| panic!("round {round} panics: {:?}", String::from_utf8_lossy(&bytes)));
        let (largest, taken) = (LARGEST.get(), memory_stats().allocated_bytes - taken);
        assert!(largest <= bytes.len() + SLACK, "round {round}: {largest} bytes for a file of {}", bytes.len());
        assert!(taken <= (2 * bytes.len() + SLACK) as u64, "round {round}: {taken} bytes of arrays");
        match result {
            Ok(()) => {
                loaded += 1;
                before = now();
            }
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.starts_with(&format!("load: {}: ", path.display())), "round {round}: {text}");
                assert!(text.contains(&format!("read at {}:", file!())), "round {round}: {text}");
                let named = matches!(error.kind(), ErrorKind::Value | ErrorKind::Type | ErrorKind::Runtime);
                assert!(named, "round {round}: {error:?}");
                assert!(
                    round % 100 != 0 || format!("{:?}", now()) == format!("{before:?}"),
                    "round {round} changed something"
                );
            }
        }
    }
    std::fs::remove_file(&path).unwrap();
    // Elements may change without harm, and most other changes are detected.
    assert!(loaded > rounds() / 100 && refused > rounds() / 2, "{loaded} loaded, {refused} refused");
}

/// A graph with every form that files have: views, numbers, attributes of all types, extents that depend on the batch.
const GRAPH: &str = r#"{
"format": "forerun-graph", "version": 1, "batch": 2,
"inputs": [{"name": "data", "dtype": "float32", "shape": [{"batch": 1}, 2, 6, 6]}],
"parameters": [
  {"name": "w", "dtype": "float32", "shape": [3, 2, 3, 3], "role": "trained"},
  {"name": "d", "dtype": "float32", "shape": [4, 12], "role": "trained"},
  {"name": "i", "dtype": "int64", "shape": [2], "role": "constant"}],
"nodes": [
  {"op": "convolution", "inputs": [{"array": 0}, {"array": 1}], "attributes": {"stride": [1, 1], "padding": [0, 0],
    "dilation": [1, 1], "extents": [], "groups": 1, "channels_last": false}, "shape": [{"batch": 1}, 3, 4, 4], "dtype": "float32"},
  {"op": "max_pool", "inputs": [{"array": 4}, {"array": 4}], "attributes": {"kernel": [2, 2], "stride": [2, 2], "padding": [0, 0],
    "extents": [], "divisor": 0, "ceil": false, "adaptive": false, "channels_last": false},
    "shape": [{"batch": 1}, 3, 2, 2], "dtype": "float32", "line": "net.py:3"},
  {"op": "matmul", "inputs": [{"array": 5, "view": {"shape": [{"batch": 1}, 12], "strides": [12, 1], "offset": 0}},
    {"array": 2, "view": {"shape": [12, 4], "strides": [1, 12], "offset": 0}}], "shape": [{"batch": 1}, 4], "dtype": "float32"},
  {"op": "maximum", "inputs": [{"array": 6}, {"float": 0.0}], "shape": [{"batch": 1}, 4], "dtype": "float32"},
  {"op": "update", "inputs": [{"array": 7}, {"float": 2.5}], "attributes": {"region":
    {"shape": [{"batch": 1}, 2], "strides": [4, 2], "offset": 1}}, "shape": [{"batch": 1}, 4], "dtype": "float32"},
  {"op": "take", "inputs": [{"array": 8}, {"array": 3}], "attributes": {"axis": 1, "mode": "clip"},
    "shape": [{"batch": 1}, 2], "dtype": "float32"},
  {"op": "arange", "inputs": [], "attributes": {"start": {"int": 0}, "step": {"int": 1}}, "shape": [2], "dtype": "int64"},
  {"op": "full", "inputs": [], "attributes": {"value": {"float": {"batch": 1}}}, "shape": [{"batch": 1}, 1], "dtype": "float32"},
  {"op": "concatenate", "inputs": [{"array": 9, "detached": true}, {"array": 11}], "attributes": {"axis": 1},
    "shape": [{"batch": 1}, 3], "dtype": "float32"},
  {"op": "sum", "inputs": [{"array": 12}], "attributes": {"axis": [0], "keepdims": true}, "shape": [1, 3], "dtype": "float32"},
  {"op": "divide", "inputs": [{"array": 13}, {"float": {"batch": 1}}], "shape": [1, 3], "dtype": "float32"},
  {"op": "layer_norm_rows", "inputs": [{"array": 12}, {"array": 14, "view": {"shape": [3], "strides": [1], "offset": 0}},
    {"array": 14, "view": {"shape": [3], "strides": [1], "offset": 0}}], "attributes": {"epsilon": 0.00001},
    "shape": [{"batch": 1}, 3], "dtype": "float32"}],
"outputs": [{"array": 15}, {"array": 10}]
}"#;

/// A graph of the ops on regions, samples, windows and boxes.
const VISION: &str = r#"{
"format": "forerun-graph", "version": 1, "batch": 2,
"inputs": [{"name": "data", "dtype": "float32", "shape": [{"batch": 1}, 2, 6, 6]}],
"parameters": [
  {"name": "boxes", "dtype": "float32", "shape": [3, 4], "role": "constant"},
  {"name": "message", "dtype": "uint8", "shape": [3], "role": "constant"}],
"nodes": [
  {"op": "full", "inputs": [], "attributes": {"value": {"int": 0}}, "shape": [3], "dtype": "int64"},
  {"op": "roi_align", "inputs": [{"array": 0}, {"array": 3}, {"array": 1}], "attributes": {"bins": [2, 2], "scale": 1.5,
    "samples": 2, "aligned": false, "own_channels": false, "extents": []}, "shape": [3, 2, 2, 2], "dtype": "float32"},
  {"op": "roi_pool", "inputs": [{"array": 0}, {"array": 0}, {"array": 3}, {"array": 1}], "attributes": {"bins": [2, 3],
    "scale": 0.5}, "shape": [3, 2, 2, 3], "dtype": "float32"},
  {"op": "bilinear_sample", "inputs": [{"array": 0}, {"array": 0, "view": {"shape": [{"batch": 1}, 2, 5],
    "strides": [72, 36, 1], "offset": 0}}], "attributes": {}, "shape": [{"batch": 1}, 2, 5], "dtype": "float32"},
  {"op": "im2col", "inputs": [{"array": 0}], "attributes": {"kernel": [2, 2], "stride": [1, 2], "padding": [1, 0],
    "dilation": [1, 2], "extents": []}, "shape": [{"batch": 1}, 8, 14], "dtype": "float32"},
  {"op": "col2im", "inputs": [{"array": 7}], "attributes": {"kernel": [2, 2], "stride": [1, 2], "padding": [1, 0],
    "dilation": [1, 2], "extents": [6, 6]}, "shape": [{"batch": 1}, 2, 6, 6], "dtype": "float32"},
  {"op": "suppress_boxes", "inputs": [{"array": 0, "view": {"shape": [{"batch": 1}, 6], "strides": [72, 1], "offset": 0}},
    {"array": 0, "view": {"shape": [{"batch": 1}, 6, 4], "strides": [72, 6, 1], "offset": 0}},
    {"array": 0, "view": {"shape": [{"batch": 1}, 6], "strides": [72, 1], "offset": 3}}], "attributes": {"overlap": 0.5,
    "valid": 0.0, "top": 4, "inclusive": false, "compact": true}, "shape": [{"batch": 1}, 6], "dtype": "int64"},
  {"op": "bipartite_match", "inputs": [{"array": 0, "view": {"shape": [{"batch": 1}, 3, 4], "strides": [72, 4, 1],
    "offset": 0}}], "attributes": {"threshold": 0.1, "ascending": false, "top": 2}, "shape": [{"batch": 1}, 7], "dtype": "int64"},
  {"op": "assign_anchors", "inputs": [{"array": 0, "view": {"shape": [{"batch": 1}, 6, 3], "strides": [72, 3, 1],
    "offset": 0}}, {"array": 0, "view": {"shape": [{"batch": 1}, 3], "strides": [72, 1], "offset": 0}},
    {"array": 0, "view": {"shape": [{"batch": 1}, 6], "strides": [72, 1], "offset": 0}}], "attributes": {"overlap": 0.5,
    "ratio": 3.0, "negative": 0.5, "fewest": 1}, "shape": [{"batch": 1}, 6], "dtype": "int64"},
  {"op": "full", "inputs": [], "attributes": {"value": {"bool": true}}, "shape": [2], "dtype": "bool"},
  {"op": "constraint_check", "inputs": [{"array": 12}, {"array": 2}], "attributes": {}, "shape": [], "dtype": "bool"}],
"outputs": [{"array": 4}, {"array": 5}, {"array": 6}, {"array": 8}, {"array": 9}, {"array": 10}, {"array": 11}, {"array": 13}]
}"#;

/// Elements that a graph of a test may compute.
const MOST_ELEMENTS: u64 = 1 << 16;

/// Arrays of ones for the inputs and parameters of a graph; `None` if they would be large.
fn given(graph: &GraphModel, batch: usize) -> Option<(Vec<Array>, Vec<Array>)> {
    let one = |shape: &[usize], dtype| {
        let size = shape.iter().try_fold(1usize, |size, extent| size.checked_mul(*extent))?;
        (size as u64 <= MOST_ELEMENTS).then(|| ops::full(shape, Scalar::Int(1), dtype, Loc::caller()).ok()).flatten()
    };
    let extents = |known: Vec<Option<usize>>| known.into_iter().map(|e| e.unwrap_or(batch)).collect::<Vec<_>>();
    let inputs =
        graph.inputs().iter().map(|input| one(&extents(input.extents()), input.dtype)).collect::<Option<_>>()?;
    let parameters = graph.parameters().iter().map(|p| one(&p.shape, p.dtype)).collect::<Option<_>>()?;
    (graph.elements(batch).ok()? <= MOST_ELEMENTS).then_some((inputs, parameters))
}

/// Runs a graph with ones and waits for its outputs.
fn run(graph: &GraphModel, batch: usize) -> Option<Result<(), Error>> {
    let (inputs, parameters) = given(graph, batch)?;
    let outputs = graph.run(&inputs.iter().collect::<Vec<_>>(), &parameters.iter().collect::<Vec<_>>(), Loc::caller());
    Some(
        outputs
            .and_then(|all| all.iter().try_for_each(|y| y.snapshot_with(&Wait::at(Loc::caller(), "test")).map(drop))),
    )
}

/// Replaces one to three numbers of a text, so that the rest stays valid.
fn renumber(text: &str, dice: &mut Dice) -> Vec<u8> {
    const NUMBERS: &[&str] =
        &["0", "1", "2", "3", "5", "-1", "64", "-65536", "4294967296", "9223372036854775807", "{\"batch\": 2}"];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(3) {
        let starts = (1..bytes.len()).filter(|i| bytes[*i].is_ascii_digit() && !bytes[i - 1].is_ascii_alphanumeric());
        let at = dice.pick(&starts.collect::<Vec<_>>());
        let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        bytes.splice(at..at + length, dice.pick(NUMBERS).bytes());
    }
    bytes
}

#[test]
fn corrupted_graphs_load_or_fail_cleanly() {
    corrupted(GRAPH, Dice(0x1234_5678_9abc_def1));
}

#[test]
fn corrupted_graphs_of_regions_and_boxes_load_or_fail_cleanly() {
    corrupted(VISION, Dice(0x0f1e_2d3c_4b5a_6978));
}

fn corrupted(text: &str, mut dice: Dice) {
    let valid = GraphModel::parse(text.as_bytes()).unwrap();
    for batch in [1, 2, 5] {
        run(&valid, batch).unwrap().unwrap();
    }
    let again = GraphModel::parse(valid.to_text().as_bytes()).unwrap();
    assert_eq!(again.to_text(), valid.to_text());
    let (mut loaded, mut refused, mut ran) = (0, 0, 0);
    for round in 0..rounds() {
        let bytes = if round % 2 == 0 { mutate(text.as_bytes(), &mut dice) } else { renumber(text, &mut dice) };
        LARGEST.set(0);
        let parsed = catch_unwind(|| GraphModel::parse(&bytes))
            .unwrap_or_else(|_| panic!("round {round} panics: {:?}", String::from_utf8_lossy(&bytes)));
        // A byte of text may become an item of a list.
        let largest = LARGEST.get();
        assert!(largest <= 64 * bytes.len() + SLACK, "round {round}: {largest} bytes for a text of {}", bytes.len());
        match parsed {
            Err(text) => {
                refused += 1;
                assert!(!text.is_empty(), "round {round}");
            }
            Ok(graph) => {
                loaded += 1;
                for batch in [1, 3] {
                    let text = || String::from_utf8_lossy(&bytes).into_owned();
                    let result = catch_unwind(AssertUnwindSafe(|| run(&graph, batch)))
                        .unwrap_or_else(|_| panic!("round {round} panics: {}", text()));
                    if let Some(result) = result {
                        ran += result.is_ok() as usize;
                        let panicked = result.is_err_and(|error| error.to_string().contains("panicked"));
                        assert!(!panicked, "round {round}: a kernel panics: {}", text());
                    }
                }
            }
        }
    }
    assert!(
        loaded > rounds() / 200 && refused > rounds() / 2 && ran > 0,
        "{loaded} loaded, {refused} refused, {ran} ran"
    );
}
