//! Losses, which every frontend computes here.
//!
//! Element losses are weighted, then averaged over each sample: one number per sample.

use crate::terms::{extents, one, two, value};
use forerun_array::ops::{self, Activation};
use forerun_array::{Array, on_device};
use forerun_base::{Loc, Result};
use forerun_ops::{Beyond, Point, ReduceKind};

/// Keeps logarithms of probabilities finite.
const TINY: f64 = 1e-12;

/// A loss and its options.
#[derive(Clone, Copy)]
pub enum Loss<'a> {
    /// Half the squared difference.
    L2,
    /// The absolute difference.
    L1,
    /// Squared differences below this bound, absolute differences above.
    Huber(f64),
    /// `max(0, margin - prediction * label)`, for labels -1 and 1.
    Hinge(f64),
    /// The square of the hinge loss.
    SquaredHinge(f64),
    /// Cross-entropy of the sigmoid of predictions and labels -1 and 1.
    Logistic,
    /// Cross-entropy of the sigmoid of predictions and labels from 0 to 1; the array weights the positive class.
    Sigmoid(Option<&'a Array>),
    /// The same for predictions that are already probabilities.
    Binary(Option<&'a Array>),
    /// Cross-entropy of the softmax of predictions and labels.
    Softmax(Classes),
    /// Kullback-Leibler divergence of labels, which are probabilities, and the softmax of predictions.
    Divergence(Classes),
    /// The negative log-likelihood of labels, which are counts, under Poisson distributions.
    Poisson(Poisson),
    /// `max(0, margin + |label - prediction|^2 - |negative - prediction|^2)` of each sample.
    Triplet {
        /// How much nearer the label must be.
        margin: f64,
        /// Samples that the predictions are to be away from.
        negative: &'a Array,
    },
    /// With the cosine `c` of the angle between a prediction and the other vector: `1 - c` for label 1, else `max(0, c -
    /// margin)`. Vectors lie along the last axis; all others are samples.
    Cosine {
        /// The cosine up to which vectors count as different.
        margin: f64,
        /// The other vectors.
        other: &'a Array,
    },
    /// Kullback-Leibler divergence of the softmax of negative squared distances, of each prediction to all labels, from a
    /// distribution with this probability spread over the labels of other samples.
    Metric(f64),
}

/// How [`Loss::Poisson`] reads predictions.
#[derive(Clone, Copy)]
pub struct Poisson {
    /// Whether predictions are logarithms of the means.
    pub from_logits: bool,
    /// Whether to add Stirling's approximation of the logarithm of the label's factorial.
    pub full: bool,
    /// Added to means before the logarithm.
    pub epsilon: f64,
}

/// How a loss over classes reads predictions and labels.
#[derive(Clone, Copy)]
pub struct Classes {
    /// The axis of the classes.
    pub axis: isize,
    /// Whether labels are class indices instead of probabilities. An invalid index fails when the loss is computed.
    pub sparse: bool,
    /// Whether predictions are logarithms of probabilities, not arbitrary scores.
    pub from_logits: bool,
    /// A label that is ignored.
    pub ignore: Option<i64>,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes { axis: -1, sparse: true, from_logits: false, ignore: None }
    }
}

/// How element losses are combined to one number per sample.
#[derive(Clone, Copy)]
pub struct Average<'a> {
    /// A constant factor.
    pub weight: f64,
    /// The batch axis.
    pub batch_axis: isize,
    /// Factors per sample, or broadcast to the element losses.
    pub sample_weight: Option<&'a Array>,
}

impl Default for Average<'_> {
    fn default() -> Self {
        Average { weight: 1.0, batch_axis: 0, sample_weight: None }
    }
}

/// Half the squared difference.
#[track_caller]
pub fn l2_loss(prediction: &Array, label: &Array) -> Result<Array> {
    Loss::L2.per_sample(prediction, label, Average::default(), Loc::caller())
}

/// The absolute difference.
#[track_caller]
pub fn l1_loss(prediction: &Array, label: &Array) -> Result<Array> {
    Loss::L1.per_sample(prediction, label, Average::default(), Loc::caller())
}

/// The cross-entropy of the softmax over the last axis and class labels. Labels are class indices and lack that
/// dimension or have extent 1 there. An invalid index fails when the loss is computed.
#[track_caller]
pub fn softmax_cross_entropy(prediction: &Array, label: &Array) -> Result<Array> {
    Loss::Softmax(Classes::default()).per_sample(prediction, label, Average::default(), Loc::caller())
}

