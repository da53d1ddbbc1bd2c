//! The assembler: encodes instructions as bytes. A dependency is not worthwhile: programs use a hundred instructions,
//! no text, and labels in two places.
//!
//! Invariant: vector instructions use the three-byte VEX or the EVEX encoding. Constants follow the code and are
//! addressed relative to it, so the code is position-independent.

use super::table::{Form, Insn};

/// A general register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gpr(pub(super) u8);

impl Gpr {
    pub(super) const RAX: Gpr = Gpr(0);
    pub(super) const RCX: Gpr = Gpr(1);
    pub(super) const RDX: Gpr = Gpr(2);
    pub(super) const RBX: Gpr = Gpr(3);
    pub(super) const RSP: Gpr = Gpr(4);
    pub(super) const RBP: Gpr = Gpr(5);
    pub(super) const RSI: Gpr = Gpr(6);
    pub(super) const RDI: Gpr = Gpr(7);
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// `base + disp`.
    At(Gpr, i32),
    /// `base + index * scale + disp`; the scale is 1, 2, 4 or 8.
    Indexed(Gpr, Gpr, u8, i32),
    /// An offset in the constant pool, in bytes.
    Pool(usize),
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegMem {
    Register(u8),
    /// A memory operand, and the number of bytes that the instruction accesses.
    Memory(Address, usize),
    /// One element in memory, broadcast to all lanes.
    Broadcast(Address),
}

/// The immediate and the mask of a vector instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Detail {
    pub(super) imm: u8,
    /// The mask register; 0 for none.
    pub(super) mask: u8,
    /// Whether masked lanes become zero.
    pub(super) zero: bool,
}

/// The encoding of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Vex,
    Evex,
}

/// Bytes of code under construction.
#[derive(Debug)]
pub(super) struct Assembler {
    encoding: Encoding,
    /// Elements per vector. Together with the element size it determines the vector length.
    lanes: usize,
    pub(super) bytes: Vec<u8>,
    pool: Vec<u8>,
    /// Displacements to fill in: their position, the end of the instruction, and the offset in the pool.
    open: Vec<(usize, usize, usize)>,
}

/// A forward jump whose target is not yet known.
#[must_use]
pub(super) struct Jump(usize);

/// An unsigned jump condition, with its code in the instruction set.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Below = 2,
    Equal = 4,
    BelowOrEqual = 6,
    Above = 7,
}

impl Assembler {
    pub(super) fn new(encoding: Encoding, lanes: usize) -> Assembler {
        Assembler { encoding, lanes, bytes: Vec::with_capacity(4096), pool: Vec::new(), open: Vec::new() }
    }

    /// Puts bytes into the constant pool, or returns the address of equal ones. Their number must be a power of two,
    /// which is also their alignment.
    pub(super) fn pooled(&mut self, bytes: &[u8]) -> Address {
        let size = bytes.len();
        let known = self.pool.chunks_exact(size).position(|chunk| chunk == bytes);
        Address::Pool(known.map_or_else(
            || {
                let place = self.pool.len().next_multiple_of(size);
                self.pool.resize(place, 0);
                self.pool.extend_from_slice(bytes);
                place
            },
            |chunk| chunk * size,
        ))
    }

    /// The code followed by the constants, which are aligned to 64 bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let pool = self.bytes.len().next_multiple_of(64);
        for (at, end, place) in self.open {
            let distance = (pool + place - end) as i32;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes.resize(pool, 0xcc);
        self.bytes.extend(self.pool);
        self.bytes
    }

