//! Lowers a program to atoms: the scripts of its bodies, concatenated, on values instead of registers.
//!
//! Invariant: an input is loaded where the program first reads it, and an output stored where the program writes it, so
//! an output may alias an input under the same rule as in the program.

use super::atoms::{Atom, AtomList, Id, Type, What};
use super::registers::RegisterMap;
use crate::simd::Isa;
use forerun_base::DType;
use forerun_ops::{Point, symbol};
use forerun_plan::{Program, Reg};
use std::collections::HashMap;

/// A lowered program.
pub(super) struct Lowered {
    pub(super) atoms: Vec<Atom>,
    /// Elements per vector.
    pub(super) lanes: usize,
    /// The slots whose addresses advance: slot, element size, whether it is written.
    pub(super) moving: Vec<(u16, u8, bool)>,
}

struct Lowering<'a> {
    program: &'a Program,
    registers: &'a RegisterMap<'a>,
    atoms: AtomList,
    values: HashMap<Reg, Id>,
    moving: Vec<(u16, u8, bool)>,
}

/// Lowers a program to atoms; `None` if an instruction has no machine code.
pub(super) fn lower(isa: Isa, program: &Program, registers: &RegisterMap<'_>) -> Option<Lowered> {
    let mut lowering =
        Lowering { program, registers, atoms: AtomList::new(isa), values: HashMap::new(), moving: Vec::new() };
    lowering.instructions()?;
    let Lowering { atoms, moving, .. } = lowering;
    let atoms = atoms.live();
    // The widest elements determine the number of lanes; narrower ones use part of a register.
    let wide = atoms.iter().any(|atom| atom.type_.size() == 8);
    let register = if isa.is_avx512() { 64 } else { 32 };
    Some(Lowered { atoms, lanes: register / if wide { 8 } else { 4 }, moving })
}

impl Lowering<'_> {
    fn instructions(&mut self) -> Option<()> {
        let mut dtypes: HashMap<Reg, DType> = HashMap::new();
        for instr in &self.program.code {
            let row = instr.op.row();
            let args: Vec<Id> = instr.args[..row.arity].iter().map(|&reg| self.read(reg)).collect::<Option<_>>()?;
            let value = match instr.op {
                Point::Cast => self.atoms.cast(args[0], Type::of(instr.out)?)?,
                op => self.body(op, instr.dtype, &args)?,
            };
            self.values.insert(instr.dst, value);
            dtypes.insert(instr.dst, instr.out);
            if let Reg::Out(_) = instr.dst {
                self.store(instr.dst, value, instr.out);
            }
        }
        if let Some(reg @ Reg::Temp(_)) = self.registers.watched {
            let (value, dtype) = (*self.values.get(&reg)?, *dtypes.get(&reg)?);
            self.store(reg, value, dtype);
        }
        Some(())
    }

    /// The value of a register. Inputs and scalars are loaded at their first use.
    fn read(&mut self, reg: Reg) -> Option<Id> {
        if let Some(&value) = self.values.get(&reg) {
            return Some(value);
        }
        let dtype = match reg {
            Reg::Input(n) => self.program.inputs[n as usize].dtype,
            Reg::Scalar(n) => self.program.scalars[n as usize],
            Reg::Temp(_) | Reg::Out(_) => unreachable!("{reg:?} is read before it is written"),
        };
        let (slot, moves, type_) = ((self.registers.of)(reg), (self.registers.moves)(reg), Type::of(dtype)?);
        if moves {
            self.moving.push((slot, dtype.size() as u8, false));
        }
        let value = match (dtype, moves) {
            (DType::Bool, _) => {
                let bytes = self.atoms.atom(What::LoadBytes(slot, moves), Type::I32, &[]);
                self.atoms.is_not_zero_byte(bytes)
            }
            (_, true) => self.atoms.atom(What::Load(slot), type_, &[]),
            (_, false) => self.atoms.atom(What::Scalar(slot), type_, &[]),
        };
        self.values.insert(reg, value);
        Some(value)
    }

    fn store(&mut self, reg: Reg, value: Id, dtype: DType) {
        let slot = (self.registers.of)(reg);
        self.moving.push((slot, dtype.size() as u8, true));
        let type_ = self.atoms.type_of(value);
        if dtype != DType::Bool {
            self.atoms.atom(What::Store(slot), type_, &[value]);
            return;
        }
        let value = if self.atoms.is_wide() {
            let (one, zero) = (self.atoms.number(Type::I32, 1.0), self.atoms.number(Type::I32, 0.0));
            self.atoms.select(value, one, zero)
        } else {
            self.atoms.truth_as(value, 4)
        };
        self.atoms.atom(What::StoreBytes(slot), Type::I32, &[value]);
    }

    /// Lowers the body of an op step by step.
    fn body(&mut self, op: Point, dtype: DType, args: &[Id]) -> Option<Id> {
        let script = symbol::script(op, dtype)?;
        let mut values: Vec<Id> = Vec::with_capacity(script.steps.len());
        for step in &script.steps {
            let value = match step.verb {
                symbol::Verb::Argument(n) => args[n as usize],
                verb => {
                    let mut from = [0; 3];
                    let arity = step.arity as usize;
                    for (to, &step) in from.iter_mut().zip(&step.from[..arity]) {
                        *to = values[step as usize];
                    }
                    self.atoms.step(verb, Type::of(step.dtype)?, &from[..arity])?
                }
            };
            values.push(value);
        }
        Some(values[script.results[0] as usize])
    }
}

impl AtomList {
    /// Truth values from widened bytes.
    fn is_not_zero_byte(&mut self, bytes: Id) -> Id {
        use super::table::Insn::{Vpcmpgtd, Vptestmd};
        if self.is_wide() {
            return self.insn(Vptestmd, Type::Truth, &[bytes, bytes]);
        }
        let zero = self.number(Type::I32, 0.0);
        self.insn(Vpcmpgtd, Type::Truth, &[bytes, zero])
    }
}
