//! The first lines that a NumPy user tries in Rust: they compile, and have the values that NumPy printed. The tables of
//! `docs/rust.md` consist of these lines.

use forerun::prelude::*;
use forerun::{Shape, fft, linalg, random};

/// What a line gives: the extents, and the elements in row-major order.
trait Answer {
    fn answer(&self) -> (Vec<usize>, Vec<f64>);
}

impl Answer for Array {
    fn answer(&self) -> (Vec<usize>, Vec<f64>) {
        (self.shape().to_vec(), self.to_vec().unwrap())
    }
}

impl Answer for bool {
    fn answer(&self) -> (Vec<usize>, Vec<f64>) {
        (vec![], vec![*self as u8 as f64])
    }
}

impl Answer for f64 {
    fn answer(&self) -> (Vec<usize>, Vec<f64>) {
        (vec![], vec![*self])
    }
}

impl Answer for Vec<f64> {
    fn answer(&self) -> (Vec<usize>, Vec<f64>) {
        (vec![self.len()], self.clone())
    }
}

impl Answer for Shape {
    fn answer(&self) -> (Vec<usize>, Vec<f64>) {
        (vec![self.rank()], self.iter().map(|extent| *extent as f64).collect())
    }
}

/// A line, its answer, and that of NumPy.
type Line = (&'static str, (Vec<usize>, Vec<f64>), (Vec<usize>, Vec<f64>));

macro_rules! lines {
    ($($line:expr => [$($extent:expr),*] [$($element:expr),*];)*) => {
        vec![$((stringify!($line), ($line).answer(), (vec![$($extent),*], vec![$($element),*]))),*]
    };
}

#[expect(clippy::approx_constant, reason = "the digits that NumPy printed")]
fn lines() -> Result<Vec<Line>> {
    let a = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    let x = arange(0, 12, 1).reshape([3, 4]);
    let v = Array::from([3.0, 1.0, 2.0]);
    Ok(lines! {
        // Create.
        Array::from([[1, 2], [3, 4]]) => [2, 2] [1.0, 2.0, 3.0, 4.0];
        zeros([2, 3]) => [2, 3] [0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        full([2], 7, DType::I64) => [2] [7.0, 7.0];
        eye(2) => [2, 2] [1.0, 0.0, 0.0, 1.0];
        arange(0, 3, 1) => [3] [0.0, 1.0, 2.0];
        linspace(0.0, 1.0, 5) => [5] [0.0, 0.25, 0.5, 0.75, 1.0];
        ones_like(&v) => [3] [1.0, 1.0, 1.0];
        meshgrid(&[&v, &v])[0] => [3, 3] [3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0];
        // Arithmetic.
        &a + 1 => [2, 2] [2.0, 3.0, 4.0, 5.0];
        2.0 * &a => [2, 2] [2.0, 4.0, 6.0, 8.0];
        (1.0 - &a).exp() => [2, 2] [1.0, 0.3678794412, 0.1353352832, 0.0497870684];
        &a - &a / 2 => [2, 2] [0.5, 1.0, 1.5, 2.0];
        &x % 5 => [3, 4] [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0];
        a.pow(2) => [2, 2] [1.0, 4.0, 9.0, 16.0];
        a.matmul(&a) => [2, 2] [7.0, 10.0, 15.0, 22.0];
        -&v => [3] [-3.0, -1.0, -2.0];
        a.exp() => [2, 2] [2.7182818285, 7.3890560989, 20.0855369232, 54.5981500331];
        a.sqrt() => [2, 2] [1.0, 1.4142135624, 1.7320508076, 2.0];
        a.log() => [2, 2] [0.0, 0.6931471806, 1.0986122887, 1.3862943611];
        a.sin() => [2, 2] [0.8414709848, 0.9092974268, 0.1411200081, -0.7568024953];
        (-&a).abs() => [2, 2] [1.0, 2.0, 3.0, 4.0];
        x.clip(2, 8) => [3, 4] [2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.0, 8.0, 8.0];
        (&v / 7).round(2) => [3] [0.43, 0.14, 0.29];
        v.maximum(2) => [3] [3.0, 2.0, 2.0];
        v.atan2(2) => [3] [0.9827937232, 0.463647609, 0.7853981634];
        // Reduce.
        a.sum() => [] [10.0];
        x.sum_axis(0) => [4] [12.0, 15.0, 18.0, 21.0];
        x.sum_axes(&[0, 1], true) => [1, 1] [66.0];
        x.max() => [] [11.0];
        x.max_axis(1) => [3] [3.0, 7.0, 11.0];
        x.min() => [] [0.0];
        a.prod() => [] [24.0];
        a.mean() => [] [2.5];
        a.mean_axis(1) => [2] [1.5, 3.5];
        a.std() => [] [1.1180339887];
        a.var_axis(0) => [2] [1.0, 1.0];
        v.argmax() => [] [0.0];
        x.argmin_axis(1) => [3] [0.0, 0.0, 0.0];
        x.greater(10).any() => [] [1.0];
        x.greater_equal(0).all() => [] [1.0];
        v.median() => [] [2.0];
        v.quantile(0.25) => [] [1.5];
        x.cumsum(1) => [3, 4] [0.0, 1.0, 3.0, 6.0, 4.0, 9.0, 15.0, 22.0, 8.0, 17.0, 27.0, 38.0];
        v.diff(-1) => [2] [-2.0, 1.0];
        v.nansum() => [] [6.0];
        // Slice and index.
        x.slice(s![0]) => [4] [0.0, 1.0, 2.0, 3.0];
        x.slice(s![-1, 1..3]) => [2] [9.0, 10.0];
        x.slice(s![.., ..;2]) => [3, 2] [0.0, 2.0, 4.0, 6.0, 8.0, 10.0];
        x.slice(s![..;-1, 0]) => [3] [8.0, 4.0, 0.0];
        x.slice(s![Ellipsis, NewAxis]) => [3, 4, 1] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0];
        x.select(&x.greater(8))? => [3] [9.0, 10.0, 11.0];
        x.take(&Array::from([2, 0]), 0) => [2, 4] [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 2.0, 3.0];
        where_(&x.greater(5), &x, 0) => [3, 4] [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0];
        v.greater(1).nonzero()?[0] => [2] [0.0, 2.0];
        // Shape.
        x.t() => [4, 3] [0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0];
        x.reshape([2, -1]) => [2, 6] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0];
        x.ravel() => [12] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0];
        concatenate(&[&a, &a], 1) => [2, 4] [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0];
        stack(&[&v, &v], 0) => [2, 3] [3.0, 1.0, 2.0, 3.0, 1.0, 2.0];
        v.roll(1, 0) => [3] [2.0, 3.0, 1.0];
        v.repeat(2, 0) => [6] [3.0, 3.0, 1.0, 1.0, 2.0, 2.0];
        v.tile([2]) => [6] [3.0, 1.0, 2.0, 3.0, 1.0, 2.0];
        v.flip(0) => [3] [2.0, 1.0, 3.0];
        v.pad(&[(1, 1)], 0) => [5] [0.0, 3.0, 1.0, 2.0, 0.0];
        a.tril(0) => [2, 2] [1.0, 0.0, 3.0, 4.0];
        a.diag(0) => [2] [1.0, 4.0];
        v.expand_dims(0) => [1, 3] [3.0, 1.0, 2.0];
        // Sort and search.
        v.sort(-1) => [3] [1.0, 2.0, 3.0];
        v.argsort(-1) => [3] [1.0, 2.0, 0.0];
        Array::from([1.0, 2.0]).searchsorted(&v) => [3] [2.0, 0.0, 1.0];
        v.isin(&Array::from([1.0, 3.0])) => [3] [1.0, 1.0, 0.0];
        // Linear algebra, Fourier transforms, sums of products.
        v.dot(&v) => [] [14.0];
        v.outer(&v) => [3, 3] [9.0, 3.0, 6.0, 3.0, 1.0, 2.0, 6.0, 2.0, 4.0];
        a.kron(&a) => [4, 4] [1.0, 2.0, 2.0, 4.0, 3.0, 4.0, 6.0, 8.0, 3.0, 6.0, 4.0, 8.0, 9.0, 12.0, 12.0, 16.0];
        a.trace() => [] [5.0];
        einsum("ij,jk->ik", &[&a, &a]) => [2, 2] [7.0, 10.0, 15.0, 22.0];
        a.tensordot(&a, 1) => [2, 2] [7.0, 10.0, 15.0, 22.0];
        linalg::inv(&a) => [2, 2] [-2.0, 1.0, 1.5, -0.5];
        linalg::det(&a) => [] [-2.0];
        linalg::solve(&a, &Array::from([5.0, 6.0])) => [2] [-4.0, 4.5];
        linalg::svd(&a).1 => [2] [5.4649857042, 0.3659661906];
        linalg::eigvalsh(&a) => [2] [-0.8541019662, 5.8541019662];
        linalg::norm(&v) => [] [3.7416573868];
        linalg::pinv(&a) => [2, 2] [-2.0, 1.0, 1.5, -0.5];
        linalg::matrix_power(&a, 3) => [2, 2] [37.0, 54.0, 81.0, 118.0];
        fft::rfft(&v).abs() => [2] [6.0, 1.7320508076];
        fft::ifft(&fft::fft(&v)).real() => [3] [3.0, 1.0, 2.0];
        // Compare and convert.
        v.equal(2) => [3] [0.0, 0.0, 1.0];
        v.greater(1) & v.less(3) => [3] [0.0, 0.0, 1.0];
        !v.greater(1) => [3] [0.0, 1.0, 0.0];
        v.array_equal(&v)? => [] [1.0];
        a.allclose(&a + 1e-9)? => [] [1.0];
        v.cast(DType::I64) => [3] [3.0, 1.0, 2.0];
        v.sum().item::<f64>()? => [] [6.0];
        v.to_vec::<f64>()? => [3] [3.0, 1.0, 2.0];
        // Draw random numbers.
        random::normal(0.0, 1.0, [2, 3]).shape() => [2] [2.0, 3.0];
        random::randint(0, 1, [4]) => [4] [0.0, 0.0, 0.0, 0.0];
        random::uniform(2.0, 2.0, [3]) => [3] [2.0, 2.0, 2.0];
        random::permutation(4).sort(-1) => [4] [0.0, 1.0, 2.0, 3.0];
    })
}

