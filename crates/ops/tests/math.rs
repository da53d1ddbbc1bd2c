//! The elementary functions against the standard library's, in units of the last place.

use forerun_ops::{Num, NumFloat, NumSigned, elementary, math, trig};

/// Distance of `got` from `want` in units of the last place of `want`, in single precision.
fn ulps(got: f32, want: f64) -> f64 {
    let near = want as f32;
    if near.is_nan() {
        return if got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if near.is_infinite() || got.is_infinite() {
        // Rounding may stop one step short of infinity, or go there.
        return if got == near || (got.is_infinite() && near.abs() == f32::MAX) { 0.0 } else { f64::INFINITY };
    }
    let exponent = if near.abs() < f32::MIN_POSITIVE { -126 } else { (near.abs().to_bits() >> 23) as i32 - 127 };
    (got as f64 - want).abs() / 2f64.powi(exponent - 23)
}

type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64);

/// The error function: a series near 0, a continued fraction far away; both to double precision.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a > 6.0 {
        return x.signum();
    }
    if a < 2.5 {
        // Terms of one sign: e^(-x^2) times the sum of 2^k x^(2k+1) / (1 3 5 ... (2k+1)).
        let (mut term, mut sum, mut k) = (x, x, 3.0);
        while term.abs() > sum.abs() * 1e-17 {
            term *= 2.0 * x * x / k;
            sum += term;
            k += 2.0;
        }
        return std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum;
    }
    let fraction = (1..60).rev().fold(a, |f, k| a + k as f64 / 2.0 / f);
    let rest = (-a * a).exp() / fraction * std::f64::consts::FRAC_2_SQRT_PI / 2.0;
    if x.is_nan() { x } else { (1.0 - rest).copysign(x) }
}

/// The standard library's loses digits near 0.
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    (a + a * a / (1.0 + a.hypot(1.0))).ln_1p().copysign(x)
}

fn atanh(x: f64) -> f64 {
    0.5 * (2.0 * x / (1.0 - x)).ln_1p()
}

const FUNCTIONS: [Function; 25] = [
    ("sin", trig::sin::<f32>, f64::sin),
    ("cos", trig::cos::<f32>, f64::cos),
    ("tan", trig::tan::<f32>, f64::tan),
    ("asin", trig::asin::<f32>, f64::asin),
    ("acos", trig::acos::<f32>, f64::acos),
    ("atan", trig::atan::<f32>, f64::atan),
    ("sinh", trig::sinh::<f32>, f64::sinh),
    ("cosh", trig::cosh::<f32>, f64::cosh),
    ("asinh", trig::asinh::<f32>, asinh),
    ("acosh", trig::acosh::<f32>, f64::acosh),
    ("atanh", trig::atanh::<f32>, atanh),
    ("exp2", elementary::exp2::<f32>, f64::exp2),
    ("log2", elementary::log2::<f32>, f64::log2),
    ("log10", elementary::log10::<f32>, f64::log10),
    ("cbrt", elementary::cbrt::<f32>, f64::cbrt),
    ("degrees", |x| x * (180.0 / std::f64::consts::PI) as f32, f64::to_degrees),
    ("radians", |x| x * (std::f64::consts::PI / 180.0) as f32, f64::to_radians),
    ("hypot with 3", |x| elementary::hypot(x, 3.0), |x| x.hypot(3.0)),
    ("expm1", math::expm1::<f32>, f64::exp_m1),
    ("log1p", math::log1p::<f32>, f64::ln_1p),
    ("erf", math::erf::<f32>, erf),
    ("exp", math::exp::<f32>, f64::exp),
    ("log", math::log::<f32>, f64::ln),
    ("tanh", math::tanh::<f32>, f64::tanh),
    ("sigmoid", math::sigmoid::<f32>, |x| 1.0 / (1.0 + (-x).exp())),
];

