//! Handles of every kind are counted: what one of them lets go, the others still hold.

use forerun::{Array, ones};

type Maker = fn(&Array) -> Array;

#[test]
fn handles_that_go_leave_the_rest() {
    let makers: [(&str, Maker); 3] =
        [("clone", Array::clone), ("detach", Array::detach), ("view", |x| x.reshape(&[-1, 10]))];
    for (kind, make) in makers {
        let x = ones(&[100_000]);
        x.wait_to_read().unwrap();
        for _ in 0..3 {
            drop(make(&x));
        }
        // Were the last handle gone, these would be given its bytes.
        let others: Vec<Array> = (0..20).map(|i| ones(&[100_000]) * f64::from(i)).collect();
        assert!(others.iter().all(|y| y.wait_to_read().is_ok()));
        assert!(x.to_vec().unwrap().iter().all(|v| *v == 1.0), "{kind}");
    }
}
