//! The runtime behind every array: submission, planning, execution and memory. One instance per process.
//!
//! - Submission: [`submit`] opens a [`node`] for the result and writes a 64-byte [`record`] into the thread's
//!   [`window`].
//! - Planning: [`planner`] takes records out of the windows, runs small ones itself ([`inline`]) and cuts the rest into
//!   a [`segment`], whose plan [`plan_cache`] keeps; [`lower`] turns the plan into engine tasks.
//! - Execution: [`kernel_task`] runs a kernel on the host, [`device_task`] enqueues one on an accelerator; [`unfused`]
//!   runs the records of a kernel one by one after a failure.
//! - Lifetime: [`handles`] counts who can still read a node, [`uses`] when its buffer can be freed.
//!
//! Invariant: records of one window are taken in submission order, under the planner's lock, and only once; a value is
//! written before it is published and never after, except by the owner of a value that no other thread can read.
//!
//! Must not know: the user's array type beyond its cell, indexing, or frontends.

pub(crate) mod buffer;
pub(crate) mod cancel;
pub(crate) mod device_task;
pub(crate) mod devices;
pub(crate) mod flights;
pub(crate) mod fork;
mod global;
pub(crate) mod handles;
pub(crate) mod host_queue;
pub(crate) mod inline;
pub(crate) mod inline_limit;
pub(crate) mod intern_gc;
pub(crate) mod kernel_task;
pub(crate) mod last_good;
pub(crate) mod lower;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod plan_cache;
pub(crate) mod planner;
pub(crate) mod random_streams;
pub(crate) mod recipe;
pub(crate) mod recipe_memo;
pub(crate) mod record;
pub(crate) mod retired_slots;
pub(crate) mod segment;
pub(crate) mod submit;
pub(crate) mod sync;
pub(crate) mod unfused;
pub(crate) mod unread_failures;
pub(crate) mod uses;
pub(crate) mod window;

pub(crate) use global::{Runtime, count, runtime};
pub use global::{RuntimeStats, engine, num_threads, set_drop_dead, set_fuse, set_num_threads, set_tiny_limit, stats};
