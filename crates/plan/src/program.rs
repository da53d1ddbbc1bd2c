//! Builds pointwise programs from records: casts where dtypes differ, one register per value, outputs written last.
//!
//! Invariant: arithmetic uses only dtypes that are their own carriers. An op on another dtype casts its operands to the
//! carrier and its result back, so it wraps or rounds after every op, fused or not, and a backend needs only casts and
//! moves for such dtypes. Casts are ordinary instructions: elements are loaded and stored in their memory format.

use crate::complex;
use crate::kernel::{Instr, Program, ProgramInput, Reg};
use crate::segment::Operand;
use forerun_base::{DType, Kind, Shape};
use forerun_ops::{Class, Point};
use std::collections::HashMap;

/// A value inside a program under construction.
pub(crate) type Ssa = usize;

#[derive(Clone, Copy, PartialEq)]
enum Def {
    Input(u8),
    Scalar(u8),
    Code { op: Point, dtype: DType, args: [Ssa; 3], arity: u8 },
}

/// A program under construction: values in static single assignment form.
#[derive(Clone)]
pub(crate) struct Builder {
    pub(crate) shape: Shape,
    inputs: Vec<ProgramInput>,
    /// For each input, the operand that it reads.
    pub(crate) operands: Vec<Operand>,
    scalars: Vec<DType>,
    /// For each scalar, its record and index.
    pub(crate) scalar_sources: Vec<(u16, u8)>,
    defs: Vec<(Def, DType)>,
    casts: HashMap<(Ssa, DType), Ssa>,
}

/// Size limits above which a program is not fused any further.
const MOST_INPUTS: usize = 24;
const MOST_CODE: usize = 68;
/// Maximum number of values that one record adds: its operands, each cast twice, its result, and that cast twice.
const ROOM: usize = 12;

