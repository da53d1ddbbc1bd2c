//! Layers against hand-computed values, and their gradients against finite differences.

mod common;

use common::{array, assert_close, check_gradients, doubles, failure, named, numbers, set, values};
use forerun_array::{Array, ops};
use forerun_base::{DType, ErrorKind, Loc, Result};
use forerun_grad::record;
use forerun_nn::{
    Activation, BatchNorm, Concatenate, Dense, Draw, Dropout, Embedding, Fan, Flatten, GroupNorm, Init, InstanceNorm,
    Lambda, Layer, LayerNorm, PRelu, Parameter, RmsNorm, Scaling, Sequential,
};

fn names(net: &dyn Layer) -> Vec<String> {
    net.parameters().iter().map(|p| p.name().to_owned()).collect()
}

#[test]
fn dense_multiplies_adds_and_activates() {
    let net = Dense::new(3).activation(Activation::Relu).in_units(2);
    set(&net, "weight", &[1.0, 2.0, -3.0, 4.0, 5.0, -6.0], &[3, 2]);
    set(&net, "bias", &[0.5, 0.0, 0.0], &[3]);
    let y = net.forward(&array(&[1.0, 2.0, 1.0, -1.0], &[2, 2])).unwrap();
    assert_eq!(values(&y), [5.5, 5.0, 0.0, 0.0, 0.0, 11.0]);
}

#[test]
fn dense_flattens_or_keeps_dimensions() {
    let x = array(&[1.0; 24], &[2, 3, 4]);
    let flat = Dense::new(5).without_bias();
    assert_eq!(*flat.forward(&x).unwrap().shape(), [2, 5]);
    assert_eq!(*named(&flat, "weight").shape().unwrap(), [5, 12]);
    let kept = Dense::new(5).flatten(false);
    assert_eq!(*kept.forward(&x).unwrap().shape(), [2, 3, 5]);
    assert_eq!(names(&flat), ["weight"]);
    assert_eq!(names(&kept), ["weight", "bias"]);
}

#[test]
fn the_first_call_determines_shapes() {
    let net = Dense::new(4);
    let weight = named(&net, "weight");
    assert_eq!(weight.shape(), None);
    let error = failure(weight.array());
    assert_eq!(error.to_string(), "parameter: `weight` has no shape yet: the first call of its layer determines it");
    assert!(weight.gradient().is_none());
    net.forward(&array(&[1.0; 6], &[2, 3])).unwrap();
    assert_eq!(*weight.array().unwrap().shape(), [4, 3]);
    assert_eq!(values(&weight.gradient().unwrap()), [0.0; 12]);
    let error = failure(net.forward(&array(&[1.0; 10], &[2, 5])));
    assert!(error.to_string().contains("(4, 3)") && error.to_string().contains("(2, 5)"), "{error}");
}

#[test]
fn mistakes_are_errors() {
    let scalar = array(&[1.0], &[]);
    assert_eq!(failure(Dense::new(1).forward(&scalar)).to_string(), "dense: needs at least one dimension, not ()");
    assert_eq!(failure(Flatten.forward(&scalar)).kind(), ErrorKind::Value);
    assert_eq!(failure(BatchNorm::new().forward(&array(&[1.0], &[1]))).kind(), ErrorKind::Index);
    assert_eq!(failure(LayerNorm::new().axis(3).forward(&array(&[1.0], &[1]))).op(), "layer_norm");
    assert!(record(|| Dropout::new(1.5).forward(&array(&[1.0], &[1]))).is_err());
    assert!(Dense::new(usize::MAX).in_units(usize::MAX).forward(&array(&[1.0; 2], &[1, 2])).is_err());
    let weight = named(&Dense::new(2).in_units(3), "weight");
    let error = failure(weight.set(&array(&[1.0; 4], &[2, 2])));
    assert_eq!(error.to_string(), "parameter: `weight` of shape (2, 3) does not accept shape (2, 2)");
    assert_eq!(failure(Dense::new(1).cast(DType::I32)).kind(), ErrorKind::Type);
}

