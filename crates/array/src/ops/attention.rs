//! Scaled dot-product attention: one fused routine where it applies, otherwise products and a softmax.

use crate::array::Array;
use crate::array::index::Index;
use crate::ops::terms::Terms;
use crate::ops::{
    arange, broadcast_to, cast, dropout, expand_dims, full, index, matmul, reshape, routine, softmax, swapaxes,
};
use crate::runtime::devices::on_device;
use forerun_base::{DType, Loc, Result, Scalar, Shape};
use forerun_ops::attention::Scores;
use forerun_ops::{Attention, Point, ReduceKind};

/// Options of [`scaled_dot_product_attention`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionOptions {
    /// The factor of the scores; `1 / sqrt(width)` if not given.
    pub scale: Option<f64>,
    /// Whether a query sees only the keys up to its own position.
    pub causal: bool,
    /// The probability of dropping a weight in training.
    pub dropout: f64,
    /// Whether weights are dropped.
    pub training: bool,
    /// Whether a gradient flows to the mask, which the fused routine does not compute.
    pub mask_gradient: bool,
}

/// `softmax(scale * query @ key.T + mask) @ value` over the last two axes; leading axes broadcast. A mask of truth
/// values hides the keys where it is false. A query that sees no key gives zeros.
///
/// The scores are computed in tiles and never stored. With dropout in training, with a mask that needs a gradient, and
/// for dtypes other than float32 and float64, all scores are in memory.
pub fn scaled_dot_product_attention(
    [query, key, value]: [&Array; 3],
    mask: Option<&Array>,
    how: AttentionOptions,
    loc: Loc,
) -> Result<Array> {
    let t = Terms { op: "scaled_dot_product_attention", loc };
    let (q, k, v) = (query.shape(), key.shape(), value.shape());
    let fit = [q, k, v].iter().all(|shape| shape.rank() >= 2)
        && q[q.rank() - 1] == k[k.rank() - 1]
        && k[k.rank() - 2] == v[v.rank() - 2];
    if !fit {
        return Err(t.value(format!("query {q}, key {k} and value {v} do not fit together")));
    }
    if !(0.0..1.0).contains(&how.dropout) {
        return Err(t.value(format!("dropout_p must be at least 0 and below 1, got {}", how.dropout)));
    }
    let lead = |shape: &Shape| Shape::of(&shape[..shape.rank() - 2]);
    let Some(stack) = lead(&q).broadcast(&lead(&k)).and_then(|both| both.broadcast(&lead(&v))) else {
        let shapes = [lead(&q), lead(&k), lead(&v)].map(|shape| shape.to_string()).join(", ");
        return Err(t.value(format!("the leading axes {shapes} do not broadcast")));
    };
    let extents = [q[q.rank() - 2], k[k.rank() - 2], q[q.rank() - 1], v[v.rank() - 1]];
    let call = Call { t, how, arrays: [query, key, value], stack, extents };
    let mask = mask.map(|mask| call.additive(mask)).transpose()?;
    if call.is_fused() { call.fused(mask.as_ref()) } else { call.composed(mask.as_ref()) }
}

/// A checked call.
struct Call<'a> {
    t: Terms,
    how: AttentionOptions,
    arrays: [&'a Array; 3],
    /// The leading axes of the result.
    stack: Shape,
    /// Queries, keys, width of a key, width of a value.
    extents: [usize; 4],
}

