//! Tests of the assembler. For each line of assembly text, `bytes.txt` has the bytes that GNU `as` produces (Intel
//! syntax, three-byte AVX prefixes); the tests encode the same instructions and compare.

use super::encode::{Address, Assembler, Detail, Encoding, Gpr, RegMem, When};
use super::table::{Form, Insn};
use std::collections::HashMap;

const BYTES: &str = include_str!("bytes.txt");

fn name(insn: Insn, encoding: Encoding) -> String {
    let plain = match insn {
        Insn::LoadS | Insn::StoreS => "vmovups",
        Insn::LoadD | Insn::StoreD => "vmovupd",
        Insn::KloadW | Insn::KstoreW => "kmovw",
        Insn::KmovD => "kmovd",
        _ => "",
    };
    let mnemonic = if plain.is_empty() { format!("{insn:?}").to_lowercase() } else { plain.to_owned() };
    match (encoding, mnemonic.as_str()) {
        (Encoding::Vex, "vpandd" | "vpandq") => "vpand".to_owned(),
        (Encoding::Vex, "vpord" | "vporq") => "vpor".to_owned(),
        (Encoding::Vex, "vpxord" | "vpxorq") => "vpxor".to_owned(),
        (Encoding::Evex, "vroundps") => "vrndscaleps".to_owned(),
        (Encoding::Evex, "vroundpd") => "vrndscalepd".to_owned(),
        _ => mnemonic,
    }
}

fn vector_name(bytes: usize, n: u8) -> String {
    let letter = match bytes {
        0..=16 => 'x',
        32 => 'y',
        _ => 'z',
    };
    format!("{letter}mm{n}")
}

fn gpr_name(reg: Gpr) -> String {
    let low = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];
    low.get(reg.0 as usize).map_or_else(|| format!("r{}", reg.0), |name| (*name).to_owned())
}

fn address_name(address: Address) -> String {
    let disp = |d: i32| if d == 0 { String::new() } else { format!("{d:+}") };
    match address {
        Address::At(base, d) => format!("[{}{}]", gpr_name(base), disp(d)),
        Address::Indexed(base, index, scale, d) => {
            format!("[{}+{}*{scale}{}]", gpr_name(base), gpr_name(index), disp(d))
        }
        Address::Pool(_) => unreachable!("the pool has no fixed address"),
    }
}

/// By which factor the result and the last operand are shorter than the vector.
fn shorter(insn: Insn) -> (usize, usize) {
    use Insn::*;
    match insn {
        Vcvtdq2pd | Vcvtps2pd | Vcvttps2qq | Vpmovsxdq => (1, 2),
        Vpmovsxbd => (1, 4),
        Vcvttpd2dq | Vcvtpd2ps | Vcvtqq2ps | Vpmovqd | Vextractf128 => (2, 1),
        Vpmovdb => (4, 1),
        _ => (1, 1),
    }
}