#[test]
fn names_are_paths() {
    let inner = Sequential::new().then(Dense::new(2)).then(BatchNorm::new());
    let net = Sequential::new().then(Activation::Tanh).then(inner).then(Embedding::new(3, 2));
    let expected =
        ["1.0.weight", "1.0.bias", "1.1.gamma", "1.1.beta", "1.1.running_mean", "1.1.running_var", "2.weight"];
    assert_eq!(names(&net), expected);
}

#[test]
fn errors_name_the_line_that_called_the_network() {
    let net = Sequential::new().then(Sequential::new().then(Embedding::new(3, 2)));
    let rows = ops::from_slice(&[0i64, 7], &[2], Loc::default()).unwrap();
    let line = line!() + 1;
    let y = net.forward(&rows).unwrap();
    let error = failure(y.to_vec::<f64>());
    assert_eq!(error.kind(), ErrorKind::Index);
    assert!(error.submitted().text().to_string().contains(&format!("layers.rs:{line}")), "{error}");
}

#[test]
fn parameters_use_the_given_initialiser() {
    let start = |init: Init| {
        let net = Dense::new(64).in_units(32);
        net.initialize(init).unwrap();
        assert_eq!(values(&named(&net, "bias").array().unwrap()), [0.0; 64]);
        values(&named(&net, "weight").array().unwrap())
    };
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let normal = start(Init::Normal(0.5));
    let spread = (normal.iter().map(|x| x * x).sum::<f64>() / 2048.0).sqrt();
    assert!(mean(&normal).abs() < 0.06 && (spread - 0.5).abs() < 0.04, "{} {spread}", mean(&normal));
    let bounds = [(Init::Uniform(0.3), 0.3), (Init::Xavier(Scaling::default()), (3.0f64 / 48.0).sqrt())];
    for (init, bound) in bounds {
        let drawn = start(init);
        let most = drawn.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!(most <= bound * 1.000001 && most > 0.98 * bound && mean(&drawn).abs() < 0.1 * bound, "{init:?} {most}");
    }
    assert_eq!(start(Init::Constant(1.5)), [1.5; 2048]);
    assert_eq!(start(Init::Zero), [0.0; 2048]);
    assert_eq!(start(Init::One), [1.0; 2048]);
    let scaling = Scaling { draw: Draw::Normal, fan: Fan::Out, magnitude: 16.0 };
    let spread = (start(Init::Xavier(scaling)).iter().map(|x| x * x).sum::<f64>() / 2048.0).sqrt();
    assert!((spread - 0.5).abs() < 0.04, "{spread}");
}

#[test]
fn starts_of_a_structure() {
    let start = |init: Init, shape: &[usize]| {
        let array = ops::empty(shape, DType::F64, Loc::UNKNOWN).unwrap();
        init.write("start", &array, Loc::UNKNOWN).unwrap();
        values(&array)
    };
    for (shape, rows, columns) in [(vec![3, 5], 3usize, 5usize), (vec![6, 2, 2], 6, 4), (vec![4], 4, 1)] {
        for draw in [Draw::Uniform, Draw::Normal] {
            let found = start(Init::Orthogonal { scale: 2.0, draw }, &shape);
            // Rows of a wide matrix and columns of a tall one are orthogonal.
            let (lines, length) = (rows.min(columns), rows.max(columns));
            let at = |line, i| if rows < columns { found[line * columns + i] } else { found[i * columns + line] };
            for (a, b) in (0..lines).flat_map(|a| (0..lines).map(move |b| (a, b))) {
                let dot: f64 = (0..length).map(|i| at(a, i) * at(b, i)).sum();
                assert!((dot - if a == b { 4.0 } else { 0.0 }).abs() < 1e-12, "{shape:?} {a} {b} {dot}");
            }
        }
    }
    assert_eq!(start(Init::LstmBias(1.5), &[8]), [0.0, 0.0, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0]);
    let row = [0.25, 0.75, 0.75, 0.25];
    let image: Vec<f64> = row.iter().flat_map(|y| row.map(|x| x * y)).collect();
    assert_eq!(start(Init::Bilinear, &[1, 2, 4, 4]), [image.clone(), image].concat());
    let array = ops::empty(&[2, 2], DType::F32, Loc::UNKNOWN).unwrap();
    let error = Init::Bilinear.write("image", &array, Loc::UNKNOWN).unwrap_err();
    assert_eq!(error.to_string(), "bilinear: `image` of shape (2, 2) does not have 4 dimensions");
}

