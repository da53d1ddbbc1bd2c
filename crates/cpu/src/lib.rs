//! Kernels, the tile interpreter and the host allocator. Knows nothing of arrays, engines or other devices.

mod alone;
mod backend;
mod casts;
mod copy;
mod fill;
mod gather;
mod jit;
mod loops;
mod need;
mod pages;
mod pairs;
mod parts;
mod philox;
mod place;
mod pointwise;
mod pool;
mod product;
mod reduce;
mod reserve;
mod routine;
mod rows;
mod scratch;
mod simd;
mod stream;
mod stretch;
mod target;
mod tile;
mod turn;
mod whole;

pub use backend::CpuBackend;
pub use fill::blocks_for;
pub use jit::CodeStats;
pub use pool::{Block, Pool, PoolStats};
pub use scratch::ScratchAllocator;
pub use simd::Isa;