/// The assembly text of an instruction, and the bytes that this assembler produces.
fn line(
    encoding: Encoding,
    lanes: usize,
    insn: Insn,
    regs: (u8, u8),
    last: RegMem,
    detail: Detail,
) -> (String, Vec<u8>) {
    let to_mask = encoding == Encoding::Evex
        && matches!(insn, Insn::Vcmpps | Insn::Vcmppd | Insn::Vpcmpd | Insn::Vpcmpq | Insn::Vptestmd);
    let (reg, first) = (if to_mask { regs.0 & 7 } else { regs.0 }, regs.1);
    let mut asm = Assembler::new(encoding, lanes);
    asm.vector(insn, reg, first, last, detail);
    let row = insn.row();
    let length = lanes * row.elem as usize;
    let (result_part, last_part) = shorter(insn);
    let register = |n: u8, part: usize| {
        if insn.is_of_masks() { format!("k{n}") } else { vector_name(length / part, n) }
    };
    let last_text = match last {
        RegMem::Register(0) if insn == Insn::KmovD => "eax".to_owned(),
        RegMem::Register(n) if row.form == Form::Mr => register(n, result_part),
        RegMem::Register(n) => register(n, last_part),
        RegMem::Memory(address, _) => address_name(address),
        RegMem::Broadcast(address) => {
            let word = if row.elem == 4 { "dword" } else { "qword" };
            format!("{word} ptr {}{{1to{lanes}}}", address_name(address))
        }
    };
    let result = match insn {
        Insn::Vmovmskps => gpr_name(Gpr(reg)).replace('r', "e"),
        _ if to_mask => format!("k{reg}"),
        _ => register(reg, result_part),
    };
    let masks = format!(
        "{}{}",
        if detail.mask > 0 { format!("{{k{}}}", detail.mask) } else { String::new() },
        if detail.zero { "{z}" } else { "" }
    );
    let mut parts = match row.form {
        Form::Rvm => vec![result + &masks, register(first, 1), last_text],
        Form::Rm | Form::Shift(_) => vec![result + &masks, last_text],
        Form::Mr => vec![last_text + &masks, register(reg, 1)],
    };
    if matches!(insn, Insn::Vblendvps | Insn::Vblendvpd) {
        parts.push(register(detail.imm >> 4, 1));
    } else if row.imm {
        parts.push(detail.imm.to_string());
    }
    let prefix = if encoding == Encoding::Vex || insn.is_of_masks() { "vex3" } else { "evex" };
    (format!("{{{prefix}}} {} {}", name(insn, encoding), parts.join(", ")), asm.bytes)
}

fn vectors() -> Vec<(String, Vec<u8>)> {
    let mut lines = Vec::new();
    let sets = [(Encoding::Vex, 8), (Encoding::Vex, 4), (Encoding::Evex, 16), (Encoding::Evex, 8)];
    for (encoding, lanes) in sets {
        let wide = encoding == Encoding::Evex;
        let most = if wide { 64 } else { 32 };
        let exists = |insn: Insn| {
            let row = insn.row();
            let here = if wide && !insn.is_of_masks() { row.evex } else { row.vex };
            here.is_some() && lanes * row.elem as usize <= most && (wide || !insn.is_of_masks())
        };
        for &insn in Insn::ALL.iter().filter(|&&insn| exists(insn)) {
            let row = insn.row();
            let memory_only = matches!(
                insn,
                Insn::Vmovntps | Insn::Vmovntpd | Insn::KloadW | Insn::KstoreW | Insn::StoreS | Insn::StoreD
            );
            let imm = if matches!(insn, Insn::Vblendvps | Insn::Vblendvpd) { 0xd0 } else { 0x0b };
            let detail = Detail { imm, ..Detail::default() };
            let low = insn.is_of_masks() || insn == Insn::Vmovmskps;
            let registers = match (low, wide) {
                (true, _) => [((1, 2), 3), ((6, 5), 4)],
                (false, false) => [((9, 2), 11), ((6, 13), 4)],
                (false, true) => [((17, 10), 31), ((12, 21), 3)],
            };
            for (regs, last) in registers {
                let last = if insn == Insn::KmovD { 0 } else { last };
                let regs = if row.form == Form::Rvm { regs } else { (regs.0, 0) };
                if !memory_only && insn != Insn::Vbroadcastss && insn != Insn::Vbroadcastsd {
                    lines.push(line(encoding, lanes, insn, regs, RegMem::Register(last), detail));
                }
            }
            lines.extend(in_memory(encoding, lanes, insn, detail));
        }
    }
    lines
}

