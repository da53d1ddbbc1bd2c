//! Convolution layers, in one to three dimensions.

use crate::init::Init;
use crate::layer::Layer;
use crate::parameter::Parameter;
use crate::terms::value;
use forerun_array::Array;
use forerun_array::ops::{self, Activation, List, Window};
use forerun_base::{Loc, Result};

/// The settings of a convolution or a transposed convolution.
struct Shape {
    channels: usize,
    kernel: Vec<usize>,
    window: Window,
    inputs: Option<usize>,
    bias: bool,
    activation: Option<Activation>,
}

impl Shape {
    fn new(channels: usize, kernel: &[usize]) -> Shape {
        let every = |number: i64| List::from_elem(number, kernel.len());
        let (stride, padding, dilation) = (every(1), every(0), every(1));
        let window = Window { stride, padding, dilation, extents: List::new(), groups: 1, channels_last: false };
        Shape { channels, kernel: kernel.to_vec(), window, inputs: None, bias: true, activation: None }
    }

    /// The shape of a weight with these extents beside the kernel.
    fn weight<T: Copy + From<usize>>(&self, first: T, second: T) -> Vec<T> {
        let mut all: Vec<T> = self.kernel.iter().map(|extent| T::from(*extent)).collect();
        all.insert(if self.window.channels_last { all.len() } else { 0 }, second);
        all.insert(0, first);
        all
    }

    /// The number of channels of an input.
    fn inputs(&self, op: &'static str, x: &Array) -> Result<usize> {
        let shape = x.shape();
        if shape.rank() != self.kernel.len() + 2 {
            return Err(value(op, format!("needs data of {} dimensions, got {shape}", self.kernel.len() + 2)));
        }
        Ok(shape[if self.window.channels_last { shape.rank() - 1 } else { 1 }])
    }
}

fn list(numbers: &[usize]) -> List<i64> {
    numbers.iter().map(|number| *number as i64).collect()
}

macro_rules! settings {
    ($($layer:ident)*) => { $(
        impl $layer {
            /// Sets the distance between windows, one number per axis.
            pub fn stride(self, stride: &[usize]) -> $layer {
                self.with(|shape| shape.window.stride = list(stride))
            }

            /// Sets the number of zeros at both ends of each axis of the data.
            pub fn padding(self, padding: &[usize]) -> $layer {
                self.with(|shape| shape.window.padding = list(padding))
            }

            /// Sets the distance between the elements of a window.
            pub fn dilation(self, dilation: &[usize]) -> $layer {
                self.with(|shape| shape.window.dilation = list(dilation))
            }

            /// Sets the number of groups of channels that are convolved separately.
            pub fn groups(self, groups: usize) -> $layer {
                self.with(|shape| shape.window.groups = groups as i64)
            }

            /// Makes channels the last axis instead of the second.
            pub fn channels_last(self) -> $layer {
                self.with(|shape| shape.window.channels_last = true)
            }

            /// Sets the number of input channels; otherwise the first call determines it.
            pub fn in_channels(self, channels: usize) -> $layer {
                self.with(|shape| shape.inputs = Some(channels))
            }

            /// Removes the bias.
            pub fn without_bias(self) -> $layer {
                self.with(|shape| shape.bias = false)
            }

            /// Applies this activation to the output.
            pub fn activation(self, kind: Activation) -> $layer {
                self.with(|shape| shape.activation = Some(kind))
            }

            fn with(mut self, set: impl FnOnce(&mut Shape)) -> $layer {
                set(&mut self.shape);
                let (channels, groups) = (self.shape.channels, self.shape.window.groups.max(1) as usize);
                self.weight = Parameter::weight("weight", &$layer::extents(&self.shape, channels, groups));
                self
            }

            fn biases(&self, loc: Loc) -> Result<Option<Array>> {
                if self.shape.bias { self.bias.array_at(loc).map(Some) } else { Ok(None) }
            }
        }
    )* };
}

