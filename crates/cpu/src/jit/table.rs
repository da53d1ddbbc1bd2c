//! The instructions that emitted code uses, one row each, with their encodings for AVX and AVX-512.
//!
//! Invariant: a row matches the CPU manual; `bytes.rs` compares the bytes with those of another assembler.

/// The operand encoding of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Result, first operand, second operand or memory.
    Rvm,
    /// Result, operand or memory.
    Rm,
    /// Result or memory, operand.
    Mr,
    /// Result, operand, immediate; this number is in the `reg` field.
    Shift(u8),
}

/// How one instruction is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The prefix: 0 for none, then 66, F3, F2.
    pub(super) prefix: u8,
    /// The opcode map: 0F, 0F38, 0F3A.
    pub(super) map: u8,
    pub(super) opcode: u8,
    /// Element size in bytes: it determines the vector length and the width of a broadcast from memory.
    pub(super) elem: u8,
    /// The W bit of the AVX form; `None` if there is none.
    pub(super) vex: Option<u8>,
    /// The W bit of the AVX-512 form; `None` if there is none.
    pub(super) evex: Option<u8>,
    pub(super) form: Form,
    /// Whether a byte follows: an immediate, or a register in its upper half.
    pub(super) imm: bool,
}

macro_rules! bit {
    (-) => {
        None
    };
    ($bit:literal) => {
        Some($bit)
    };
}

macro_rules! imm {
    () => {
        false
    };
    (imm) => {
        true
    };
}

macro_rules! table {
    ($($name:ident $prefix:literal $map:literal $opcode:literal $elem:literal $vex:tt $evex:tt $form:ident $(($digit:literal))? $($imm:ident)?;)*) => {
        /// An instruction, by its mnemonic. Where the two encodings have different mnemonics, it is the AVX one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum Insn {
            $($name,)*
        }

        impl Insn {
            /// Every instruction, in the order of the table.
            #[cfg(test)]
            pub(super) const ALL: &'static [Insn] = &[$(Insn::$name),*];

            pub(super) const fn row(self) -> Row {
                match self {
                    $(Insn::$name => Row {
                        prefix: $prefix,
                        map: $map,
                        opcode: $opcode,
                        elem: $elem,
                        vex: bit!($vex),
                        evex: bit!($evex),
                        form: Form::$form $(($digit))?,
                        imm: imm!($($imm)?),
                    },)*
                }
            }
        }
    };
}

