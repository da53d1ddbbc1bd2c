//! Asynchronous arrays that run ahead: what a Rust program depends on.
//!
//! Every op returns at once; the engine runs it on its own threads, in any order the data allows. Printing, reading
//! an element or waiting is where the program meets its results.
//!
//! ```
//! use forerun::ones;
//! let x = ones(&[1, 2]);
//! let y = ones(&[1, 2]);
//! let z = &x * &y + 2.0;
//! assert_eq!(z.to_string(), "[[3. 3.]]");
//! ```

mod make;

pub use forerun_array::{
    Arg, Array, Blocker, Budget, Capture, DeviceStats, Event, Happening, Holder, Holds, Index, Lane, Lent, MemoryStats,
    Mode, Origin, Program, Ready, ScratchAllocator, SimOptions, Slots, Snapshot, Stats, Submission, SyncRule, Wait,
    Waiting, abandon_detecting, accelerator_count, blockers, cancel_pending, check_device, cuda_number, current_device,
    detect_nonfinite, detects_nonfinite, device_stats, empty_cache, empty_device_cache, end_background, engine,
    has_host_room, has_room, last_wait, leave, make_host_room, make_room_with, memory_stats, no_sync, note_submissions,
    num_threads, on_arrival, on_device, ops, reads_plainly, refusal, reset_blockers, reset_device_peak, reset_peak,
    search_cuda_in, seed, set_around_wait, set_budget, set_current_device, set_device_budget, set_drop_dead,
    set_fast_products, set_fuse, set_num_threads, set_sync_rule, set_tiny_limit, settle_device, simulate, slots,
    start_detecting, start_trace, stats, stop_detecting, stop_trace, stream_of, swap_stream, sync_rule, wait_all,
    wait_all_counted, wait_all_with, watch_forks, whole_inputs, write_back,
};
/// Fail points, for tests.
#[cfg(any(feature = "faults", debug_assertions))]
pub use forerun_base::fail;
#[doc(hidden)]
pub use forerun_base::fail_point;
pub use forerun_base::{
    Brain, Complex, DType, Device, Error, ErrorKind, Half, Kind, Layout, Loc, Result, Scalar, Shape, SourceLine,
};
/// Gradients: the tape and the walk back over it.
pub use forerun_grad as grad;
/// Layers, losses, optimisers, batches and checkpoints.
///
/// ```
/// use forerun::grad::{Differentiable, record};
/// use forerun::nn::{Activation, Dense, Layer, Sequential, Sgd, l2_loss};
/// # fn main() -> forerun::Result<()> {
/// let net = Sequential::new().then(Dense::new(8).activation(Activation::Relu)).then(Dense::new(1));
/// let (x, y) = (forerun::normal(&[32, 4]), forerun::ones(&[32, 1]));
/// let mut sgd = Sgd::new(net.parameters(), 0.1);
/// for _ in 0..3 {
///     let loss = record(|| l2_loss(&net.forward(&x)?, &y))?;
///     loss.backward()?;
///     sgd.step(32)?;
/// }
/// assert_eq!(net.parameters()[0].name(), "0.weight");
/// # Ok(())
/// # }
/// ```
pub use forerun_nn as nn;
/// What dtypes operands promote to.
pub use forerun_ops::infer::{ArgType, promote};
/// Calls of every op, for tests to walk.
pub use forerun_ops::samples;
pub use forerun_ops::{
    Attribute, AttributeKind, Beyond, COMPOSITE, Class, Encoded, Op, OpRow, Point, PointRow, ReduceKind, Routine,
    STRUCTURED, Tier,
};
pub use make::{arange, array, eye, full, normal, ones, uniform, zeros};
