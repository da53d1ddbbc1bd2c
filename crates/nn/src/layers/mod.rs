//! The layers.

mod convolution;
mod dense;
mod embedding;
mod normalise;
mod plain;
mod pooling;
mod recurrent;
mod sequential;

pub use convolution::{Conv, ConvTranspose};
pub use dense::Dense;
pub use embedding::Embedding;
pub use normalise::{BatchNorm, LayerNorm};
pub use plain::{Dropout, Flatten};
pub use pooling::{GlobalPooling, Pooling};
pub use recurrent::{Recurrent, RecurrentStates};
pub use sequential::Sequential;
