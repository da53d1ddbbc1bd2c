//! Every sample of the catalogue from Rust: the same bits under every plan, or the expected error.

mod sample_calls;

use forerun::frontend::samples::samples;
use forerun::runtime::{set_fuse, set_tiny_limit};
use forerun::{Array, DType, Scalar, seed};
use sample_calls::call;

fn bits(arrays: &[Array]) -> Vec<(DType, Vec<usize>, Vec<Vec<u8>>)> {
    let one = |x: &Array| {
        let snapshot = x.snapshot().unwrap();
        let nan = |e: Scalar| e.as_f64().is_nan() || e.imaginary().is_nan();
        let bits = snapshot.elements().map(|e| if nan(e) { vec![1] } else { e.to_bytes(x.dtype()) });
        (x.dtype(), x.shape().to_vec(), bits.collect())
    };
    arrays.iter().map(one).collect()
}

/// One test, because the switches are global.
#[test]
fn every_sample() {
    for sample in samples() {
        for &dtype in &sample.dtypes {
            let name = format!("{sample:?} of {dtype}");
            let run = |fuse: bool, tiny: usize| {
                seed(3);
                set_fuse(fuse);
                set_tiny_limit(tiny);
                call(&sample, dtype)
            };
            if let Some(text) = &sample.error {
                let made = run(true, 0).and_then(|made| made.iter().try_for_each(Array::wait_to_read));
                let error = made.expect_err(&name).to_string();
                assert!(error.contains(text.as_str()), "{name}: {error}");
                continue;
            }
            let want = bits(&run(false, 0).expect(&name));
            for (fuse, tiny) in [(true, 0), (true, 1 << 20)] {
                assert_eq!(bits(&run(fuse, tiny).expect(&name)), want, "{name}: fuse {fuse}, tiny {tiny}");
            }
        }
    }
}
