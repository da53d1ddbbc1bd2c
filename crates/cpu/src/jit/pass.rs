//! One pass of the loop: emits the atoms of a program as instructions and allocates registers.
//!
//! Register allocation is a single walk over the atoms. If no register is free, the value whose next use is farthest is
//! spilled; constants and scalars need no stack slot, since they can be reloaded. A pass may compute several vectors,
//! each atom for all of them in turn, to hide latencies.
//!
//! Invariant: nothing is loaded from an input twice, because an output may alias the input and may have been written.

use super::atoms::{Atom, Id, Type, What};
use super::encode::{Address, Assembler, Detail, Gpr, RegMem};
use super::schedule::Turn;
use super::table::{Form, Insn};
use crate::simd::Isa;

/// The mask register for the lanes of the tail.
pub(super) const TAIL: u8 = 1;

/// The registers that hold slot addresses during a loop.
#[derive(Debug)]
pub(super) struct Pointers {
    /// The array of addresses.
    pub(super) slots: Gpr,
    /// The register for addresses that have none of their own.
    pub(super) scratch: Gpr,
    /// The slots with a register.
    pub(super) held: Vec<(u16, Gpr)>,
    /// The index of the first element of the pass.
    pub(super) index: Gpr,
}

/// The state shared by all passes of a function.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) isa: Isa,
    pub(super) lanes: usize,
    pub(super) atoms: &'a [Atom],
    pub(super) pointers: &'a Pointers,
    /// Constants and scalars that stay in registers.
    pub(super) pins: &'a [(Id, u8)],
}

impl Frame<'_> {
    /// The number of vector registers.
    pub(super) fn registers(isa: Isa) -> u8 {
        if isa.is_avx512() { 32 } else { 16 }
    }
}

/// The parameters of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    /// Vectors computed per pass.
    pub(super) copies: usize,
    /// The schedule.
    pub(super) turns: &'a [Turn],
    /// Whether accesses are limited to the lanes of [`TAIL`].
    pub(super) masked: bool,
    /// Whether outputs use non-temporal stores.
    pub(super) streaming: bool,
}

/// One value: an atom of one of the copies.
type Value = usize;

const NEVER: u32 = u32::MAX;
const PINNED: Value = usize::MAX;
/// Bytes of a stack slot.
pub(super) const PLACE: usize = 64;

/// The pass under construction.
struct Writer<'a, 'b> {
    asm: &'b mut Assembler,
    frame: Frame<'a>,
    pass: Pass<'a>,
    /// For each value, the index of its next use in `uses`.
    cursor: Vec<u32>,
    end: Vec<u32>,
    uses: Vec<u32>,
    /// The register of each value, and its stack slot.
    home: Vec<Option<u8>>,
    place: Vec<Option<u32>>,
    places: u32,
    vectors: [Option<Value>; 32],
    masks: [Option<Value>; 8],
    /// The current position in the schedule.
    turn: u32,
    /// The registers that the current instruction uses, as bits: vectors, then masks.
    busy: u64,
}

/// Emits one pass; returns the number of stack slots it needs.
pub(super) fn write<'a>(asm: &mut Assembler, frame: Frame<'a>, pass: Pass<'a>) -> u32 {
    let mut writer = Writer::new(asm, frame, pass);
    for (turn, &(i, copy)) in pass.turns.iter().enumerate() {
        writer.busy = 0;
        writer.turn = turn as u32;
        writer.atom(i as usize, &frame.atoms[i as usize], copy as usize);
    }
    writer.places
}

/// Loads the constants and scalars that stay in registers, before the loops.
pub(super) fn write_pins(asm: &mut Assembler, frame: Frame<'_>) {
    let mut writer = Writer::new(asm, frame, Pass { copies: 1, turns: &[], masked: false, streaming: false });
    for &(id, reg) in frame.pins {
        writer.fill(id as Value, reg);
    }
}

