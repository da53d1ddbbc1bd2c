//! Where a program's registers lie, for its code to find them.

use forerun_plan::Reg;

/// How the caller of a program's code lays out its registers.
pub(crate) struct RegisterMap<'a> {
    /// The slot of a register.
    pub(crate) of: &'a dyn Fn(Reg) -> u16,
    /// Whether the elements of a register move; else they are copies of one, a vector long.
    pub(crate) moves: &'a dyn Fn(Reg) -> bool,
    /// A register that must be in memory at the end, besides the outputs.
    pub(crate) watched: Option<Reg>,
}