fn sweep(step: usize) {
    for (name, ours, theirs) in FUNCTIONS {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
        let worst = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..threads)
                .map(|t| {
                    scope.spawn(move || {
                        let mut worst = (0.0f64, 0.0f32);
                        for bits in (0..=u32::MAX).skip(t * step).step_by(threads * step) {
                            let x = f32::from_bits(bits);
                            let d = ulps(ours(x), theirs(x as f64));
                            if d > worst.0 {
                                worst = (d, x);
                            }
                        }
                        worst
                    })
                })
                .collect();
            parts.into_iter().map(|p| p.join().unwrap()).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
        });
        println!("{name}: at most {:.3} ulp, at {:e}", worst.0, worst.1);
        assert!(worst.0 <= 2.0, "{name} is {} ulp off at {:e}", worst.0, worst.1);
    }
}

#[test]
fn every_1009th_single_is_within_two_ulp() {
    sweep(1009);
}

#[test]
#[ignore = "four thousand million values a function: minutes, in release builds"]
fn every_single_is_within_two_ulp() {
    sweep(1);
}

#[test]
fn edges_of_single_precision() {
    let inf = f32::INFINITY;
    assert_eq!(math::exp(inf), inf);
    assert_eq!(math::exp(-inf), 0.0);
    assert_eq!(math::exp(0.0f32), 1.0);
    assert_eq!(math::exp(-0.0f32), 1.0);
    assert!(math::exp(f32::NAN).is_nan());
    assert!(math::exp(-100.0f32) > 0.0, "denormal results are kept");
    assert_eq!(math::log(0.0f32), -inf);
    assert_eq!(math::log(-0.0f32), -inf);
    assert_eq!(math::log(inf), inf);
    assert_eq!(math::log(1.0f32), 0.0);
    assert!(math::log(-1.0f32).is_nan() && math::log(f32::NAN).is_nan() && math::log(-inf).is_nan());
    assert_eq!(math::tanh(-0.0f32).to_bits(), (-0.0f32).to_bits());
    assert_eq!(math::tanh(f32::from_bits(1)), f32::from_bits(1));
    assert_eq!(math::tanh(inf), 1.0);
    assert_eq!(math::tanh(-inf), -1.0);
    assert!(math::tanh(f32::NAN).is_nan() && math::sigmoid(f32::NAN).is_nan());
    assert_eq!(math::sigmoid(inf), 1.0);
    assert_eq!(math::sigmoid(-inf), 0.0);
    assert_eq!(math::sigmoid(0.0f32), 0.5);
    for ours in [math::expm1::<f32>, math::log1p::<f32>, math::erf::<f32>] {
        for x in [0.0f32, -0.0, f32::from_bits(1), -f32::from_bits(1), -f32::MIN_POSITIVE] {
            assert_eq!(ours(x).signum(), x.signum());
            assert!((ours(x) - x).abs() <= 0.2 * x.abs());
        }
        assert!(ours(f32::NAN).is_nan());
    }
    assert_eq!((math::expm1(inf), math::expm1(-inf), math::expm1(-200.0f32)), (inf, -1.0, -1.0));
    assert_eq!((math::log1p(inf), math::log1p(-1.0f32)), (inf, -inf));
    assert!(math::log1p(-1.5f32).is_nan() && math::log1p(-inf).is_nan());
    assert_eq!((math::erf(inf), math::erf(-inf), math::erf(9.0f32)), (1.0, -1.0, 1.0));
    for (_, ours, theirs) in FUNCTIONS {
        for x in [f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, 88.72283, 88.72284, -103.97, 0.75, 1.0, 2.0 / 3.0] {
            for x in [x, -x, x.next_up(), x.next_down()] {
                assert!(ulps(ours(x), theirs(x as f64)) <= 2.0);
            }
        }
    }
}

const ERF: [(f64, f64); 21] = [
    (1e-300, 1.1283791670955126e-300),
    (1e-08, 1.1283791670955126e-08),
    (0.1, 0.1124629160182849),
    (0.3, 0.3286267594591274),
    (0.5, 0.5204998778130465),
    (0.7, 0.6778011938374184),
    (0.7499, 0.7110913357245858),
    (0.75, 0.7111556336535151),
    (0.8, 0.7421009647076605),
    (1.0, 0.8427007929497149),
    (1.3, 0.9340079449406524),
    (1.7, 0.9837904585907745),
    (2.0, 0.9953222650189527),
    (2.5, 0.999593047982555),
    (3.0, 0.9999779095030014),
    (3.9, 0.9999999652077514),
    (4.5, 0.9999999998033839),
    (5.5, 0.9999999999999927),
    (5.9, 0.9999999999999999),
    (6.5, 1.0),
    (30.0, 1.0),
];