impl Call<'_> {
    fn dtype(&self) -> DType {
        self.arrays[0].dtype()
    }

    fn drops(&self) -> bool {
        self.how.dropout > 0.0 && self.how.training
    }

    fn is_fused(&self) -> bool {
        let dtype = self.dtype();
        matches!(dtype, DType::F32 | DType::F64)
            && self.arrays.iter().all(|x| x.dtype() == dtype)
            && !self.drops()
            && !self.how.mask_gradient
            && self.stack.size() > 0
            && self.extents.iter().all(|extent| *extent > 0)
    }

    fn scale(&self) -> f64 {
        self.how.scale.unwrap_or_else(|| 1.0 / (self.extents[2] as f64).sqrt())
    }

    /// The stack with two more axes.
    fn shape(&self, rows: usize, columns: usize) -> Shape {
        Shape::of(&self.stack.iter().copied().chain([rows, columns]).collect::<Vec<_>>())
    }

    fn full(&self, shape: &[usize], value: f64) -> Result<Array> {
        on_device(self.arrays[0].device(), || full(shape, Scalar::Float(value), self.dtype(), self.t.loc))
    }

    /// A mask as numbers that are added to scores.
    fn additive(&self, mask: &Array) -> Result<Array> {
        let (own, scores) = (mask.shape(), self.shape(self.extents[0], self.extents[1]));
        if own.broadcast(&scores) != Some(scores) {
            return Err(self.t.value(format!("a mask of shape {own} does not fit scores of shape {scores}")));
        }
        match mask.dtype() {
            DType::Bool => self.t.choose(mask, &self.full(&[], 0.0)?, f64::NEG_INFINITY),
            dtype if dtype == self.dtype() => Ok(mask.clone()),
            _ => cast(mask, self.dtype(), self.t.loc),
        }
    }

    /// One routine that never stores the scores.
    fn fused(&self, mask: Option<&Array>) -> Result<Array> {
        let (loc, count) = (self.t.loc, self.stack.size() as isize);
        let flat = |x: &Array| {
            let own = x.shape();
            let (rows, columns) = (own[own.rank() - 2], own[own.rank() - 1]);
            let all = broadcast_to(x, &self.shape(rows, columns))?;
            reshape(&all, &[count, rows as isize, columns as isize], loc)
        };
        let [q, k, v] = [flat(self.arrays[0])?, flat(self.arrays[1])?, flat(self.arrays[2])?];
        let mask = mask.map_or_else(|| self.full(&[0], 0.0), |mask| self.masks(mask))?;
        let how = Scores { scale: self.scale(), causal: self.how.causal };
        let packed = routine(Attention::Forward, &[&q, &k, &v, &mask], &how, loc).map_err(|e| e.in_op(self.t.op))?;
        let [queries, _, _, values] = self.extents;
        let stop = Some(count * (queries * values) as isize);
        let results = index(&packed, &[Index::Slice { start: None, stop, step: 1 }])?;
        let shape: Vec<isize> = self.shape(queries, values).iter().map(|extent| *extent as isize).collect();
        reshape(&results, &shape, loc)
    }

    /// A mask as a stack of matrices, each for as many consecutive matrices of scores as possible.
    fn masks(&self, mask: &Array) -> Result<Array> {
        let (own, rank, keys) = (mask.shape(), self.stack.rank(), self.extents[1]);
        let mut shape = vec![1; rank + 2 - own.rank()];
        shape.extend_from_slice(&own);
        let (rows, loc) = (shape[rank], self.t.loc);
        let leading = shape[..rank].iter().rposition(|extent| *extent != 1).map_or(0, |last| last + 1);
        shape[..leading].copy_from_slice(&self.stack[..leading]);
        shape[rank + 1] = keys;
        let count: usize = shape[..leading].iter().product();
        reshape(&broadcast_to(mask, &shape)?, &[count as isize, rows as isize, keys as isize], loc)
    }

    /// Products and a softmax, with all scores in memory.
    fn composed(&self, mask: Option<&Array>) -> Result<Array> {
        let (t, [q, k, v]) = (self.t, self.arrays);
        let scaled = t.two(Point::Multiply, q, self.scale())?;
        let mut scores = matmul(&scaled, &swapaxes(k, -1, -2)?, t.loc)?;
        if let Some(mask) = mask {
            scores = t.two(Point::Add, &scores, mask)?;
        }
        if self.how.causal {
            let places = |count: usize| {
                let (first, stop) = (Scalar::Int(0), Scalar::Int(count as i64));
                on_device(q.device(), || arange(first, stop, Scalar::Int(1), None, t.loc))
            };
            let (rows, columns) = (expand_dims(&places(self.extents[0])?, 1)?, places(self.extents[1])?);
            scores = t.choose(&t.two(Point::GreaterEqual, &rows, &columns)?, &scores, f64::NEG_INFINITY)?;
        }
        let mut weights = if scores.size() == 0 {
            softmax(&scores, -1, t.loc)?
        } else {
            // The softmax of scores that are all -infinity is NaN.
            let most = t.along(ReduceKind::Max, &scores.detach(), scores.ndim() - 1)?;
            let some = t.two(Point::NotEqual, &most, f64::NEG_INFINITY)?;
            let finite = softmax(&t.choose(&some, &scores, 0)?, -1, t.loc)?;
            t.choose(&some, &finite, 0)?
        };
        if self.drops() {
            weights = dropout(&weights, self.how.dropout, &[], true, t.loc)?;
        }
        matmul(&weights, v, t.loc)
    }
}
