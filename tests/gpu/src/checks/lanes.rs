//! Copies through the staging ring, tickets, memory and its limits, graphs.

use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, ErrorKind, Layout, Result, Shape, Solo};
use forerun_cuda::{DeviceIo, Gpu, Graph};
use forerun_ops::Point;
use forerun_plan::{Instr, Kernel, Lane, Program, ProgramInput, Reduce, ReduceKind, Reg};
use std::sync::Arc;

pub(super) fn check(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    type Part = fn(&Arc<Gpu>) -> Result<bool>;
    let parts: [(&str, Part); 6] = [
        ("copies", copies),
        ("tickets", tickets),
        ("memory", memory),
        ("limit", limit),
        ("graphs", graphs),
        ("wide", wide),
    ];
    for (name, part) in parts {
        let outcome = part(gpu).map_err(|error| error.to_string());
        ledger.note(
            "lanes",
            name,
            outcome.and_then(|good| if good { Ok(0.0) } else { Err("does not hold".to_owned()) }),
        );
    }
}

/// Copies of more bytes than the ring holds, in both directions, from several threads.
fn copies(gpu: &Arc<Gpu>) -> Result<bool> {
    let through = |seed: u64, length: usize| -> Result<bool> {
        let mut random = Random(seed);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let room = gpu.alloc(length)?;
        let launched = gpu.record(Lane::Compute)?;
        gpu.wait(Lane::In, Lane::Compute, launched)?;
        let mut back = vec![0; length];
        // SAFETY: the memory was just allocated.
        unsafe {
            gpu.copy_in(&bytes, room, &Solo)?;
            let ticket = gpu.record(Lane::In)?;
            gpu.wait(Lane::Out, Lane::In, ticket)?;
            gpu.copy_out(room, &mut back, &Solo)?;
        }
        gpu.synchronize()?;
        gpu.free(room, length)?;
        Ok(bytes == back)
    };
    let all = std::thread::scope(|scope| {
        let lengths = [1, 4096, 50_000_003, 30_000_001];
        let threads: Vec<_> =
            lengths.into_iter().enumerate().map(|(n, length)| scope.spawn(move || through(n as u64, length))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or(Ok(false))).collect::<Result<Vec<bool>>>()
    })?;
    Ok(all.into_iter().all(|good| good))
}

fn tickets(gpu: &Arc<Gpu>) -> Result<bool> {
    let first = gpu.record(Lane::Compute)?;
    let second = gpu.record(Lane::Compute)?;
    gpu.wait(Lane::In, Lane::Compute, second)?;
    let other = gpu.record(Lane::In)?;
    gpu.block(Lane::In, other)?;
    let passed = gpu.passed(Lane::Compute)?;
    Ok(first < second && passed >= second && gpu.passed(Lane::In)? >= other)
}

fn memory(gpu: &Arc<Gpu>) -> Result<bool> {
    gpu.synchronize()?;
    gpu.empty_cache()?;
    let before = gpu.memory_info()?;
    let block = gpu.alloc(96 << 20)?;
    let during = gpu.memory_info()?;
    gpu.free(block, 96 << 20)?;
    let again = gpu.alloc(96 << 20)?;
    let hit = gpu.memory_info()?.hits == during.hits + 1 && again == block;
    gpu.free(again, 96 << 20)?;
    let after = gpu.memory_info()?;
    let counted = during.live == before.live + (96 << 20) && after.live == before.live && after.cached >= 96 << 20;
    gpu.empty_cache()?;
    // Other allocations may prevent the driver's pool from returning memory; then the cached bytes stay as before.
    Ok(hit && counted && gpu.memory_info()?.cached < before.cached + (96 << 20))
}

/// Beyond the limit and beyond the device memory: an error, and the next allocation succeeds.
fn limit(gpu: &Arc<Gpu>) -> Result<bool> {
    let info = gpu.memory_info()?;
    gpu.set_memory_limit(info.live + (64 << 20));
    let refused = gpu.alloc(65 << 20).is_err_and(|error| error.kind() == ErrorKind::Memory);
    // Cached blocks are released for another class.
    let block = gpu.alloc(40 << 20)?;
    gpu.free(block, 40 << 20)?;
    let another = gpu.alloc(60 << 20)?;
    gpu.free(another, 60 << 20)?;
    gpu.set_memory_limit(usize::MAX / 2);
    let exhausted = gpu.alloc(info.total * 2).is_err_and(|error| error.kind() == ErrorKind::Memory);
    gpu.set_memory_limit(info.limit);
    let small = gpu.alloc(1 << 20)?;
    gpu.free(small, 1 << 20)?;
    Ok(refused && exhausted)
}

