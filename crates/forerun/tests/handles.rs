//! Handles of every kind are counted: a value lives while one of them does.

use forerun::{Array, ones};

type Maker = fn(&Array) -> Array;

#[test]
fn dropping_a_handle_keeps_the_others() {
    let makers: [(&str, Maker); 3] =
        [("clone", Array::clone), ("detach", Array::detach), ("view", |x| x.reshape([-1, 10]))];
    for (kind, make) in makers {
        let x = ones([100_000]);
        x.wait_to_read().unwrap();
        for _ in 0..3 {
            drop(make(&x));
        }
        // If the last handle were gone, these would get its bytes.
        let others: Vec<Array> = (0..20).map(|i| ones([100_000]) * f64::from(i)).collect();
        assert!(others.iter().all(|y| y.wait_to_read().is_ok()));
        assert!(x.to_vec::<f64>().unwrap().iter().all(|v| *v == 1.0), "{kind}");
    }
}
