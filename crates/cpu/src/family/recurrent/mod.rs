//! Scans of recurrent layers. One product before the scan multiplies the inputs of all steps; the scan adds the product
//! of state and weight step by step, with the weight packed once.
//!
//! Invariant: sequences are independent. A task computes all steps of a few of them, so threads synchronise only at the
//! end, and the bits do not depend on the number of threads.

mod backward;
mod forward;
mod kernel;
mod typed;
