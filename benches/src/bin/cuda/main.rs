//! The CUDA backend: kernels, products, launches, copies and memory, compared with the driver and cuBLAS. Needs a
//! machine with a device; prints one line per measurement.

mod peers;

use forerun_base::{DType, Device, Kind, Layout, Result, Scalar, Shape, Solo, Team};
use forerun_cuda::{DeviceIo, Gpu, Graph, LaunchableKernel};
use forerun_ops::Point;
use forerun_plan::{Fill, FillKind, Instr, Kernel, Lane, Product, Program, ProgramInput, Reduce, ReduceKind, Reg};
use peers::{Direct, Raw};
use std::sync::Arc;
use std::time::Instant;

const F: DType = DType::F32;

fn main() {
    if let Err(error) = measure() {
        eprintln!("cuda: {error}");
        std::process::exit(1);
    }
}

fn measure() -> Result<()> {
    let gpu = Gpu::open(0)?;
    println!("{}, {} multiprocessors", gpu.name(), gpu.processors());
    gpu.warm_up();
    fused(&gpu)?;
    reductions(&gpu)?;
    copies(&gpu)?;
    random(&gpu)?;
    products(&gpu)?;
    launches(&gpu)?;
    compiling(&gpu)?;
    memory(&gpu)?;
    println!("{:?}", gpu.counts());
    gpu.stop();
    Ok(())
}

fn line(what: &str, figure: f64, unit: &str, more: &str) {
    println!("{what:<52} {figure:>10.2} {unit:<8} {more}");
}

/// Seconds per call: the median of several rounds of `count` calls and a wait.
fn rounds(count: usize, mut call: impl FnMut() -> Result<()>, wait: impl Fn() -> Result<()>) -> Result<f64> {
    (0..3).try_for_each(|_| call())?;
    wait()?;
    let mut rounds = Vec::new();
    for _ in 0..7 {
        let begun = Instant::now();
        (0..count).try_for_each(|_| call())?;
        wait()?;
        rounds.push(begun.elapsed().as_secs_f64() / count as f64);
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[3])
}

fn seconds(gpu: &Gpu, count: usize, call: impl FnMut() -> Result<()>) -> Result<f64> {
    rounds(count, call, || gpu.record(Lane::Compute).and_then(|ticket| gpu.block(Lane::Compute, ticket)))
}

fn ready(kernel: &LaunchableKernel) -> f64 {
    let begun = Instant::now();
    while !kernel.is_ready() {
        std::thread::yield_now();
    }
    begun.elapsed().as_secs_f64()
}

fn run(kernel: &LaunchableKernel, inputs: &[u64], outputs: &[u64], scalars: &[u64]) -> Result<()> {
    // SAFETY: the caller passes buffers of the kernel's size.
    unsafe { kernel.enqueue(DeviceIo { inputs, outputs, scalars, status: 0 }) }
}

/// Buffers of float32, filled with normal numbers.
fn filled(gpu: &Arc<Gpu>, count: usize, size: usize) -> Result<Vec<u64>> {
    let fill = gpu.compile(&Kernel::Fill(Fill { dtype: F, shape: Shape::of(&[size]), kind: FillKind::Normal }));
    (0..count as u64)
        .map(|n| {
            let address = gpu.alloc(size * 4)?;
            run(&fill, &[], &[address], &[7, n << 32]).map(|()| address)
        })
        .collect()
}

fn release(gpu: &Gpu, buffers: Vec<u64>, bytes: usize) -> Result<()> {
    gpu.synchronize()?;
    buffers.into_iter().try_for_each(|address| gpu.free(address, bytes))?;
    gpu.empty_cache()
}