    /// A vector instruction. `reg` is the result, or the source of a store; `first` is the first of two operands.
    pub(super) fn vector(&mut self, insn: Insn, reg: u8, first: u8, last: RegMem, detail: Detail) {
        let row = insn.row();
        let length = self.lanes * row.elem as usize;
        let wide = match length {
            _ if insn.is_of_masks() => matches!(row.form, Form::Rvm) as u8,
            0..=16 => 0,
            32 => 1,
            _ => 2,
        };
        // Immediate shifts have an opcode extension in the `reg` field, and their result is in `vvvv`.
        let (reg, first) = match row.form {
            Form::Shift(digit) => (digit, reg),
            _ => (reg, first),
        };
        let (high, index) = match last {
            RegMem::Register(r) => (r >> 3 & 1, r >> 4),
            RegMem::Memory(address, _) | RegMem::Broadcast(address) => match address {
                Address::At(base, _) => (base.0 >> 3, 0),
                Address::Indexed(base, index, ..) => (base.0 >> 3, index.0 >> 3),
                Address::Pool(_) => (0, 0),
            },
        };
        let flipped = |bit: u8| !bit & 1;
        if self.encoding == Encoding::Vex || insn.is_of_masks() {
            let w = row.vex.expect("an instruction that AVX has");
            self.bytes.extend([
                0xc4,
                flipped(reg >> 3) << 7 | flipped(index) << 6 | flipped(high) << 5 | row.map,
                w << 7 | (!first & 15) << 3 | wide << 2 | row.prefix,
            ]);
        } else {
            let w = row.evex.expect("an instruction that AVX-512 has");
            let broadcast = matches!(last, RegMem::Broadcast(_)) as u8;
            self.bytes.extend([
                0x62,
                flipped(reg >> 3) << 7 | flipped(index) << 6 | flipped(high) << 5 | flipped(reg >> 4) << 4 | row.map,
                w << 7 | (!first & 15) << 3 | 4 | row.prefix,
                (detail.zero as u8) << 7 | wide << 5 | broadcast << 4 | flipped(first >> 4) << 3 | detail.mask,
            ]);
        }
        self.bytes.push(row.opcode);
        match last {
            RegMem::Register(r) => self.bytes.push(0xc0 | (reg & 7) << 3 | r & 7),
            // EVEX scales 8-bit displacements by the size of the memory operand.
            RegMem::Memory(address, size) => {
                let unit = if self.encoding == Encoding::Evex && !insn.is_of_masks() { size } else { 1 };
                self.address(reg, address, unit, row.imm as usize);
            }
            RegMem::Broadcast(address) => self.address(reg, address, row.elem as usize, row.imm as usize),
        }
        if row.imm {
            self.bytes.push(detail.imm);
        }
    }

    /// Encodes an address; `after` bytes of the instruction follow it.
    fn address(&mut self, reg: u8, address: Address, unit: usize, after: usize) {
        let field = (reg & 7) << 3;
        let (base, index, disp) = match address {
            Address::Pool(place) => {
                self.bytes.push(field | 5);
                let at = self.bytes.len();
                self.bytes.extend([0; 4]);
                self.open.push((at, at + 4 + after, place));
                return;
            }
            Address::At(base, disp) => (base, None, disp),
            Address::Indexed(base, index, scale, disp) => (base, Some((index, scale)), disp),
        };
        let short = (disp % unit as i32 == 0).then(|| disp / unit as i32).and_then(|n| i8::try_from(n).ok());
        let mode = match (disp, short) {
            // With this base, an encoding without displacement has another meaning.
            (0, _) if base.0 & 7 != 5 => 0,
            (_, Some(_)) => 0x40,
            _ => 0x80,
        };
        match index {
            Some((index, scale)) => {
                self.bytes.push(mode | field | 4);
                self.bytes.push((scale.trailing_zeros() as u8) << 6 | (index.0 & 7) << 3 | base.0 & 7);
            }
            None if base.0 & 7 == 4 => self.bytes.extend([mode | field | 4, 0x24]),
            None => self.bytes.push(mode | field | base.0 & 7),
        }
        match mode {
            0 => {}
            0x40 => self.bytes.push(short.unwrap_or(0) as u8),
            _ => self.bytes.extend(disp.to_le_bytes()),
        }
    }

    /// A 64-bit instruction with a general register and an address.
    fn general(&mut self, opcode: u8, reg: Gpr, address: Address) {
        let Address::At(base, _) = address else { unreachable!("general instructions know plain addresses") };
        self.bytes.extend([0x48 | (reg.0 >> 3) << 2 | base.0 >> 3, opcode]);
        self.address(reg.0, address, 1, 0);
    }

    pub(super) fn load(&mut self, to: Gpr, from: Address) {
        self.general(0x8b, to, from);
    }

    /// `lea`: computes the address itself.
    pub(super) fn load_address(&mut self, to: Gpr, from: Address) {
        self.general(0x8d, to, from);
    }

