//! What a new op takes: the stages add ops to a copy of the sources by hand-written lines alone, and look at all that follows.

mod copy;
pub(super) mod family;
pub(super) mod row;
