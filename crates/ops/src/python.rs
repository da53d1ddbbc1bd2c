//! The generated Python functions of ops.

/// A Python module with functions that are generated from the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// `forerun.np`: NumPy has the op.
    Np,
    /// `forerun.npx`, beyond NumPy.
    Npx,
    /// `forerun.np.linalg`.
    Linalg,
}

impl Namespace {
    /// Its name under `forerun`.
    pub fn name(self) -> &'static str {
        match self {
            Namespace::Np => "np",
            Namespace::Npx => "npx",
            Namespace::Linalg => "np.linalg",
        }
    }
}

/// A generated Python function, which only calls a routine.
#[derive(Clone, Copy, Debug)]
pub struct PythonFunction {
    /// The module with the function.
    pub namespace: Namespace,
    /// The parameters, in Python syntax. Those with the names of inputs and attributes are passed to the routine.
    pub parameters: &'static str,
    /// The dtypes that inputs are converted to.
    pub inputs_as: Promotion,
    /// The lines of the docstring, each after a space.
    pub doc: &'static str,
}

/// The dtypes that a function converts inputs to. (Routines do not convert.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// No conversion.
    Given,
    /// The dtype that all inputs promote to.
    Common,
    /// The float or complex dtype that all inputs promote to, at least single precision.
    Floats,
}

/// The namespace of a declaration, in Python syntax.
macro_rules! namespace {
    (np) => {
        $crate::Namespace::Np
    };
    (npx) => {
        $crate::Namespace::Npx
    };
    (np.linalg) => {
        $crate::Namespace::Linalg
    };
}
pub(crate) use namespace;

/// The Python function of a declaration with these lines of documentation, if it declares one.
macro_rules! function {
    ([$($line:literal)*]) => { None };
    ([$($line:literal)*] $module:ident $(. $submodule:ident)?, $parameters:literal, $promotion:ident) => {
        Some($crate::PythonFunction {
            namespace: $crate::python::namespace!($module $(. $submodule)?),
            parameters: $parameters,
            inputs_as: $crate::Promotion::$promotion,
            doc: concat!($($line, "\n"),*),
        })
    };
}
pub(crate) use function;

/// The value of a field that a row may leave out.
macro_rules! or_default {
    ($default:expr,) => {
        $default
    };
    ($default:expr, $given:expr) => {
        $given
    };
}
pub(crate) use or_default;