#[test]
fn every_line_has_the_values_of_numpy() {
    let lines = lines().unwrap();
    assert!(lines.len() >= 60);
    for (line, (shape, elements), (expected_shape, expected)) in lines {
        assert_eq!(shape, expected_shape, "{line}");
        let close = |(made, wanted): (&f64, &f64)| (made - wanted).abs() <= 1e-6 * (1.0 + wanted.abs());
        assert!(elements.iter().zip(&expected).all(close), "{line}: {elements:?}, not {expected:?}");
    }
}

#[test]
fn the_page_has_the_same_lines() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rust.md")).unwrap();
    let bare = |text: &str| text.replace("\\|", "|").replace([' ', '`', '\n'], "");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let written: Vec<String> = rows.map(|row| bare(row.trim_end_matches(" |").rsplit(" | ").next().unwrap())).collect();
    let tested: Vec<String> = lines().unwrap().iter().map(|(line, ..)| bare(line)).collect();
    assert_eq!(written, tested);
    // Its programs are documentation examples of the crate.
    let documented = [include_str!("../src/lib.rs"), include_str!("../src/prelude.rs")].concat();
    let documented: String =
        documented.lines().map(|line| line.trim_start_matches("//!").trim().to_owned() + "\n").collect();
    let programs: Vec<&str> = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(programs.len(), 2);
    for program in programs {
        let program: String = program.lines().map(|line| line.trim().to_owned() + "\n").collect();
        assert!(documented.contains(&program), "{program}");
    }
}