settings! { Conv ConvTranspose }

/// A convolution over images in as many dimensions as its kernel has.
pub struct Conv {
    shape: Shape,
    weight: Parameter,
    bias: Parameter,
}

impl Conv {
    /// A layer with this many filters and a bias. The first call determines the number of input channels.
    pub fn new(channels: usize, kernel: &[usize]) -> Conv {
        let bias = Parameter::starting_as("bias", &[Some(channels)], Init::Zero);
        let shape = Shape::new(channels, kernel);
        let weight = Parameter::weight("weight", &Conv::extents(&shape, channels, 1));
        Conv { shape, weight, bias }
    }

    fn extents(shape: &Shape, channels: usize, groups: usize) -> Vec<Option<usize>> {
        shape
            .weight(Extent(Some(channels)), Extent(shape.inputs.map(|inputs| inputs / groups)))
            .into_iter()
            .map(|e| e.0)
            .collect()
    }
}

/// An extent that may be unknown.
#[derive(Clone, Copy)]
struct Extent(Option<usize>);

impl From<usize> for Extent {
    fn from(extent: usize) -> Extent {
        Extent(Some(extent))
    }
}

impl Layer for Conv {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let (shape, inputs) = (&self.shape, self.shape.inputs("convolution", x)?);
        let groups = shape.window.groups.max(1) as usize;
        if inputs % groups != 0 {
            return Err(value("convolution", format!("{groups} groups do not divide the channels of {}", x.shape())));
        }
        let weight = self.weight.array_for(&shape.weight(shape.channels, inputs / groups), loc)?;
        let y = ops::convolution(x, &weight, self.biases(loc)?.as_ref(), &shape.window, loc)?;
        shape.activation.map_or(Ok(y.clone()), |kind| ops::activation(kind, &y, loc))
    }

    fn parameters(&self) -> Vec<Parameter> {
        std::iter::once(&self.weight).chain(self.shape.bias.then_some(&self.bias)).cloned().collect()
    }
}

/// A transposed convolution: the gradient of a convolution for its data.
pub struct ConvTranspose {
    shape: Shape,
    adjust: List<i64>,
    weight: Parameter,
    bias: Parameter,
}

impl ConvTranspose {
    /// A layer with this many output channels and a bias. The first call determines the number of input channels.
    pub fn new(channels: usize, kernel: &[usize]) -> ConvTranspose {
        let bias = Parameter::starting_as("bias", &[Some(channels)], Init::Zero);
        let shape = Shape::new(channels, kernel);
        let weight = Parameter::weight("weight", &ConvTranspose::extents(&shape, channels, 1));
        ConvTranspose { shape, adjust: List::from_elem(0, kernel.len()), weight, bias }
    }

    /// Adds to the length of each axis of the result; less than the stride.
    pub fn output_padding(mut self, adjust: &[usize]) -> ConvTranspose {
        self.adjust = list(adjust);
        self
    }

    fn extents(shape: &Shape, channels: usize, groups: usize) -> Vec<Option<usize>> {
        shape.weight(Extent(shape.inputs), Extent(Some(channels / groups))).into_iter().map(|e| e.0).collect()
    }
}

impl Layer for ConvTranspose {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let (shape, inputs) = (&self.shape, self.shape.inputs("convolution_transpose", x)?);
        let groups = shape.window.groups.max(1) as usize;
        let weight = self.weight.array_for(&shape.weight(inputs, shape.channels / groups), loc)?;
        let bias = self.biases(loc)?;
        let y = ops::convolution_transpose(x, &weight, bias.as_ref(), &shape.window, &self.adjust, loc)?;
        shape.activation.map_or(Ok(y.clone()), |kind| ops::activation(kind, &y, loc))
    }

    fn parameters(&self) -> Vec<Parameter> {
        std::iter::once(&self.weight).chain(self.shape.bias.then_some(&self.bias)).cloned().collect()
    }
}