#[test]
fn reinitialising_keeps_the_parameter_and_its_gradient() {
    let net = Dense::new(2);
    net.initialize(Init::One).unwrap();
    let y = net.forward(&array(&[1.0, 2.0], &[1, 2])).unwrap();
    assert_eq!(values(&y), [3.0, 3.0]);
    let weight = named(&net, "weight").array().unwrap();
    net.initialize(Init::Constant(2.0)).unwrap();
    assert_eq!(values(&weight), [2.0; 4]);
    assert!(named(&net, "weight").gradient().is_some());
}

struct Alone(Parameter);

impl Layer for Alone {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        self.0.array_for(&x.shape(), loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.0.clone()]
    }
}

#[test]
fn user_defined_layers() {
    let layer = Alone(Parameter::weight("vector", &[None]));
    layer.initialize(Init::Xavier(Scaling::default())).unwrap();
    let error = failure(layer.forward(&array(&[1.0; 3], &[3])));
    assert_eq!(error.to_string(), "xavier: `vector` of shape (3,) has fewer than 2 dimensions");
    layer.initialize(Init::One).unwrap();
    let net = Sequential::new().then(layer);
    assert_eq!(values(&net.forward(&array(&[5.0; 3], &[3])).unwrap()), [1.0; 3]);
    assert_eq!(names(&net), ["0.vector"]);
}

#[test]
fn layer_norm_normalises_rows() {
    let net = LayerNorm::new().epsilon(0.0);
    let x = array(&[1.0, 3.0, -2.0, 4.0], &[2, 2]);
    assert_close(&net.forward(&x).unwrap(), &[-1.0, 1.0, -1.0, 1.0], 1e-6);
    set(&net, "gamma", &[2.0, 3.0], &[2]);
    set(&net, "beta", &[0.0, 1.0], &[2]);
    assert_close(&net.forward(&x).unwrap(), &[-2.0, 4.0, -2.0, 4.0], 1e-6);
    let columns = LayerNorm::new().axis(0).epsilon(0.0);
    assert_close(&columns.forward(&x).unwrap(), &[1.0, -1.0, -1.0, 1.0], 1e-6);
}

#[test]
fn groups_and_channels_are_normalised_apart() {
    let x = array(&[1.0, 3.0, 2.0, 6.0, -1.0, 1.0, 0.0, 8.0], &[2, 2, 2]);
    let each = InstanceNorm::new().epsilon(0.0);
    let expected = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0];
    assert_close(&each.forward(&x).unwrap(), &expected, 1e-6);
    assert_close(&GroupNorm::new().groups(2).epsilon(0.0).forward(&x).unwrap(), &expected, 1e-6);
    set(&each, "gamma", &[2.0, 3.0], &[2]);
    set(&each, "beta", &[0.0, 1.0], &[2]);
    assert_close(&each.forward(&x).unwrap(), &[-2.0, 2.0, -2.0, 4.0, -2.0, 2.0, -2.0, 4.0], 1e-6);
    let whole = values(&GroupNorm::new().epsilon(0.0).forward(&x).unwrap());
    let [first, second] = [3.5f64.sqrt(), 12.5f64.sqrt()];
    let expected =
        [-2.0, 0.0, -1.0, 3.0].map(|v| v / first).into_iter().chain([-3.0, -1.0, -2.0, 6.0].map(|v| v / second));
    assert!(whole.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{whole:?}");
    let last = InstanceNorm::new().axis(-1).epsilon(0.0);
    let columns = array(&[1.0, 0.0, 3.0, 4.0], &[1, 2, 2]);
    assert_close(&last.forward(&columns).unwrap(), &[-1.0, -1.0, 1.0, 1.0], 1e-6);
    let error = failure(GroupNorm::new().groups(3).forward(&x));
    assert_eq!(error.to_string(), "group_norm: 3 groups do not divide the channels of (2, 2, 2)");
}

