//! Many threads: values passed between them, barriers over all of them, and waits for no more than necessary.

use forerun::{Array, array, normal, ones, wait_all};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn eight_threads_pass_values_around() {
    const THREADS: usize = 8;
    const TURNS: usize = 300;
    for size in [2usize, 100, 20_000] {
        let turns = if size > 1000 { 30 } else { TURNS };
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| mpsc::channel::<Array>()).unzip();
        let mut threads = Vec::new();
        for (i, receiver) in receivers.into_iter().enumerate() {
            let next = senders[(i + 1) % THREADS].clone();
            let own = senders[i].clone();
            threads.push(std::thread::spawn(move || {
                if i == 0 {
                    own.send(ones([size])).unwrap();
                }
                let mut last = None;
                for turn in 0..turns {
                    let x = receiver.recv().unwrap();
                    let y = &x + 1.0;
                    let _unread = &x * &y;
                    if turn % 7 == 0 {
                        y.wait_to_read().unwrap();
                    }
                    last = Some(y.clone());
                    // The last value has no receiver.
                    let _ = next.send(y);
                }
                last.map(|y| y.to_vec::<f64>().unwrap()[size - 1])
            }));
        }
        drop(senders);
        let ends: Vec<f64> = threads.into_iter().map(|t| t.join().unwrap().unwrap()).collect();
        let steps = (turns * THREADS) as f64;
        assert_eq!(ends[THREADS - 1], steps + 1.0);
    }
}

#[test]
fn wait_all_covers_other_threads() {
    // This thread has a window too, and nothing left in it.
    ones([1]).wait_to_read().unwrap();
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut x = normal([200, 200]);
        // More than are planned in one call.
        for _ in 0..200 {
            x = x.matmul(&x) * 0.001;
        }
        sender.send(x).unwrap();
        // Stays alive, so that its window is not adopted meanwhile.
        std::thread::park_timeout(Duration::from_secs(20));
    });
    let x = receiver.recv().unwrap();
    wait_all().unwrap();
    let start = Instant::now();
    assert!(x.settled_now());
    assert!(start.elapsed() < Duration::from_millis(5));
    thread.thread().unpark();
    thread.join().unwrap();
}

#[test]
fn waiting_for_an_intermediate_does_not_wait_for_the_rest() {
    let a = normal([600, 600]);
    a.wait_to_read().unwrap();
    let first = &a + 1.0;
    let mut rest = a.matmul(&a);
    for _ in 0..30 {
        rest = rest.matmul(&a) * 0.01;
    }
    first.wait_to_read().unwrap();
    let ahead = *forerun::runtime::engine().mode() == forerun::runtime::Mode::Async;
    assert!(!ahead || !rest.settled_now(), "thirty products were finished before one addition was read");
    rest.wait_to_read().unwrap();
}

#[test]
fn windows_of_ended_threads_are_still_planned() {
    let x = std::thread::spawn(|| array(&[1.0, 2.0], [2]) + 1.0).join().unwrap();
    let y = std::thread::spawn(|| normal([300, 300]).sum()).join().unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap(), [2.0, 3.0]);
    assert!(y.item::<f64>().unwrap().is_finite());
    for _ in 0..100 {
        let z = std::thread::spawn(|| ones([3]) * 2.0).join().unwrap();
        assert_eq!(z.to_vec::<f64>().unwrap(), [2.0; 3]);
    }
}

#[test]
fn one_cell_written_by_many_threads_stays_consistent() {
    let x = ones([1000]);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut mine = x.clone();
            std::thread::spawn(move || {
                for _ in 0..200 {
                    mine += 1.0;
                    let _ = (&mine * 2.0).settled_now();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let values = x.to_vec::<f64>().unwrap();
    assert!(values.iter().all(|v| *v == values[0] && *v > 1.0 && *v <= 801.0), "{:?}", &values[..4]);
}

#[test]
fn awaiting_does_not_block_the_executor() {
    use std::future::IntoFuture;
    use std::pin::pin;
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let x = normal([400, 400]);
    let y = x.matmul(&x).sum();
    let mut future = pin!((&y).into_future());
    let snapshot = loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(snapshot) => break snapshot.unwrap(),
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(5)),
        }
    };
    assert!(snapshot.to_f64()[0].is_finite());
}

