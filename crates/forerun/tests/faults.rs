//! Every fail point that Rust reaches, with every kind of failure. What depends on the failure raises and names both
//! lines, everything else has the bits of a run without it, the next program is right, and no memory is lost.

#![cfg(any(feature = "faults", debug_assertions))]

use forerun::device::SimOptions;
use forerun::device::{device_stats, simulate};
use forerun::fail::{self, How, SITES, Site};
use forerun::grad::{self, Differentiable, record, record_function};
use forerun::memory::{empty_cache, memory_stats};
use forerun::runtime::Mode;
use forerun::runtime::{engine, set_drop_dead, slots};
use forerun::{Array, Beyond, Device, Error, ErrorKind, Index, Loc, ops};
use forerun::{arange, nn, ones, wait_all};
use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Sites that only Python reaches are tested in `tests/python/test_faults.py`.
const PYTHON: [&str; 4] = ["file.", "function.", "await.", "fork."];

/// Maximum number of hits of a site that are made to fail, one run each.
const MOST_HITS: u64 = 40;

/// Sites that the synchronous engine cannot reach: a kernel has one record, so that none is run record by record, and
/// an array is settled before it can be awaited.
const UNREACHED_OP_BY_OP: [&str; 3] = ["apart.record", "apart.room", "wake.call"];

/// Number of runs in which a site may be missed.
const TRIES: u32 = 200;

/// Armed sites are process-wide, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    static DEVICE: Once = Once::new();
    DEVICE.call_once(|| simulate(1, SimOptions { memory: 64 << 20, ..SimOptions::default() }).unwrap());
    fail::disarm();
    let _ = wait_all();
    guard
}

/// A result and those of its inputs that are results too.
struct Made {
    array: Array,
    from: Vec<usize>,
}

/// A mixture of ops, tiny and large: host data, fused chains with several results, products, reductions, views, writes,
/// and two bad indices, so that kernels are run record by record.
fn program(n: usize) -> Result<Vec<Made>, Error> {
    let mut all: Vec<Made> = Vec::new();
    let mut keep = |array: &Array, from: &[usize]| {
        all.push(Made { array: array.clone(), from: from.to_vec() });
        all.len() - 1
    };
    for n in [n, 300] {
        let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let host = ops::from_slice(&numbers, &[n], Loc::caller())?;
        let doubled = &host * 2.0 + 1.0;
        let a = keep(&doubled, &[]);
        let (up, down) = (&doubled + 3.0, &doubled - 3.0);
        let (b, c) = (keep(&up, &[a]), keep(&down, &[a]));
        keep(&(&up * &down).sum(), &[b, c]);
        let side = (n as f64).sqrt() as usize;
        let square = host.slice([Index::Slice { start: None, stop: Some((side * side) as isize), step: 1 }]);
        let square = square.reshape([side as isize, side as isize]) * 1e-3;
        let product = square.matmul(&square.t()).relu();
        let d = keep(&product, &[]);
        keep(&(product.sum_axis(0) + 1.0), &[d]);
        let mut written = ones([n]);
        written += &host;
        written.slice([Index::Slice { start: None, stop: Some(5), step: 1 }]).assign(7.0);
        written *= 2.0;
        keep(&written, &[]);
        // Fails in every run. Both sums and the product are one kernel with three results.
        let bad = ops::take(&host, &(arange(0, n as i64, 1) + 1), 0, Beyond::Raise, Loc::caller())?;
        let other = &host - 1.0;
        for array in [&bad + 1.0, &other * 2.0, &other + &bad] {
            keep(&array, &[]);
        }
    }
    Ok(all)
}

