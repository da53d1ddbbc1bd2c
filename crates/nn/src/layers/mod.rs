//! The layers.

mod dense;
mod embedding;
mod normalise;
mod plain;
mod recurrent;
mod sequential;

pub use dense::Dense;
pub use embedding::Embedding;
pub use normalise::{BatchNorm, LayerNorm};
pub use plain::{Dropout, Flatten};
pub use recurrent::{Recurrent, RecurrentStates};
pub use sequential::Sequential;
