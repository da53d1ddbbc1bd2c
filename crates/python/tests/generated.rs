//! Generated files are committed; this fails when one differs from what its generator prints.

#[path = "../examples/pointwise.rs"]
mod pointwise;

#[test]
fn pointwise_functions_are_up_to_date() {
    let committed = include_str!("../../../python/forerun/_pointwise.py");
    assert!(committed == pointwise::text(), "python/forerun/_pointwise.py is out of date, run `cargo xtask gen`");
}
