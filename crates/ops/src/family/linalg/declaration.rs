//! Declarations and inference of linear algebra routines.

use super::{gradient, samples};
use crate::gradient::Needs;
use crate::routine::{
    Attributes, ComplexGradient, Family, Flows, Given, GradientBuilder, attributes, family, invalid, mistyped,
};
use crate::samples::Sample;
use forerun_base::{DType, Result, Shape};

family! {
    /// Factorisations and solvers. Several results are packed one after another: the first result of all matrices, then
    /// the second result of all matrices. Real results of a complex decomposition have imaginary part 0.
    Linalg {
        /// Compute the lower Cholesky factor of matrices, or with ``upper`` the upper one.
        ///
        /// Only the lower half of the matrix is read, or with ``upper`` the upper half. A matrix that is not positive definite
        /// raises ``LinAlgError`` when the result is read.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
        /// array([[2., 0.],
        ///        [1., 2.]])
        Cholesky {
            name: "cholesky",
            inputs: [a],
            attributes: Triangle,
            fallible: true,
            doc: "Cholesky factors",
            python: np.linalg,
            parameters: "a: ArrayLike, /, *, upper: bool = False",
            inputs_as: Floats,
        }
        /// Return the determinants of matrices.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.linalg.det(np.array([[2.0, 1.0], [0.0, 4.0]]))
        /// array(8.)
        Det {
            name: "det",
            inputs: [a],
            attributes: (),
            fallible: false,
            doc: "determinants",
            python: np.linalg,
            parameters: "a: ArrayLike",
            inputs_as: Floats,
        }
        Slogdet {
            name: "slogdet",
            inputs: [x],
            attributes: (),
            fallible: false,
            doc: "signs of determinants, then the logarithms of their absolute values",
        }
        /// Invert matrices. A singular one raises ``LinAlgError`` where the result is read.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
        /// array([[0.5 , 0.  ],
        ///        [0.  , 0.25]])
        Inv {
            name: "inv",
            inputs: [a],
            attributes: Inversion,
            fallible: true,
            doc: "inverses; if lenient, NaN for singular matrices",
            python: np.linalg,
            parameters: "a: ArrayLike",
            inputs_as: Floats,
        }
        Solve {
            name: "solve",
            inputs: [a, b],
            attributes: (),
            fallible: true,
            doc: "solutions of a x = b, column by column",
        }
        SolveTriangular {
            name: "solve_triangular",
            inputs: [a, b],
            attributes: Triangular,
            fallible: true,
            doc: "solutions of a x = b for a triangular matrix a",
        }
        Qr {
            name: "qr",
            inputs: [x],
            attributes: Completeness,
            fallible: false,
            doc: "QR decomposition: q, then r",
        }
        Svd {
            name: "svd",
            inputs: [x],
            attributes: Completeness,
            fallible: true,
            doc: "singular value decomposition: u, then the singular values, then vh",
        }
        /// Return singular values in descending order.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.linalg.svdvals(np.array([[0.0, 2.0], [1.0, 0.0]]))
        /// array([2., 1.])
        Svdvals {
            name: "svdvals",
            inputs: [x],
            attributes: (),
            fallible: true,
            doc: "singular values in descending order",
            python: np.linalg,
            parameters: "x: ArrayLike, /",
            inputs_as: Floats,
        }
        Eigh {
            name: "eigh",
            inputs: [x],
            attributes: Triangle,
            fallible: true,
            doc: "eigenvalues of Hermitian matrices in ascending order, then eigenvectors",
        }
        Eigvalsh {
            name: "eigvalsh",
            inputs: [x],
            attributes: Triangle,
            fallible: true,
            doc: "eigenvalues of Hermitian matrices in ascending order",
        }
        Eig {
            name: "eig",
            inputs: [x],
            attributes: (),
            fallible: true,
            doc: "complex eigenvalues of general matrices, then eigenvectors",
        }
        /// Return the eigenvalues of square matrices, unordered and always complex.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np
        /// >>> np.sort(np.imag(np.linalg.eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]]))))
        /// array([-1.,  1.])
        Eigvals {
            name: "eigvals",
            inputs: [a],
            attributes: (),
            fallible: true,
            doc: "complex eigenvalues of general matrices",
            python: np.linalg,
            parameters: "a: ArrayLike",
            inputs_as: Floats,
        }
    }
}

attributes! {
    /// The attributes of `cholesky`, `eigh` and `eigvalsh`.
    Triangle {
        /// Whether the upper triangle is read, and, for `cholesky`, returned.
        upper: bool,
    }
    /// The attributes of `inv`.
    Inversion {
        /// Whether a singular matrix gives NaN instead of an error.
        lenient: bool,
    }
    /// The attributes of `solve_triangular`.
    Triangular {
        /// Whether the lower triangle is used.
        lower: bool,
        /// Whether the matrix is transposed.
        transposed: bool,
        /// Whether the diagonal is assumed to be 1.
        unit: bool,
    }
    /// The attributes of `qr` and `svd`.
    Completeness {
        /// Whether all columns of orthogonal factors are computed, instead of the first `min(rows, columns)`.
        complete: bool,
    }
}

/// The dimensions of a stack of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The number of matrices.
    pub count: usize,
    /// Rows of each matrix.
    pub rows: usize,
    /// Columns of each matrix.
    pub columns: usize,
}