/// A smaller version on an accelerator, with some ops on the host.
fn device_program(n: usize) -> Result<Vec<Made>, Error> {
    let host = ops::from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>(), &[n], Loc::caller())?;
    let there = ops::transfer(&host, Device::Gpu(0), Loc::caller())?;
    let doubled = &there * 2.0 + 1.0;
    let (up, down) = (&doubled + 3.0, &doubled - 3.0);
    let sum = (&up * &down).sum();
    let back = ops::transfer(&up, Device::Cpu(0), Loc::caller())? * 0.5;
    let mut written = ops::transfer(&host, Device::Gpu(0), Loc::caller())?;
    written += &up;
    let beside = &host - 1.0;
    let made = [(doubled, vec![]), (up, vec![0]), (down, vec![0]), (sum, vec![1, 2]), (back, vec![1])];
    let rest = [(written, vec![1]), (beside, vec![])];
    Ok(made.into_iter().chain(rest).map(|(array, from)| Made { array, from }).collect())
}

/// A program, and how many of its results fail in every run.
#[derive(Clone, Copy)]
struct Subject(fn(usize) -> Result<Vec<Made>, Error>, usize);

const HOST: Subject = Subject(program, 4);
const DEVICE: Subject = Subject(device_program, 0);

type Read = Result<Vec<u64>, Error>;

fn read(made: &[Made]) -> Vec<Read> {
    made.iter().map(|m| m.array.to_vec::<f64>().map(|v| v.iter().map(|x| x.to_bits()).collect())).collect()
}

/// The results of a run without injected failures.
fn healthy(subject: Subject, n: usize) -> Vec<Read> {
    let read = read(&subject.0(n).expect("nothing is armed"));
    let failed = read.iter().filter(|r| r.is_err()).count();
    assert_eq!(failed, subject.1, "the bad indices of both sizes spoil two results each");
    read
}

/// Checks that the message names the site, and the lines of this file.
#[track_caller]
fn check_message(site: &Site, how: How, error: &Error, submitted: bool) {
    let text = error.to_string();
    match how {
        How::NoMemory => {
            assert_eq!(error.kind(), ErrorKind::Memory, "{text}");
            assert!(text.contains("cannot allocate"), "{text}");
        }
        How::Error | How::Panic => assert!(text.contains(&format!("injected at {}", site.name)), "{text}"),
    }
    assert!(!submitted || text.contains(&format!("submitted at {}:", file!())), "{text}");
    assert!(!text.contains("unknown line"), "{text}");
}

/// Live bytes, descriptor slots of this thread, and bytes of the device when nothing is pending.
fn level() -> (usize, usize, usize) {
    let _ = wait_all();
    // Slots are reclaimed when their window is planned, which a worker may be about to do.
    let mut least = (usize::MAX, usize::MAX, usize::MAX);
    for _ in 0..100 {
        ones([1]).wait_to_read().unwrap();
        let there = device_stats(Device::Gpu(0)).unwrap().budget.live;
        least = (least.0.min(memory_stats().live), least.1.min(slots().live), least.2.min(there));
        std::thread::yield_now();
    }
    least
}

/// Checks that a result is unchanged, or raises because of the injected failure or of its inputs.
fn check_results(site: &Site, how: How, made: &[Made], found: &[Read], expected: &[Read]) -> usize {
    let mut injected = 0;
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let spoilt = made[i].from.iter().any(|from| made[*from].array.wait_to_read().is_err());
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                assert!(!spoilt, "{}: result {i} hides a failure", site.name);
                assert_eq!(found, expected, "{}: result {i} has other bits", site.name);
            }
            (Err(error), Ok(_)) => {
                injected += 1;
                check_message(site, how, error, site.name != "host.out");
                let text = error.to_string();
                assert!(text.contains(&format!("read at {}:", file!())), "{text}");
            }
            // The bad index, or a failure injected before it was read.
            (Err(error), Err(_)) => assert!(error.to_string().contains("submitted at") || site.name == "host.out"),
            (Ok(_), Err(_)) => panic!("{}: result {i} hides a bad index", site.name),
        }
    }
    injected
}