#[test]
fn rms_norm_divides_by_the_root_of_the_mean_square() {
    let x = array(&[3.0, 4.0, 0.0, 1.0], &[2, 2]);
    let net = RmsNorm::new().epsilon(0.0);
    let root = 12.5f64.sqrt();
    assert_close(&net.forward(&x).unwrap(), &[3.0 / root, 4.0 / root, 0.0, 2f64.sqrt()], 1e-6);
    set(&net, "gamma", &[0.0, 2.0], &[2]);
    assert_close(&net.forward(&x).unwrap(), &[0.0, 8.0 / root, 0.0, 8f64.sqrt()], 1e-6);
}

#[test]
fn scales_and_shifts_can_be_fixed() {
    let net = LayerNorm::new().without_scale().without_shift();
    net.forward(&array(&[1.0, 2.0], &[1, 2])).unwrap();
    assert!(net.parameters().iter().all(|p| !p.is_trainable() && p.gradient().is_none()));
    let batch = BatchNorm::new().epsilon(0.0).without_scale().global_statistics();
    let x = array(&[1.0, 3.0], &[2, 1]);
    assert_eq!(values(&record(|| batch.forward(&x)).unwrap()), [1.0, 3.0]);
    assert_eq!(values(&named(&batch, "running_mean").array().unwrap()), [0.0]);
}

#[test]
fn prelu_has_a_slope_for_all_or_for_each_channel() {
    let x = array(&[-1.0, 2.0, -3.0, 4.0], &[1, 2, 2]);
    assert_eq!(values(&PRelu::new().forward(&x).unwrap()), [-0.25, 2.0, -0.75, 4.0]);
    let net = PRelu::with(2, Init::One);
    set(&net, "alpha", &[2.0, 3.0], &[2]);
    assert_eq!(values(&net.forward(&x).unwrap()), [-2.0, 2.0, -9.0, 4.0]);
    assert_eq!(values(&Activation::Swish(0.0).forward(&x).unwrap()), [-0.5, 1.0, -1.5, 2.0]);
    let error = failure(PRelu::with(3, Init::One).forward(&x));
    assert_eq!(error.to_string(), "prelu: slope of shape (3,) does not fit axis 1 of (1, 2, 2)");
}

#[test]
fn containers_and_functions() {
    let twice = || Lambda(|x: &Array, _: Loc| Ok(x * 2.0));
    let net = Concatenate::new(1).with(Sequential::new()).with(twice()).with(Dense::new(1));
    net.initialize(Init::One).unwrap();
    let y = net.forward(&array(&[1.0, 3.0], &[1, 2])).unwrap();
    assert_eq!(values(&y), [1.0, 3.0, 2.0, 6.0, 4.0]);
    assert_eq!(names(&net), ["2.weight", "2.bias"]);
}

#[test]
fn batch_norm_uses_batch_statistics_in_training_and_running_ones_otherwise() {
    let net = BatchNorm::new().epsilon(0.0);
    let x = array(&[1.0, 10.0, 3.0, 30.0], &[2, 2]);
    let statistics = || ["running_mean", "running_var"].map(|name| named(&net, name).array().unwrap());
    assert_close(&net.forward(&x).unwrap(), &[1.0, 10.0, 3.0, 30.0], 1e-6);
    assert_close(&record(|| net.forward(&x)).unwrap(), &[-1.0, -1.0, 1.0, 1.0], 1e-6);
    let [mean, variance] = statistics();
    assert_close(&mean, &[0.2, 2.0], 1e-6);
    assert_close(&variance, &[1.0, 10.9], 1e-6);
    let expected = [0.8, 8.0 / 10.9f64.sqrt(), 2.8, 28.0 / 10.9f64.sqrt()];
    assert_close(&net.forward(&x).unwrap(), &expected, 1e-6);
    assert_close(&statistics()[0], &[0.2, 2.0], 1e-6);
    assert!(named(&net, "running_mean").gradient().is_none());
    let slow = BatchNorm::new().momentum(0.5).axis(-1);
    record(|| slow.forward(&x)).unwrap();
    assert_close(&named(&slow, "running_mean").array().unwrap(), &[1.0, 10.0], 1e-6);
}