#[test]
fn double_precision_is_close() {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let check = |name: &str, x: f64, got: f64, want: f64| {
        let ulp = if want.abs() < f64::MIN_POSITIVE { f64::from_bits(1) } else { want.next_up() - want };
        // The standard library's own error is up to 1 ulp.
        assert!(got == want || (got - want).abs() <= 3.0 * ulp.abs(), "{name}({x:e}) = {got:e}, not {want:e}");
    };
    for _ in 0..200_000 {
        let x = (random() - 0.5) * 1500.0;
        check("exp", x, math::exp(x), x.exp());
        let y = random() * 2f64.powi((random() * 2000.0 - 1050.0) as i32);
        check("log", y, math::log(y), y.ln());
        let near = 1.0 + (random() - 0.5) * 0.6;
        check("log", near, math::log(near), near.ln());
        check("expm1", x, math::expm1(x), x.exp_m1());
        let small = (random() - 0.5) * 2f64.powi((random() * -60.0) as i32 + 3);
        check("expm1", small, math::expm1(small), small.exp_m1());
        check("log1p", small.max(-0.999), math::log1p(small.max(-0.999)), small.max(-0.999).ln_1p());
        check("log1p", y, math::log1p(y), y.ln_1p());
        let t = (random() - 0.5) * 8.0;
        check("tanh", t, math::tanh(t), t.tanh());
        let s = (random() - 0.5) * 80.0;
        let want = if s < 0.0 { s.exp() / (1.0 + s.exp()) } else { 1.0 / (1.0 + (-s).exp()) };
        check("sigmoid", s, math::sigmoid(s), want);
    }
    assert_eq!(math::exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(math::exp(f64::INFINITY), f64::INFINITY);
    assert!(math::log(f64::NAN).is_nan());
    // From a table of fifty digits.
    for (x, want) in ERF {
        check("erf", x, math::erf(x), want);
        check("erf", -x, math::erf(-x), -want);
    }
    assert_eq!(math::tanh(-0.0f64).to_bits(), (-0.0f64).to_bits());
}

#[test]
fn division_rounds_down_and_never_traps() {
    assert_eq!((-7).floor_div(2), -4);
    assert_eq!((-7).remainder(2), 1);
    assert_eq!(7.remainder(-2), -1);
    assert_eq!(5.floor_div(0), 0);
    assert_eq!(5.remainder(0), 0);
    assert_eq!(i32::MIN.floor_div(-1), i32::MIN);
    assert_eq!(i64::MIN.remainder(-1), 0);
    assert_eq!(2.power(-1), 0);
    assert_eq!((-1).power(-3), -1);
    assert_eq!((-1).power(-2), 1);
    assert_eq!(3i64.power(5), 243);
    assert_eq!(NumSigned::floor_div(-7.0f32, 2.0), -4.0);
    assert_eq!(NumSigned::remainder(-7.0f64, 2.0), 1.0);
    assert_eq!(NumSigned::remainder(7.0f32, -2.0), -1.0);
    assert!(NumSigned::remainder(7.0f32, 0.0).is_nan());
    assert_eq!(NumSigned::floor_div(1.0f32, 0.0), f32::INFINITY);
    assert!(NumSigned::floor_div(f32::NAN, 1.0).is_nan());
}

#[test]
fn nan_wins_and_truth_values_add() {
    assert!(Num::max(f32::NAN, 1.0).is_nan() && Num::max(1.0, f32::NAN).is_nan());
    assert!(Num::min(f64::NAN, 1.0).is_nan() && Num::min(1.0, f64::NAN).is_nan());
    assert!(Num::add(true, true) && !Num::mul(true, false));
    assert_eq!(NumSigned::rint(2.5f32), 2.0);
    assert_eq!(NumFloat::split(1.5f32), (0.75, 1.0));
}