/// The cross-entropy of the sigmoid of predictions and labels from 0 to 1.
#[track_caller]
pub fn sigmoid_bce(prediction: &Array, label: &Array) -> Result<Array> {
    Loss::Sigmoid(None).per_sample(prediction, label, Average::default(), Loc::caller())
}

impl Loss<'_> {
    /// The loss of each sample.
    pub fn per_sample(self, prediction: &Array, label: &Array, how: Average<'_>, loc: Loc) -> Result<Array> {
        let factor = if matches!(self, Loss::L2) { 0.5 } else { 1.0 };
        let losses = self.per_element(prediction, label, loc)?;
        let Loss::Triplet { margin, .. } = self else { return how.apply(self.name(), losses, factor, loc) };
        let sums = match how.averaged(&losses)[..] {
            [] => losses,
            ref axes => ops::reduce(ReduceKind::Sum, &losses, Some(axes), false, loc)?,
        };
        let losses = one(Point::Relu, &two(Point::Add, &sums, margin, loc)?, loc)?;
        Average { batch_axis: 0, ..how }.apply(self.name(), losses, factor, loc)
    }

    /// The loss of each element, for [`Loss::L2`] without the factor 1/2; for class losses, the class axis has extent 1
    /// afterwards. For [`Loss::Triplet`] the difference of squares; for [`Loss::Cosine`] one column.
    pub fn per_element(self, prediction: &Array, label: &Array, loc: Loc) -> Result<Array> {
        let by_sample = matches!(self, Loss::Divergence(_) | Loss::Cosine { .. } | Loss::Metric(_))
            || matches!(self, Loss::Softmax(how) if how.sparse);
        let label = &if by_sample { label.clone() } else { self.like(label, prediction, loc)? };
        let away = || two(Point::Subtract, label, prediction, loc);
        match self {
            Loss::L2 => one(Point::Square, &away()?, loc),
            Loss::L1 => one(Point::Abs, &away()?, loc),
            Loss::Huber(rho) => {
                let distance = one(Point::Abs, &away()?, loc)?;
                let far = two(Point::Greater, &distance, rho, loc)?;
                let linear = two(Point::Subtract, &distance, 0.5 * rho, loc)?;
                let square = two(Point::Multiply, &one(Point::Square, &distance, loc)?, 0.5 / rho, loc)?;
                ops::pointwise(Point::Where, &[(&far).into(), (&linear).into(), (&square).into()], loc)
            }
            Loss::Hinge(margin) => {
                let agreed = two(Point::Multiply, prediction, label, loc)?;
                one(Point::Relu, &two(Point::Subtract, margin, &agreed, loc)?, loc)
            }
            Loss::SquaredHinge(margin) => {
                one(Point::Square, &Loss::Hinge(margin).per_element(prediction, label, loc)?, loc)
            }
            Loss::Logistic => {
                let share = two(Point::Divide, &two(Point::Add, label, 1.0, loc)?, 2.0, loc)?;
                Loss::Sigmoid(None).per_element(prediction, &share, loc)
            }
            Loss::Sigmoid(positive) => {
                // Neither branch overflows, and each is exact for confident predictions.
                let surprise = |x: &Array| ops::activation(Activation::Softrelu, x, loc);
                let hit = surprise(&one(Point::Negative, prediction, loc)?)?;
                mixture(&hit, &surprise(prediction)?, label, positive, loc)
            }
            Loss::Binary(positive) => {
                let log = |x: &Array| one(Point::Log, &two(Point::Add, x, TINY, loc)?, loc);
                let (hit, miss) = (log(prediction)?, log(&two(Point::Subtract, 1.0, prediction, loc)?)?);
                one(Point::Negative, &mixture(&hit, &miss, label, positive, loc)?, loc)
            }
            Loss::Softmax(how) if how.sparse => {
                let Some(ignore) = how.ignore else { return how.picked(prediction, label, loc) };
                let counted = two(Point::NotEqual, label, ignore, loc)?;
                let known = ops::pointwise(Point::Where, &[(&counted).into(), label.into(), 0.into()], loc)?;
                let counted = ops::expand_dims(&counted, how.axis)?;
                let losses = how.picked(prediction, &known, loc)?;
                ops::pointwise(Point::Where, &[(&counted).into(), (&losses).into(), 0.into()], loc)
            }
            Loss::Softmax(how) => {
                let weighted = two(Point::Multiply, &how.logarithms(prediction, loc)?, label, loc)?;
                one(Point::Negative, &ops::reduce(ReduceKind::Sum, &weighted, Some(&[how.axis]), true, loc)?, loc)
            }
            Loss::Divergence(how) => {
                let logarithm = one(Point::Log, &two(Point::Add, label, TINY, loc)?, loc)?;
                let apart = two(Point::Subtract, &logarithm, &how.logarithms(prediction, loc)?, loc)?;
                two(Point::Multiply, label, &apart, loc)
            }
            Loss::Poisson(how) => how.losses(prediction, label, loc),
            Loss::Triplet { negative, .. } => {
                let far = two(Point::Subtract, &self.like(negative, prediction, loc)?, prediction, loc)?;
                two(Point::Subtract, &one(Point::Square, &away()?, loc)?, &one(Point::Square, &far, loc)?, loc)
            }
            Loss::Cosine { margin, other } => {
                let cosine = cosine(prediction, &self.like(other, prediction, loc)?, loc)?;
                let alike = two(Point::Equal, &self.like(label, &cosine, loc)?, 1.0, loc)?;
                let apart = two(Point::Subtract, 1.0, &cosine, loc)?;
                let beyond = two(Point::Subtract, &cosine, margin, loc)?;
                let beyond = two(Point::Minimum, &one(Point::Relu, &beyond, loc)?, 1.0 - margin, loc)?;
                ops::pointwise(Point::Where, &[(&alike).into(), (&apart).into(), (&beyond).into()], loc)
            }
            Loss::Metric(smoothing) => self.metric(prediction, label, smoothing, loc),
        }
    }

    fn metric(self, prediction: &Array, label: &Array, smoothing: f64, loc: Loc) -> Result<Array> {
        let shape = prediction.shape();
        let &[samples, _] = &shape[..] else {
            return Err(value(self.name(), format!("needs one vector per sample, got shape {shape}")));
        };
        if label.shape() != shape || samples < 2 {
            let text = format!("needs two equal shapes of at least 2 samples, got {shape} and {}", label.shape());
            return Err(value(self.name(), text));
        }
        let away = two(Point::Subtract, &ops::expand_dims(prediction, 1)?, &ops::expand_dims(label, 0)?, loc)?;
        let distances = ops::reduce(ReduceKind::Sum, &one(Point::Square, &away, loc)?, Some(&[2]), false, loc)?;
        let elsewhere = smoothing / (samples - 1) as f64;
        let labels = on_device(prediction.device(), || ops::eye(samples, samples, 0, distances.dtype(), loc))?;
        let labels = two(Point::Multiply, &labels, 1.0 - smoothing - elsewhere, loc)?;
        let labels = two(Point::Add, &labels, elsewhere, loc)?;
        let scores = one(Point::Negative, &distances, loc)?;
        Loss::Divergence(Classes::default()).per_element(&scores, &labels, loc)
    }

    fn name(self) -> &'static str {
        match self {
            Loss::L2 => "l2_loss",
            Loss::L1 => "l1_loss",
            Loss::Huber(_) => "huber_loss",
            Loss::Hinge(_) | Loss::SquaredHinge(_) => "hinge_loss",
            Loss::Logistic => "logistic_loss",
            Loss::Sigmoid(_) | Loss::Binary(_) => "sigmoid_bce",
            Loss::Softmax(_) => "softmax_cross_entropy",
            Loss::Divergence(_) => "kl_divergence",
            Loss::Poisson(_) => "poisson_nll_loss",
            Loss::Triplet { .. } => "triplet_loss",
            Loss::Cosine { .. } => "cosine_embedding_loss",
            Loss::Metric(_) => "sdml_loss",
        }
    }

    /// Reshapes the labels to the shape of the predictions: the dimension of a single output may be missing or
    /// additional.
    fn like(self, label: &Array, prediction: &Array, loc: Loc) -> Result<Array> {
        let shape = prediction.shape();
        if label.shape() == shape {
            return Ok(label.clone());
        }
        if label.size() != prediction.size() {
            let text = format!("labels of shape {} do not fit predictions of shape {shape}", label.shape());
            return Err(value(self.name(), text));
        }
        ops::reshape(label, &extents(&shape), loc)
    }
}