/// The memory operands that emitted code uses.
fn in_memory(encoding: Encoding, lanes: usize, insn: Insn, detail: Detail) -> Vec<(String, Vec<u8>)> {
    let row = insn.row();
    let length = lanes * row.elem as usize;
    let bytes = match insn {
        Insn::Vpmovsxbd | Insn::Vpmovdb => lanes,
        Insn::KloadW | Insn::KstoreW => 2,
        Insn::Vbroadcastss | Insn::Vbroadcastsd => row.elem as usize,
        _ if row.form == Form::Mr || matches!(insn, Insn::LoadS | Insn::LoadD) => length,
        _ if row.form == Form::Rvm && !insn.is_of_masks() => length,
        _ => return Vec::new(),
    };
    if matches!(insn, Insn::Vpmovqd | Insn::Vextractf128) {
        return Vec::new();
    }
    let element = if matches!(insn, Insn::Vpmovsxbd | Insn::Vpmovdb) { 1 } else { row.elem };
    let vector = (lanes * element as usize) as i32;
    let (rcx, r8, r12, r13, r15) = (Gpr::RCX, Gpr(8), Gpr(12), Gpr(13), Gpr(15));
    let indexed = [
        Address::Indexed(r12, rcx, element, vector),
        Address::Indexed(r8, rcx, element, 0),
        Address::Indexed(r13, rcx, element, 3 * vector),
        Address::Indexed(r15, Gpr(9), element, 12),
    ];
    let plain = [
        Address::At(Gpr::RSP, 64),
        Address::At(r13, 0),
        Address::At(Gpr::RDX, 0),
        Address::At(Gpr::RSP, 64 * 300),
        Address::At(r12, 128),
    ];
    // Addressing modes do not depend on the instruction: test all of them for some instructions, and one for the rest.
    let some = matches!(insn, Insn::Vaddps | Insn::Vcmppd | Insn::LoadS | Insn::StoreD | Insn::Vpmovdb);
    let each = if some { 5 } else { 1 };
    let moved = matches!(insn, Insn::KloadW | Insn::KstoreW | Insn::Vbroadcastss | Insn::Vbroadcastsd);
    let mut lines = Vec::new();
    let first = if row.form == Form::Rvm { 3 } else { 0 };
    for address in plain.into_iter().take(each).chain(indexed.into_iter().take(each).filter(|_| !moved)) {
        lines.push(line(encoding, lanes, insn, (5, first), RegMem::Memory(address, bytes), detail));
    }
    if encoding == Encoding::Vex || insn.is_of_masks() {
        return lines;
    }
    let broadcasts = row.form == Form::Rvm;
    if broadcasts {
        lines.push(line(encoding, lanes, insn, (29, first), RegMem::Broadcast(Address::At(Gpr::RDX, 256)), detail));
    }
    let masked = Detail { mask: 1, zero: row.form != Form::Mr, ..detail };
    if matches!(insn, Insn::LoadS | Insn::LoadD | Insn::StoreS | Insn::StoreD | Insn::Vpmovsxbd | Insn::Vpmovdb) {
        lines.push(line(encoding, lanes, insn, (19, 0), RegMem::Memory(indexed[0], bytes), masked));
    }
    if matches!(insn, Insn::Vblendmps | Insn::Vblendmpd) {
        let masked = Detail { mask: 7, ..detail };
        lines.push(line(encoding, lanes, insn, (19, 3), RegMem::Register(25), masked));
    }
    lines
}

