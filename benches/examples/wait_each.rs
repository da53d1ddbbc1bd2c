//! A loop for profilers.
use forerun::array;
fn main() {
    forerun::set_drop_dead(false);
    let x = array(&[1.0, 2.0], &[1, 2]);
    let t = std::time::Instant::now();
    for _ in 0..20_000_000 {
        let y = &x + 1.0;
        y.wait_to_read().unwrap();
    }
    println!("{:?} each", t.elapsed() / 20_000_000);
}