#[test]
fn arrays_are_printed_and_described() {
    let x = Array::from([[1.5f32, 2.0], [3.0, 4.0]]);
    assert_eq!(format!("{x}"), "[[1.5 2. ]\n [3.  4. ]]");
    x.wait_to_read().unwrap();
    assert_eq!(format!("{x:?}"), "Array { shape: (2, 2), dtype: float32, device: cpu(0), state: ready }");
    let bad = Array::from([1.0f32]).take(&Array::from([7]), 0);
    assert!(bad.wait_to_read().is_err());
    assert!(format!("{bad:?}").ends_with("state: failed }"));
}

#[test]
fn clones_share_and_copies_do_not() {
    let mut x = Array::from([1, 2, 3]);
    let (clone, copy, view) = (x.clone(), x.copy(), x.slice(s![1..]));
    x += 1;
    x *= 2u8;
    assert_eq!((clone.to_string(), copy.to_string()), ("[4 6 8]".to_owned(), "[1 2 3]".to_owned()));
    assert_eq!(view.to_string(), "[6 8]");
    // `x = x + 1` is a new array, which no other handle sees.
    x = &x + 1;
    assert_eq!((x.to_string(), clone.to_string()), ("[5 7 9]".to_owned(), "[4 6 8]".to_owned()));
}