/// `op(x, y) * y + x * 2 - y / 3`; `salt` makes a text that nobody has compiled yet.
fn chain(size: usize, op: Point, dtype: DType, salt: usize) -> Kernel {
    let shape = Shape::of(&[size]);
    let input = ProgramInput { dtype, layout: Layout::dense(shape) };
    let carrier = dtype.carrier();
    let [x, y, a, b] = [0, 1, 2, 3].map(Reg::Temp);
    let instr = |op, dst, args| Instr { op, dtype: carrier, out: carrier, dst, args };
    let cast = |from, out, dst, arg| Instr { op: Point::Cast, dtype: from, out, dst, args: [arg; 3] };
    let divide = if dtype.kind() == Kind::Int { Point::FloorDivide } else { Point::Divide };
    let mut code = vec![
        cast(dtype, carrier, x, Reg::Input(0)),
        cast(dtype, carrier, y, Reg::Input(1)),
        instr(op, a, [x, y, x]),
        instr(Point::Multiply, a, [a, y, a]),
        instr(Point::Multiply, b, [x, Reg::Scalar(0), x]),
        instr(Point::Add, a, [a, b, a]),
        instr(divide, b, [y, Reg::Scalar(1), y]),
    ];
    let mut left = salt;
    while left > 0 {
        code.push(instr([Point::Relu, Point::Abs, Point::Square][left % 3], b, [b; 3]));
        left /= 3;
    }
    code.push(instr(Point::Subtract, a, [a, b, a]));
    code.push(cast(carrier, dtype, Reg::Out(0), a));
    let (scalars, outputs) = (vec![carrier; 2], vec![dtype]);
    Kernel::Pointwise(Program { shape, inputs: vec![input; 2], scalars, code, outputs, temps: 4 })
}

fn factors(dtype: DType) -> [u64; 2] {
    [Scalar::Float(2.0).to_bits(dtype), Scalar::Float(3.0).to_bits(dtype)]
}

fn fused(gpu: &Arc<Gpu>) -> Result<()> {
    let size = 128 << 20;
    let buffers = filled(gpu, 3, size)?;
    let launch = gpu.compile(&chain(size, Point::Tanh, F, 0));
    ready(&launch);
    let took = seconds(gpu, 20, || run(&launch, &buffers[..2], &buffers[2..], &factors(F)))?;
    line("tanh(x)*y + x*2 - y/3, 512 MiB arrays", 12.0 * size as f64 / took / 1e9, "GB/s", "ideal bytes");
    let shape = Shape::of(&[size]);
    let input = ProgramInput { dtype: F, layout: Layout::dense(shape) };
    let code = vec![Instr {
        op: Point::Add,
        dtype: F,
        out: F,
        dst: Reg::Out(0),
        args: [Reg::Input(0), Reg::Input(1), Reg::Input(0)],
    }];
    let add = Program { shape, inputs: vec![input; 2], scalars: vec![], code, outputs: vec![F], temps: 0 };
    let add = gpu.compile(&Kernel::Pointwise(add));
    ready(&add);
    let took = seconds(gpu, 20, || run(&add, &buffers[..2], &buffers[2..], &[]))?;
    line("x + y, 512 MiB arrays", 12.0 * size as f64 / took / 1e9, "GB/s", "");
    release(gpu, buffers, size * 4)
}

fn reductions(gpu: &Arc<Gpu>) -> Result<()> {
    let size = 128 << 20;
    let buffers = filled(gpu, 2, size)?;
    for (name, [outer, reduced, inner]) in [
        ("sum over 512 MiB", [1, size, 1]),
        ("sum along rows, 16384 x 8192", [16384, 8192, 1]),
        ("sum along columns, 16384 x 8192", [1, 16384, 8192]),
        ("sum along rows, 2097152 x 64", [2 << 20, 64, 1]),
    ] {
        let shape = Shape::of(&[outer, reduced, inner]);
        let inputs = vec![ProgramInput { dtype: F, layout: Layout::dense(shape) }];
        let program = Program { shape, inputs, scalars: vec![], code: vec![], outputs: vec![], temps: 0 };
        let kind = ReduceKind::Sum;
        let reduce = Reduce { program, arg: Reg::Input(0), dtype: F, kind, outer, reduced, inner };
        let launch = gpu.compile(&Kernel::Reduce(reduce));
        ready(&launch);
        let took = seconds(gpu, 20, || run(&launch, &buffers[..1], &buffers[1..], &[]))?;
        line(name, 4.0 * size as f64 / took / 1e9, "GB/s", &format!("{:.1} us", took * 1e6));
    }
    // The program that feeds a reduction is evaluated where it is folded.
    let shape = Shape::of(&[16384, 8192, 1]);
    let instr = |op, args| Instr { op, dtype: F, out: F, dst: Reg::Temp(0), args };
    let code = vec![
        instr(Point::Subtract, [Reg::Input(0), Reg::Scalar(0), Reg::Input(0)]),
        instr(Point::Exp, [Reg::Temp(0); 3]),
    ];
    let inputs = vec![ProgramInput { dtype: F, layout: Layout::dense(shape) }];
    let program = Program { shape, inputs, scalars: vec![F], code, outputs: vec![], temps: 1 };
    let (outer, reduced, inner) = (shape[0], shape[1], 1);
    let fed = Reduce { program, arg: Reg::Temp(0), dtype: F, kind: ReduceKind::Sum, outer, reduced, inner };
    let launch = gpu.compile(&Kernel::Reduce(fed));
    ready(&launch);
    let took = seconds(gpu, 20, || run(&launch, &buffers[..1], &buffers[1..], &factors(F)[..1]))?;
    line("sum of exp(x - s) along rows, 16384 x 8192", 4.0 * size as f64 / took / 1e9, "GB/s", "");
    release(gpu, buffers, size * 4)
}

