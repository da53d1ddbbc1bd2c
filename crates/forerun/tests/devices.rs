//! Programs over several devices, on simulated accelerators that are slow, out of step and short of memory.

use forerun::device::{SimOptions, on_device, simulate};
use forerun::device::{device_stats, reset_device_peak};
use forerun::{Array, DType, Device, Layout, Shape, Wait, array, normal, ones, ops, uniform};
use forerun::{Beyond, Loc, Point, ReduceKind, wait_all};
use std::sync::Once;
use std::time::Duration;

const MEMORY: usize = 64 << 20;

/// Four accelerators, whose commands have up to half a millisecond of random delay.
fn slow_devices() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let jitter = Duration::from_micros(500);
        simulate(4, SimOptions { latency: Duration::from_micros(20), jitter, seed: 7, memory: MEMORY }).unwrap();
    });
}

#[track_caller]
fn bits(x: &Array) -> Vec<u8> {
    x.snapshot_with(&Wait::at(Loc::caller(), "test")).unwrap().to_bytes()
}

#[track_caller]
fn to(x: &Array, device: Device) -> Array {
    ops::transfer(x, device, Loc::caller()).unwrap()
}

const GPU: Device = Device::Gpu(0);
const OTHER: Device = Device::Gpu(1);
/// For the test that counts bytes, and for the one that allocates all of them.
const ALONE: Device = Device::Gpu(2);
const FULL: Device = Device::Gpu(3);

#[test]
fn transfers_round_trip() {
    slow_devices();
    for size in [0, 1, 5, 1000, 100_000] {
        let x = normal([size]);
        let there = to(&x, GPU);
        assert_eq!((there.device(), x.device()), (GPU, Device::Cpu(0)));
        assert_eq!(bits(&to(&to(&there, OTHER), Device::Cpu(1))), bits(&x));
        assert_eq!(bits(&there), bits(&x), "reading brings the elements to the host");
    }
}

#[test]
fn devices_of_the_host_are_distinct() {
    slow_devices();
    let x = ones([3]);
    let y = to(&x, Device::Cpu(1));
    assert_eq!(y.device(), Device::Cpu(1));
    let error = ops::pointwise(Point::Add, &[(&x).into(), (&y).into()], Loc::caller()).err().unwrap();
    assert!(error.to_string().contains("add: operands are on cpu(0) and cpu(1)"), "{error}");
    assert_eq!(bits(&(&y + &y)), bits(&(&x + &x)));
}

#[test]
fn a_program_on_a_device_has_the_bits_of_the_host() {
    slow_devices();
    let program = |x: &Array, w: &Array| {
        let sum = &ops::matmul(x, w, Loc::caller()).unwrap() + 0.5;
        let h = ops::pointwise(Point::Tanh, &[(&sum).into()], Loc::caller()).unwrap();
        let s = ops::reduce(ReduceKind::Sum, &h, Some(&[0]), false, Loc::caller()).unwrap();
        (&h * &s, s)
    };
    let (x, w) = (normal([64, 32]), normal([32, 48]));
    let (a, b) = program(&x, &w);
    let (c, d) = program(&to(&x, GPU), &to(&w, GPU));
    assert_eq!((bits(&a), bits(&b)), (bits(&c), bits(&d)));
}

#[test]
fn sources_follow_the_current_device() {
    slow_devices();
    forerun::seed(3);
    let here = (normal([100]), uniform([10]), array(&[1.0f32, 2.0], [2]));
    forerun::seed(3);
    let there = on_device(GPU, || (normal([100]), uniform([10]), array(&[1.0f32, 2.0], [2]))).unwrap();
    assert_eq!((there.0.device(), there.2.device()), (GPU, GPU));
    assert_eq!(bits(&here.0), bits(&there.0));
    assert_eq!(bits(&here.1), bits(&there.1));
    assert_eq!(bits(&here.2), bits(&there.2));
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    slow_devices();
    let error = on_device(Device::Gpu(9), || ()).unwrap_err();
    assert_eq!(error.to_string(), "no device gpu(9): 4 GPUs are present");
}

/// A bad index is detected when the lane reaches it, long after later commands were enqueued.
#[test]
fn a_late_failure_reaches_only_its_dependents() {
    slow_devices();
    let table = to(&normal([10, 4]), GPU);
    let good = to(&normal([3, 4]), GPU);
    let taken = |at: &[i64]| {
        let at = to(&ops::from_slice(at, &[at.len()], Loc::caller()).unwrap(), GPU);
        ops::take(&table, &at, 0, Beyond::Raise, Loc::caller()).unwrap()
    };
    let before = bits(&good);
    let bad = taken(&[1, 99, 2]);
    let after = &(&bad + &good) * 2.0;
    let beside = &good * 3.0;
    let mixed = (&(&good - 1.0) * 5.0, &(&bad - 1.0) * 5.0);
    let home = to(&after, Device::Cpu(0));
    for failed in [&bad, &after, &mixed.1, &home] {
        let error = failed.wait_to_read_with(&Wait::at(Loc::caller(), "test")).unwrap_err().to_string();
        assert!(error.contains("index 99 is out of bounds"), "{error}");
        assert_eq!(error.matches("devices.rs:").count(), 2, "both lines: {error}");
    }
    assert_eq!(bits(&beside), bits(&(&to(&good, Device::Cpu(0)) * 3.0)));
    assert_eq!(bits(&mixed.0), bits(&(&(&to(&good, Device::Cpu(0)) - 1.0) * 5.0)));
    assert_eq!(bits(&good), before);
    assert_eq!(bits(&taken(&[1, 2])).len(), 2 * 4 * 4, "the device goes on");
    let _ = wait_all();
}

