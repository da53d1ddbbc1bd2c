//! Compares the reduction of far singles, computed in doubles, with the integer reduction of doubles.

use forerun_ops::Turn;

/// Compares every `step`-th far single of both signs.
fn sweep(step: usize) {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let far = 1048576f32.next_up().to_bits()..f32::INFINITY.to_bits();
    let (worst, x) = std::thread::scope(|scope| {
        let part = |t: usize| {
            let far = far.clone();
            scope.spawn(move || far.skip(t * step).step_by(threads * step).map(off).fold((0.0, 0.0), worse))
        };
        let running: Vec<_> = (0..threads).map(part).collect();
        running.into_iter().map(|part| part.join().unwrap()).fold((0.0, 0.0), worse)
    });
    println!("off by at most 2^{:.1} of the rest, at {x:e}", worst.log2());
    assert!(worst < 2f64.powi(-44), "off by {worst:e} of the rest at {x:e}");
}

fn worse(a: (f64, f32), b: (f64, f32)) -> (f64, f32) {
    if b.0 > a.0 { b } else { a }
}

/// The relative error of the remainder of a far single.
fn off(bits: u32) -> (f64, f32) {
    let x = f32::from_bits(bits);
    let [quadrant, high, low] = x.far();
    let [turned, rest, _] = (x as f64).far();
    assert_eq!(quadrant as f64, turned, "the quadrant of {x:e}");
    assert!(high == rest as f32 || high.next_up() == rest as f32 || high.next_down() == rest as f32, "{x:e}");
    assert_eq!((-x).far(), [(4.0 - quadrant) % 4.0, -high, -low], "an odd rest, at {x:e}");
    (((high as f64 + low as f64) - rest).abs() / rest.abs(), x)
}

#[test]
fn every_1009th_far_single_has_the_rest_of_the_double() {
    sweep(1009);
}

#[test]
#[ignore = "nine hundred million values, twice: a minute, in release builds"]
fn every_far_single_has_the_rest_of_the_double() {
    sweep(1);
}

#[test]
fn near_singles_have_the_rest_of_the_double() {
    let mut worst = (0.0, 0.0);
    for bits in (0.5f32.to_bits()..=1048576f32.to_bits()).step_by(97) {
        let x = f32::from_bits(bits);
        let [quadrant, high, low] = if x.is_far() { x.far() } else { x.near() };
        let [turned, rest, rest_low] = (x as f64).near();
        // Halfway between two multiples, either one is acceptable.
        if quadrant as f64 != turned {
            assert!((high.abs() as f64 - std::f64::consts::FRAC_PI_4).abs() < 0.01, "the quadrant of {x:e}");
            continue;
        }
        worst = worse(worst, (((high as f64 - rest) + low as f64 - rest_low).abs() / rest.abs(), x));
        if !x.is_far() {
            assert_eq!(forerun_ops::turn::near(x).map(f32::to_bits), x.near().map(f32::to_bits), "{x:e}");
        }
    }
    println!("off by at most 2^{:.1} of the rest, at {:e}", f64::log2(worst.0), worst.1);
    assert!(worst.0 < 2f64.powi(-32), "off by {:e} of the rest at {:e}", worst.0, worst.1);
}

#[test]
fn what_is_not_finite_has_no_rest() {
    for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let [quadrant, high, low] = x.far();
        assert!(quadrant == 0.0 && high.is_nan() && low.is_nan());
    }
}