/// `hit label + miss (1 - label)`, with an optional weight for hits.
fn mixture(hit: &Array, miss: &Array, label: &Array, positive: Option<&Array>, loc: Loc) -> Result<Array> {
    let mut hit = two(Point::Multiply, hit, label, loc)?;
    if let Some(weight) = positive {
        hit = two(Point::Multiply, &hit, weight, loc)?;
    }
    let miss = two(Point::Multiply, miss, &two(Point::Subtract, 1.0, label, loc)?, loc)?;
    two(Point::Add, &hit, &miss, loc)
}

/// The cosine of the angle between vectors along the last axis, as one column.
fn cosine(x: &Array, y: &Array, loc: Loc) -> Result<Array> {
    let sum = |a: &Array, b: &Array| {
        let sum = ops::reduce(ReduceKind::Sum, &two(Point::Multiply, a, b, loc)?, Some(&[-1]), false, loc)?;
        ops::reshape(&sum, &[-1, 1], loc)
    };
    // The bound is inside the root, so that the gradient of a zero vector is not NaN.
    let norm = |x: &Array| one(Point::Sqrt, &two(Point::Maximum, &sum(x, x)?, TINY * TINY, loc)?, loc);
    let norms = two(Point::Maximum, &two(Point::Multiply, &norm(x)?, &norm(y)?, loc)?, TINY, loc)?;
    two(Point::Divide, &sum(x, y)?, &norms, loc)
}

