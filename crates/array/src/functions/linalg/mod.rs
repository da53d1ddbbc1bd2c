//! Linear algebra: factorisations, solvers, determinants and norms of matrices, or of stacks of them. Integers are converted
//! to the default float. A failure that depends on the elements, as of a singular matrix, is reported where the result is
//! read.

mod decompositions;
mod routines;
mod solving;

pub use decompositions::{eig, eigh, eigvalsh, qr, slogdet, svd, svd_with, try_eig, try_eigh, try_eigvalsh, try_qr};
pub use decompositions::{try_slogdet, try_svd, try_svd_with};
pub use routines::{
    cholesky, cholesky_with, det, eigvals, inv, svdvals, try_cholesky, try_cholesky_with, try_det, try_eigvals,
    try_inv, try_svdvals,
};
pub use solving::{
    lstsq, matrix_power, matrix_rank, multi_dot, norm, pinv, solve, solve_triangular, try_lstsq, try_matrix_power,
    try_matrix_rank, try_multi_dot, try_norm, try_pinv, try_solve, try_solve_triangular,
};
