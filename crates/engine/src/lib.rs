//! Runs planned work: tasks, lanes, parking, helping and the memory budget.
//!
//! The engine knows tasks, their edges and their bytes; it must not know arrays or operations. Its users implement
//! [`Work`] to run, a [`Feeder`] that plans more when workers are idle, and [`WaitTarget`]s to wait for. A task runs
//! when its predecessors are done and its bytes fit the budget; a thread that waits helps. All atomics come from
//! `sync`, so that loom checks the modules that ship: under `cfg(loom)` the test `loom` includes their sources, and
//! this crate is empty.

#![cfg(not(loom))]

mod asymmetric;
mod config;
mod device;
mod edges;
mod engine;
mod float_mode;
mod fork;
mod futex;
mod gate;
mod job;
mod ledger;
mod parker;
mod pool;
mod ready;
mod ring;
mod run;
mod signals;
mod sleep;
mod slots;
mod stack;
mod state;
mod stats;
mod sync;
mod task;
mod wait;
mod waiters;
mod work;
mod worker;

pub use config::{Config, Mode};
pub use engine::Engine;
pub use fork::{at_exit, at_fork};
pub use gate::Paused;
pub use ledger::Budget;
pub use ring::{Full, Ring};
pub use stack::is_short as has_short_stack;
pub use state::{Status, ValueState};
pub use stats::EngineStats;
pub use sync::Padded;
pub use task::{Task, TaskRef};
pub use work::{Driver, Enqueued, Fed, Feeder, LaneTicket, Need, TaskSpec, WaitOptions, WaitTarget, Waited, Work};