/// Runs the program with each hit of a site failing in turn.
fn run_program(subject: Subject, site: &Site, how: How) {
    // More than a waiter runs inline, so that there are fused kernels.
    let sizes = |nth: u64| if site.name == "plan.make" { 100_000 + 8 * nth as usize } else { 100_000 };
    let before_all = {
        healthy(subject, sizes(0));
        level()
    };
    let (mut hit, mut nth, mut missed) = (0, 0, 0);
    while nth < MOST_HITS {
        nth += 1;
        // Records of an aborted run must not meet the next fault.
        let _ = wait_all();
        if site.name == "pool.pages" {
            empty_cache();
        }
        let n = sizes(nth);
        fail::arm(site.name, nth, how).unwrap();
        let made = catch_unwind(AssertUnwindSafe(|| subject.0(n)));
        let made = match made {
            Ok(Ok(made)) => made,
            Ok(Err(error)) => {
                check_message(site, how, &error, true);
                hit += 1;
                continue;
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().expect("a message");
                assert!(text.contains(&format!("injected at {}", site.name)), "{text}");
                hit += 1;
                continue;
            }
        };
        let found = catch_unwind(AssertUnwindSafe(|| read(&made)));
        let armed = !fail::disarm().is_empty();
        let Ok(found) = found else {
            assert_eq!((site.name, how), ("host.out", How::Panic), "only reading panics in the reader");
            hit += 1;
            continue;
        };
        let expected = healthy(subject, n);
        let injected = check_results(site, how, &made, &found, &expected);
        assert!(injected < expected.len() - subject.1, "{}: something goes on", site.name);
        drop(made);
        if armed {
            // Timing decides which records form a kernel, so a site that was not reached is tried again.
            if hit > 0 || missed == TRIES {
                break;
            }
            missed += 1;
            nth -= 1;
            continue;
        }
        hit += 1;
    }
    assert!(hit > 0, "{} is never reached", site.name);
    let after_all = level();
    assert_eq!(after_all, before_all, "{} by {how:?}: bytes and slots are given back", site.name);
    assert_eq!(found_twice(subject), (true, true));
}

/// Without memory for more slots the submitter waits for those of finished records: nothing fails.
fn run_slots(site: &Site, how: How) {
    let before = level();
    let expected = healthy(HOST, 40_000);
    for kept in [0, 3] {
        let mut hoard = Vec::new();
        while slots().live < slots().made {
            hoard.push(ones([1]));
        }
        hoard.truncate(hoard.len() - kept);
        fail::arm(site.name, 1, how).unwrap();
        let made = program(40_000).unwrap();
        let found = read(&made);
        assert_eq!(fail::disarm(), [""; 0], "there was no slot left");
        assert_eq!(check_results(site, how, &made, &found, &expected), 0);
    }
    assert_eq!(level(), before);
}

/// Whether two runs after all faults agree with the healthy one.
fn found_twice(subject: Subject) -> (bool, bool) {
    let bits = || healthy(subject, 40_000).into_iter().flatten().collect::<Vec<_>>();
    (bits() == bits(), wait_all().is_ok())
}

/// `wait_all` reports failures that were not read.
fn run_unread(subject: Subject, site: &Site, how: How) {
    let former = set_drop_dead(false);
    let mut told = 0;
    for nth in 1..=MOST_HITS {
        let n = if site.name == "plan.make" { 50_000 + 8 * nth as usize + how as usize } else { 40_000 };
        fail::arm(site.name, nth, how).unwrap();
        // Copying host data in fails in the call.
        let Ok(made) = subject.0(n) else {
            // Records submitted before must not meet the next fault.
            let _ = wait_all();
            continue;
        };
        let errors = wait_all().err().unwrap_or_default();
        let armed = !fail::disarm().is_empty();
        wait_all().expect("each is told once");
        let ours: Vec<&Error> = errors.iter().filter(|e| e.kind() != ErrorKind::Index).collect();
        ours.iter().for_each(|error| check_message(site, how, error, true));
        assert!(errors.iter().all(|error| error.to_string().contains(&format!("read at {}:", file!()))));
        let injected = |read: &Read| read.as_ref().is_err_and(|error| error.kind() != ErrorKind::Index);
        assert_eq!(read(&made).iter().any(injected), !ours.is_empty(), "{}: {errors:?}", site.name);
        told += ours.len();
        if armed {
            break;
        }
    }
    assert!(told > 0, "{} fails nothing", site.name);
    set_drop_dead(former);
}

