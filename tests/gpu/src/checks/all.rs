//! The table of checks.

use super::{fills, lanes, moves, pointwise, products, reductions, routines, rows};
use crate::ledger::Ledger;
use forerun_cuda::Gpu;
use std::sync::Arc;

type Check = fn(&Arc<Gpu>, &mut Ledger);

/// Every check, with its name.
pub(crate) const ALL: &[(&str, Check)] = &[
    ("pointwise", pointwise::check),
    ("programs", pointwise::programs),
    ("adding", reductions::adding),
    ("comparing", reductions::comparing),
    ("indexing", reductions::indexing),
    ("fed", reductions::fed),
    ("fills", fills::check),
    ("moves", moves::check),
    ("rows", rows::check),
    ("samples", routines::of_the_catalogue),
    ("lines", routines::of_lines),
    ("places", routines::of_places),
    ("draws", routines::of_draws),
    ("matrices", routines::of_matrices),
    ("transforms", routines::of_transforms),
    ("products", products::check),
    ("lanes", lanes::check),
];
