//! Prints the cost of the kernels on this machine: the best of several rounds, with ratios measured in the same run.

use forerun_base::{BytesLedger, DType, Layout, Scalar, Shape, Solo, Team};
use forerun_cpu::{CpuBackend, Pool};
use forerun_ops::Point;
use forerun_plan::{
    Backend, Executable, Fill, FillKind, Instr, Io, Kernel, Product, Program, ProgramInput, Reduce, ReduceKind, Reg,
};
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

const F: DType = DType::F32;
const ROUNDS: usize = 15;

/// A second thread that spins for work, like an awake worker.
struct Two {
    work: std::sync::Mutex<Option<usize>>,
    job: AtomicUsize,
    next: AtomicUsize,
    pieces: AtomicUsize,
    turn: AtomicUsize,
    done: AtomicUsize,
    stop: AtomicBool,
}

impl Two {
    fn new() -> Arc<Two> {
        let team = Arc::new(Two {
            work: Default::default(),
            job: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            pieces: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let worker = team.clone();
        std::thread::spawn(move || {
            let mut seen = 0;
            while !worker.stop.load(Ordering::Relaxed) {
                let turn = worker.turn.load(Ordering::Acquire);
                if turn == seen {
                    spin_loop();
                    continue;
                }
                seen = turn;
                worker.take();
                worker.done.store(turn, Ordering::Release);
            }
        });
        team
    }

    fn take(&self) {
        let job = self.job.load(Ordering::Acquire) as *const &(dyn Fn(usize) + Sync);
        loop {
            let i = self.next.fetch_add(1, Ordering::AcqRel);
            if i >= self.pieces.load(Ordering::Acquire) {
                break;
            }
            // SAFETY: `split` keeps the job alive until both threads have finished with it.
            unsafe { (*job)(i) };
        }
    }
}

impl Team for Two {
    fn width(&self) -> usize {
        2
    }

    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        let _one_at_a_time = self.work.lock();
        self.job.store(&raw const piece as usize, Ordering::Release);
        self.pieces.store(pieces, Ordering::Release);
        self.next.store(0, Ordering::Release);
        let turn = self.turn.load(Ordering::Relaxed) + 1;
        self.turn.store(turn, Ordering::Release);
        self.take();
        while self.done.load(Ordering::Acquire) != turn {
            spin_loop();
        }
    }
}

struct Nobody;

impl BytesLedger for Nobody {
    fn charge(&self, _: usize) {}
    fn release(&self, _: usize) {}
}

/// CPU seconds of the calling thread. With `cpu` as an argument, single-thread figures are valid on a busy machine.
fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn best(f: impl FnMut()) -> f64 {
    best_of(ROUNDS, f)
}

fn best_of(rounds: usize, mut f: impl FnMut()) -> f64 {
    let busy = std::env::args().any(|a| a == "cpu");
    let start = Instant::now();
    let now = || if busy { thread_seconds() } else { start.elapsed().as_secs_f64() };
    f();
    (0..rounds)
        .map(|_| {
            let start = now();
            f();
            now() - start
        })
        .fold(f64::MAX, f64::min)
}

/// The best time of each, interleaved, so that disturbances affect all of them.
fn best_in_turn<const N: usize>(mut all: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [f64::MAX; N];
    for _ in 0..ROUNDS {
        for (time, one) in times.iter_mut().zip(&mut all) {
            *time = time.min(best_of(1, one));
        }
    }
    times
}

fn floats(pool: &Pool, count: usize) -> *mut f32 {
    let block = pool.alloc(count * 4).expect("memory");
    let ptr = block.ptr.as_ptr().cast::<f32>();
    for i in 0..count {
        // SAFETY: within the block.
        unsafe { ptr.add(i).write(((i * 7919) % 2003) as f32 / 500.0 - 2.0) };
    }
    ptr
}

fn go(exe: &Arc<dyn Executable>, inputs: &[*const u8], outputs: &[*mut u8], scalars: &[u64], team: &dyn Team) {
    // SAFETY: the buffers have the size that the kernels require.
    unsafe { exe.run(Io { inputs, outputs, scalars }, team) }
}

fn dense(shape: Shape) -> ProgramInput {
    ProgramInput { dtype: F, layout: Layout::dense(shape) }
}

fn instr(op: Point, dst: Reg, args: [Reg; 3]) -> Instr {
    Instr { op, dtype: F, out: F, dst, args }
}

fn add_one(shape: Shape) -> Kernel {
    let (x, one) = (Reg::Input(0), Reg::Scalar(0));
    let code = vec![instr(Point::Add, Reg::Out(0), [x, one, x])];
    Kernel::Pointwise(Program { shape, inputs: vec![dense(shape)], scalars: vec![F], code, outputs: vec![F], temps: 0 })
}

/// tanh(x) * y + x * 2 - y / 3.
fn chain(shape: Shape) -> Kernel {
    let (x, y, t, u) = (Reg::Input(0), Reg::Input(1), Reg::Temp(0), Reg::Temp(1));
    let code = vec![
        instr(Point::Tanh, t, [x; 3]),
        instr(Point::Multiply, t, [t, y, t]),
        instr(Point::Multiply, u, [x, Reg::Scalar(0), x]),
        instr(Point::Add, t, [t, u, t]),
        instr(Point::Divide, u, [y, Reg::Scalar(1), y]),
        instr(Point::Subtract, Reg::Out(0), [t, u, t]),
    ];
    let inputs = vec![dense(shape), dense(shape)];
    Kernel::Pointwise(Program { shape, inputs, scalars: vec![F, F], code, outputs: vec![F], temps: 2 })
}

fn small(backend: &CpuBackend) {
    println!("small calls, ns");
    let x = [1.0f32; 256];
    let mut y = [0.0f32; 256];
    for n in [1, 2, 16, 64, 256] {
        let exe = backend.compile(&add_one(Shape::of(&[1, n])));
        let one = [Scalar::Float(1.0).to_bits(F)];
        let time = best(|| {
            for _ in 0..100_000 {
                go(black_box(&exe), &[x.as_ptr().cast()], &[y.as_mut_ptr().cast()], &one, &Solo);
            }
        });
        println!("  x + 1 over {n:4}: {:6.1}", time * 1e4);
    }
    let pool = Pool::new(Arc::new(Nobody));
    let time = best(|| {
        for _ in 0..100_000 {
            pool.free(black_box(pool.alloc(black_box(8)).expect("memory")));
        }
    });
    println!("  alloc and free of 8 bytes: {:.1}", time * 1e4);
}

#[cfg(target_arch = "x86_64")]
mod by_hand {
    //! The chain as one hand-written loop.
    use forerun_base::Team;
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn horner(x: __m512, c: &[f32]) -> __m512 {
        let mut p = _mm512_set1_ps(c[0]);
        for &c in &c[1..] {
            p = _mm512_fmadd_ps(p, x, _mm512_set1_ps(c));
        }
        p
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn tanh(x: __m512) -> __m512 {
        let (sign, one) = (_mm512_set1_ps(-0.0), _mm512_set1_ps(1.0));
        let half = _mm512_max_ps(_mm512_set1_ps(-20.0), _mm512_or_ps(sign, x));
        let exponent = _mm512_add_ps(half, half);
        let n = _mm512_roundscale_ps::<8>(_mm512_mul_ps(exponent, _mm512_set1_ps(std::f32::consts::LOG2_E)));
        let r = _mm512_fmadd_ps(n, _mm512_set1_ps(-std::f32::consts::LN_2), exponent);
        let p = horner(r, &[0.001_388_249_8, 0.008_366_647, 0.041_667_204, 0.166_665_43, 0.5]);
        let bend = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
        let power = _mm512_scalef_ps(one, n);
        let part = _mm512_mul_ps(bend, power);
        let above = _mm512_sub_ps(_mm512_sub_ps(one, power), part);
        let below = _mm512_add_ps(_mm512_add_ps(one, power), part);
        _mm512_or_ps(_mm512_and_ps(sign, x), _mm512_div_ps(above, below))
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn part(x: *const f32, y: *const f32, z: *mut f32, from: usize, to: usize) {
        for i in (from..to).step_by(16) {
            // SAFETY: the caller guarantees `to` elements, a multiple of 16.
            unsafe {
                let (a, b) = (_mm512_loadu_ps(x.add(i)), _mm512_loadu_ps(y.add(i)));
                let c = _mm512_add_ps(_mm512_mul_ps(tanh(a), b), _mm512_mul_ps(a, _mm512_set1_ps(2.0)));
                _mm512_storeu_ps(z.add(i), _mm512_sub_ps(c, _mm512_div_ps(b, _mm512_set1_ps(3.0))));
            }
        }
    }

    pub(super) fn chain(x: *const f32, y: *const f32, z: *mut f32, n: usize, team: &dyn Team) {
        let (x, y, z) = (x as usize, y as usize, z as usize);
        const PIECE: usize = 32 * 1024;
        team.split(n / PIECE, &|i| {
            // SAFETY: pieces of the three arrays; the caller has checked the instruction set.
            unsafe { part(x as *const f32, y as *const f32, z as *mut f32, i * PIECE, (i + 1) * PIECE) }
        });
    }
}

/// The chain over data that fits into the L2 cache, and its compile time.
fn in_cache(backend: &CpuBackend, x: *const f32, y: *const f32, z: *mut f32) {
    let kernel = chain(Shape::of(&[16 * 1024]));
    let scalars = [Scalar::Float(2.0).to_bits(F), Scalar::Float(3.0).to_bits(F)];
    let all = [backend.emit_from(0), backend.emit_from(usize::MAX)];
    let [emitted, interpreted] = all.map(|backend| {
        let exe = backend.compile(&kernel);
        let run = best(|| (0..100).for_each(|_| go(&exe, &[x.cast(), y.cast()], &[z.cast()], &scalars, &Solo)));
        let made = best(|| (0..100).for_each(|_| drop(black_box(backend.compile(&kernel)))));
        (run / 100.0 / 16384.0 * 1e9, made / 100.0 * 1e6)
    });
    println!("the same over 16384, 1 thread, ns an element: {:.3}, interpreted {:.3}", emitted.0, interpreted.0);
    println!("compiling it, us: {:.1}, interpreted {:.1}", emitted.1, interpreted.1);
}

fn fused(backend: &CpuBackend, pool: &Pool, team: &dyn Team) {
    let shape = Shape::of(&[4096, 4096]);
    let n = shape.size();
    let (x, y, z) = (floats(pool, n), floats(pool, n), floats(pool, n));
    let exe = backend.compile(&chain(shape));
    let scalars = [Scalar::Float(2.0).to_bits(F), Scalar::Float(3.0).to_bits(F)];
    let interpreted = backend.emit_from(usize::MAX).compile(&chain(shape));
    println!("tanh(x) * y + x * 2 - y / 3 over 4096 x 4096, ms");
    for (name, team) in [("1 thread", &Solo as &dyn Team), ("2 threads", team)] {
        let mut ours = || go(&exe, &[x.cast(), y.cast()], &[z.cast()], &scalars, team);
        let mut tiles = || go(&interpreted, &[x.cast(), y.cast()], &[z.cast()], &scalars, team);
        #[cfg(target_arch = "x86_64")]
        if backend.isa().is_avx512() {
            let mut hand = || by_hand::chain(x, y, z, n, team);
            let [ours, tiles, hand] = best_in_turn([&mut ours, &mut tiles, &mut hand]).map(|time| time * 1e3);
            let ratio = ours / hand;
            println!("  {name}: {ours:.2}, interpreted {tiles:.2}, by hand {hand:.2}, ratio to it {ratio:.2}");
            continue;
        }
        let [ours, tiles] = best_in_turn([&mut ours, &mut tiles]).map(|time| time * 1e3);
        println!("  {name}: {ours:.2}, interpreted {tiles:.2}");
    }
    in_cache(backend, x, y, z);
    let one = [Scalar::Float(1.0).to_bits(F)];
    let exe = backend.compile(&add_one(shape));
    let time = best(|| go(&exe, &[x.cast()], &[z.cast()], &one, team)) * 1e3;
    println!("  x + 1, 2 threads: {time:.2}");
    let turned = Layout::dense(shape).permute(&[1, 0]);
    let input = ProgramInput { dtype: F, layout: turned };
    let code = vec![instr(Point::Copy, Reg::Out(0), [Reg::Input(0); 3])];
    let copy = Program { shape, inputs: vec![input], scalars: vec![], code, outputs: vec![F], temps: 0 };
    let exe = backend.compile(&Kernel::Pointwise(copy));
    let time = best(|| go(&exe, &[x.cast()], &[z.cast()], &[], team)) * 1e3;
    println!("  transposed copy, 2 threads: {time:.2}");
    println!("sums over 4096 x 4096, 2 threads, ms");
    for (name, outer, reduced, inner) in [("all", 1, n, 1), ("axis 0", 1, 4096, 4096), ("axis 1", 4096, 4096, 1)] {
        let program =
            Program { shape, inputs: vec![dense(shape)], scalars: vec![], code: vec![], outputs: vec![], temps: 0 };
        let kind = ReduceKind::Sum;
        let reduce = Reduce { program, arg: Reg::Input(0), dtype: F, kind, outer, reduced, inner };
        let exe = backend.compile(&Kernel::Reduce(reduce));
        let time = best(|| go(&exe, &[x.cast()], &[z.cast()], &[], team)) * 1e3;
        println!("  {name}: {time:.2}");
    }
    println!("random over 4096 x 4096, 2 threads, ms");
    for (name, kind) in [("normal", FillKind::Normal), ("uniform", FillKind::Uniform)] {
        let exe = backend.compile(&Kernel::Fill(Fill { dtype: F, shape, kind }));
        let time = best(|| go(&exe, &[], &[z.cast()], &[1, 2], team)) * 1e3;
        println!("  {name}: {time:.2}");
    }
}

fn products(backend: &CpuBackend, pool: &Pool, team: &dyn Team) {
    println!("products, GFLOP/s, 1 and 2 threads");
    let shapes = [
        (256, 256, 256, false, false),
        (1000, 1000, 1000, false, false),
        (2048, 2048, 2048, false, false),
        (4096, 4096, 4096, false, false),
        (1024, 2048, 512, false, false),
        (1024, 512, 2048, false, false),
        (512, 2048, 1024, true, false),
        (1024, 512, 2048, false, true),
        (2048, 512, 1024, true, false),
        (1024, 2048, 512, false, true),
        (1024, 1, 512, false, false),
        (1024, 10, 512, false, false),
        (512, 10, 1024, true, false),
    ];
    let size = 4096 * 4096;
    let (a, b, c) = (floats(pool, size), floats(pool, size), floats(pool, size));
    let matrix = |rows, columns, turned: bool| {
        if turned {
            Layout::dense(Shape::of(&[columns, rows])).permute(&[1, 0])
        } else {
            Layout::dense(Shape::of(&[rows, columns]))
        }
    };
    for (m, n, k, ta, tb) in shapes {
        let (la, lb) = (matrix(m, k, ta), matrix(k, n, tb));
        let exe = backend.compile(&Kernel::Product(Product {
            dtype: F,
            batch: Shape::SCALAR,
            m,
            n,
            k,
            a: la,
            b: lb,
            tail: None,
        }));
        let rate = |team: &dyn Team| {
            let repeat = (200_000_000 / (m * n * k)).clamp(1, 1000);
            let time = best(|| {
                for _ in 0..repeat {
                    go(&exe, &[a.cast(), b.cast()], &[c.cast()], &[], team);
                }
            });
            2.0 * (m * n * k * repeat) as f64 / time / 1e9
        };
        let turned = |t: bool| if t { "^T" } else { "" };
        let (one, two) = (rate(&Solo), rate(team));
        println!("  {m:4} x {n:4} x {k:4} A{:2} B{:2}: {one:6.1} {two:6.1}", turned(ta), turned(tb));
    }
}

fn main() {
    let backend = CpuBackend::new();
    let pool = Pool::new(Arc::new(Nobody));
    let team = Two::new();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| a != "cpu" && a != "solo").collect();
    let solo = std::env::args().any(|a| a == "solo");
    let both: &dyn Team = if solo { &Solo } else { &*team };
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    println!("{}", backend.isa().name());
    if runs("small") {
        small(&backend);
    }
    if runs("fused") {
        fused(&backend, &pool, both);
    }
    if runs("products") {
        products(&backend, &pool, both);
    }
    team.stop.store(true, Ordering::Relaxed);
}
