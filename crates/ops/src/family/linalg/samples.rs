//! Samples of linear algebra.

use crate::samples::{Input, Look, Sample, Values, call, x};
use forerun_base::DType::{C64, C128, F32, F64, I32};

/// Symmetric positive definite matrices, for which every routine is defined.
fn definite<const N: usize>(shape: [usize; N]) -> Input {
    let n = shape[N - 1];
    x(shape).values(Values::Definite(n))
}

pub(super) fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    let squares = || {
        let turned = definite([3, 3]).look(Look::Transposed);
        [definite([4, 4]), definite([2, 2, 3, 3]), turned, definite([1, 1]), definite([0, 3, 3]), definite([2, 0, 0])]
    };
    let op = |op: &'static str| call(op).of([F32, F64, C64, C128]);
    for name in ["cholesky", "eigh", "eigvalsh"] {
        for upper in [false, true] {
            all.extend(squares().map(|a| op(name).on([a]).with("upper", upper)));
        }
    }
    for name in ["det", "slogdet", "inv"] {
        all.extend(squares().map(|a| op(name).on([a])));
        all.push(op(name).on([x([4, 4])]));
    }
    for name in ["eig", "eigvals"] {
        all.extend([x([4, 4]), x([2, 3, 3]), x([0, 2, 2]), x([2, 0, 0])].map(|a| op(name).on([a])));
    }
    for (a, b) in [
        (definite([4, 4]), x([4, 2])),
        (definite([3, 3]).look(Look::Transposed), x([3, 1]).look(Look::Transposed)),
        (definite([2, 3, 3]), x([2, 3, 2]).look(Look::Backwards)),
        (definite([3, 3]), x([3, 0])),
        (definite([0, 2, 2]), x([0, 2, 1])),
    ] {
        all.push(op("solve").on([a.clone(), b.clone()]));
        for (lower, transposed, unit) in
            [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
        {
            let flags = op("solve_triangular").with("lower", lower).with("transposed", transposed).with("unit", unit);
            all.push(flags.on([a.clone(), b.clone()]));
        }
    }
    for input in [
        x([4, 3]),
        x([3, 4]).look(Look::Transposed),
        x([2, 3, 3]),
        x([3, 5]).look(Look::Backwards),
        x([1, 3]),
        x([0, 3, 2]),
        x([3, 0]),
        x([0, 3]),
    ] {
        for complete in [false, true] {
            all.push(op("qr").on([input.clone()]).with("complete", complete));
            all.push(op("svd").on([input.clone()]).with("complete", complete));
        }
        all.push(op("svdvals").on([input]));
    }
    all.extend(failures());
    all
}

fn failures() -> Vec<Sample> {
    let mut all = Vec::new();
    let op = |op: &'static str| call(op).of([F32, F64]);
    for name in ["cholesky", "det", "slogdet", "inv", "eigh", "eigvalsh", "eig", "eigvals"] {
        all.push(op(name).on([x([2, 3])]).fails(format!("{name}: last two dimensions must be square: (2, 3)")));
        all.push(op(name).on([x([2, 2])]).of([I32]).fails(format!("{name}: not defined for int32")));
    }
    for name in ["qr", "svd", "svdvals"] {
        all.push(op(name).on([x([3])]).fails(format!("{name}: needs at least two dimensions: (3,)")));
    }
    for name in ["solve", "solve_triangular"] {
        let text = "(3, 2) does not have 2 rows for each";
        all.push(op(name).on([definite([2, 2]), x([3, 2])]).fails(text));
        all.push(
            op(name).on([x([2, 2]).values(Values::Special), x([2, 1])]).fails(format!("{name}: the matrix is sing")),
        );
    }
    // All rows are equal, so the matrix is singular.
    all.push(op("inv").on([x([2, 2]).look(Look::Repeated)]).fails("inv: the matrix is singular"));
    let edges = || x([6, 6]).values(Values::Special);
    all.push(op("cholesky").on([edges()]).fails("cholesky: the matrix is not positive definite"));
    for name in ["svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals"] {
        all.push(op(name).on([edges()]).fails(format!("{name}: the matrix has an infinity or NaN")));
    }
    all
}
