//! The lock-free protocols of this crate under the model checker; the tests stand beside the shipped sources.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p forerun-array --test loom --release`.
#![cfg(loom)]
#![allow(dead_code, unused_imports, reason = "only what the models use is called here")]

#[path = "../src/balance.rs"]
mod balance;
#[path = "../src/life.rs"]
mod life;
#[path = "../src/retired.rs"]
mod retired;
#[path = "../src/sync.rs"]
mod sync;