fn copies(gpu: &Arc<Gpu>) -> Result<()> {
    let side = 8192;
    let size = side * side;
    let buffers = filled(gpu, 2, size)?;
    let shape = Shape::of(&[side, side]);
    let layout = Layout::dense(shape).permute(&[1, 0]);
    let code = vec![Instr { op: Point::Copy, dtype: F, out: F, dst: Reg::Out(0), args: [Reg::Input(0); 3] }];
    let inputs = vec![ProgramInput { dtype: F, layout }];
    let turn = Program { shape, inputs, scalars: vec![], code, outputs: vec![F], temps: 0 };
    let turn = gpu.compile(&Kernel::Pointwise(turn));
    ready(&turn);
    let took = seconds(gpu, 20, || run(&turn, &buffers[..1], &buffers[1..], &[]))?;
    line("transposing copy, 8192 x 8192", 8.0 * size as f64 / took / 1e9, "GB/s", "");
    let mut host = vec![1u8; size * 4];
    for (team, threads) in [(&Solo as &dyn Team, "one thread"), (&Threads(4), "four threads")] {
        // SAFETY: the buffers have this many bytes, and nothing else runs.
        let there = || unsafe { gpu.copy_in(&host, buffers[0], team) };
        there()?;
        gpu.synchronize()?;
        let begun = Instant::now();
        (0..5).try_for_each(|_| there())?;
        gpu.synchronize()?;
        let rate = |begun: Instant| 5.0 * 4.0 * size as f64 / begun.elapsed().as_secs_f64() / 1e9;
        line("host to device, pageable, 256 MiB", rate(begun), "GB/s", threads);
        let begun = Instant::now();
        for _ in 0..5 {
            // SAFETY: the buffers have this many bytes, and nothing else runs.
            unsafe { gpu.copy_out(buffers[0], &mut host, team)? };
        }
        line("device to host, pageable, 256 MiB", rate(begun), "GB/s", threads);
    }
    release(gpu, buffers, size * 4)
}

fn random(gpu: &Arc<Gpu>) -> Result<()> {
    let shape = Shape::of(&[4096, 4096]);
    let out = gpu.alloc(shape.size() * 4)?;
    for kind in [FillKind::Normal, FillKind::Uniform] {
        let fill = gpu.compile(&Kernel::Fill(Fill { dtype: F, shape, kind }));
        ready(&fill);
        let took = seconds(gpu, 50, || run(&fill, &[], &[out], &[1, 0]))?;
        line(&format!("{kind:?}, 4096 x 4096"), took * 1e6, "us", "");
    }
    release(gpu, vec![out], shape.size() * 4)
}