#[test]
fn wait_all_ends_while_others_go_on() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    let other = std::thread::spawn(move || {
        let a = normal([200, 200]);
        let mut kept = Vec::new();
        while !seen.load(Ordering::Relaxed) {
            kept.push(a.matmul(&a));
            if kept.len() > 50 {
                kept.remove(0).wait_to_read().unwrap();
            }
        }
    });
    let x = normal([300, 300]);
    for _ in 0..5 {
        let y = x.matmul(&x);
        wait_all().unwrap();
        assert!(y.settled_now());
    }
    stop.store(true, Ordering::Relaxed);
    other.join().unwrap();
}

#[test]
fn a_read_waits_for_the_newer_value_of_another_thread() {
    let x = ones([5000]);
    let mut mine = x.clone();
    let writer = std::thread::spawn(move || {
        for _ in 0..2000 {
            mine += 1.0;
        }
    });
    for _ in 0..2000 {
        x.wait_to_read().unwrap();
    }
    writer.join().unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap()[0], 2001.0);
}

#[test]
fn slots_used_by_other_threads_are_reused_safely() {
    // Host arrays of one thread, read and dropped by another: their slots are reclaimed through the balance alone.
    let (sender, receiver) = mpsc::sync_channel::<Array>(4);
    let reader = std::thread::spawn(move || {
        let mut sums = Vec::new();
        for x in receiver {
            sums.push((&x * 1.0).sum());
            drop(x);
            if sums.len() == 16 {
                for (i, s) in sums.drain(..).enumerate() {
                    let got = s.item::<f64>().unwrap();
                    assert_eq!(got % 5000.0, 0.0, "{i}: {got}");
                }
            }
        }
    });
    for i in 0..3000 {
        let numbers = vec![(i % 7 + 1) as f32; 5000];
        sender.send(array(&numbers, [5000])).unwrap();
    }
    drop(sender);
    reader.join().unwrap();
}

#[test]
fn a_value_does_not_wait_for_unrelated_records() {
    let a = normal([500, 500]);
    let mut slow = a.matmul(&a);
    for _ in 0..150 {
        slow = slow.matmul(&a) * 0.01;
    }
    let start = Instant::now();
    assert_eq!((ones([2]) + 1.0).to_vec::<f64>().unwrap(), [2.0, 2.0]);
    let took = start.elapsed();
    slow.wait_to_read().unwrap();
    let whole = start.elapsed();
    let ahead = *forerun::runtime::engine().mode() == forerun::runtime::Mode::Async;
    assert!(!ahead || took * 3 < whole, "{took:?} of {whole:?}");
}

#[test]
fn a_woken_task_may_submit_but_not_wait() {
    use std::sync::{Arc, Mutex};
    use std::task::{Wake, Waker};
    struct Submits(Mutex<mpsc::Sender<(Array, forerun::Result<()>)>>);
    impl Wake for Submits {
        fn wake(self: Arc<Self>) {
            let product = ones([300, 300]).matmul(&ones([300, 300]));
            let waited = product.wait_to_read();
            self.0.lock().unwrap().send((product, waited)).unwrap();
        }
    }
    let (sender, receiver) = mpsc::channel();
    for _ in 0..20 {
        let x = normal([300, 300]);
        let y = x.matmul(&x);
        if y.settled_or_wake(&Waker::from(Arc::new(Submits(Mutex::new(sender.clone()))))) {
            continue;
        }
        let (product, waited) = receiver.recv_timeout(Duration::from_secs(20)).expect("the waker stands still");
        // On a thread that waits anyway it would have succeeded.
        if let Err(error) = waited {
            assert!(error.to_string().contains("must not wait"), "{error}");
        }
        assert_eq!(product.to_vec::<f64>().unwrap()[0], 300.0);
    }
}

#[test]
fn a_user_defined_gradient_may_wait() {
    use forerun::grad::{self, GradReq};
    use std::sync::Arc;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..5 {
                    let loc = forerun::Loc::caller();
                    let x = ones([50, 50]);
                    grad::attach_grad(&x, GradReq::Write, loc).unwrap();
                    let y = grad::record(|| {
                        let own = |grads: Vec<Array>| {
                            let product = ones([200, 200]).matmul(&ones([200, 200]));
                            assert_eq!(product.to_vec::<f64>()?[0], 200.0);
                            wait_all().map_err(|mut errors| errors.remove(0))?;
                            Ok(vec![Some(&grads[0] * 3.0)])
                        };
                        grad::record_function(&[&x], &[&(&x * 3.0)], Arc::new(own), loc).remove(0)
                    });
                    grad::backward(&[&y], &[None], false, loc).unwrap();
                    assert_eq!(grad::gradient_of(&x).unwrap().0.to_vec::<f64>().unwrap()[0], 3.0);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