impl Poisson {
    fn losses(self, prediction: &Array, label: &Array, loc: Loc) -> Result<Array> {
        let log = |x: &Array| one(Point::Log, x, loc);
        let (mean, logarithm) = if self.from_logits {
            (one(Point::Exp, prediction, loc)?, prediction.clone())
        } else {
            (prediction.clone(), log(&two(Point::Add, prediction, self.epsilon, loc)?)?)
        };
        let losses = two(Point::Subtract, &mean, &two(Point::Multiply, label, &logarithm, loc)?, loc)?;
        if !self.full {
            return Ok(losses);
        }
        // Of labels up to 1 the logarithm of the factorial is 0; the bound keeps gradients finite there.
        let count = two(Point::Maximum, label, 1.0, loc)?;
        let main = two(Point::Subtract, &two(Point::Multiply, &count, &log(&count)?, loc)?, &count, loc)?;
        let rest = two(Point::Multiply, &log(&two(Point::Multiply, &count, std::f64::consts::TAU, loc)?)?, 0.5, loc)?;
        let factorial = two(Point::Add, &main, &rest, loc)?;
        let large = two(Point::Greater, label, 1.0, loc)?;
        let factorial = ops::pointwise(Point::Where, &[(&large).into(), (&factorial).into(), 0.into()], loc)?;
        two(Point::Add, &losses, &factorial, loc)
    }
}

impl Classes {
    fn logarithms(self, prediction: &Array, loc: Loc) -> Result<Array> {
        if self.from_logits { Ok(prediction.clone()) } else { ops::log_softmax(prediction, self.axis, loc) }
    }

    fn picked(self, prediction: &Array, label: &Array, loc: Loc) -> Result<Array> {
        let logarithms = self.logarithms(prediction, loc)?;
        one(Point::Negative, &ops::pick(&logarithms, label, self.axis, true, Beyond::Refuse, loc)?, loc)
    }
}

impl Average<'_> {
    fn apply(self, op: &'static str, mut losses: Array, factor: f64, loc: Loc) -> Result<Array> {
        let rank = losses.ndim() as isize;
        let batch = if rank == 0 { 0 } else { self.batch_axis.rem_euclid(rank) };
        if let Some(weights) = self.sample_weight {
            losses = two(Point::Multiply, &losses, &self.laid(op, weights, &losses, batch as usize, loc)?, loc)?;
        }
        let weight = self.weight * factor;
        if weight != 1.0 {
            losses = two(Point::Multiply, &losses, weight, loc)?;
        }
        let axes = self.averaged(&losses);
        if axes.is_empty() { Ok(losses) } else { ops::mean(&losses, Some(&axes), false, loc) }
    }

    /// The axes of losses other than that of the samples.
    fn averaged(&self, losses: &Array) -> Vec<isize> {
        let rank = losses.ndim() as isize;
        (0..rank).filter(|axis| *axis != self.batch_axis.rem_euclid(rank)).collect()
    }

    /// The sample weights, reshaped along the batch axis of the losses.
    fn laid(&self, op: &'static str, weights: &Array, losses: &Array, batch: usize, loc: Loc) -> Result<Array> {
        let (own, shape) = (weights.shape(), losses.shape());
        if own.rank() == 1 && shape.rank() > 1 && own.size() == shape[batch] {
            let mut along = vec![1; shape.rank()];
            along[batch] = own.size() as isize;
            return ops::reshape(weights, &along, loc);
        }
        let fits = own.rank() == shape.rank() && own.iter().zip(shape.iter()).all(|(own, n)| *own == 1 || own == n);
        if fits || own.rank() == 0 {
            return Ok(weights.clone());
        }
        let axis = self.batch_axis;
        let text =
            format!("sample_weight of shape {own} does not fit losses of shape {shape} with samples along axis {axis}");
        Err(value(op, text))
    }
}
