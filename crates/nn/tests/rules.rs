//! Every update rule against its formula for one number, in both dtypes that a master copy separates.

mod common;

use common::{array, doubles, failure, named, values};
use forerun_array::{Array, ops};
use forerun_base::{DType, Loc};
use forerun_grad::{Differentiable, record};
use forerun_nn::rules::{
    AdaBelief, AdaDelta, AdaGrad, AdamRule, Adamax, Dcasgd, Ftml, Ftrl, GroupAdaGrad, Lamb, Lans, Lars, Nadam, Nag,
    Preparation, RmsProp, Rule, SgdRule, Sgld, Signum, WeightUpdate,
};
use forerun_nn::{Dense, Init, Layer, Optimiser};

const RATE: f64 = 0.1;
const DECAY: f64 = 0.2;
/// The gradients of three steps.
const GRADIENTS: [f64; 3] = [0.5, -1.5, 0.25];

/// The weight after three steps from 1.
fn updated(rule: &dyn Rule, decay: f64, dtype: DType) -> f64 {
    let loc = Loc::caller();
    let weight = ops::cast(&doubles(&[1.0], &[1, 1]), dtype, loc).unwrap();
    let mut states = Vec::new();
    let mut like = weight.clone();
    if dtype == DType::F16 {
        like = ops::cast(&weight, DType::F32, loc).unwrap();
        states.push(like.clone());
    }
    states.extend(rule.states(&like, loc).unwrap());
    for (step, gradient) in GRADIENTS.iter().enumerate() {
        let gradient = ops::cast(&doubles(&[*gradient], &[1, 1]), dtype, loc).unwrap();
        let update = WeightUpdate {
            weights: &[&weight],
            gradients: &[&gradient],
            states: &[states.iter().collect()],
            rates: &[RATE],
            decays: &[decay],
            counts: &[step as u64 + 1],
            adapts: None,
            preparation: Preparation { rescale: 1.0, clip: Some(1.0) },
        };
        update.apply(rule, loc).unwrap();
    }
    values(if dtype == DType::F16 { &states[0] } else { &weight })[0]
}

/// The same by a function of weight, clipped gradient and step.
fn computed(mut step: impl FnMut(f64, f64, i32) -> f64) -> f64 {
    let mut weight = 1.0;
    for (t, gradient) in GRADIENTS.iter().enumerate() {
        weight = step(weight, gradient.clamp(-1.0, 1.0), t as i32 + 1);
    }
    weight
}

fn check(rule: &dyn Rule, step: impl FnMut(f64, f64, i32) -> f64) {
    check_with(rule, DECAY, step);
}

fn check_with(rule: &dyn Rule, decay: f64, step: impl FnMut(f64, f64, i32) -> f64) {
    let expected = computed(step);
    for dtype in [DType::F64, DType::F32, DType::F16] {
        let (found, off) = (updated(rule, decay, dtype), if dtype == DType::F64 { 1e-12 } else { 1e-5 });
        assert!((found - expected).abs() < off, "{} of {dtype}: {found}, not {expected}", rule.name());
    }
}

#[test]
fn descent() {
    let mut m = 0.0;
    check(&SgdRule { momentum: 0.5, velocity: false }, |w, g, _| {
        m = 0.5 * m + RATE * (g + DECAY * w);
        w - m
    });
    let mut v = 0.0;
    check(&SgdRule { momentum: 0.5, velocity: true }, |w, g, _| {
        v = 0.5 * v + g + DECAY * w;
        w - RATE * v
    });
    let mut m = 0.0;
    check(&Nag::default(), |w, g, _| {
        let step = RATE * (g + DECAY * w);
        m = 0.9 * m + step;
        w - 0.9 * m - step
    });
    let mut before = 1.0;
    check(&Dcasgd { momentum: 0.0, lamda: 0.5 }, |w, g, _| {
        let g = g + DECAY * w;
        let d = g + 0.5 * g * g * (w - before);
        before = w;
        w - RATE * d
    });
    let mut m = 0.0;
    check(&Signum { momentum: 0.9, shrink: 0.1 }, |w, g, _| {
        m = 0.9 * m + 0.1 * (g + DECAY * w);
        (1.0 - RATE * 0.1) * w - RATE * m.signum()
    });
    check(&Lars::default(), |w, g, t| {
        // The norm is that of the gradient before it is clipped.
        let norm = GRADIENTS[t as usize - 1].abs();
        let ratio = 0.001 * w.abs() / (norm + DECAY * w.abs() + 1e-8);
        w - RATE * ratio * (g + DECAY * w)
    });
}