/// `x + s` three times as a graph; then with another scalar.
fn graphs(gpu: &Arc<Gpu>) -> Result<bool> {
    let (f, count) = (DType::F32, 1000usize);
    let shape = Shape::of(&[count]);
    let args = [Reg::Input(0), Reg::Scalar(0), Reg::Input(0)];
    let program = Program {
        shape,
        inputs: vec![ProgramInput { dtype: f, layout: Layout::dense(shape) }],
        scalars: vec![f],
        code: vec![Instr { op: Point::Add, dtype: f, out: f, dst: Reg::Out(0), args }],
        outputs: vec![f],
        temps: 0,
    };
    let kernel = gpu.compile(&Kernel::Pointwise(program));
    let x = gpu.alloc(4 * count)?;
    let add = || {
        let io = DeviceIo { inputs: &[x], outputs: &[x], scalars: &[1f32.to_bits() as u64], status: 0 };
        // SAFETY: the buffer has this many elements, and each is read before it is written.
        unsafe { kernel.enqueue(io) }
    };
    while !kernel.is_ready() {
        std::thread::yield_now();
    }
    // SAFETY: the buffer has this many elements, and each is read before it is written.
    unsafe { gpu.set_bytes(x, 0, 4 * count)? };
    let mut graph = Graph::capture(gpu, || (0..3).try_for_each(|_| add()))?;
    let read = || -> Result<f32> {
        gpu.synchronize()?;
        let mut bytes = [0; 4];
        // SAFETY: the last element.
        unsafe { gpu.copy_out(x + 4 * (count as u64 - 1), &mut bytes, &Solo)? };
        Ok(f32::from_le_bytes(bytes))
    };
    let captured = read()?;
    // SAFETY: the captured launches may run again; the words are size, input, output, scalar, and two of a mark, which
    // a captured kernel does not write.
    unsafe {
        graph.replay()?;
        graph.replay()?;
        let twice = read()?;
        graph.set_words(1, 6, &[(3, 10f32.to_bits() as u64)])?;
        graph.replay()?;
        let changed = read()?;
        gpu.free(x, 4 * count)?;
        Ok((captured, twice, changed, graph.kernels()) == (0.0, 6.0, 18.0, 3))
    }
}

/// More elements than 32-bit indices allow: all but the last two are false. Checks their negation, and the index of the
/// first true one.
fn wide(gpu: &Arc<Gpu>) -> Result<bool> {
    let (b, count) = (DType::Bool, (1usize << 30) + 77);
    let shape = Shape::of(&[count]);
    let inputs = vec![ProgramInput { dtype: b, layout: Layout::dense(shape) }];
    let code = vec![Instr { op: Point::LogicalNot, dtype: b, out: b, dst: Reg::Out(0), args: [Reg::Input(0); 3] }];
    let not = Program { shape, inputs, scalars: vec![], code, outputs: vec![b], temps: 0 };
    let bare = Program { code: vec![], outputs: vec![], ..not.clone() };
    let (arg, kind) = (Reg::Input(0), ReduceKind::ArgMax);
    let first = Reduce { program: bare, arg, dtype: b, kind, outer: 1, reduced: count, inner: 1 };
    let [x, y, at] = [gpu.alloc(count)?, gpu.alloc(count)?, gpu.alloc(8)?];
    let (mut end, mut place) = ([0u8; 4], [0u8; 8]);
    // SAFETY: the buffers have this many elements.
    unsafe {
        gpu.set_bytes(x, 0, count - 2)?;
        gpu.set_bytes(x + count as u64 - 2, 1, 2)?;
        for (kernel, out) in [(Kernel::Pointwise(not), y), (Kernel::Reduce(first), at)] {
            gpu.compile(&kernel).enqueue(DeviceIo { inputs: &[x], outputs: &[out], scalars: &[], status: 0 })?;
        }
        gpu.synchronize()?;
        gpu.copy_out(y + count as u64 - 4, &mut end, &Solo)?;
        gpu.copy_out(at, &mut place, &Solo)?;
    }
    for (address, bytes) in [(x, count), (y, count), (at, 8)] {
        gpu.free(address, bytes)?;
    }
    Ok(end == [1, 1, 0, 0] && i64::from_le_bytes(place) == count as i64 - 2)
}
