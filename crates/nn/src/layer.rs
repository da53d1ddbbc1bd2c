//! The trait of layers.

use crate::init::Init;
use crate::parameter::Parameter;
use forerun_array::Array;
use forerun_base::{DType, Loc, Result};

/// A function with parameters.
///
/// Training mode is a setting of the calling thread (`forerun::grad`), not of the layer.
pub trait Layer: Send + Sync {
    /// Applies the layer to `x`. Later failures name `loc`, the calling line of the program.
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array>;

    /// The parameters, named by their path: `0.weight` is the weight of the first layer.
    fn parameters(&self) -> Vec<Parameter>;

    /// Applies the layer to `x`. Through a `dyn Layer` the caller's line is not known; use
    /// [`forward_at`](Layer::forward_at) there.
    #[track_caller]
    fn forward(&self, x: &Array) -> Result<Array> {
        self.forward_at(x, Loc::caller())
    }

    /// Initialises every parameter again: weights with `init`, the others (shifts, scales, statistics) as their layers
    /// define.
    #[track_caller]
    fn initialize(&self, init: Init) -> Result<()> {
        let loc = Loc::caller();
        self.parameters().iter().try_for_each(|parameter| parameter.initialize(init, loc))
    }

    /// Casts every parameter to another float dtype.
    #[track_caller]
    fn cast(&self, dtype: DType) -> Result<()> {
        let loc = Loc::caller();
        self.parameters().iter().try_for_each(|parameter| parameter.cast(dtype, loc))
    }
}

/// The parameters of a part of a layer, under its name.
pub(crate) fn named(name: &str, part: &dyn Layer) -> Vec<Parameter> {
    part.parameters().into_iter().map(|parameter| parameter.under(name)).collect()
}