impl<'a, 'b> Writer<'a, 'b> {
    fn new(asm: &'b mut Assembler, frame: Frame<'a>, pass: Pass<'a>) -> Writer<'a, 'b> {
        let count = frame.atoms.len() * pass.copies;
        let value = |id: Id, copy: usize| {
            id as usize * pass.copies + if frame.atoms[id as usize].is_at_hand() { 0 } else { copy }
        };
        let all = || {
            pass.turns.iter().enumerate().flat_map(move |(turn, &(i, copy))| {
                frame.atoms[i as usize].args().iter().map(move |&arg| (value(arg, copy as usize), turn as u32))
            })
        };
        let mut end = vec![0u32; count];
        all().for_each(|(v, _)| end[v] += 1);
        let mut total = 0;
        let cursor: Vec<u32> = end
            .iter_mut()
            .map(|n| {
                let start = total;
                total += *n;
                *n = start;
                start
            })
            .collect();
        let mut uses = vec![0; total as usize];
        for (v, position) in all() {
            uses[end[v] as usize] = position;
            end[v] += 1;
        }
        let mut writer = Writer {
            asm,
            frame,
            pass,
            cursor,
            end,
            uses,
            home: vec![None; count],
            place: vec![None; count],
            places: 0,
            vectors: [None; 32],
            masks: [None; 8],
            turn: 0,
            busy: 0,
        };
        for &(id, reg) in frame.pins {
            writer.home[id as usize * pass.copies] = Some(reg);
            writer.vectors[reg as usize] = Some(PINNED);
        }
        writer
    }

    fn value(&self, id: Id, copy: usize) -> Value {
        let shared = self.frame.atoms[id as usize].is_at_hand();
        id as usize * self.pass.copies + if shared { 0 } else { copy }
    }