fn products(gpu: &Arc<Gpu>) -> Result<()> {
    let side = 4096;
    let flops = 2.0 * (side as f64).powi(3);
    let shape = Shape::of(&[side, side]);
    let layout = Layout::dense(shape);
    let direct = Direct::open();
    let cases = [
        ("product 4096, float32", F, false),
        ("product 4096, float32 by tf32", F, true),
        ("product 4096, bfloat16", DType::BF16, false),
        ("product 4096, float64", DType::F64, false),
    ];
    for (name, dtype, tf32) in cases {
        let bytes = side * side * dtype.size();
        let buffers: Vec<u64> = (0..3).map(|_| gpu.alloc(bytes)).collect::<Result<_>>()?;
        draw(gpu, dtype, side, &buffers)?;
        gpu.set_tf32(tf32);
        let (batch, m, n, k) = (Shape::SCALAR, side, side, side);
        let product = Product { dtype, batch, m, n, k, a: layout, b: layout, tail: None };
        let launch = gpu.compile(&Kernel::Product(product));
        let took = seconds(gpu, 10, || run(&launch, &buffers[..2], &buffers[2..3], &[]))?;
        let abc = [buffers[0], buffers[1], buffers[2]];
        let peer = direct.as_ref().map(|direct| direct.seconds(gpu, side, abc, dtype, tf32));
        let more = match peer {
            Ok(peer) => format!("{:.3} of cuBLAS ({:.2})", peer / took, flops / peer / 1e12),
            Err(text) => format!("cuBLAS: {text}"),
        };
        line(name, flops / took / 1e12, "TFLOP/s", &more);
        release(gpu, buffers, bytes)?;
    }
    gpu.set_tf32(false);
    Ok(())
}

/// Fills square matrices with normal numbers. Half floats are drawn as float32 and rounded.
fn draw(gpu: &Arc<Gpu>, dtype: DType, side: usize, matrices: &[u64]) -> Result<()> {
    let shape = Shape::of(&[side, side]);
    let drawn = if dtype == DType::BF16 { F } else { dtype };
    let fill = gpu.compile(&Kernel::Fill(Fill { dtype: drawn, shape, kind: FillKind::Normal }));
    if drawn == dtype {
        return matrices.iter().try_for_each(|address| run(&fill, &[], &[*address], &[3, *address]));
    }
    let input = ProgramInput { dtype: drawn, layout: Layout::dense(shape) };
    let code = vec![Instr { op: Point::Cast, dtype: drawn, out: dtype, dst: Reg::Out(0), args: [Reg::Input(0); 3] }];
    let cast = Program { shape, inputs: vec![input], scalars: vec![], code, outputs: vec![dtype], temps: 0 };
    let cast = gpu.compile(&Kernel::Pointwise(cast));
    ready(&cast);
    let bytes = shape.size() * drawn.size();
    let wide = gpu.alloc(bytes)?;
    for address in matrices {
        run(&fill, &[], &[wide], &[3, *address])?;
        run(&cast, &[wide], &[*address], &[])?;
    }
    gpu.free(wide, bytes)
}

fn launches(gpu: &Arc<Gpu>) -> Result<()> {
    let shape = Shape::of(&[1, 2]);
    let input = ProgramInput { dtype: F, layout: Layout::dense(shape) };
    let args = [Reg::Input(0), Reg::Scalar(0), Reg::Input(0)];
    let code = vec![Instr { op: Point::Add, dtype: F, out: F, dst: Reg::Out(0), args }];
    let add = Program { shape, inputs: vec![input], scalars: vec![F], code, outputs: vec![F], temps: 0 };
    let add = gpu.compile(&Kernel::Pointwise(add));
    ready(&add);
    let x = gpu.alloc(8)?;
    let one = [Scalar::Float(1.0).to_bits(F)];
    let call = || run(&add, &[x], &[x], &one);
    let ours = seconds(gpu, 2000, call)?;
    let raw = Raw::open(gpu)?;
    let plain = rounds(2000, || raw.launch(x), || raw.wait())?;
    line(
        "x + 1, shape (1, 2), a launch",
        ours * 1e6,
        "us",
        &format!("{:.2} of a raw launch ({:.2} us)", ours / plain, plain * 1e6),
    );
    let waited = seconds(gpu, 200, || {
        call()?;
        let ticket = gpu.record(Lane::Compute)?;
        gpu.block(Lane::Compute, ticket)
    })?;
    line("the same, waited for each time", waited * 1e6, "us", "");
    let graph = Graph::capture(gpu, || (0..1000).try_for_each(|_| call()))?;
    // SAFETY: the captured launches may run again, since their buffers are still valid.
    let replay = seconds(gpu, 5, || unsafe { graph.replay() })?;
    line("the same in a graph of 1000, a launch", replay / 1000.0 * 1e6, "us", "");
    gpu.synchronize()?;
    arrays(&raw, x)?;
    gpu.free(x, 8)
}