impl Stack {
    /// The stack in an array of this shape, which has at least two dimensions.
    pub fn of(shape: &Shape) -> Stack {
        let lead = shape.rank() - 2;
        Stack { count: shape[..lead].iter().product(), rows: shape[lead], columns: shape[lead + 1] }
    }

    /// The smaller of `rows` and `columns`.
    pub fn least(&self) -> usize {
        self.rows.min(self.columns)
    }

    /// The number of columns of the left orthogonal factor.
    pub fn kept(&self, complete: bool) -> usize {
        if complete { self.rows } else { self.least() }
    }

    /// The number of rows of the right orthogonal factor.
    pub fn kept_right(&self, complete: bool) -> usize {
        if complete { self.columns } else { self.least() }
    }
}

fn stack(shape: &Shape) -> Result<Stack> {
    match shape.rank() {
        0 | 1 => invalid(format!("needs at least two dimensions: {shape}")),
        _ => Ok(Stack::of(shape)),
    }
}

fn square(shape: &Shape) -> Result<Stack> {
    let stack = stack(shape)?;
    if stack.rows != stack.columns {
        return invalid(format!("last two dimensions must be square: {shape}"));
    }
    Ok(stack)
}

/// The shape of the stack with the last two dimensions replaced.
fn behind(shape: &Shape, last: &[usize]) -> Shape {
    let lead = &shape[..shape.rank() - 2];
    Shape::of(&[lead, last].concat())
}

impl Family for Linalg {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if !matches!(dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128) {
            return mistyped(format!("not defined for {dtype}"));
        }
        let complete = matches!(self, Linalg::Qr | Linalg::Svd) && Completeness::read(attributes)?.complete;
        let shape = match self {
            Linalg::Cholesky | Linalg::Inv => {
                square(&shape)?;
                shape
            }
            Linalg::Det => {
                square(&shape)?;
                behind(&shape, &[])
            }
            Linalg::Slogdet => {
                square(&shape)?;
                Shape::of(&[&[2], &shape[..shape.rank() - 2]].concat())
            }
            Linalg::Solve | Linalg::SolveTriangular => {
                let (of, right) = (square(&shape)?, given[1]);
                let fits = right.0 == dtype
                    && right.1.rank() == shape.rank()
                    && right.1[..shape.rank() - 1] == shape[..shape.rank() - 1];
                if !fits {
                    let (rows, dtypes) = (of.rows, right.0);
                    let text =
                        format!("{dtypes} {} does not have {rows} rows for each {dtype} matrix of {shape}", right.1);
                    return invalid(text);
                }
                right.1
            }
            Linalg::Qr => {
                let s = stack(&shape)?;
                Shape::of(&[s.count * s.kept(complete) * (s.rows + s.columns)])
            }
            Linalg::Svd => {
                let s = stack(&shape)?;
                let one = s.rows * s.kept(complete) + s.least() + s.kept_right(complete) * s.columns;
                Shape::of(&[s.count * one])
            }
            Linalg::Svdvals => behind(&shape, &[stack(&shape)?.least()]),
            Linalg::Eigh => {
                let s = square(&shape)?;
                Shape::of(&[s.count * s.rows * (s.rows + 1)])
            }
            Linalg::Eigvalsh => behind(&shape, &[square(&shape)?.rows]),
            Linalg::Eig => {
                let s = square(&shape)?;
                Shape::of(&[s.count * s.rows * (s.rows + 1)])
            }
            Linalg::Eigvals => behind(&shape, &[square(&shape)?.rows]),
        };
        let result = match self {
            Linalg::Svdvals | Linalg::Eigvalsh => dtype.to_real(),
            Linalg::Eig | Linalg::Eigvals => dtype.to_complex(),
            _ => dtype,
        };
        Ok((result, shape))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let s = Stack::of(&given[0].1);
        let turns = match self {
            Linalg::Cholesky => 1,
            Linalg::Det | Linalg::Slogdet | Linalg::Solve | Linalg::SolveTriangular => 2,
            Linalg::Inv | Linalg::Qr => 4,
            Linalg::Svdvals | Linalg::Eigvalsh => 8,
            Linalg::Svd | Linalg::Eigh | Linalg::Eigvals => 20,
            Linalg::Eig => 40,
        };
        let products = given[0].1.size().saturating_mul(s.least()).saturating_mul(turns) / 4;
        products.saturating_add(out.1.size()).saturating_add(s.count.saturating_mul(1000))
    }

    fn needs(self, i: usize) -> Option<Needs> {
        let output = Needs { inputs: 0, output: true };
        match self {
            Linalg::Cholesky | Linalg::Inv | Linalg::Qr | Linalg::Svd | Linalg::Eigh => Some(output),
            Linalg::Det => Some(Needs { inputs: 1, output: true }),
            Linalg::Eig | Linalg::Eigvals => Some(Needs::NOTHING),
            Linalg::Slogdet | Linalg::Svdvals | Linalg::Eigvalsh => Some(Needs::input(0)),
            // The gradient of the right-hand side needs the matrix; the gradient of the matrix also needs the solution.
            Linalg::Solve | Linalg::SolveTriangular if i == 1 => Some(Needs::input(0)),
            Linalg::Solve | Linalg::SolveTriangular => Some(Needs { inputs: 1, output: true }),
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        gradient::flows(self, b, attributes)
    }

    fn complex_gradient(self) -> ComplexGradient {
        match self {
            Linalg::Inv | Linalg::Det | Linalg::Solve | Linalg::SolveTriangular => ComplexGradient::Conjugate,
            _ => ComplexGradient::Undefined,
        }
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}