    fn atom_of(&self, value: Value) -> &'a Atom {
        &self.frame.atoms[value / self.pass.copies]
    }

    fn is_mask(&self, type_: Type) -> bool {
        self.frame.isa.is_avx512() && type_.is_truth()
    }

    fn next_use(&self, value: Value) -> u32 {
        let at = self.cursor[value];
        if at < self.end[value] { self.uses[at as usize] } else { NEVER }
    }

    /// Bytes of a vector with this element type.
    fn length(&self, type_: Type) -> usize {
        self.frame.lanes * type_.size()
    }

    fn address_of(&mut self, slot: u16) -> Gpr {
        let pointers = self.frame.pointers;
        if let Some(&(_, reg)) = pointers.held.iter().find(|(held, _)| *held == slot) {
            return reg;
        }
        self.asm.load(pointers.scratch, Address::At(pointers.slots, slot as i32 * 8));
        pointers.scratch
    }

    /// The address of the elements of a slot for one copy.
    fn elements(&mut self, slot: u16, size: usize, copy: usize) -> Address {
        let disp = (copy * self.frame.lanes * size) as i32;
        Address::Indexed(self.address_of(slot), self.frame.pointers.index, size as u8, disp)
    }

    fn on_stack(place: u32) -> Address {
        Address::At(Gpr::RSP, (place as usize * PLACE) as i32)
    }

    /// Spills a register to the stack.
    fn spill(&mut self, value: Value, reg: u8) {
        let place = self.places;
        self.places += 1;
        self.place[value] = Some(place);
        let type_ = self.atom_of(value).type_;
        let (insn, bytes) = match type_ {
            _ if self.is_mask(type_) => (Insn::KstoreW, 2),
            _ if type_.size() == 8 => (Insn::StoreD, self.length(type_)),
            _ => (Insn::StoreS, self.length(type_)),
        };
        self.asm.vector(insn, reg, 0, RegMem::Memory(Self::on_stack(place), bytes), Detail::default());
    }

    /// Returns a free register, spilling a value if necessary.
    fn take(&mut self, type_: Type) -> u8 {
        let mask = self.is_mask(type_);
        let file: &[Option<Value>] =
            if mask { &self.masks } else { &self.vectors[..Frame::registers(self.frame.isa) as usize] };
        // Mask register 0 means "no mask", and register 1 is the tail's.
        let (first, shift) = if mask { (TAIL as usize + 1, 32) } else { (0, 0) };
        let mut farthest = (0, 0, None);
        for (reg, holder) in file.iter().enumerate().skip(first) {
            let Some(value) = *holder else { return reg as u8 };
            if value == PINNED || self.busy >> (reg + shift) & 1 == 1 {
                continue;
            }
            // Among equally distant values, prefer one that can be reloaded without a spill.
            let rank = (self.next_use(value), self.atom_of(value).is_at_hand() as u8, Some((reg as u8, value)));
            if farthest.2.is_none() || (rank.0, rank.1) > (farthest.0, farthest.1) {
                farthest = rank;
            }
        }
        let (reg, value) = farthest.2.expect("an instruction needs fewer registers than there are");
        if self.next_use(value) != NEVER && !self.atom_of(value).is_at_hand() && self.place[value].is_none() {
            self.spill(value, reg);
        }
        self.home[value] = None;
        self.settle(mask, reg, None);
        reg
    }

    fn settle(&mut self, mask: bool, reg: u8, value: Option<Value>) {
        if mask {
            self.masks[reg as usize] = value;
        } else {
            self.vectors[reg as usize] = value;
        }
    }

    fn keep_busy(&mut self, mask: bool, reg: u8) {
        self.busy |= 1 << (reg as u32 + if mask { 32 } else { 0 });
    }

    /// Loads a value into a register.
    fn fill(&mut self, value: Value, reg: u8) {
        let atom = self.atom_of(value);
        let (type_, wide) = (atom.type_, atom.type_.size() == 8);
        let load = if wide { Insn::LoadD } else { Insn::LoadS };
        let (insn, from) = match (self.place[value], atom.what) {
            (Some(place), _) if self.is_mask(type_) => (Insn::KloadW, RegMem::Memory(Self::on_stack(place), 2)),
            (_, What::Constant(_)) if self.frame.isa.is_avx512() => {
                let RegMem::Broadcast(from) = self.in_memory(value) else { unreachable!("constants are broadcast") };
                let insn = if wide { Insn::Vbroadcastsd } else { Insn::Vbroadcastss };
                (insn, RegMem::Memory(from, type_.size()))
            }
            _ => (load, self.in_memory(value)),
        };
        self.asm.vector(insn, reg, 0, from, Detail::default());
    }

    /// The value as a memory operand, if it can be reloaded or was spilled.
    fn in_memory(&mut self, value: Value) -> RegMem {
        let atom = self.atom_of(value);
        let length = self.length(atom.type_);
        match atom.what {
            What::Constant(bits) => {
                let bytes = bits.to_le_bytes();
                let element = &bytes[..atom.type_.size()];
                if self.frame.isa.is_avx512() {
                    return RegMem::Broadcast(self.asm.pooled(element));
                }
                RegMem::Memory(self.asm.pooled(&element.repeat(32 / element.len())), length)
            }
            What::Scalar(slot) => RegMem::Memory(Address::At(self.address_of(slot), 0), length),
            _ => {
                let place = self.place[value].expect("a value is in a register or on the stack");
                RegMem::Memory(Self::on_stack(place), length)
            }
        }
    }

    /// The register of a value; loads it if necessary.
    fn register(&mut self, value: Value) -> u8 {
        let type_ = self.atom_of(value).type_;
        let mask = self.is_mask(type_);
        let reg = self.home[value].unwrap_or_else(|| {
            let reg = self.take(type_);
            self.fill(value, reg);
            self.home[value] = Some(reg);
            self.settle(mask, reg, Some(value));
            reg
        });
        self.keep_busy(mask, reg);
        reg
    }

    /// Whether the value can be a memory operand of an instruction.
    fn folds(&self, value: Value, elem: u8) -> bool {
        let type_ = self.atom_of(value).type_;
        self.home[value].is_none() && !self.is_mask(type_) && type_.size() == elem as usize
    }

    /// The last operand: a register or memory. Nothing may be loaded after this call.
    fn last(&mut self, value: Value, elem: u8) -> RegMem {
        if self.folds(value, elem) { self.in_memory(value) } else { RegMem::Register(self.register(value)) }
    }

    /// Frees the registers of operands that have no further use.
    fn release(&mut self, atom: &Atom, copy: usize) {
        for &arg in atom.args() {
            let value = self.value(arg, copy);
            self.cursor[value] += 1;
        }
        for &arg in atom.args() {
            let value = self.value(arg, copy);
            if self.next_use(value) == NEVER
                && let Some(reg) = self.home[value]
                && !self.is_pinned(value, reg)
            {
                self.home[value] = None;
                let mask = self.is_mask(self.atom_of(value).type_);
                self.settle(mask, reg, None);
            }
        }
        self.busy = 0;
    }

    fn is_pinned(&self, value: Value, reg: u8) -> bool {
        self.atom_of(value).is_at_hand() && self.vectors[reg as usize] == Some(PINNED)
    }

    /// Whether the value is in a register that the current instruction may overwrite.
    fn dies(&self, value: Value) -> bool {
        let Some(reg) = self.home[value] else { return false };
        let mut later = self.uses[self.cursor[value] as usize..self.end[value] as usize].iter();
        !self.is_pinned(value, reg) && later.all(|&use_| use_ == self.turn)
    }

    /// Allocates a register for the result.
    fn result(&mut self, value: Value) -> u8 {
        let type_ = self.atom_of(value).type_;
        let reg = self.take(type_);
        self.hold(value, reg);
        reg
    }

    fn hold(&mut self, value: Value, reg: u8) {
        let mask = self.is_mask(self.atom_of(value).type_);
        self.home[value] = Some(reg);
        self.settle(mask, reg, Some(value));
    }

    fn atom(&mut self, place: usize, atom: &Atom, copy: usize) {
        let value = place * self.pass.copies + copy;
        let args: [Value; 3] =
            std::array::from_fn(|n| if n < atom.arity as usize { self.value(atom.args[n], copy) } else { 0 });
        let tail = Detail { mask: if self.pass.masked { TAIL } else { 0 }, zero: self.pass.masked, imm: 0 };
        match atom.what {
            What::Constant(_) | What::Scalar(_) => unreachable!("made where it is used"),
            What::Load(slot) => {
                let size = atom.type_.size();
                let from = RegMem::Memory(self.elements(slot, size, copy), self.length(atom.type_));
                let reg = self.result(value);
                self.asm.vector(if size == 8 { Insn::LoadD } else { Insn::LoadS }, reg, 0, from, tail);
            }
            What::LoadBytes(slot, moves) => {
                let at = if moves { self.elements(slot, 1, copy) } else { Address::At(self.address_of(slot), 0) };
                let reg = self.result(value);
                self.asm.vector(Insn::Vpmovsxbd, reg, 0, RegMem::Memory(at, self.frame.lanes), tail);
            }
            What::Do(insn, imm) => self.instruction(insn, imm, value, atom, &args, copy),
            What::MulAdd => self.mul_add(value, atom, &args, copy),
            What::Select => {
                let mask = self.register(args[0]);
                let no = self.register(args[2]);
                let wide = atom.type_.size() == 8;
                let yes = self.last(args[1], atom.type_.size() as u8);
                self.release(atom, copy);
                let to = self.result(value);
                if self.frame.isa.is_avx512() {
                    let insn = if wide { Insn::Vblendmpd } else { Insn::Vblendmps };
                    self.asm.vector(insn, to, no, yes, Detail { mask, ..Detail::default() });
                } else {
                    let insn = if wide { Insn::Vblendvpd } else { Insn::Vblendvps };
                    self.asm.vector(insn, to, no, yes, Detail { imm: mask << 4, ..Detail::default() });
                }
            }
            What::Store(slot) => {
                let reg = self.register(args[0]);
                let size = atom.type_.size();
                let to = RegMem::Memory(self.elements(slot, size, copy), self.length(atom.type_));
                let insn = match (self.pass.streaming, size) {
                    (true, 8) => Insn::Vmovntpd,
                    (true, _) => Insn::Vmovntps,
                    (false, 8) => Insn::StoreD,
                    (false, _) => Insn::StoreS,
                };
                self.asm.vector(insn, reg, 0, to, Detail { zero: false, ..tail });
                self.release(atom, copy);
            }
            What::StoreBytes(slot) => {
                let reg = self.register(args[0]);
                let lanes = self.frame.lanes;
                if self.frame.isa.is_avx512() {
                    let to = RegMem::Memory(self.elements(slot, 1, copy), lanes);
                    self.asm.vector(Insn::Vpmovdb, reg, 0, to, Detail { zero: false, ..tail });
                } else {
                    self.asm.vector(Insn::Vmovmskps, Gpr::RAX.0, 0, RegMem::Register(reg), Detail::default());
                    self.asm.spread_rax(0x0101_0101_0101_0101);
                    let to = self.elements(slot, 1, copy);
                    self.asm.store_rax(to, lanes);
                }
                self.release(atom, copy);
            }
        }
    }

    fn instruction(&mut self, insn: Insn, imm: u8, value: Value, atom: &Atom, args: &[Value; 3], copy: usize) {
        let row = insn.row();
        let detail = Detail { imm, ..Detail::default() };
        match atom.arity {
            1 => {
                let from = self.register(args[0]);
                self.release(atom, copy);
                let to = self.result(value);
                match row.form {
                    Form::Mr => self.asm.vector(insn, from, 0, RegMem::Register(to), detail),
                    _ => self.asm.vector(insn, to, 0, RegMem::Register(from), detail),
                }
            }
            2 => {
                let swap = insn.commutes() && self.home[args[0]].is_none() && self.home[args[1]].is_some();
                let (first, second) = if swap { (args[1], args[0]) } else { (args[0], args[1]) };
                let first = self.register(first);
                let second = self.last(second, row.elem);
                self.release(atom, copy);
                let to = self.result(value);
                self.asm.vector(insn, to, first, second, detail);
            }
            // The instruction overwrites its first operand.
            _ => {
                let first = self.register(args[0]);
                let second = self.register(args[1]);
                let third = self.last(args[2], row.elem);
                let to = if self.dies(args[0]) { first } else { self.copied(first, atom.type_) };
                self.release(atom, copy);
                self.hold(value, to);
                self.asm.vector(insn, to, second, third, detail);
            }
        }
    }

    /// Copies a vector to another register.
    fn copied(&mut self, from: u8, type_: Type) -> u8 {
        let to = self.take(type_);
        let insn = if type_.size() == 8 { Insn::Vmovapd } else { Insn::Vmovaps };
        self.asm.vector(insn, to, 0, RegMem::Register(from), Detail::default());
        to
    }

    fn mul_add(&mut self, value: Value, atom: &Atom, args: &[Value; 3], copy: usize) {
        let elem = atom.type_.size() as u8;
        // One operand may stay in memory, unless no other operand's register is free for the result: that one is then
        // loaded.
        let folded = [2, 1, 0].into_iter().find(|&n| self.folds(args[n], elem));
        let mut regs = [0; 3];
        for n in (0..3).filter(|&n| Some(n) != folded) {
            regs[n] = self.register(args[n]);
        }
        let dying = (0..3).find(|&n| Some(n) != folded && self.dies(args[n]));
        let (role, to, memory) = match (dying, folded) {
            (Some(n), _) => (n, regs[n], folded),
            (None, Some(n)) => {
                let to = self.take(atom.type_);
                self.fill(args[n], to);
                (n, to, None)
            }
            (None, None) => (2, self.copied(regs[2], atom.type_), None),
        };
        let last = |writer: &mut Self, n: usize| match memory {
            Some(_) => writer.in_memory(args[n]),
            None => RegMem::Register(regs[n]),
        };
        let forms = match elem {
            8 => [Insn::Vfmadd132pd, Insn::Vfmadd213pd, Insn::Vfmadd231pd],
            _ => [Insn::Vfmadd132ps, Insn::Vfmadd213ps, Insn::Vfmadd231ps],
        };
        // Form 132: result * last + first; 213: first * result + last; 231: first * last + result.
        let (insn, first, last) = match (role, memory) {
            (2, Some(0)) => (forms[2], regs[1], last(self, 0)),
            (2, _) => (forms[2], regs[0], last(self, 1)),
            (factor, Some(other)) if other != 2 => (forms[0], regs[2], {
                debug_assert_eq!(factor + other, 1);
                last(self, other)
            }),
            (factor, _) => (forms[1], regs[1 - factor], last(self, 2)),
        };
        self.release(atom, copy);
        self.hold(value, to);
        self.asm.vector(insn, to, first, last, Detail::default());
    }
}