#[test]
fn running_means() {
    let moments = |b1: f64, b2: f64| {
        let (mut m, mut v) = (0.0, 0.0);
        move |g: f64| {
            m = b1 * m + (1.0 - b1) * g;
            v = b2 * v + (1.0 - b2) * g * g;
            (m, v)
        }
    };
    let rate = |t: i32| RATE * (1.0 - 0.999f64.powi(t)).sqrt() / (1.0 - 0.9f64.powi(t));
    let mut of = moments(0.9, 0.999);
    check(&AdamRule::default(), |w, g, t| {
        let (m, v) = of(g + DECAY * w);
        w - rate(t) * m / (v.sqrt() + 1e-8)
    });
    let mut of = moments(0.9, 0.999);
    check(&AdamRule { decoupled: true, ..AdamRule::default() }, |w, g, t| {
        let (m, v) = of(g);
        w - rate(t) * (m / (v.sqrt() + 1e-8) + DECAY * w)
    });
    let mut of = moments(0.9, 0.999);
    let full = AdamRule { correct_epsilon: true, epsilon: 0.1, ..AdamRule::default() };
    check(&full, |w, g, t| {
        let (m, v) = of(g + DECAY * w);
        let (m, v) = (m / (1.0 - 0.9f64.powi(t)), v / (1.0 - 0.999f64.powi(t)));
        w - RATE * m / (v.sqrt() + 0.1)
    });
    let (mut m, mut u) = (0.0, 0.0f64);
    check(&Adamax::default(), |w, g, t| {
        let g = g + DECAY * w;
        m = 0.9 * m + 0.1 * g;
        u = (0.999 * u).max(g.abs());
        w - RATE / (1.0 - 0.9f64.powi(t)) * m / (u + 1e-8)
    });
    let (mut of, mut product) = (moments(0.9, 0.999), 1.0);
    check(&Nadam::default(), |w, g, t| {
        let g = g + DECAY * w;
        let (m, v) = of(g);
        let momentum = |t: i32| 0.9 * (1.0 - 0.5 * 0.96f64.powf(t as f64 * 0.004));
        product *= momentum(t);
        let next = momentum(t + 1);
        let mean = next * m / (1.0 - product * next) + (1.0 - momentum(t)) * g / (1.0 - product);
        w - RATE * mean / ((v / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-8)
    });
    let (mut m, mut s) = (0.0, 0.0);
    check(&AdaBelief::default(), |w, _, t| {
        let g = (GRADIENTS[t as usize - 1] + DECAY * w).clamp(-1.0, 1.0);
        m = 0.9 * m + 0.1 * g;
        s = 0.999 * s + 0.001 * (g - m) * (g - m) + 1e-6;
        w - rate(t) * m / (s.sqrt() + 1e-6)
    });
    let (mut d, mut v, mut z) = (0.0, 0.0, 0.0);
    check(&Ftml::default(), |w, g, t| {
        let g = g + DECAY * w;
        v = 0.999 * v + 0.001 * g * g;
        let new = (1.0 - 0.6f64.powi(t)) / RATE * ((v / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-8);
        z = 0.6 * z + 0.4 * g - (new - 0.6 * d) * w;
        d = new;
        -z / d
    });
    let mut of = moments(0.9, 0.999);
    check(&Lamb::default(), |w, g, t| {
        let (m, v) = of(g);
        let (m, v) = (m / (1.0 - 0.9f64.powi(t)), v / (1.0 - 0.999f64.powi(t)));
        let step = m / (v.sqrt() + 1e-6) + DECAY * w;
        w - RATE * w.abs() * step.signum()
    });
    let mut of = moments(0.9, 0.999);
    check(&Lans::default(), |w, g, t| {
        let g = g.signum();
        let (m, v) = of(g);
        let root = (v / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-6;
        let (d, e) = (m / (1.0 - 0.9f64.powi(t)) / root + DECAY * w, g / root + DECAY * w);
        w - RATE * w.abs() * (0.9 * d.signum() + 0.1 * e.signum())
    });
}

#[test]
fn histories() {
    let mut h = 0.0;
    check(&AdaGrad::default(), |w, g, _| {
        let g = g + DECAY * w;
        h += g * g;
        w - RATE * g / (h.sqrt() + 1e-6)
    });
    let mut h = 0.0;
    check_with(&GroupAdaGrad::default(), 0.0, |w, g, _| {
        h += g * g;
        w - RATE * g / (h.sqrt() + 1e-6)
    });
    let (mut a, mut b) = (0.0, 0.0);
    check(&AdaDelta::default(), |w, g, _| {
        let g = g + DECAY * w;
        a = 0.9 * a + 0.1 * g * g;
        let d = f64::sqrt(b + 1e-6) / f64::sqrt(a + 1e-6) * g;
        b = 0.9 * b + 0.1 * d * d;
        w - RATE * d
    });
    let mut v = 0.0;
    check(&RmsProp { clip_weights: Some(0.7), ..RmsProp::default() }, |w, g, _| {
        let g = g + DECAY * w;
        v = 0.9 * v + 0.1 * g * g;
        (w - RATE * g / (f64::sqrt(v) + 1e-8)).clamp(-0.7, 0.7)
    });
    let (mut m, mut v, mut d) = (0.0, 0.0, 0.0);
    check(&RmsProp { centered: true, ..RmsProp::default() }, |w, g, _| {
        let g = g + DECAY * w;
        m = 0.9 * m + 0.1 * g;
        v = 0.9 * v + 0.1 * g * g;
        d = 0.9 * d + RATE * g / f64::sqrt(v - m * m + 1e-8);
        w - d
    });
    let (mut z, mut n) = (0.0, 0.0);
    check(&Ftrl::default(), |w, g, _| {
        z += g - (f64::sqrt(n + g * g) - f64::sqrt(n)) / RATE * w;
        n += g * g;
        -z.signum() * (z.abs() - 0.01).max(0.0) / ((1.0 + n.sqrt()) / RATE + DECAY)
    });
}

#[test]
fn noise_has_the_variance_of_the_rate() {
    let loc = Loc::caller();
    let zeros = || ops::full(&[50_000], 0.0.into(), DType::F32, loc).unwrap();
    let (weight, gradient) = (zeros(), zeros());
    let update = WeightUpdate {
        weights: &[&weight],
        gradients: &[&gradient],
        states: &[Vec::new()],
        rates: &[0.04],
        decays: &[0.0],
        counts: &[1],
        adapts: None,
        preparation: Preparation { rescale: 1.0, clip: None },
    };
    update.apply(&Sgld, loc).unwrap();
    let found = values(&weight);
    let variance = found.iter().map(|x| x * x).sum::<f64>() / found.len() as f64;
    assert!((variance - 0.04).abs() < 0.002, "{variance}");
}

/// A dense layer of ones whose gradients have been computed.
fn net() -> Dense {
    let net = Dense::new(1).in_units(1);
    net.initialize(Init::One).unwrap();
    record(|| net.forward(&array(&[1.0, 1.0], &[2, 1]))).unwrap().backward().unwrap();
    net
}

fn number(net: &Dense, name: &str) -> f64 {
    let array: Array = named(net, name).array().unwrap();
    values(&array)[0]
}

#[test]
fn optimisers_clip_and_leave_biases_their_own_rate() {
    let net = net();
    Optimiser::with(Nag { momentum: 0.0 }, net.parameters(), 0.5).clip_gradient(0.25).step(1).unwrap();
    assert_eq!(number(&net, "weight"), 1.0 - 0.5 * 0.25);
    let net = self::net();
    let before = number(&net, "bias");
    Optimiser::with(Lars::default(), net.parameters(), 0.5).step(2).unwrap();
    assert_eq!(number(&net, "bias"), before - 0.5);
    assert!((number(&net, "weight") - (1.0 - 0.5 * 0.001)).abs() < 1e-6);
}

#[test]
fn unusable_options_are_errors() {
    let net = net();
    let error = failure(Optimiser::with(Ftrl::default(), net.parameters(), 0.0).step(1));
    assert_eq!(error.to_string(), "ftrl: the learning rate must not be 0");
    let rule = Adamax { betas: (1.0, 0.9), ..Adamax::default() };
    let error = failure(Optimiser::with(rule, net.parameters(), 0.1).step(1));
    assert_eq!(error.to_string(), "adamax: a beta of 1 leaves nothing to correct at step 1: it must be below 1");
    let error = failure(Optimiser::with(GroupAdaGrad::default(), net.parameters(), 0.1).step(1));
    assert_eq!(error.to_string(), "groupadagrad: weights must have 2 dimensions, got shape (1,)");
}
