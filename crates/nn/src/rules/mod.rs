//! Update rules of optimisers: one call updates all weights. All frontends call these and have no arithmetic of their
//! own.
//!
//! Rates are scalars in the records, so they may change with every step without a new plan. A step writes each weight
//! and each state once, and every write reads the gradient and the old value. A failed gradient therefore fails the
//! whole step, and restoring takes back whole steps.

mod adam;
mod adaptive;
mod descent;
mod layerwise;
mod step;
mod term;

pub use adam::{AdaBelief, AdamRule, Adamax, Ftml, Nadam};
pub use adaptive::{AdaDelta, AdaGrad, Ftrl, GroupAdaGrad, RmsProp};
pub use descent::{Dcasgd, Nag, SgdRule, Sgld, Signum};
pub use layerwise::{Lamb, Lans, Lars};
pub use step::{Preparation, Rule, WeightStep, WeightUpdate};
