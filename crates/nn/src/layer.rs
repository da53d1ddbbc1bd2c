//! What a layer is.

use crate::init::Init;
use crate::parameter::Parameter;
use forerun_array::Array;
use forerun_base::{DType, Loc, Result};

/// A function with parameters.
///
/// Whether it is training is the calling thread's setting (`forerun::grad`), not the layer's.
pub trait Layer: Send + Sync {
    /// What the layer makes of `x`. What fails later names `loc`, the line of the program that asked.
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array>;

    /// The parameters, named by their place: `0.weight` is the weight of the first layer.
    fn parameters(&self) -> Vec<Parameter>;

    /// What the layer makes of `x`. Through a `dyn Layer` the line is lost: there, [`forward_at`](Layer::forward_at) says it.
    #[track_caller]
    fn forward(&self, x: &Array) -> Result<Array> {
        self.forward_at(x, Loc::caller())
    }

    /// Starts every parameter anew. Weights start as given, the others (shifts, scales, statistics) as their layers say.
    #[track_caller]
    fn initialize(&self, init: Init) -> Result<()> {
        let loc = Loc::caller();
        self.parameters().iter().try_for_each(|parameter| parameter.initialize(init, loc))
    }

    /// Gives every parameter another float dtype.
    #[track_caller]
    fn cast(&self, dtype: DType) -> Result<()> {
        let loc = Loc::caller();
        self.parameters().iter().try_for_each(|parameter| parameter.cast(dtype, loc))
    }
}
