//! Attention layers: several heads over projected inputs, and the encoder layer of a transformer.

use crate::layer::{Layer, named};
use crate::layers::{Dense, Dropout, LayerNorm};
use crate::parameter::Parameter;
use crate::terms::{extents, two, value};
use forerun_array::Array;
use forerun_array::ops::{self, Activation, AttentionOptions};
use forerun_base::{Loc, Result};
use forerun_grad::{is_on_tape, is_recording, is_training};
use forerun_ops::Point;

/// Projects queries, keys and values, attends in each of several heads, and projects the result. Inputs have the shape
/// `(batch, steps, units)`.
///
/// As a [`Layer`] it attends to its own input; [`attend`](MultiHeadAttention::attend) takes other keys and values, and
/// a mask.
pub struct MultiHeadAttention {
    units: usize,
    heads: usize,
    dropout: f64,
    causal: bool,
    /// Query, key, value, output.
    projections: [Dense; 4],
}

const PROJECTIONS: [&str; 4] = ["query", "key", "value", "out"];

impl MultiHeadAttention {
    /// A layer with this many inputs and outputs, whose heads have `units / heads` numbers each. The projections have
    /// biases.
    pub fn new(units: usize, heads: usize) -> MultiHeadAttention {
        let projections = [(); 4].map(|()| Dense::new(units).flatten(false));
        MultiHeadAttention { units, heads, dropout: 0.0, causal: false, projections }
    }

    /// Sets the probability of dropping a weight in training.
    pub fn dropout(mut self, probability: f64) -> MultiHeadAttention {
        self.dropout = probability;
        self
    }

    /// Lets a query see only the keys up to its own position.
    pub fn causal(mut self) -> MultiHeadAttention {
        self.causal = true;
        self
    }

    /// Removes the biases.
    pub fn without_bias(mut self) -> MultiHeadAttention {
        self.projections = self.projections.map(Dense::without_bias);
        self
    }

    /// Attends from `query` to `key` and `value`. The mask broadcasts to `(batch, heads, queries, keys)`: numbers are
    /// added to the scores, false hides a key.
    #[track_caller]
    pub fn attend(&self, query: &Array, key: &Array, value: &Array, mask: Option<&Array>) -> Result<Array> {
        self.attend_at([query, key, value], mask, Loc::caller())
    }

    /// [`attend`](MultiHeadAttention::attend) to query, key and value for a caller that knows the line of the program.
    pub fn attend_at(&self, inputs: [&Array; 3], mask: Option<&Array>, loc: Loc) -> Result<Array> {
        const OP: &str = "multi_head_attention";
        let (units, heads) = (self.units, self.heads);
        if heads == 0 || units % heads != 0 {
            return Err(value(OP, format!("{units} units do not divide into {heads} heads")));
        }
        if let Some(x) = inputs.iter().find(|x| x.ndim() != 3) {
            return Err(value(OP, format!("needs the axes batch, step and unit, not {}", x.shape())));
        }
        let split = |projection: &Dense, x: &Array| {
            let (shape, x) = (x.shape(), projection.forward_at(x, loc)?);
            let apart = ops::reshape(&x, &extents(&[shape[0], shape[1], heads, units / heads]), loc)?;
            ops::transpose(&apart, Some(&[0, 2, 1, 3]))
        };
        let [query, key, values, out] = &self.projections;
        let [q, k, v] = [split(query, inputs[0])?, split(key, inputs[1])?, split(values, inputs[2])?];
        let how = AttentionOptions {
            scale: None,
            causal: self.causal,
            dropout: self.dropout,
            training: is_training(),
            mask_gradient: is_recording() && mask.is_some_and(is_on_tape),
        };
        let y = ops::scaled_dot_product_attention([&q, &k, &v], mask, how, loc)?;
        let (y, shape) = (ops::transpose(&y, Some(&[0, 2, 1, 3]))?, inputs[0].shape());
        out.forward_at(&ops::reshape(&y, &extents(&[shape[0], shape[1], units]), loc)?, loc)
    }
}