/// Instructions on general registers.
fn generals() -> Vec<(String, Vec<u8>)> {
    let mut lines = Vec::new();
    let mut add = |text: String, write: &dyn Fn(&mut Assembler)| {
        let mut asm = Assembler::new(Encoding::Vex, 8);
        write(&mut asm);
        lines.push((text, asm.bytes));
    };
    for (a, b) in [(Gpr::RAX, Gpr::RCX), (Gpr(9), Gpr::RDX), (Gpr::RSP, Gpr(14)), (Gpr(13), Gpr(12))] {
        let (x, y) = (gpr_name(a), gpr_name(b));
        add(format!("mov {x}, {y}"), &|asm| asm.copy(a, b));
        add(format!("xor {x}, {x}"), &|asm| asm.clear(a));
        add(format!("sub {x}, {y}"), &|asm| asm.subtract(a, b));
        add(format!("cmp {x}, {y}"), &|asm| asm.compare(a, b));
        add(format!("push {x}"), &|asm| asm.push(a));
        add(format!("pop {y}"), &|asm| asm.pop(b));
        for disp in [0, 8, 1000] {
            let address = Address::At(b, disp);
            add(format!("mov {x}, qword ptr {}", address_name(address)), &|asm| asm.load(a, address));
            add(format!("lea {x}, {}", address_name(address)), &|asm| asm.load_address(a, address));
        }
        if a != Gpr::RAX {
            add(format!("add {x}, 100000"), &|asm| asm.add_number(a, 100_000));
            add(format!("sub {x}, 100000"), &|asm| asm.subtract_number(a, 100_000));
            add(format!("and {x}, -4096"), &|asm| asm.and_number(a, -4096));
        }
        let element = Address::Indexed(a, Gpr::RCX, 1, 8);
        if a != Gpr::RSP {
            add(format!("{{rex}} mov dword ptr {}, eax", address_name(element)), &|asm| asm.store_rax(element, 4));
            add(format!("mov qword ptr {}, rax", address_name(element)), &|asm| asm.store_rax(element, 8));
        }
    }
    add("bzhi eax, eax, esi".to_owned(), &|asm| {
        asm.low_bits_of_rsi();
        asm.bytes.drain(..5);
    });
    add("mov eax, -1".to_owned(), &|asm| {
        asm.low_bits_of_rsi();
        asm.bytes.truncate(5);
    });
    add("vzeroupper".to_owned(), &|asm| {
        asm.leave();
        asm.bytes.truncate(3);
    });
    lines
}

#[test]
fn every_instruction_has_the_bytes_of_another_assembler() {
    let known: HashMap<&str, &str> = BYTES.lines().filter_map(|line| line.split_once(" = ")).collect();
    let lines = [vectors(), generals()].concat();
    assert!(lines.len() > 900);
    for (text, bytes) in lines {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(known.get(text.as_str()), Some(&hex.as_str()), "{text}");
    }
}

/// Prints the lines of `bytes.txt`; another assembler provides their bytes.
#[test]
#[ignore = "prints the text of the table"]
fn print_the_lines() {
    for (text, _) in [vectors(), generals()].concat() {
        println!("{text}");
    }
}

#[test]
fn constants_are_found_behind_the_code() {
    let mut asm = Assembler::new(Encoding::Evex, 16);
    let (one, two) = (asm.pooled(&1u32.to_le_bytes()), asm.pooled(&2u64.to_le_bytes()));
    assert_eq!((one, two, asm.pooled(&1u32.to_le_bytes())), (Address::Pool(0), Address::Pool(8), one));
    asm.vector(Insn::Vaddpd, 1, 2, RegMem::Broadcast(two), Detail::default());
    let end = asm.here();
    asm.vector(Insn::Vcmpps, 1, 2, RegMem::Broadcast(one), Detail { imm: 1, ..Detail::default() });
    let with_imm = asm.here();
    let bytes = asm.finish();
    let read = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(bytes[end + read(end - 4)..][..8], 2u64.to_le_bytes());
    assert_eq!(bytes[with_imm + read(with_imm - 5)..][..4], 1u32.to_le_bytes());
}

#[test]
fn jumps_land() {
    let mut asm = Assembler::new(Encoding::Vex, 8);
    let top = asm.here();
    let over = asm.jump(When::Above);
    asm.jump_back(When::BelowOrEqual, top);
    asm.land(over);
    assert_eq!(asm.bytes, [0x0f, 0x87, 6, 0, 0, 0, 0x0f, 0x86, 0xf4, 0xff, 0xff, 0xff]);
    for pad in 0..40 {
        let mut asm = Assembler::new(Encoding::Vex, 8);
        asm.bytes.resize(pad, 0x90);
        asm.align_loop();
        assert_eq!(asm.here(), pad.next_multiple_of(32));
    }
}
