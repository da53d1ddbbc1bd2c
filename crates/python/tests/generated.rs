//! Generated files are committed; this fails when one differs from what its generator prints.

#[path = "../examples/pointwise.rs"]
mod pointwise;

use forerun_ops::Place;

#[test]
fn pointwise_functions_are_up_to_date() {
    let files = [
        (Place::Np, "_pointwise.py", include_str!("../../../python/forerun/_pointwise.py")),
        (Place::Npx, "_pointwise_npx.py", include_str!("../../../python/forerun/_pointwise_npx.py")),
    ];
    for (place, name, committed) in files {
        assert!(committed == pointwise::text(place), "python/forerun/{name} is out of date, run `cargo xtask gen`");
    }
}
