//! Process-wide behaviour without Python: forks, signals, cancelling. One test runs at a time.
#![cfg(unix)]

use forerun::runtime::{Mode, cancel_pending, engine};
use forerun::{Array, ErrorKind, Loc, Wait, normal, ones, seed, uniform, wait_all};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_async() -> bool {
    *engine().mode() == Mode::Async
}

/// A chain of dependent products.
fn chain(x: &Array, length: usize) -> (Array, u32) {
    let mut y = x.clone();
    for _ in 0..length {
        y = y.matmul(x) * 0.01;
    }
    (y, line!() - 2)
}

fn computes() -> bool {
    let product = ones([300, 300]).matmul(&ones([300, 300]));
    let tiny = (ones([2]) + 1.0).to_vec::<f64>();
    wait_all().is_ok()
        && product.to_vec::<f64>().is_ok_and(|v| v.iter().all(|e| *e == 300.0))
        && tiny.unwrap() == [2.0; 2]
}

/// Runs `body` in a child, which must return true.
fn in_child(body: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child runs `body`, which needs no thread that the child lacks, and exits without returning.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        let status = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(true) => 0,
            Ok(false) => 2,
            Err(_) => 1,
        };
        // SAFETY: ends the child without flushing or tearing down anything of the parent's.
        unsafe { libc::_exit(status) };
    }
    pid
}

fn is_well(pid: libc::pid_t) -> bool {
    let mut status = 0;
    loop {
        // SAFETY: the status is on this stack.
        let got = unsafe { libc::waitpid(pid, &mut status, 0) };
        if got == pid {
            return status == 0;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
}

#[test]
fn a_child_reads_finished_values_and_computes() {
    let _alone = alone();
    let x = normal([300, 300]);
    let ready = &x + 1.0;
    let expected = ready.to_vec::<f64>().unwrap();
    for length in [0, 5, 60] {
        let (pending, line) = chain(&x, length);
        let child = in_child(|| {
            let read = ready.to_vec::<f64>().unwrap() == expected;
            let failed = match pending.wait_to_read() {
                Ok(()) => length < 60 || !is_async(),
                Err(error) => {
                    let text = error.to_string();
                    text.contains("pending at fork") && text.contains(&format!("process.rs:{line}"))
                }
            };
            let grandchild = in_child(computes);
            read && failed && computes() && is_well(grandchild)
        });
        assert!(is_well(child), "{length}");
        pending.wait_to_read().unwrap();
    }
    assert!(computes());
}

#[test]
fn forks_while_other_threads_submit_and_wait() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let x = normal([200, 200]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (x, stop) = (x.clone(), &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    chain(&x, 4).0.wait_to_read().unwrap();
                }
            });
        }
        for _ in 0..20 {
            assert!(is_well(in_child(computes)));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn forked_children_draw_different_numbers() {
    let _alone = alone();
    let drawn = || uniform([4]).to_vec::<f64>().unwrap();
    seed(5);
    let parents = drawn();
    assert!(is_well(in_child(|| {
        let mine = drawn();
        seed(5);
        mine != parents && mine != drawn()
    })));
    seed(5);
    assert!(is_well(in_child(|| {
        seed(5);
        drawn() == parents
    })));
    assert_eq!(drawn(), parents);
}

#[test]
fn cancelled_records_fail_with_their_line() {
    let _alone = alone();
    let x = normal([400, 400]);
    x.wait_to_read().unwrap();
    let (last, line) = chain(&x, if is_async() { 200 } else { 5 });
    cancel_pending();
    if is_async() {
        let error = last.wait_to_read().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("cancelled") && text.contains(&format!("process.rs:{line}")), "{text}");
        // A requested cancellation is not an error.
        wait_all().unwrap();
    }
    assert!(x.to_vec::<f64>().is_ok() && computes());
    cancel_pending();
    assert!(computes());
}

#[test]
fn cancelling_while_others_wait_ends_their_waits() {
    let _alone = alone();
    if !is_async() {
        return;
    }
    let x = normal([400, 400]);
    x.wait_to_read().unwrap();
    for _ in 0..5 {
        let waiting = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (x, waiting) = (x.clone(), &waiting);
                scope.spawn(move || {
                    let (last, _) = chain(&x, 300);
                    waiting.fetch_add(1, Ordering::Relaxed);
                    // It was cancelled, or it finished before.
                    let _ = last.wait_to_read();
                });
            }
            while waiting.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            cancel_pending();
        });
    }
    assert!(computes());
}

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Installs a handler that counts a signal; system calls are interrupted by it.
fn handle(signal: libc::c_int) {
    // SAFETY: a zeroed action is valid; the handler only increments a counter.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// Sends signals to the calling thread from another until `stop`.
fn pester<'scope>(scope: &'scope std::thread::Scope<'scope, '_>, signal: libc::c_int, stop: &'scope AtomicBool) {
    // SAFETY: returns the id of the calling thread.
    let target = unsafe { libc::pthread_self() };
    scope.spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            // SAFETY: the target thread outlives the scope of this thread.
            unsafe { libc::pthread_kill(target, signal) };
            std::thread::sleep(Duration::from_micros(200));
        }
    });
}

#[test]
fn signals_in_the_middle_of_waits_change_nothing() {
    let _alone = alone();
    handle(libc::SIGUSR1);
    let x = ones([400, 400]) * 0.01;
    let expected = chain(&x, 40).0.to_vec::<f64>().unwrap();
    let stop = AtomicBool::new(false);
    let before = SIGNALS.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        pester(scope, libc::SIGUSR1, &stop);
        for _ in 0..5 {
            assert_eq!(chain(&x, 40).0.to_vec::<f64>().unwrap(), expected);
            let (last, _) = chain(&x, 10);
            wait_all().unwrap();
            assert!(last.settled_now());
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(SIGNALS.load(Ordering::Relaxed) > before);
}

#[test]
fn an_interrupt_ends_the_wait_and_nothing_else() {
    let _alone = alone();
    if !is_async() {
        return;
    }
    handle(libc::SIGINT);
    let x = normal([500, 500]);
    x.wait_to_read().unwrap();
    for turn in 0..4 {
        let (last, _) = chain(&x, 120);
        let before = SIGNALS.load(Ordering::Relaxed);
        let stop = AtomicBool::new(false);
        let waited = std::thread::scope(|scope| {
            pester(scope, libc::SIGINT, &stop);
            let interrupt = || SIGNALS.load(Ordering::Relaxed) > before;
            let wait = Wait { interrupt: Some(&interrupt), ..Wait::at(Loc::caller(), "wait") };
            let waited = match turn % 2 {
                0 => last.wait_to_read_with(&wait),
                _ => forerun::frontend::wait_all_with(&wait).map_err(|mut errors| errors.remove(0)),
            };
            stop.store(true, Ordering::Relaxed);
            waited
        });
        assert_eq!(waited.unwrap_err().kind(), ErrorKind::Interrupted, "turn {turn}");
        // The value is still being computed.
        last.wait_to_read().unwrap();
        assert!(computes());
    }
}