/// Running ahead takes no more memory than waiting: buffers are reused in lane order.
#[test]
fn running_ahead_costs_no_memory() {
    slow_devices();
    let size = 1 << 18;
    let peak = |wait: bool| {
        let x = to(&normal([size]), ALONE);
        x.wait_to_read().unwrap();
        reset_device_peak(ALONE).unwrap();
        let start = device_stats(ALONE).unwrap().budget.live;
        let mut y = &x + 1.0;
        for _ in 0..200 {
            y = &y * 1.5;
            let sum = ops::reduce(ReduceKind::Sum, &y, None, false, Loc::caller()).unwrap();
            y = &y - &sum;
            if wait {
                y.wait_to_read().unwrap();
            }
        }
        y.wait_to_read().unwrap();
        device_stats(ALONE).unwrap().budget.peak - start
    };
    let (with, without) = (peak(true), peak(false));
    assert!(without as f64 <= 1.05 * with as f64 + 4096.0, "{without} bytes without waiting, {with} with");
}

/// An allocation that does not fit waits for outstanding tasks; it fails only if it can never fit.
#[test]
fn allocations_wait_for_memory_and_then_fail() {
    slow_devices();
    let quarter = MEMORY / 4 / 4;
    let kept = to(&ones([quarter]), FULL);
    for _ in 0..20 {
        // Two of them fit beside the kept one, but three do not, unless finished ones are freed.
        let parts: Vec<Array> = (0..2).map(|_| &to(&normal([quarter]), FULL) + &kept).collect();
        let sum = &parts[0] + &parts[1];
        drop(parts);
        sum.wait_to_read().unwrap();
    }
    let huge = on_device(FULL, || ones([MEMORY])).unwrap();
    let error = huge.wait_to_read().unwrap_err().to_string();
    assert!(error.contains("on gpu(3)") && error.contains("devices.rs:"), "{error}");
    assert!(error.contains("are held by"), "names who holds the memory: {error}");
    assert_eq!(bits(&(&kept + 1.0))[..4], 2f32.to_le_bytes());
    let _ = wait_all();
}

#[test]
fn redundant_waits_between_lanes_are_skipped() {
    slow_devices();
    let before = device_stats(GPU).unwrap();
    let big = normal([10_000]);
    for _ in 0..50 {
        let there = to(&big, GPU);
        let y = &(&there + 1.0) * &there;
        let z = &y - &there;
        bits(&z);
    }
    let after = device_stats(GPU).unwrap();
    // If every op is waited for, lanes never wait for each other.
    let ahead = *forerun::runtime::engine().mode() == forerun::runtime::Mode::Async;
    assert!(after.waits > before.waits || !ahead, "copies and kernels wait for each other");
    assert!(after.waits_skipped > before.waits_skipped);
}

#[test]
fn gradients_flow_between_devices() {
    use forerun::grad::{Differentiable, record};
    slow_devices();
    let on = |device: Device| {
        let x = array(&[1.0f32, 2.0, 3.0], [3]);
        let x = if device == Device::Cpu(0) { x } else { to(&x, device) };
        x.attach_grad();
        let loss = record(|| {
            let y = ops::transfer(&(&x * &x), OTHER, Loc::caller()).unwrap();
            ops::reduce(ReduceKind::Sum, &(&y * 0.5), None, false, Loc::caller()).unwrap()
        });
        loss.backward().unwrap();
        let gradient = x.grad().unwrap();
        assert_eq!(gradient.device(), device);
        bits(&gradient)
    };
    assert_eq!(on(GPU), on(Device::Cpu(0)));
}

#[test]
fn foreign_device_elements_are_copied_on_the_device() {
    slow_devices();
    let mut theirs: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let dense = Layout::dense(Shape::of(&[2, 3, 4]));
    let reversed = Layout::strided(Shape::of(&[2, 3, 4]), &[12, -4, 1]);
    for (layout, first) in
        [(dense, 0), (dense.permute(&[2, 0, 1]), 0), (reversed, 8), (Layout::dense(Shape::SCALAR), 5)]
    {
        let address = theirs.as_mut_ptr().wrapping_add(first).cast();
        // SAFETY: a simulated device's memory is host memory, and the layouts stay inside the elements.
        let ours = unsafe { ops::from_device(address, DType::F32, layout, GPU, Loc::caller()) }.unwrap();
        // SAFETY: as above; a copy on the host.
        let expected = unsafe { ops::from_host(address, DType::F32, layout, Loc::caller()) }.unwrap();
        assert_eq!(ours.device(), GPU);
        let before = bits(&expected);
        theirs.iter_mut().for_each(|element| *element = -*element);
        assert_eq!(bits(&(&ours + 0.0)), before);
        theirs.iter_mut().for_each(|element| *element = -*element);
    }
    let empty = Layout::dense(Shape::of(&[3, 0]));
    // SAFETY: nothing is read.
    let none = unsafe { ops::from_device(std::ptr::null_mut(), DType::I64, empty, GPU, Loc::caller()) }.unwrap();
    assert_eq!((none.shape(), none.dtype(), none.device()), (Shape::of(&[3, 0]), DType::I64, GPU));
}

#[test]
fn simulated_device_memory_is_not_exported() {
    slow_devices();
    assert_eq!((forerun::frontend::cuda_number(GPU), forerun::frontend::cuda_number(Device::Cpu(0))), (None, None));
    forerun::frontend::settle_device(GPU).unwrap();
}