#[test]
fn every_site_with_every_kind_of_failure() {
    let _alone = alone();
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let injected = info.payload().downcast_ref::<String>().is_some_and(|text| text.starts_with("injected at"));
        if !injected {
            former(info);
        }
    }));
    for site in SITES.iter().filter(|site| !PYTHON.iter().any(|prefix| site.name.starts_with(prefix))) {
        let before = fail::hits(site.name);
        if *engine().mode() == Mode::Sync && UNREACHED_OP_BY_OP.contains(&site.name) {
            run_unreached(site);
            continue;
        }
        for &how in site.hows {
            match site.name {
                "thread.start" | "device.thread" => run_children(site),
                "slots.grow" => run_slots(site, how),
                "pool.pages" | "host.in" | "host.out" => run_program(HOST, site, how),
                "task.start" | "pool.block" | "launch.before" | "launch.inside" | "launch.after" | "spot.before"
                | "spot.inside" | "spot.after" | "apart.record" | "apart.room" | "plan.make" => {
                    run_program(HOST, site, how);
                    if !site.name.starts_with("apart") {
                        run_unread(HOST, site, how);
                    }
                }
                "device.launch" | "device.copy" | "device.outcome" => {
                    run_program(DEVICE, site, how);
                    run_unread(DEVICE, site, how);
                }
                "device.memory" => run_program(DEVICE, site, how),
                "observer.call" => run_recorded(site, how),
                "wake.call" => run_awaited(how),
                "gradient.call" => run_gradient(site, how),
                "checkpoint.read" | "checkpoint.write" => run_checkpoint(site, how),
                other => panic!("no test reaches `{other}`"),
            }
        }
        let reached = fail::hits(site.name) > before || site.name.contains("thread");
        assert!(reached, "{} was never reached", site.name);
    }
    let _ = std::panic::take_hook();
}

/// Checks that a site is not reached, and that the results are right.
fn run_unreached(site: &Site) {
    let before = fail::hits(site.name);
    healthy(HOST, 100_000);
    let factor = ones([300, 300]) * 1e-3;
    let product = factor.matmul(&factor);
    assert_eq!(block_on(product.clone()).unwrap().to_f64(), product.to_vec::<f64>().unwrap());
    assert_eq!(fail::hits(site.name), before, "{} is reached: the matrix has to cover it", site.name);
}

/// Without a worker the waiter does everything; with one worker less, the others do.
fn run_children(site: &Site) {
    for nth in ["1", "2"] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_program_in_a_child_process", "--include-ignored"])
            .env("FORERUN_TEST_FAULTS", format!("{}=error@{nth}", site.name))
            .env("FORERUN_NUM_THREADS", "2")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let child = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success() && text.contains("1 passed"), "{text}");
    }
}

#[test]
#[ignore = "started by another test, in a process whose threads cannot be started"]
fn a_program_in_a_child_process() {
    let _alone = alone();
    let found = read(&program(40_000).unwrap());
    assert_eq!(found.iter().filter(|r| r.is_err()).count(), 4);
    let doubled: Vec<u64> = (0..40_000).map(|i| (i as f64 * 2.0 + 1.0).to_bits()).collect();
    assert_eq!(found[0].as_ref().unwrap(), &doubled);
    let there = read(&device_program(40_000).unwrap());
    assert_eq!(there[0].as_ref().unwrap(), &doubled);
    if let (Ok(armed), Mode::Async) = (std::env::var("FORERUN_TEST_FAULTS"), engine().mode()) {
        let site = armed.split('=').next().unwrap_or_default();
        assert!(fail::hits(site) > 0, "the start of a thread was tried");
    }
}