#[test]
fn dropout_acts_in_training_only() {
    let net = Dropout::new(0.25);
    let x = array(&[3.0; 4000], &[4, 1000]);
    assert_eq!(values(&net.forward(&x).unwrap()), [3.0; 4000]);
    let y = values(&record(|| net.forward(&x)).unwrap());
    let gone = y.iter().filter(|v| **v == 0.0).count();
    assert!((800..1200).contains(&gone), "{gone}");
    assert!(y.iter().all(|v| *v == 0.0 || (v - 4.0).abs() < 1e-6));
    let whole = values(&record(|| Dropout::new(0.5).axes(&[1]).forward(&x)).unwrap());
    assert!(whole.chunks(1000).all(|row| row.iter().all(|v| *v == row[0])));
}

#[test]
fn embedding_returns_rows() {
    let net = Embedding::new(3, 2);
    set(&net, "weight", &[0.0, 1.0, 10.0, 11.0, 20.0, 21.0], &[3, 2]);
    let y = net.forward(&array(&[2.0, 0.0], &[1, 2])).unwrap();
    assert_eq!(*y.shape(), [1, 2, 2]);
    assert_eq!(values(&y), [20.0, 21.0, 0.0, 1.0]);
}

#[test]
fn flatten_keeps_the_first_dimension() {
    assert_eq!(*Flatten.forward(&array(&[0.0; 12], &[2, 3, 2])).unwrap().shape(), [2, 6]);
    assert_eq!(*Flatten.forward(&array(&[], &[0, 3, 2])).unwrap().shape(), [0, 6]);
    assert_eq!(*Flatten.forward(&array(&[0.0; 3], &[3])).unwrap().shape(), [3, 1]);
}

#[test]
fn gradients_of_a_network() {
    let net = Sequential::new()
        .then(Flatten)
        .then(Dense::new(4).activation(Activation::Tanh))
        .then(BatchNorm::new())
        .then(Dense::new(3).without_bias())
        .then(LayerNorm::new())
        .then(Activation::Sigmoid)
        .then(Dense::new(2));
    let x = doubles(&numbers(5 * 6), &[5, 2, 3]);
    let weigh = doubles(&numbers(10), &[5, 2]);
    net.forward(&x).unwrap();
    check_gradients(&net, || &net.forward(&x).unwrap() * &weigh);
}

#[test]
fn gradients_of_normalisations() {
    let x = doubles(&numbers(48), &[3, 4, 4]);
    let net = Sequential::new()
        .then(GroupNorm::new().groups(2))
        .then(PRelu::with(4, Init::Constant(0.3)))
        .then(InstanceNorm::new())
        .then(Activation::Swish(1.5))
        .then(RmsNorm::new());
    let weigh = doubles(&numbers(96)[48..], &[3, 4, 4]);
    net.cast(DType::F64).unwrap();
    net.forward(&x).unwrap();
    check_gradients(&net, || &net.forward(&x).unwrap() * &weigh);
}

#[test]
fn gradients_of_rows_with_repeated_indices() {
    let net = Embedding::new(3, 2);
    let rows = ops::from_slice(&[2i64, 0, 2, 1], &[4], Loc::default()).unwrap();
    net.forward(&rows).unwrap();
    let weigh = doubles(&numbers(8), &[4, 2]);
    check_gradients(&net, || &net.forward(&rows).unwrap() * &weigh);
}
