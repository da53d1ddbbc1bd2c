//! Gradients: a tape that observes its thread's submissions, and the walk back over it. The rules are the catalogue's; what
//! flows back is made of ordinary ops, so it is fused, asynchronous and bounded like everything else. New arrays are placed on the
//! device of the value they belong to; no kind of device is known here.

mod custom;
mod entry;
mod methods;
mod pointwise;
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
pub use state::{is_recording, is_training, pause, record, set_recording, set_training};
pub use tape::{attach_grad, drop_grad, gradient_of, is_fresh, mark_variable, use_gradient};
pub use walk::{backward, gradients};
