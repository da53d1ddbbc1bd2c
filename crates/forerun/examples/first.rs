//! The first program: submits ops, continues, and waits for the result when it is printed.

use forerun::{Array, ones};

fn main() {
    println!("{}", first());
}

fn first() -> Array {
    let x = ones([1, 2]);
    let y = ones([1, 2]);
    &x * &y + 2.0
}

#[test]
fn it_prints_threes() {
    assert_eq!(first().to_string(), "[[3. 3.]]");
}
