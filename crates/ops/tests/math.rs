//! Compares the elementary functions with the standard library, in ulp.

use forerun_ops::{Num, NumFloat, NumSigned, NumWhole, divide, elementary, math, power, trig};

/// The distance of `got` from `want` in ulp of `want`, in single precision.
fn ulps(got: f32, want: f64) -> f64 {
    let near = want as f32;
    if near.is_nan() {
        return if got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if near.is_infinite() || got.is_infinite() {
        // Near the overflow threshold, accept the largest number as well as infinity.
        return if got == near || (got.is_infinite() && near.abs() == f32::MAX) { 0.0 } else { f64::INFINITY };
    }
    let exponent = if near.abs() < f32::MIN_POSITIVE { -126 } else { (near.abs().to_bits() >> 23) as i32 - 127 };
    (got as f64 - want).abs() / 2f64.powi(exponent - 23)
}

type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64);

/// The error function in double precision: a series near 0, a continued fraction elsewhere.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a > 6.0 {
        return x.signum();
    }
    if a < 2.5 {
        // A series with terms of one sign: e^(-x^2) times the sum of 2^k x^(2k+1) / (1 3 5 ... (2k+1)).
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

/// The standard library's `asinh` loses digits near 0.
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    if a.is_infinite() { x } else { (a + a * a / (1.0 + a.hypot(1.0))).ln_1p().copysign(x) }
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
    for (name, ours, theirs) in FUNCTIONS {
        for x in [f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, 88.72283, 88.72284, -103.97, 0.75, 1.0, 2.0 / 3.0] {
            for x in [x, -x, x.next_up(), x.next_down()] {
                let (got, want) = (ours(x), theirs(x as f64));
                assert!(ulps(got, want) <= 2.0, "{name}({x:e}) = {got:e}, not {want:e}");
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
        assert!(got == want || (got - want).abs() <= 4.0 * ulp.abs(), "{name}({x:e}) = {got:e}, not {want:e}");
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
    for _ in 0..100_000 {
        let sign = if random() < 0.5 { -1.0 } else { 1.0 };
        let any = sign * (1.0 + random()) * 2f64.powi((random() * 2040.0 - 1020.0) as i32);
        let near = (random() - 0.5) * 40.0;
        for x in [any, near, near * 1e4, near * 1e8] {
            check("sin", x, trig::sin(x), x.sin());
            check("cos", x, trig::cos(x), x.cos());
            check("tan", x, trig::tan(x), x.tan());
            check("atan", x, trig::atan(x), x.atan());
            check("asinh", x, trig::asinh(x), if x.abs() < 1e150 { asinh(x) } else { trig::asinh(x) });
            check("cbrt", x, elementary::cbrt(x), x.cbrt());
            check("hypot", x, elementary::hypot(x, near), x.hypot(near));
            check("atan2", x, trig::atan2(near, x), near.atan2(x));
            check("log2", x, elementary::log2(x.abs()), x.abs().log2());
            check("log10", x, elementary::log10(x.abs()), x.abs().log10());
        }
        let unit = random() * 2.0 - 1.0;
        for x in [unit, 1.0 - unit.abs() * 1e-6, unit * 1e-9] {
            check("asin", x, trig::asin(x), x.asin());
            check("acos", x, trig::acos(x), x.acos());
            check("atanh", x, trig::atanh(x), if x.abs() < 0.9 { atanh(x) } else { trig::atanh(x) });
        }
        let large = 1.0 + random() * 2f64.powi((random() * 60.0 - 20.0) as i32);
        check("acosh", large, trig::acosh(large), (large - 1.0 + ((large - 1.0) * (large + 1.0)).sqrt()).ln_1p());
        let x = (random() - 0.5) * 1400.0;
        check("sinh", x, trig::sinh(x), x.sinh());
        check("sinh", near * 0.1, trig::sinh(near * 0.1), (near * 0.1).sinh());
        check("cosh", x, trig::cosh(x), x.cosh());
        check("exp2", x, elementary::exp2(x), x.exp2());
    }
    assert_eq!(math::exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(math::exp(f64::INFINITY), f64::INFINITY);
    assert!(math::log(f64::NAN).is_nan());
    // From a table with fifty digits.
    for (x, want) in ERF {
        check("erf", x, math::erf(x), want);
        check("erf", -x, math::erf(-x), -want);
    }
    assert_eq!(math::tanh(-0.0f64).to_bits(), (-0.0f64).to_bits());
}

#[test]
fn edges_of_angles_roots_and_logarithms() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let (inf, zero) = (f64::INFINITY, -0.0f64);
    for f in [trig::sin::<f64>, trig::tan, trig::asin, trig::atan, trig::sinh, trig::asinh, trig::atanh] {
        assert_eq!((f(zero).to_bits(), f(0.0), f(5e-324)), (zero.to_bits(), 0.0, 5e-324));
        assert!(f(f64::NAN).is_nan());
    }
    for f in [trig::sin::<f64>, trig::cos, trig::tan] {
        assert!(f(inf).is_nan() && f(-inf).is_nan());
    }
    assert_eq!((trig::cos(0.0), trig::cosh(0.0), trig::cosh(-inf), trig::sinh(-inf)), (1.0, 1.0, inf, -inf));
    assert_eq!((trig::asin(1.0), trig::acos(1.0), trig::acos(-1.0), trig::acos(0.0)), (FRAC_PI_2, 0.0, PI, FRAC_PI_2));
    assert!(trig::asin(1.1f64).is_nan() && trig::acos(-1.1f64).is_nan() && trig::acosh(0.9f64).is_nan());
    assert_eq!((trig::atan(inf), trig::atan(-inf)), (FRAC_PI_2, -FRAC_PI_2));
    assert_eq!((trig::acosh(1.0), trig::acosh(inf), trig::asinh(-inf)), (0.0, inf, -inf));
    assert_eq!((trig::atanh(1.0), trig::atanh(-1.0)), (inf, -inf));
    assert!(trig::atanh(2.0f64).is_nan());
    // These cases also check the sign of zero.
    for (y, x) in [(0.0, -1.0), (zero, -1.0), (0.0, zero), (zero, zero), (0.0, 0.0), (1.0, 0.0), (-1.0, zero)] {
        assert_eq!(trig::atan2(y, x).to_bits(), f64::atan2(y, x).to_bits(), "{y} {x}");
    }
    for (y, x) in [(inf, inf), (-inf, inf), (inf, -inf), (1.0, inf), (1.0, -inf), (inf, 1.0), (5e-324, 5e-324)] {
        assert_eq!(trig::atan2(y, x), f64::atan2(y, x), "{y} {x}");
    }
    assert_eq!(trig::atan2(1.0f64, 1.0), FRAC_PI_4);
    assert!(trig::atan2(f64::NAN, 1.0).is_nan() && trig::atan2(1.0, f64::NAN).is_nan());
    for scale in [2f64.powi(1000), 2f64.powi(-1000)] {
        assert_eq!(elementary::hypot(3.0 * scale, -4.0 * scale), 5.0 * scale);
    }
    assert_eq!((elementary::hypot(inf, f64::NAN), elementary::hypot(0.0, zero)), (inf, 0.0));
    assert_eq!((elementary::cbrt(-27.0), elementary::cbrt(zero).to_bits()), (-3.0, zero.to_bits()));
    assert_eq!((elementary::cbrt(inf), elementary::cbrt(5e-324)), (inf, f64::cbrt(5e-324)));
    for n in -1074..1024 {
        let power = if n < -1022 { f64::from_bits(1 << (n + 1074)) } else { f64::from_bits(((n + 1023) as u64) << 52) };
        assert_eq!((elementary::exp2(n as f64), elementary::log2(power)), (power, n as f64));
        assert_eq!(elementary::ldexp(1.0, n as f64), power);
        assert_eq!((elementary::mantissa(power), elementary::exponent(power)), (0.5, n as f64 + 1.0));
    }
    for n in 0..22 {
        assert_eq!(elementary::log10(10f64.powi(n)), n as f64);
    }
    assert_eq!((elementary::exp2(1025.0), elementary::exp2(-1080.0)), (inf, 0.0));
    assert_eq!((elementary::log2(0.0), elementary::log10(inf)), (-inf, inf));
    assert!(elementary::log2(-1.0f64).is_nan() && elementary::ldexp(1.0, f64::NAN).is_nan());
    assert_eq!((elementary::ldexp(5e-324, 1100.0), elementary::ldexp(1e300, -2100.0)), (2f64.powi(26), 0.0));
    // A single rounding: slightly more than half of the smallest number rounds to that number.
    assert_eq!(elementary::ldexp(1.0 + f64::EPSILON, -1075.0), 5e-324);
    assert_eq!((elementary::logaddexp(inf, inf), elementary::logaddexp(-inf, 3.0)), (inf, 3.0));
    assert_eq!((1f64.next_after(2.0), 0f64.next_after(-1.0)), (1.0 + f64::EPSILON, -5e-324));
    assert_eq!((f64::MAX.next_after(inf), 1f64.next_after(1.0)), (inf, 1.0));
}

#[test]
fn divisors_multiples_and_shifts() {
    assert_eq!((12i32.gcd(-18), 0i32.gcd(0), (-7i32).gcd(0), i32::MIN.gcd(0)), (6, 0, 7, i32::MIN));
    assert_eq!((4i32.lcm(-6), 0i32.lcm(5), 0i32.lcm(0)), (12, 0, 0));
    assert_eq!((1i32.shift_left(4), 1i32.shift_left(32), 1i32.shift_left(-1)), (16, 0, 0));
    assert_eq!(
        ((-8i32).shift_right(1), (-8i32).shift_right(40), 8i32.shift_right(40), 8i32.shift_right(-1)),
        (-4, -1, 0, 0)
    );
    assert_eq!((1i64.shift_left(40), i64::MIN.shift_right(63)), (1 << 40, -1));
    assert_eq!((NumSigned::fmod(-7, 3), NumSigned::fmod(7, 0), NumSigned::fmod(i32::MIN, -1)), (-1, 0, 0));
    assert_eq!((NumSigned::fmod(-7.5, 2.0), NumSigned::fmod(7.5, -2.0)), (-1.5, 1.5));
}

#[test]
fn near_quotients_have_the_bits_of_the_reference() {
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 11
    };
    macro_rules! compare {
        ($float:ident, $bits:ident) => {
            for round in 0..300_000 {
                // Random bits, or a dividend that is a multiple of the divisor or one of its neighbours.
                let y = $float::from_bits((random() << 11 | random() & 0x7ff) as $bits);
                let x = match round % 2 {
                    0 => $float::from_bits((random() << 11 | random() & 0x7ff) as $bits),
                    _ => {
                        let times = (random() >> (random() % 54)) as $float;
                        $float::from_bits((y * times).to_bits().wrapping_add((random() % 3) as $bits).wrapping_sub(1))
                    }
                };
                if divide::is_near(x, y) {
                    assert_eq!(divide::fmod(x, y).to_bits(), NumSigned::fmod(x, y).to_bits(), "{x:e} {y:e}");
                    assert_eq!(divide::remainder(x, y).to_bits(), x.remainder(y).to_bits(), "{x:e} {y:e}");
                    assert_eq!(divide::floor_div(x, y).to_bits(), x.floor_div(y).to_bits(), "{x:e} {y:e}");
                }
            }
        };
    }
    compare!(f32, u32);
    compare!(f64, u64);
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

/// Numbers from 0 to 1; the same in every run.
fn randoms() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn powers_are_close_over_the_whole_range() {
    let mut random = randoms();
    let (mut single, mut double) = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0));
    for i in 0..600_000 {
        let x = match i % 4 {
            0 => f32::from_bits((random() * 2147483648.0) as u32),
            1 => (random() * 2.0) as f32,
            2 => 1.0 + ((random() - 0.5) * 0.01) as f32,
            _ => (random() * 100.0) as f32,
        };
        let log = (x as f64).log2();
        if x == 0.0 || log == 0.0 || !log.is_finite() {
            continue;
        }
        // Exponents that reach every magnitude of the result, including denormals and both limits.
        let y = if i % 3 == 0 { random() * 20.0 - 10.0 } else { (random() - 0.5) * 310.0 / log } as f32;
        let off = ulps(power::power(x, y), (x as f64).powf(y as f64));
        if off > single.0 {
            single = (off, x as f64, y as f64);
        }
        let x = x as f64 * (1.0 + random() * 1e-6);
        let y = (random() - 0.5) * 2150.0 / x.log2();
        let (got, want) = (power::power(x, y), x.powf(y));
        let ulp = if want < f64::MIN_POSITIVE { f64::from_bits(1) } else { want.next_up() - want };
        let off = if got == want { 0.0 } else { (got - want).abs() / ulp };
        if off > double.0 || off.is_nan() {
            double = (off, x, y);
        }
    }
    println!("power: at most {:.3} ulp in single precision, {:.3} in double", single.0, double.0);
    assert!(single.0 <= 2.0, "{single:?}");
    assert!(double.0 <= 4.0, "{double:?}");
}

#[test]
fn powers_have_the_special_cases_of_c() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let edges = [0.0, 1.0, 2.0, 0.5, 3.0, inf, nan, 5e-324, f64::MAX, f64::MIN_POSITIVE, 9007199254740991.0, 2.5];
    for x in edges.into_iter().flat_map(|x| [x, -x]) {
        for y in edges.into_iter().flat_map(|y| [y, -y]) {
            let (got, want) = (power::power(x, y), x.powf(y));
            let same =
                got == want && got.is_sign_negative() == want.is_sign_negative() || got.is_nan() && want.is_nan();
            assert!(same || (got / want - 1.0).abs() < 1e-15, "{x:e} to the power of {y:e} is {got:e}, not {want:e}");
            let (x, y) = (x as f32, y as f32);
            let (got, want) = (power::power(x, y), x.powf(y));
            let same =
                got == want && got.is_sign_negative() == want.is_sign_negative() || got.is_nan() && want.is_nan();
            assert!(same || (got / want - 1.0).abs() < 3e-7, "{x:e} to the power of {y:e} is {got:e}, not {want:e}");
        }
    }
}

#[test]
fn plain_powers_have_the_bits_of_powers() {
    let mut random = randoms();
    for _ in 0..100_000 {
        let (x, y) = (random() * 2f64.powi((random() * 200.0 - 100.0) as i32), (random() - 0.5) * 20.0);
        assert!(power::is_plain(x, y));
        assert_eq!(power::plain_power(x, y).to_bits(), power::power(x, y).to_bits());
        let (x, y) = (x as f32, y as f32);
        assert_eq!(power::plain_power(x, y).to_bits(), power::power(x, y).to_bits());
    }
}
