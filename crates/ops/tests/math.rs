//! The elementary functions against the standard library's, in units of the last place.

use forerun_ops::{Num, NumFloat, NumSigned, math};

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

const FUNCTIONS: [Function; 4] = [
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
fn every_251st_single_is_within_two_ulp() {
    sweep(251);
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
    for (_, ours, theirs) in FUNCTIONS {
        for x in [f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, 88.72283, 88.72284, -103.97, 0.75, 1.0, 2.0 / 3.0] {
            for x in [x, -x, x.next_up(), x.next_down()] {
                assert!(ulps(ours(x), theirs(x as f64)) <= 2.0);
            }
        }
    }
}

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
        let t = (random() - 0.5) * 8.0;
        check("tanh", t, math::tanh(t), t.tanh());
        let s = (random() - 0.5) * 80.0;
        let want = if s < 0.0 { s.exp() / (1.0 + s.exp()) } else { 1.0 / (1.0 + (-s).exp()) };
        check("sigmoid", s, math::sigmoid(s), want);
    }
    assert_eq!(math::exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(math::exp(f64::INFINITY), f64::INFINITY);
    assert!(math::log(f64::NAN).is_nan());
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
