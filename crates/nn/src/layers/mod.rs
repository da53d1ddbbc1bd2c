//! The layers.

mod attention;
mod containers;
mod convolution;
mod dense;
mod embedding;
mod normalise;
mod plain;
mod pooling;
mod recurrent;

pub use attention::{MultiHeadAttention, TransformerEncoderLayer};
pub use containers::{Concatenate, Lambda, Sequential};
pub use convolution::{Conv, ConvTranspose};
pub use dense::Dense;
pub use embedding::Embedding;
pub use normalise::{BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm};
pub use plain::{Dropout, Flatten, PRelu};
pub use pooling::{GlobalPooling, Pooling};
pub use recurrent::{Recurrent, RecurrentStates};