#[test]
fn numbers_of_every_type_stand_beside_an_array() {
    let x = Array::from([1.0f32]);
    let mut sum = &x + 1i8 + 1i16 + 1i32 + 1i64 + 1isize + 1u8 + 1u16 + 1u32 + 1u64 + 1usize + 1f32 + 1f64 + true;
    sum -= 1u32;
    sum /= 2f32;
    assert_eq!((sum.item::<f32>().unwrap(), sum.dtype()), (6.5, DType::F32));
    assert_eq!((3i64 - &x).item::<f32>().unwrap(), 2.0);
    assert_eq!((Complex { re: 0.0f64, im: 2.0 } * &x).imag().item::<f32>().unwrap(), 2.0);
    assert_eq!(((1.0 - &x).exp() + 1).sum().item::<f32>().unwrap(), 2.0);
}

#[test]
fn mistakes_panic_at_the_line_and_try_returns_them() {
    let (x, y) = (ones([2, 3]), ones([4]));
    let line = line!() + 1;
    let error = x.try_add(&y).unwrap_err().to_string();
    assert!(error.contains(&format!("first_lines.rs:{line}")) && error.contains("(2, 3)"), "{error}");
    let line = line!() + 1;
    let error = linalg::try_pinv(&y).unwrap_err().to_string();
    assert!(error.contains(&format!("first_lines.rs:{line}")), "{error}");
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| x.matmul(&y))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("first_lines.rs"));
    // A mistake in the elements is found when they are read.
    let singular = linalg::inv(&zeros([2, 2]));
    let error = singular.to_vec::<f32>().unwrap_err();
    assert!(error.kind() == ErrorKind::Linear && error.to_string().contains("submitted at"), "{error}");
}

#[test]
fn arrays_cross_threads() {
    fn sent<T: Send>(_: &T) {}
    fn shared<T: Send + Sync>(_: &T) {}
    let x = arange(0, 4, 1);
    sent(&x);
    let x = SharedArray::from(x);
    shared(&x);
    let sums: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|i| {
                scope.spawn({
                    let x = &x;
                    move || (x.handle() + i as i64).sum().item::<i64>().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sums, [6, 10, 14, 18]);
}
