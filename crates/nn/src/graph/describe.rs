//! What a graph takes: its inputs and its parameters.

use super::symbolic::Linear;
use forerun_base::{DType, Shape};

/// An input of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphInput {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    pub(crate) shape: Vec<Linear>,
}

impl GraphInput {
    /// The extents; `None` for one that depends on the batch size.
    pub fn extents(&self) -> Vec<Option<usize>> {
        let fixed = |extent: &Linear| (extent.per_batch == 0).then(|| usize::try_from(extent.plus).ok()).flatten();
        self.shape.iter().map(fixed).collect()
    }
}

/// What a parameter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is trained.
    Trained,
    /// The network keeps it, such as running statistics; it has no gradient.
    Auxiliary,
    /// An array that the program read, which is not a parameter of the network.
    Constant,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Trained, Role::Auxiliary, Role::Constant];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Trained => "trained",
            Role::Auxiliary => "auxiliary",
            Role::Constant => "constant",
        }
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A parameter of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphParameter {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Shape,
    /// What it is for.
    pub role: Role,
}