impl Layer for MultiHeadAttention {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        self.attend_at([x; 3], None, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        PROJECTIONS.iter().zip(&self.projections).flat_map(|(name, layer)| named(name, layer)).collect()
    }
}

/// The encoder layer of a transformer: attention to its input, then two dense layers, each with a residual connection.
/// Inputs have the shape `(batch, steps, units)`.
pub struct TransformerEncoderLayer {
    attention: MultiHeadAttention,
    up: Dense,
    down: Dense,
    norms: [LayerNorm; 2],
    dropout: Dropout,
    activation: Activation,
    pre_norm: bool,
}

impl TransformerEncoderLayer {
    /// A layer with this many inputs and outputs, hidden units of the dense layers, and heads. It computes
    /// `x + attention(norm(x))` and then `x + dense(norm(x))`, with the exact GELU between the dense layers.
    pub fn new(units: usize, hidden: usize, heads: usize) -> TransformerEncoderLayer {
        TransformerEncoderLayer {
            attention: MultiHeadAttention::new(units, heads),
            up: Dense::new(hidden).flatten(false),
            down: Dense::new(units).flatten(false),
            norms: [LayerNorm::new(), LayerNorm::new()],
            dropout: Dropout::new(0.0),
            activation: Activation::GeluErf,
            pre_norm: true,
        }
    }

    /// Sets the probability of dropping weights and outputs in training.
    pub fn dropout(mut self, probability: f64) -> TransformerEncoderLayer {
        self.attention = self.attention.dropout(probability);
        self.dropout = Dropout::new(probability);
        self
    }

    /// Sets the activation between the dense layers.
    pub fn activation(mut self, kind: Activation) -> TransformerEncoderLayer {
        self.activation = kind;
        self
    }

    /// Normalises the sums instead of the inputs: `norm(x + attention(x))`, then `norm(x + dense(x))`.
    pub fn post_norm(mut self) -> TransformerEncoderLayer {
        self.pre_norm = false;
        self
    }

    /// Sets the term added to the variances.
    pub fn epsilon(mut self, epsilon: f64) -> TransformerEncoderLayer {
        self.norms = self.norms.map(|norm| norm.epsilon(epsilon));
        self
    }

    /// Lets a position see only those up to its own.
    pub fn causal(mut self) -> TransformerEncoderLayer {
        self.attention = self.attention.causal();
        self
    }

    /// Applies the layer with a mask, as [`MultiHeadAttention::attend`] takes it.
    #[track_caller]
    pub fn forward_masked(&self, x: &Array, mask: &Array) -> Result<Array> {
        self.encode(x, Some(mask), Loc::caller())
    }

    fn encode(&self, x: &Array, mask: Option<&Array>, loc: Loc) -> Result<Array> {
        let [first, second] = &self.norms;
        let attend = |x: &Array| self.dropout.forward_at(&self.attention.attend_at([x; 3], mask, loc)?, loc);
        let add = |x: &Array, y: &Array| two(Point::Add, x, y, loc);
        if self.pre_norm {
            let x = add(x, &attend(&first.forward_at(x, loc)?)?)?;
            return add(&x, &self.dense(&second.forward_at(&x, loc)?, loc)?);
        }
        let x = first.forward_at(&add(x, &attend(x)?)?, loc)?;
        second.forward_at(&add(&x, &self.dense(&x, loc)?)?, loc)
    }

    fn dense(&self, x: &Array, loc: Loc) -> Result<Array> {
        let hidden = ops::activation(self.activation, &self.up.forward_at(x, loc)?, loc)?;
        self.dropout.forward_at(&self.down.forward_at(&hidden, loc)?, loc)
    }
}

impl Layer for TransformerEncoderLayer {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        self.encode(x, None, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut all = named("attention", &self.attention);
        all.extend(named("up", &self.up).into_iter().chain(named("down", &self.down)));
        all.extend(named("norm1", &self.norms[0]).into_iter().chain(named("norm2", &self.norms[1])));
        all
    }
}