impl Builder {
    pub(crate) fn new(shape: Shape) -> Builder {
        Builder {
            shape,
            inputs: Vec::new(),
            operands: Vec::new(),
            scalars: Vec::new(),
            scalar_sources: Vec::new(),
            defs: Vec::new(),
            casts: HashMap::new(),
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.inputs.len() + 3 <= MOST_INPUTS && self.defs.len() + ROOM <= MOST_CODE
    }

    fn define(&mut self, def: Def, dtype: DType) -> Ssa {
        self.defs.push((def, dtype));
        self.defs.len() - 1
    }

    /// Reads an operand; the same operand with the same layout is one input.
    pub(crate) fn input(&mut self, operand: Operand, input: ProgramInput) -> Ssa {
        let found = self.operands.iter().zip(&self.inputs).position(|(o, i)| *o == operand && *i == input);
        if let Some(index) = found {
            let def = Def::Input(index as u8);
            return self.defs.iter().position(|(d, _)| *d == def).unwrap_or_else(|| self.define(def, input.dtype));
        }
        self.inputs.push(input);
        self.operands.push(operand);
        self.define(Def::Input(self.inputs.len() as u8 - 1), input.dtype)
    }

    /// Reads the n-th scalar of a record, already in `dtype`.
    pub(crate) fn scalar(&mut self, record: u16, word: u8, dtype: DType) -> Ssa {
        self.scalars.push(dtype);
        self.scalar_sources.push((record, word));
        self.define(Def::Scalar(self.scalars.len() as u8 - 1), dtype)
    }

    /// Casts the value to another dtype.
    pub(crate) fn cast(&mut self, value: Ssa, dtype: DType) -> Ssa {
        let from = self.defs[value].1;
        if from == dtype {
            return value;
        }
        if let Some(&known) = self.casts.get(&(value, dtype)) {
            return known;
        }
        let cast = self.define(Def::Code { op: Point::Cast, dtype: from, args: [value; 3], arity: 1 }, dtype);
        self.casts.insert((value, dtype), cast);
        cast
    }

    /// Applies an op to operands that already have the right dtypes.
    pub(crate) fn apply(&mut self, op: Point, dtype: DType, result: DType, args: &[Ssa]) -> Ssa {
        let carrier = dtype.carrier();
        if carrier == dtype || moves(op) {
            return self.instruction(op, dtype, result, args);
        }
        if dtype.kind() == Kind::Complex {
            return complex::apply(self, op, dtype, args);
        }
        let carried: Vec<Ssa> = args.iter().map(|&arg| self.cast(arg, carrier)).collect();
        let value = self.instruction(op, carrier, if result == dtype { carrier } else { result }, &carried);
        self.cast(value, result)
    }

    /// Appends an instruction, without conversions.
    pub(crate) fn instruction(&mut self, op: Point, dtype: DType, result: DType, args: &[Ssa]) -> Ssa {
        let mut all = [args[0]; 3];
        all[..args.len()].copy_from_slice(args);
        self.define(Def::Code { op, dtype, args: all, arity: args.len() as u8 }, result)
    }

    /// The parts that a complex value was composed of, if this program composed it.
    pub(crate) fn parts(&self, value: Ssa) -> Option<(Ssa, Ssa)> {
        match self.defs[value].0 {
            Def::Code { op: Point::Compose, args, .. } => Some((args[0], args[1])),
            _ => None,
        }
    }

    /// Finishes the program, which stores these values; also returns the register that holds `keep` at the end of each
    /// element.
    pub(crate) fn finish(mut self, outputs: &[Ssa], keep: Option<Ssa>) -> (Program, Option<Reg>) {
        // A stored value must be computed by an instruction of its own, and stored once.
        let mut stored = Vec::with_capacity(outputs.len());
        for &value in outputs {
            let dtype = self.defs[value].1;
            let plain = matches!(self.defs[value].0, Def::Code { .. }) && !stored.contains(&value);
            let value = if plain { value } else { self.apply(Point::Copy, dtype, dtype, &[value]) };
            stored.push(value);
        }
        let live = self.live(&stored, keep);
        let last_input_read = (0..self.defs.len())
            .rev()
            .find(|&i| live[i] && self.args(i).iter().any(|&a| matches!(self.defs[a].0, Def::Input(_))));
        let last_use: Vec<usize> = (0..self.defs.len())
            .map(|v| (0..self.defs.len()).rev().find(|&i| live[i] && self.args(i).contains(&v)).unwrap_or(0))
            .collect();

        let mut regs = vec![Reg::Temp(u8::MAX); self.defs.len()];
        let mut free: Vec<u8> = Vec::new();
        let mut temps = 0u8;
        let mut code = Vec::new();
        let mut late = Vec::new();
        for i in 0..self.defs.len() {
            if !live[i] {
                continue;
            }
            let (op, dtype, args, arity) = match self.defs[i].0 {
                Def::Input(n) => {
                    regs[i] = Reg::Input(n);
                    continue;
                }
                Def::Scalar(n) => {
                    regs[i] = Reg::Scalar(n);
                    continue;
                }
                Def::Code { op, dtype, args, arity } => (op, dtype, args, arity),
            };
            let arg_regs = args.map(|a| regs[a]);
            // The result reuses the register of an operand with its last use here, if the elements have the same size.
            let mut ended = Vec::new();
            for &a in &args[..arity as usize] {
                if let Reg::Temp(t) = regs[a]
                    && last_use[a] == i
                    && keep != Some(a)
                    && !late.iter().any(|&(v, _)| v == a)
                    && !ended.contains(&t)
                {
                    ended.push(t);
                }
            }
            let in_place = args[..arity as usize].iter().all(|&a| self.defs[a].1.size() == self.defs[i].1.size());
            if in_place {
                free.append(&mut ended);
            }
            let output = stored.iter().position(|&s| s == i);
            let direct = output.filter(|_| last_input_read.is_none_or(|last| last <= i));
            regs[i] = match direct {
                Some(o) => Reg::Out(o as u8),
                None => {
                    let t = free.pop().unwrap_or_else(|| {
                        temps += 1;
                        temps - 1
                    });
                    if let Some(o) = output {
                        late.push((i, o));
                    }
                    Reg::Temp(t)
                }
            };
            free.append(&mut ended);
            code.push(Instr { op, dtype, out: self.defs[i].1, dst: regs[i], args: arg_regs });
        }
        for (value, o) in late {
            let dtype = self.defs[value].1;
            let (from, dst) = (regs[value], Reg::Out(o as u8));
            code.push(Instr { op: Point::Copy, dtype, out: dtype, dst, args: [from; 3] });
        }
        let outputs = stored.iter().map(|&v| self.defs[v].1).collect();
        let kept = keep.map(|v| regs[v]);
        let Builder { shape, inputs, scalars, .. } = self;
        (Program { shape, inputs, scalars, code, outputs, temps }, kept)
    }

    fn args(&self, i: Ssa) -> &[Ssa] {
        match &self.defs[i].0 {
            Def::Code { args, arity, .. } => &args[..*arity as usize],
            _ => &[],
        }
    }

    /// The values that the stored and kept ones depend on. Inputs and scalars keep their numbers.
    fn live(&self, stored: &[Ssa], keep: Option<Ssa>) -> Vec<bool> {
        let mut live = vec![false; self.defs.len()];
        for &v in stored.iter().chain(&keep) {
            live[v] = true;
        }
        for i in (0..self.defs.len()).rev() {
            if live[i] {
                for &a in self.args(i) {
                    live[a] = true;
                }
            }
        }
        live
    }

    pub(crate) fn dtype(&self, value: Ssa) -> DType {
        self.defs[value].1
    }
}

/// Whether an op returns one of its operands unchanged.
fn moves(op: Point) -> bool {
    op == Point::Copy || op.row().class == Class::Select
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Source;
    use forerun_base::Layout;

    fn input(b: &mut Builder, n: u16) -> Ssa {
        let layout = Layout::dense(b.shape);
        b.input(Operand { source: Source::External(n), view: None }, ProgramInput { dtype: DType::F32, layout })
    }

    #[test]
    fn a_chain_uses_few_temps_and_writes_its_output_last() {
        let mut b = Builder::new(Shape::of(&[8]));
        let f = DType::F32;
        let (x, y) = (input(&mut b, 0), input(&mut b, 1));
        let t = b.apply(Point::Tanh, f, f, &[x]);
        let m = b.apply(Point::Multiply, f, f, &[t, y]);
        let two = b.scalar(2, 0, f);
        let d = b.apply(Point::Multiply, f, f, &[x, two]);
        let s = b.apply(Point::Add, f, f, &[m, d]);
        let (p, _) = b.finish(&[s], None);
        assert_eq!(p.temps, 2);
        assert_eq!(p.code.len(), 4);
        assert_eq!(p.code[3].dst, Reg::Out(0));
        assert_eq!(p.inputs.len(), 2);
    }

    #[test]
    fn an_early_output_is_stored_after_the_last_input_is_read() {
        let mut b = Builder::new(Shape::of(&[8]));
        let f = DType::F32;
        let (x, y) = (input(&mut b, 0), input(&mut b, 1));
        let a = b.apply(Point::Exp, f, f, &[x]);
        let c = b.apply(Point::Add, f, f, &[a, y]);
        let (p, _) = b.finish(&[a, c], None);
        let first_out = p.code.iter().position(|i| matches!(i.dst, Reg::Out(_))).unwrap();
        assert!(p.code[first_out + 1..].iter().all(|i| !i.args.iter().any(|r| matches!(r, Reg::Input(_)))));
        assert_eq!(p.outputs.len(), 2);
    }

    #[test]
    fn an_op_on_a_narrow_dtype_is_carried() {
        let mut b = Builder::new(Shape::of(&[8]));
        let h = DType::F16;
        let layout = Layout::dense(b.shape);
        let x = b.input(Operand { source: Source::External(0), view: None }, ProgramInput { dtype: h, layout });
        let square = b.apply(Point::Multiply, h, h, &[x, x]);
        let sum = b.apply(Point::Add, h, h, &[square, x]);
        let (p, _) = b.finish(&[sum], None);
        let code: Vec<(Point, DType, DType)> = p.code.iter().map(|i| (i.op, i.dtype, i.out)).collect();
        let (f, narrow) = (DType::F32, (Point::Cast, DType::F32, h));
        let widen = (Point::Cast, h, f);
        assert_eq!(code, [widen, (Point::Multiply, f, f), narrow, widen, (Point::Add, f, f), narrow]);
    }

    #[test]
    fn stored_inputs_and_scalars_are_copied() {
        let mut b = Builder::new(Shape::of(&[8]));
        let s = b.scalar(0, 0, DType::F64);
        let (p, _) = b.finish(&[s, s], None);
        assert_eq!(p.code.len(), 2);
        assert!(p.code.iter().all(|i| i.op == Point::Copy && i.args[0] == Reg::Scalar(0)));
    }
}