/// The same with arrays, through the whole engine, interleaved with raw launches.
fn arrays(raw: &Raw, address: u64) -> Result<()> {
    let x = forerun::device::on_device(Device::Gpu(0), || forerun::ones([1, 2]))?;
    let count = 2000;
    let chain = || {
        let mut y = &x + 1.0;
        for _ in 1..count {
            y = &y + 1.0;
        }
        y.wait_to_read()
    };
    let timed = |run: &dyn Fn() -> Result<()>| -> Result<f64> {
        let begun = Instant::now();
        run()?;
        Ok(begun.elapsed().as_secs_f64() / count as f64)
    };
    let launches = || (0..count).try_for_each(|_| raw.launch(address)).and_then(|()| raw.wait());
    let waits = || (0..count).try_for_each(|_| (&x + 1.0).wait_to_read());
    forerun::runtime::set_drop_dead(false);
    let unfused = || {
        forerun::runtime::set_fuse(false);
        let ended = chain();
        forerun::runtime::set_fuse(true);
        ended
    };
    let runs: [&dyn Fn() -> Result<()>; 4] = [&launches, &unfused, &chain, &waits];
    let mut took = [const { Vec::new() }; 4];
    for round in 0..13 {
        for (run, took) in runs.iter().zip(&mut took) {
            let seconds = timed(*run)?;
            if round >= 2 {
                took.push(seconds);
            }
        }
    }
    let [plain, unfused, fused, waited] = took.map(|mut took| {
        took.sort_by(f64::total_cmp);
        took[took.len() / 2] * 1e6
    });
    let more = format!("{:.2} of a raw launch ({plain:.2} us)", unfused / plain);
    line("a chain of y + 1 by arrays, unfused, an op", unfused, "us", &more);
    line("the same, fused by the window", fused, "us", "");
    line("x + 1 by arrays, waited for each time", waited, "us", "");
    Ok(())
}

/// New chains: how long until each has its kernel, and how fast that is.
fn compiling(gpu: &Arc<Gpu>) -> Result<()> {
    let bytes = 512 << 20;
    let buffers = filled(gpu, 3, bytes / 4)?;
    // Every process has chains of its own.
    let salt = 243 + std::process::id() as usize % 486;
    let chains = [
        (Point::Tanh, F),
        (Point::Tanh, F),
        (Point::Tanh, DType::F64),
        (Point::Tanh, DType::F16),
        (Point::Tanh, DType::BF16),
        (Point::Sin, F),
        (Point::Sin, DType::F64),
        (Point::Exp, F),
        (Point::Power, F),
        (Point::Fmod, F),
        (Point::Add, F),
        (Point::Add, DType::I8),
        (Point::FloorDivide, DType::I32),
        (Point::Gcd, DType::I64),
    ];
    for (n, (op, dtype)) in chains.into_iter().enumerate() {
        let size = bytes / dtype.size();
        let kernel = chain(size, op, dtype, salt * chains.len() + n);
        let scalars = factors(dtype.carrier());
        let begun = Instant::now();
        let launch = gpu.compile(&kernel);
        let asked = begun.elapsed().as_secs_f64();
        ready(&launch);
        let there = begun.elapsed().as_secs_f64();
        let took = seconds(gpu, 5, || run(&launch, &buffers[..2], &buffers[2..], &scalars))?;
        let rate = 3.0 * bytes as f64 / took / 1e9;
        let more = format!("then {rate:.0} GB/s; compile() {:.2} ms", asked * 1e3);
        line(&format!("a new chain with {op}, {dtype}"), there * 1e3, "ms", &more);
    }
    release(gpu, buffers, bytes)
}

fn memory(gpu: &Arc<Gpu>) -> Result<()> {
    let took = seconds(gpu, 1000, || gpu.alloc(1 << 20).and_then(|address| gpu.free(address, 1 << 20)))?;
    line("alloc and free, 1 MiB, from the cache", took * 1e6, "us", "");
    let info = gpu.memory_info()?;
    line(
        "device memory in use, at the most",
        info.peak as f64 / (1 << 20) as f64,
        "MiB",
        &format!("{} asked, {} hits", info.asked, info.hits),
    );
    Ok(())
}

/// A team that spawns threads for each split.
struct Threads(usize);

impl Team for Threads {
    fn width(&self) -> usize {
        self.0
    }

    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            while let n = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
                && n < pieces
            {
                piece(n);
            }
        };
        std::thread::scope(|scope| {
            (1..self.0).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}