table! {
    // Floats.
    Vaddps 0 1 0x58 4 0 0 Rvm;
    Vaddpd 1 1 0x58 8 0 1 Rvm;
    Vsubps 0 1 0x5c 4 0 0 Rvm;
    Vsubpd 1 1 0x5c 8 0 1 Rvm;
    Vmulps 0 1 0x59 4 0 0 Rvm;
    Vmulpd 1 1 0x59 8 0 1 Rvm;
    Vdivps 0 1 0x5e 4 0 0 Rvm;
    Vdivpd 1 1 0x5e 8 0 1 Rvm;
    Vminps 0 1 0x5d 4 0 0 Rvm;
    Vminpd 1 1 0x5d 8 0 1 Rvm;
    Vmaxps 0 1 0x5f 4 0 0 Rvm;
    Vmaxpd 1 1 0x5f 8 0 1 Rvm;
    Vsqrtps 0 1 0x51 4 0 0 Rm;
    Vsqrtpd 1 1 0x51 8 0 1 Rm;
    Vandps 0 1 0x54 4 0 0 Rvm;
    Vandpd 1 1 0x54 8 0 1 Rvm;
    Vorps 0 1 0x56 4 0 0 Rvm;
    Vorpd 1 1 0x56 8 0 1 Rvm;
    Vxorps 0 1 0x57 4 0 0 Rvm;
    Vxorpd 1 1 0x57 8 0 1 Rvm;
    Vfmadd132ps 1 2 0x98 4 0 0 Rvm;
    Vfmadd132pd 1 2 0x98 8 1 1 Rvm;
    Vfmadd213ps 1 2 0xa8 4 0 0 Rvm;
    Vfmadd213pd 1 2 0xa8 8 1 1 Rvm;
    Vfmadd231ps 1 2 0xb8 4 0 0 Rvm;
    Vfmadd231pd 1 2 0xb8 8 1 1 Rvm;
    Vroundps 1 3 0x08 4 0 0 Rm imm;
    Vroundpd 1 3 0x09 8 0 1 Rm imm;
    Vscalefps 1 2 0x2c 4 - 0 Rvm;
    Vscalefpd 1 2 0x2c 8 - 1 Rvm;
    Vcmpps 0 1 0xc2 4 0 0 Rvm imm;
    Vcmppd 1 1 0xc2 8 0 1 Rvm imm;
    // Choices.
    Vblendvps 1 3 0x4a 4 0 - Rvm imm;
    Vblendvpd 1 3 0x4b 8 0 - Rvm imm;
    Vblendmps 1 2 0x65 4 - 0 Rvm;
    Vblendmpd 1 2 0x65 8 - 1 Rvm;
    Vpternlogd 1 3 0x25 4 - 0 Rvm imm;
    Vpternlogq 1 3 0x25 8 - 1 Rvm imm;
    // Integers.
    Vpaddd 1 1 0xfe 4 0 0 Rvm;
    Vpaddq 1 1 0xd4 8 0 1 Rvm;
    Vpsubd 1 1 0xfa 4 0 0 Rvm;
    Vpsubq 1 1 0xfb 8 0 1 Rvm;
    Vpmulld 1 2 0x40 4 0 0 Rvm;
    Vpmullq 1 2 0x40 8 - 1 Rvm;
    Vpmuludq 1 1 0xf4 8 0 1 Rvm;
    Vpminsd 1 2 0x39 4 0 0 Rvm;
    Vpminsq 1 2 0x39 8 - 1 Rvm;
    Vpmaxsd 1 2 0x3d 4 0 0 Rvm;
    Vpmaxsq 1 2 0x3d 8 - 1 Rvm;
    Vpabsd 1 2 0x1e 4 0 0 Rm;
    Vpabsq 1 2 0x1f 8 - 1 Rm;
    Vpandd 1 1 0xdb 4 0 0 Rvm;
    Vpandq 1 1 0xdb 8 0 1 Rvm;
    Vpord 1 1 0xeb 4 0 0 Rvm;
    Vporq 1 1 0xeb 8 0 1 Rvm;
    Vpxord 1 1 0xef 4 0 0 Rvm;
    Vpxorq 1 1 0xef 8 0 1 Rvm;
    Vpslld 1 1 0x72 4 0 0 Shift(6) imm;
    Vpsllq 1 1 0x73 8 0 1 Shift(6) imm;
    Vpsrlq 1 1 0x73 8 0 1 Shift(2) imm;
    Vpsrad 1 1 0x72 4 0 0 Shift(4) imm;
    Vpsraq 1 1 0x72 8 - 1 Shift(4) imm;
    Vpcmpeqd 1 1 0x76 4 0 - Rvm;
    Vpcmpeqq 1 2 0x29 8 0 - Rvm;
    Vpcmpgtd 1 1 0x66 4 0 - Rvm;
    Vpcmpgtq 1 2 0x37 8 0 - Rvm;
    Vpcmpd 1 3 0x1f 4 - 0 Rvm imm;
    Vpcmpq 1 3 0x1f 8 - 1 Rvm imm;
    Vptestmd 1 2 0x27 4 - 0 Rvm;
    // Conversions: the element size is that of the wider side.
    Vcvtdq2ps 0 1 0x5b 4 0 0 Rm;
    Vcvttps2dq 2 1 0x5b 4 0 0 Rm;
    Vcvtdq2pd 2 1 0xe6 8 0 0 Rm;
    Vcvttpd2dq 1 1 0xe6 8 0 1 Rm;
    Vcvtps2pd 0 1 0x5a 8 0 0 Rm;
    Vcvtpd2ps 1 1 0x5a 8 0 1 Rm;
    Vcvtqq2ps 0 1 0x5b 8 - 1 Rm;
    Vcvtqq2pd 2 1 0xe6 8 - 1 Rm;
    Vcvttps2qq 1 1 0x7a 8 - 0 Rm;
    Vcvttpd2qq 1 1 0x7a 8 - 1 Rm;
    Vpmovsxdq 1 2 0x25 8 0 0 Rm;
    Vpmovqd 2 2 0x35 8 - 0 Mr;
    Vextractf128 1 3 0x19 8 0 - Mr imm;
    Vshufps 0 1 0xc6 4 0 0 Rvm imm;
    Vmovmskps 0 1 0x50 4 0 - Rm;
    // Memory.
    Vmovaps 0 1 0x28 4 0 0 Rm;
    Vmovapd 1 1 0x28 8 0 1 Rm;
    LoadS 0 1 0x10 4 0 0 Rm;
    LoadD 1 1 0x10 8 0 1 Rm;
    StoreS 0 1 0x11 4 0 0 Mr;
    StoreD 1 1 0x11 8 0 1 Mr;
    Vmovntps 0 1 0x2b 4 0 0 Mr;
    Vmovntpd 1 1 0x2b 8 0 1 Mr;
    Vbroadcastss 1 2 0x18 4 0 0 Rm;
    Vbroadcastsd 1 2 0x19 8 0 1 Rm;
    Vpmovsxbd 1 2 0x21 4 0 0 Rm;
    Vpmovdb 2 2 0x31 4 - 0 Mr;
    // AVX-512 mask instructions: encoded as AVX instructions with a fixed length.
    Kandw 0 1 0x41 4 0 - Rvm;
    Korw 0 1 0x45 4 0 - Rvm;
    Kxorw 0 1 0x47 4 0 - Rvm;
    Knotw 0 1 0x44 4 0 - Rm;
    KloadW 0 1 0x90 4 0 - Rm;
    KstoreW 0 1 0x91 4 0 - Mr;
    KmovD 3 1 0x92 4 0 - Rm;
}

impl Insn {
    /// Whether the operands can be swapped. (This may change which of two NaNs is returned, which does not matter.)
    pub(super) const fn commutes(self) -> bool {
        use Insn::*;
        matches!(
            self,
            Vaddps
                | Vaddpd
                | Vmulps
                | Vmulpd
                | Vandps
                | Vandpd
                | Vorps
                | Vorpd
                | Vxorps
                | Vxorpd
                | Vpaddd
                | Vpaddq
                | Vpmulld
                | Vpmullq
                | Vpmuludq
                | Vpminsd
                | Vpminsq
                | Vpmaxsd
                | Vpmaxsq
                | Vpandd
                | Vpandq
                | Vpord
                | Vporq
                | Vpxord
                | Vpxorq
                | Vpcmpeqd
                | Vpcmpeqq
        )
    }

    /// Whether the instruction only uses mask registers.
    pub(super) const fn is_of_masks(self) -> bool {
        use Insn::*;
        matches!(self, Kandw | Korw | Kxorw | Knotw | KloadW | KstoreW | KmovD)
    }
}
