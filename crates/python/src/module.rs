//! The extension module `forerun._forerun`, on which the package's Python files build.
//!
//! Invariant: importing it starts no thread and touches no device.

use pyo3::prelude::*;

// The array wrapper relies on the GIL, so the module must not declare itself free-threaded.
#[pymodule(gil_used = true)]
mod _forerun {
    use super::*;

    #[pymodule_export]
    use crate::advanced::set_float_indices;
    #[pymodule_export]
    use crate::advanced::{copy_where, nonzero};
    #[pymodule_export]
    use crate::archive::{load_arrays, save_arrays};
    #[pymodule_export]
    use crate::array::PyArray;
    #[pymodule_export]
    use crate::autograd::{
        backward, checkpoint, freeze, fresh_gradients, gradients, is_detached, is_on_tape, is_recording, is_training,
        mark_variables, record_function, set_integer_gradients, set_recording, set_training, shares_cell,
        use_gradients,
    };
    #[pymodule_export]
    use crate::awaiting::{awaited_item, settled_or_call};
    #[pymodule_export]
    use crate::blockers::{blockers, last_wait, reset_blockers, set_sync};
    #[pymodule_export]
    use crate::capture::{PyCaptured, capture};
    #[pymodule_export]
    use crate::codecs::{decode_image, encode_image};
    #[pymodule_export]
    use crate::device::{
        PyDevice, current_device, elsewhere, end_background, gpu_memory_info, gpu_stats, machine, named_device,
        num_gpus, require_device, reset_gpu_peak, search_cuda_in, set_device, set_tf32, user_kernel,
    };
    #[pymodule_export]
    use crate::dlpack::from_capsule;
    #[pymodule_export]
    use crate::dtype::{PyDType, default_float, result_type, set_default_float};
    #[pymodule_export]
    use crate::error::set_error_classes;
    #[pymodule_export]
    use crate::exchange::{from_numpy, placement, set_writable_asnumpy};
    #[cfg(any(feature = "faults", debug_assertions))]
    #[pymodule_export]
    use crate::fail::{fail_arm, fail_disarm, fail_hits, fail_point, fail_sites};
    #[pymodule_export]
    use crate::functions::{
        arange, broadcast_to, concatenate, count_nonzero, dot, expand_dims, eye, full, inner, matmul, normal, point,
        pointwise, reduction, routine, stack, sum_of_products, uniform, vdot,
    };
    #[pymodule_export]
    use crate::graph::PyGraph;
    #[pymodule_export]
    use crate::images::{convolution, deconvolution, pooling};
    #[pymodule_export]
    use crate::initialise::initialize;
    #[pymodule_export]
    use crate::layers::{
        activation, batch_norm, dropout, embedding, fully_connected, group_norm, instance_norm, layer_norm,
        log_softmax, one_hot, pick, prelu, rms_norm, scaled_dot_product_attention, scatter_add, softmax, take,
    };
    #[pymodule_export]
    use crate::loc::{user_line, user_line_id, work_for_line};
    #[pymodule_export]
    use crate::losses::loss;
    #[pymodule_export]
    use crate::memory::{empty_cache, gpu_memory_stats, memory_stats, reset_peak, set_budget};
    #[pymodule_export]
    use crate::op_hooks::observed;
    #[pymodule_export]
    use crate::recurrent::recurrent;
    #[pymodule_export]
    use crate::sequence::from_python;
    #[pymodule_export]
    use crate::shapes::{diagonal, empty, empty_like, flip, full_like, join, repeat, roll, swapaxes, tile, without};
    #[pymodule_export]
    use crate::switches::{
        cancel_pending, drain, note_submissions, num_threads, pass_over, seed, set_drop_dead, set_fuse,
        set_num_threads, set_tiny_limit, start_detecting, stats, stop_detecting, stream_of, swap_stream, wait_all,
    };

    #[pymodule_export]
    use crate::trace::{name_track, start_trace, stop_trace};
    #[pymodule_export]
    use crate::ufunc::PyPointwise;
    #[pymodule_export]
    use crate::updates::update_weights;

    #[pymodule_init]
    fn start(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::loc::start();
        crate::wait::start();
        crate::threads::start(module.py())?;
        // Child processes may be forked before the first op.
        forerun::frontend::watch_forks();
        for dtype in forerun::DType::ALL {
            module.add(dtype.name(), crate::dtype::object(module.py(), dtype))?;
        }
        module.add("LinAlgError", module.py().get_type::<crate::error::LinAlgError>())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
