//! The intermediate representation of the machine-code generator: a list of atoms in SSA form, each one instruction on
//! one vector.
//!
//! Invariant: an atom comes after its operands, and equal atoms are merged.

use super::table::Insn;
use crate::simd::Isa;
use forerun_base::DType;
use std::collections::HashMap;

/// An atom, by its index in the list.
pub(super) type Id = u32;

/// The element type of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    F32,
    F64,
    I32,
    I64,
    /// Truth values from comparing 4-byte elements: a mask register with AVX-512, otherwise all or no bits of a lane.
    Truth,
    /// Truth values in lanes of 8 bytes; not used with AVX-512.
    WideTruth,
}

impl Type {
    /// The type of a dtype's elements; `None` for dtypes that only the interpreter handles.
    pub(super) fn of(dtype: DType) -> Option<Type> {
        match dtype {
            DType::Bool => Some(Type::Truth),
            DType::I32 => Some(Type::I32),
            DType::I64 => Some(Type::I64),
            DType::F32 => Some(Type::F32),
            DType::F64 => Some(Type::F64),
            DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => None,
            DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
        }
    }

    /// Bytes per lane.
    pub(super) fn size(self) -> usize {
        match self {
            Type::F32 | Type::I32 | Type::Truth => 4,
            Type::F64 | Type::I64 | Type::WideTruth => 8,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    pub(super) fn is_truth(self) -> bool {
        matches!(self, Type::Truth | Type::WideTruth)
    }
}

/// The operation of an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A constant, broadcast.
    Constant(u64),
    /// A vector at a fixed address.
    Scalar(u16),
    /// Elements at an address that advances.
    Load(u16),
    /// Bytes widened to lanes of 4 bytes; the flag tells whether the address advances.
    LoadBytes(u16, bool),
    /// An instruction with its immediate.
    Do(Insn, u8),
    /// `a * b + c` with a single rounding.
    MulAdd,
    /// The second operand where the mask (the first operand) is set, otherwise the third.
    Select,
    /// Stores elements.
    Store(u16),
    /// Stores one byte per lane: with AVX-512 the lowest byte, otherwise the truth value of a mask.
    StoreBytes(u16),
}

/// One instruction on one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Atom {
    pub(super) what: What,
    pub(super) type_: Type,
    pub(super) args: [Id; 3],
    pub(super) arity: u8,
}

impl Atom {
    pub(super) fn args(&self) -> &[Id] {
        &self.args[..self.arity as usize]
    }

    /// Whether the value can be reloaded from memory at any time.
    pub(super) fn is_at_hand(&self) -> bool {
        matches!(self.what, What::Constant(_) | What::Scalar(_))
    }

    pub(super) fn is_store(&self) -> bool {
        matches!(self.what, What::Store(_) | What::StoreBytes(_))
    }
}

/// The atoms of a program.
#[derive(Debug)]
pub(super) struct AtomList {
    pub(super) isa: Isa,
    pub(super) atoms: Vec<Atom>,
    known: HashMap<Atom, Id>,
}

impl AtomList {
    pub(super) fn new(isa: Isa) -> AtomList {
        AtomList { isa, atoms: Vec::with_capacity(128), known: HashMap::with_capacity(128) }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.isa.is_avx512()
    }

    pub(super) fn type_of(&self, id: Id) -> Type {
        self.atoms[id as usize].type_
    }

    /// Appends an atom, or returns an equal one that already exists.
    pub(super) fn atom(&mut self, what: What, type_: Type, taken: &[Id]) -> Id {
        let mut args = [0; 3];
        args[..taken.len()].copy_from_slice(taken);
        let atom = Atom { what, type_, args, arity: taken.len() as u8 };
        let next = self.atoms.len() as Id;
        let id = if atom.is_store() { next } else { *self.known.entry(atom).or_insert(next) };
        if id == next {
            self.atoms.push(atom);
        }
        id
    }

    pub(super) fn constant(&mut self, type_: Type, bits: u64) -> Id {
        self.atom(What::Constant(bits), type_, &[])
    }

    pub(super) fn insn(&mut self, insn: Insn, type_: Type, taken: &[Id]) -> Id {
        self.atom(What::Do(insn, 0), type_, taken)
    }

    pub(super) fn insn_with(&mut self, insn: Insn, imm: u8, type_: Type, taken: &[Id]) -> Id {
        self.atom(What::Do(insn, imm), type_, taken)
    }

    /// Removes atoms that no store needs, and renumbers the rest.
    pub(super) fn live(self) -> Vec<Atom> {
        let mut live = vec![false; self.atoms.len()];
        for (i, atom) in self.atoms.iter().enumerate().rev() {
            live[i] |= atom.is_store();
            if live[i] {
                atom.args().iter().for_each(|&arg| live[arg as usize] = true);
            }
        }
        let mut names = vec![0; self.atoms.len()];
        let mut kept = Vec::with_capacity(self.atoms.len());
        for (i, mut atom) in self.atoms.into_iter().enumerate() {
            if live[i] {
                names[i] = kept.len() as Id;
                atom.args = atom.args.map(|arg| names[arg as usize]);
                kept.push(atom);
            }
        }
        kept
    }
}
