//! Corrupted checkpoints: whatever the bytes, loading succeeds or fails with a named error. It never panics, never
//! allocates more than the file has bytes for, and a failed load changes nothing.

mod common;

use common::{fill, values};
use forerun_array::memory_stats;
use forerun_base::{Error, ErrorKind};
use forerun_nn::{Activation, Dense, Layer, Sequential, load, save};
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
