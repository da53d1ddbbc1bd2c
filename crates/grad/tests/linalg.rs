//! Linear algebra against finite differences in float64, first and second order.

mod common;

use common::{array, check, check_first, numbers};
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{Loc, Result};
use forerun_grad::{GradReq, attach_grad, gradients, record};
use forerun_ops::{Linalg, Point, ReduceKind, Routine};

fn loc() -> Loc {
    Loc::default()
}

/// The attributes are flags; missing ones are false.
fn call(routine: Linalg, inputs: &[&Array], flags: &[i64]) -> Array {
    let mut encoded = flags.to_vec();
    encoded.resize(Routine::Linalg(routine).attributes().len(), 0);
    ops::routine_encoded(Routine::Linalg(routine), inputs, &encoded, loc()).unwrap()
}

/// A batch of matrices far from singular, with well-separated eigenvalues and singular values.
fn matrices(shape: &[usize]) -> Array {
    let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let mut values = numbers(shape.iter().product(), 21, -0.5, 0.5);
    for (at, value) in values.iter_mut().enumerate() {
        if at / n % m == at % n {
            *value += 2.0 + (at % n) as f64;
        }
    }
    array(shape, &values)
}

fn turned(x: &Array) -> Array {
    let mut axes: Vec<isize> = (0..x.ndim() as isize).collect();
    axes.swap(x.ndim() - 1, x.ndim() - 2);
    ops::transpose(x, Some(&axes)).unwrap()
}

/// `x + x^T`, through which ops on symmetric matrices are differentiated.
fn symmetric(x: &Array) -> Array {
    ops::pointwise(Point::Add, &[Arg::Array(x), Arg::Array(&turned(x))], loc()).unwrap()
}

#[test]
fn determinants_and_inverses() {
    for shape in [&[3, 3][..], &[2, 2, 2], &[1, 1]] {
        let x = [matrices(shape)];
        check("det", &|x| call(Linalg::Det, &[&x[0]], &[]), &x);
        check("slogdet", &|x| call(Linalg::Slogdet, &[&x[0]], &[]), &x);
        check("inv", &|x| call(Linalg::Inv, &[&x[0]], &[]), &x);
    }
}

#[test]
fn solutions() {
    let x = [matrices(&[2, 3, 3]), array(&[2, 3, 2], &numbers(12, 5, -1.0, 1.0))];
    check("solve", &|x| call(Linalg::Solve, &[&x[0], &x[1]], &[]), &x);
    for flags in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]] {
        check("solve_triangular", &|x| call(Linalg::SolveTriangular, &[&x[0], &x[1]], &flags), &x);
    }
}

#[test]
fn triangular_and_orthogonal_factors() {
    for upper in [0, 1] {
        check("cholesky", &|x| call(Linalg::Cholesky, &[&symmetric(&x[0])], &[upper]), &[matrices(&[2, 3, 3])]);
    }
    for shape in [&[3, 3][..], &[4, 2], &[2, 4], &[2, 3, 2]] {
        check("qr", &|x| call(Linalg::Qr, &[&x[0]], &[0]), &[matrices(shape)]);
    }
    check("qr, complete", &|x| call(Linalg::Qr, &[&x[0]], &[1]), &[matrices(&[2, 3])]);
}

#[test]
fn spectra() {
    for upper in [0, 1] {
        let x = [matrices(&[2, 3, 3])];
        check("eigh", &|x| call(Linalg::Eigh, &[&symmetric(&x[0])], &[upper]), &x);
        check("eigvalsh", &|x| call(Linalg::Eigvalsh, &[&symmetric(&x[0])], &[upper]), &x);
    }
    for shape in [&[3, 3][..], &[4, 2], &[2, 4], &[2, 2, 2]] {
        check(&format!("svd of {shape:?}"), &|x| call(Linalg::Svd, &[&x[0]], &[0]), &[matrices(shape)]);
        check("svdvals", &|x| call(Linalg::Svdvals, &[&x[0]], &[]), &[matrices(shape)]);
    }
    check("svd, complete", &|x| call(Linalg::Svd, &[&x[0]], &[1]), &[matrices(&[2, 2])]);
}

#[test]
fn equal_values_leave_values_differentiable() {
    // The eigenvectors of equal eigenvalues are not unique, but the sum of the eigenvalues is smooth.
    let x = [array(&[2, 2], &[1.0, 0.0, 0.0, 1.0])];
    let sum = |packed: &Array, from: isize, to: isize| {
        let values = ops::index(packed, &[Index::Slice { start: Some(from), stop: Some(to), step: 1 }]).unwrap();
        ops::reduce(ReduceKind::Sum, &values, None, false, loc()).unwrap()
    };
    check_first("eigh", &|x| sum(&call(Linalg::Eigh, &[&symmetric(&x[0])], &[0]), 0, 2), &x);
    check_first("svd", &|x| sum(&call(Linalg::Svd, &[&x[0]], &[0]), 4, 6), &x);
}

#[test]
fn empty_stacks() {
    let x = [array(&[0, 2, 2], &[])];
    for routine in [Linalg::Det, Linalg::Inv, Linalg::Cholesky, Linalg::Eigh, Linalg::Svd, Linalg::Qr] {
        check_first("empty", &|x| call(routine, &[&x[0]], &[0]), &x);
    }
}

#[test]
fn missing_gradients_are_reported() {
    let of = |routine: Linalg| -> Result<Vec<Array>> {
        let x = matrices(&[3, 2]);
        attach_grad(&x, GradReq::Write, loc()).unwrap();
        let head = record(|| ops::reduce(ReduceKind::Sum, &call(routine, &[&x], &[1]), None, false, loc()).unwrap());
        gradients(&[&head], &[&x], &[], false, false, loc())
    };
    let text = |routine| of(routine).err().unwrap().to_string();
    assert!(text(Linalg::Qr).starts_with("qr: no gradient for all 3 columns of q for matrices of (3, 2)"));
    assert!(text(Linalg::Svd).starts_with("svd: no gradient for complete factors of matrices of (3, 2)"));
}
