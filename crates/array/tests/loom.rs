//! The lock-free protocols of this crate under the model checker; the tests are in the modules they test.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p forerun-array --test loom --release`.
#![cfg(loom)]
#![allow(dead_code, unused_imports, reason = "only what the models use is called here")]

#[path = "../src/runtime/handles.rs"]
mod handles;
#[path = "../src/runtime/retired_slots.rs"]
mod retired_slots;
#[path = "../src/runtime/sync.rs"]
mod sync;
#[path = "../src/runtime/uses.rs"]
mod uses;