    /// Stores the low 8 or 4 bytes of RAX.
    pub(super) fn store_rax(&mut self, to: Address, bytes: usize) {
        let (base, index) = match to {
            Address::At(base, _) => (base, Gpr(0)),
            Address::Indexed(base, index, ..) => (base, index),
            Address::Pool(_) => unreachable!("the pool is read only"),
        };
        self.bytes.extend([0x40 | (bytes as u8 & 8) | (index.0 >> 3) << 1 | base.0 >> 3, 0x89]);
        self.address(0, to, 1, 0);
    }

    /// `pdep`: deposits the low bits of RAX at the set bits of a constant.
    pub(super) fn spread_rax(&mut self, bits: u64) {
        let constant = self.pooled(&bits.to_le_bytes());
        self.bytes.extend([0xc4, 0xe2, 0xfb, 0xf5]);
        self.address(0, constant, 1, 0);
    }

    /// Sets the low RSI bits of RAX, at most 32.
    pub(super) fn low_bits_of_rsi(&mut self) {
        self.bytes.extend([0xb8, 0xff, 0xff, 0xff, 0xff]);
        self.bytes.extend([0xc4, 0xe2, 0x48, 0xf5, 0xc0]);
    }

    pub(super) fn push(&mut self, reg: Gpr) {
        if reg.0 > 7 {
            self.bytes.push(0x41);
        }
        self.bytes.push(0x50 | reg.0 & 7);
    }

    pub(super) fn pop(&mut self, reg: Gpr) {
        if reg.0 > 7 {
            self.bytes.push(0x41);
        }
        self.bytes.push(0x58 | reg.0 & 7);
    }

    /// An instruction with two general registers.
    fn pair(&mut self, opcode: u8, to: Gpr, from: Gpr) {
        self.bytes.extend([0x48 | (from.0 >> 3) << 2 | to.0 >> 3, opcode, 0xc0 | (from.0 & 7) << 3 | to.0 & 7]);
    }

    pub(super) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.pair(0x89, to, from);
    }

    pub(super) fn clear(&mut self, reg: Gpr) {
        self.pair(0x31, reg, reg);
    }

    pub(super) fn subtract(&mut self, to: Gpr, from: Gpr) {
        self.pair(0x29, to, from);
    }

    pub(super) fn compare(&mut self, a: Gpr, b: Gpr) {
        self.pair(0x39, a, b);
    }

    /// An instruction with a general register and an immediate; `digit` is the opcode extension.
    fn number(&mut self, digit: u8, reg: Gpr, number: i32) {
        self.bytes.extend([0x48 | reg.0 >> 3, 0x81, 0xc0 | digit << 3 | reg.0 & 7]);
        self.bytes.extend(number.to_le_bytes());
    }

    pub(super) fn add_number(&mut self, reg: Gpr, number: i32) {
        self.number(0, reg, number);
    }

    pub(super) fn and_number(&mut self, reg: Gpr, number: i32) {
        self.number(4, reg, number);
    }

    pub(super) fn subtract_number(&mut self, reg: Gpr, number: i32) {
        self.number(5, reg, number);
    }

    pub(super) fn here(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn jump(&mut self, when: When) -> Jump {
        self.bytes.extend([0x0f, 0x80 | when as u8, 0, 0, 0, 0]);
        Jump(self.here())
    }

    pub(super) fn jump_back(&mut self, when: When, to: usize) {
        let Jump(end) = self.jump(when);
        self.patch(end, to);
    }

    /// Sets the target of a jump to the current position.
    pub(super) fn land(&mut self, Jump(end): Jump) {
        self.patch(end, self.here());
    }

    fn patch(&mut self, end: usize, to: usize) {
        let distance = to as i32 - end as i32;
        self.bytes[end - 4..end].copy_from_slice(&distance.to_le_bytes());
    }

    /// Clears the upper vector state and returns.
    pub(super) fn leave(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77, 0xc3]);
    }

    /// Pads with long no-ops, so that a loop starts at a 32-byte boundary.
    pub(super) fn align_loop(&mut self) {
        const PADS: [&[u8]; 8] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x0f, 0x1f, 0x40, 0x00],
            &[0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
            &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        ];
        let mut left = self.here().next_multiple_of(32) - self.here();
        while left > 0 {
            let pad = PADS[left.min(8) - 1];
            self.bytes.extend(pad);
            left -= pad.len();
        }
    }
}
