//! Where Python has an op, and how it is called there.

/// A Python module with functions that are generated from the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// `forerun.np`, as NumPy has it.
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

/// A Python function that only calls a routine.
#[derive(Clone, Copy, Debug)]
pub struct PythonFunction {
    /// The module that has it.
    pub namespace: Namespace,
    /// Its parameters, as Python writes them. It passes on those that have the names of inputs and attributes.
    pub parameters: &'static str,
    /// What it converts the inputs to.
    pub inputs_as: Promotion,
    /// The lines of its docstring, each after a space.
    pub doc: &'static str,
}

/// What a function converts the inputs of a routine to, since the routine takes them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// Arrays of their own dtypes.
    Given,
    /// Arrays of the dtype that all promote to.
    Common,
    /// Arrays of the float or complex dtype that all promote to, single precision at least.
    Floats,
}

/// The namespace of a declaration, which spells it as Python does.
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
