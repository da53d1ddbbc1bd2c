//! The mapping from a program's registers to memory slots.

use forerun_plan::Reg;

/// The memory layout of registers that the caller of emitted code uses.
pub(crate) struct RegisterMap<'a> {
    /// The slot of a register.
    pub(crate) of: &'a dyn Fn(Reg) -> u16,
    /// Whether the address of a register advances; otherwise it points to a vector of copies of one element.
    pub(crate) moves: &'a dyn Fn(Reg) -> bool,
    /// A register that must be stored at the end, besides the outputs.
    pub(crate) watched: Option<Reg>,
}
