//! Checks what a new op requires: the stages add ops to a copy of the sources and check everything that is generated from them.

mod copy;
pub(super) mod family;
pub(super) mod row;
