//! Neural networks: parameters, layers, losses, optimisers, batches and checkpoints. All of it submits ordinary ops, so
//! it is asynchronous, fused and bounded like the rest. Invalid arguments are returned as errors. Knows no kinds of
//! devices.

mod archive;
mod checkpoint;
mod data;
mod graph;
mod init;
mod layer;
mod layers;
mod loss;
mod optimise;
mod parameter;
mod replace;
pub mod rules;
mod terms;

pub use archive::{ArrayFile, FileError, Notes, StoredArray, save_arrays};
pub use checkpoint::{load, save};
pub use data::{Batches, Samples, batches};
pub use forerun_array::ops::{Activation, PoolKind, RecurrentBegin};
pub use graph::{GraphInput, GraphModel, GraphParameter, NamedArray, Network, Role, TracedGraph, trace_graph};
pub use init::{Draw, Fan, Init, Scaling};
pub use layer::Layer;
pub use layers::{
    BatchNorm, Concatenate, Conv, ConvTranspose, Dense, Dropout, Embedding, Flatten, GlobalPooling, GroupNorm,
    InstanceNorm, Lambda, LayerNorm, MultiHeadAttention, PRelu, Pooling, Recurrent, RecurrentStates, RmsNorm,
    Sequential, TransformerEncoderLayer,
};
pub use loss::{Average, Classes, Loss, Poisson, l1_loss, l2_loss, sigmoid_bce, softmax_cross_entropy};
pub use optimise::{Adam, Optimiser, Sgd};
pub use parameter::Parameter;