/// An observer that panics does so on the submitting line; the tape and the engine continue.
fn run_recorded(site: &Site, how: How) {
    let x = ones([1000]);
    grad::attach_grad(&x, grad::GradReq::Write, Loc::caller()).unwrap();
    let train = || {
        let y = record(|| (&x * 3.0).sum());
        y.backward().unwrap();
        grad::gradient_of(&x).unwrap().0.to_vec::<f64>().unwrap()
    };
    let expected = train();
    let before = level();
    fail::arm(site.name, 2, how).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(train)).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("injected at observer.call"));
    assert_eq!(train(), expected);
    assert_eq!(level(), before);
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future.into_future());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A failed wake is compensated for: no task waits forever.
fn run_awaited(how: How) {
    let factor = ones([300, 300]) * 1e-3;
    let product = || (0..6).fold(factor.clone(), |y, _| y.matmul(&factor));
    let expected = product().to_vec::<f64>().unwrap();
    fail::arm("wake.call", 1, how).unwrap();
    // The array may be settled before it is awaited.
    let before = fail::hits("wake.call");
    while fail::hits("wake.call") == before {
        assert_eq!(block_on(product()).unwrap().to_f64(), expected);
    }
}

/// A user-defined gradient that fails raises out of backward; the next one is right.
fn run_gradient(site: &Site, how: How) {
    let x = ones([1000]);
    grad::attach_grad(&x, grad::GradReq::Write, Loc::caller()).unwrap();
    let train = || {
        let y = record(|| {
            let y = &x * 5.0;
            let back = Arc::new(|grads: Vec<Array>| Ok(vec![Some(&grads[0] * 5.0)]));
            record_function(&[&x], &[&y], back, Loc::caller()).remove(0)
        });
        y.backward().map(|()| grad::gradient_of(&x).unwrap().0.to_vec::<f64>().unwrap())
    };
    let expected = train().unwrap();
    let before = level();
    fail::arm(site.name, 1, how).unwrap();
    match catch_unwind(AssertUnwindSafe(train)) {
        Ok(result) => check_message(site, how, &result.unwrap_err(), true),
        Err(panic) => assert!(panic.downcast_ref::<String>().unwrap().contains("injected at gradient.call")),
    }
    assert_eq!(train().unwrap(), expected);
    assert_eq!(level(), before);
}

/// A checkpoint that cannot be read or written changes nothing, and leaves no partial file.
fn run_checkpoint(site: &Site, how: How) {
    use nn::Layer;
    let folder = std::env::temp_dir().join(format!("forerun-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("net");
    let net = nn::Dense::new(3).in_units(20);
    net.initialize(nn::Init::Xavier(nn::Scaling::default())).unwrap();
    let values = || net.parameters().iter().map(|p| p.array().unwrap().to_vec::<f64>().unwrap()).collect::<Vec<_>>();
    nn::save(&net.parameters(), &path).unwrap();
    nn::load(&net.parameters(), &path).unwrap();
    let (saved, bytes, before) = (values(), std::fs::read(&path).unwrap(), level());
    net.initialize(nn::Init::One).unwrap();
    let ones = values();
    fail::arm(site.name, 1 + (site.name == "checkpoint.read") as u64, how).unwrap();
    let done = if site.name == "checkpoint.read" {
        nn::load(&net.parameters(), &path)
    } else {
        nn::save(&net.parameters(), &path)
    };
    let error = done.unwrap_err();
    check_message(site, how, &error, false);
    let text = error.to_string();
    assert!(text.contains(&*path.to_string_lossy()) && text.contains(&format!("read at {}:", file!())), "{text}");
    assert_eq!((values(), std::fs::read(&path).unwrap()), (ones, bytes));
    nn::load(&net.parameters(), &path).unwrap();
    assert_eq!(values(), saved);
    assert_eq!(level(), before);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn each_failure_is_reported_once() {
    let _alone = alone();
    for _ in 0..20 {
        let made = program(40_000).unwrap();
        let errors = wait_all().unwrap_err();
        assert_eq!(errors.len(), 2, "{errors:?}");
        drop(made);
    }
}
