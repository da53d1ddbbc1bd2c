//! Automatic differentiation: a tape that observes its thread's submissions, and the backward walk over it. The
//! gradient rules are the catalogue's. Gradients are computed by ordinary ops, so they are fused, asynchronous and
//! bounded like everything else. New arrays are placed on the device of the value they belong to; this crate knows no
//! kinds of devices.

mod custom;
mod derived;
mod entry;
mod methods;
mod pointwise;
mod recompute;
mod routine;
mod rules;
mod shapes;
mod state;
mod sum;
mod tape;
mod walk;

pub use custom::record_function;
pub use entry::{Callback, GradReq};
pub use methods::Differentiable;
pub use recompute::{Recomputed, checkpoint};
pub use state::{is_recording, is_training, pause, record, set_recording, set_training};
pub use tape::{
    attach_grad, drop_grad, gradient_of, is_fresh, is_on_tape, mark_variable, set_integer_gradients, use_gradient,
};
pub use walk::{backward, gradients};
