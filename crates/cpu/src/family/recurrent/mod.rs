//! Scans of recurrent layers. The input's part of all gates comes from one product before the scan; here the state's part is added step by
//! step, with the weight packed once.
//!
//! Invariant: sequences do not depend on each other. A piece of work is a few of them over all steps, so threads meet only at the
//! end, and the bits do not depend on how many there are.

mod backward;
mod forward;
mod kernel;
mod typed;
