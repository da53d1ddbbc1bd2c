//! The C ABI: the functions of `forerun.h`, which is generated from this crate, over the crate `forerun`.
//!
//! Invariant: conversion only. Every function checks handles and pointers, converts its arguments, calls `forerun`, and
//! stores an error for the calling thread. No panic leaves a function.

#![expect(non_camel_case_types, reason = "types have the names that they have in C")]
#![expect(clippy::missing_safety_doc, reason = "the header states the rules for pointers and threads once, at its top")]

pub mod abi;
pub mod arithmetic;
pub mod array;
pub mod autograd;
pub mod callback;
mod caller;
pub mod device;
pub mod dlpack;
pub mod error;
pub mod file;
mod handle;
pub mod line;
mod named;
pub mod network;
pub mod op;
pub mod optimiser;
pub mod read;
pub mod reduce;
pub mod runtime;
pub mod shape;
