//! Memory for machine code: it is shared, returned, safe to fork, and optional where the system refuses it.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod common;

use common::*;
use forerun_base::DType;
use forerun_cpu::{CodeStats, CpuBackend, Isa};
use forerun_ops::Point;
use forerun_plan::{Backend, Executable, Io, Kernel};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Serialises the tests, because the statistics are per process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|held| held.into_inner())
}

fn compile(op: Point) -> Arc<dyn Executable> {
    CpuBackend::new().emit_from(0).compile(&Kernel::Pointwise(single(op, DType::F32, DType::F32, &[100])))
}

fn has_code() -> bool {
    CpuBackend::new().isa() != Isa::Baseline
}

/// Whether a kernel for `tanh` gives the correct result.
fn is_right(exe: &Arc<dyn Executable>) -> bool {
    let from: Vec<f32> = (0..100).map(|i| i as f32 * 0.1 - 5.0).collect();
    let mut to = vec![0f32; 100];
    let io = Io { inputs: &[from.as_ptr().cast()], outputs: &[to.as_mut_ptr().cast()], scalars: &[] };
    // SAFETY: the buffers have the hundred elements of the kernel.
    unsafe { exe.run(io, &SOLO) };
    from.iter().zip(to).all(|(x, y)| (x.tanh() - y).abs() < 1e-6)
}

#[test]
fn kernels_share_memory_and_give_it_back() {
    let _alone = alone();
    let before = CodeStats::now().spans;
    let many: Vec<_> = (0..200).map(|_| compile(Point::Tanh)).collect();
    let during = CodeStats::now().spans;
    assert!(many.iter().all(is_right));
    assert!(during <= before + 16, "{during} spans for 200 kernels");
    let last = many.into_iter().last();
    assert!(is_right(last.as_ref().unwrap()));
    assert!(!has_code() || CodeStats::now().spans > before);
    drop(last);
    assert_eq!(CodeStats::now().spans, before);
}

#[test]
fn code_runs_on_while_more_is_added() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let first = compile(Point::Tanh);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(is_right(&first));
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let mut kept = Vec::new();
                for i in 0..300 {
                    let exe = compile(Point::Tanh);
                    assert!(is_right(&exe));
                    if i % 7 == 0 {
                        kept.push(exe);
                    }
                }
                assert!(kept.iter().all(is_right));
                stop.store(true, Ordering::Relaxed);
            });
        }
    });
}

/// Runs `child` in a forked process; returns its result.
fn forked(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `child` and exits without running anything else of this process.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(if child() { 0 } else { 1 }),
            pid => {
                assert!(pid > 0);
                let mut status = 0;
                libc::waitpid(pid, &raw mut status, 0);
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }
}

#[test]
fn a_child_runs_old_code_and_makes_its_own() {
    let _alone = alone();
    let old = compile(Point::Tanh);
    assert!(forked(|| is_right(&old) && is_right(&compile(Point::Tanh)) && is_right(&old)));
    assert!(is_right(&compile(Point::Tanh)) && is_right(&old));
}

#[test]
fn without_memory_for_code_the_interpreter_serves() {
    let _alone = alone();
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    const SET_MDWE: libc::c_int = 65;
    let served = forked(|| {
        // SAFETY: the call changes a property of this process, which is about to end. Older kernels do not support it.
        if unsafe {
            libc::prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong)
        } != 0
        {
            return true;
        }
        let before = CodeStats::now();
        let exe = compile(Point::Tanh);
        let after = CodeStats::now();
        is_right(&exe) && after.emitted == before.emitted && after.interpreted > before.interpreted
    });
    assert!(served);
}
