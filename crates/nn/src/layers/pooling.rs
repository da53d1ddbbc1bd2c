//! Pooling layers, in one to three dimensions.

use crate::layer::Layer;
use crate::parameter::Parameter;
use forerun_array::Array;
use forerun_array::ops::{self, List, PoolKind};
use forerun_base::{Loc, Result};

/// Reduces each window of images to one element, in as many dimensions as a window has.
pub struct Pooling {
    kind: PoolKind,
    pool: ops::Pool,
}

fn list(numbers: &[usize]) -> List<i64> {
    numbers.iter().map(|number| *number as i64).collect()
}

impl Pooling {
    /// Adjacent windows of these extents.
    pub fn new(kind: PoolKind, window: &[usize]) -> Pooling {
        let (kernel, stride, padding) = (list(window), list(window), List::from_elem(0, window.len()));
        let (extents, channels_last) = (List::new(), false);
        let pool =
            ops::Pool { kernel, stride, padding, extents, divisor: 0, ceil: false, adaptive: false, channels_last };
        Pooling { kind, pool }
    }

    /// The maximum of each window.
    pub fn max(window: &[usize]) -> Pooling {
        Pooling::new(PoolKind::Max, window)
    }

    /// The mean of each window; padding counts as zeros.
    pub fn average(window: &[usize]) -> Pooling {
        Pooling::new(PoolKind::Average(true), window)
    }

    /// The mean of windows that cover images evenly, so that the result has these extents.
    pub fn adaptive_average(extents: &[usize]) -> Pooling {
        let mut layer = Pooling::new(PoolKind::Average(false), extents);
        layer.pool.adaptive = true;
        layer
    }

    /// Sets the distance between windows, one number per axis.
    pub fn stride(mut self, stride: &[usize]) -> Pooling {
        self.pool.stride = list(stride);
        self
    }

    /// Sets the padding at both ends of each axis; it is never a maximum.
    pub fn padding(mut self, padding: &[usize]) -> Pooling {
        self.pool.padding = list(padding);
        self
    }

    /// Adds a window that extends beyond the end, if the windows do not cover an axis.
    pub fn ceil(mut self) -> Pooling {
        self.pool.ceil = true;
        self
    }

    /// Makes channels the last axis instead of the second.
    pub fn channels_last(mut self) -> Pooling {
        self.pool.channels_last = true;
        self
    }
}

impl Layer for Pooling {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        ops::pooling(x, self.kind, &self.pool, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}

/// Reduces each channel of each image to one element; spatial axes keep extent 1.
pub struct GlobalPooling {
    kind: PoolKind,
    channels_last: bool,
}

impl GlobalPooling {
    /// A layer with this reduction.
    pub fn new(kind: PoolKind) -> GlobalPooling {
        GlobalPooling { kind, channels_last: false }
    }

    /// Makes channels the last axis instead of the second.
    pub fn channels_last(mut self) -> GlobalPooling {
        self.channels_last = true;
        self
    }
}

impl Layer for GlobalPooling {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        ops::global_pooling(x, self.kind, self.channels_last, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}
