//! Random programs over the host and two accelerators with random delays: the same bits as on the host alone, op by op.

mod program;

use forerun::device::{SimOptions, simulate};
use forerun::{Array, DType, Device, Index, ops, seed};
use program::{AT, Dice, bits, step};
use std::time::Duration;

/// Where the arrays of a program are placed.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Everything on the host, waiting for each result: the reference.
    Plainly,
    /// On three devices, running ahead.
    Spread,
}

/// Runs the program of this seed.
fn run(program: u64, rows: usize, columns: usize, place: Place) -> Vec<(DType, Vec<Vec<u8>>)> {
    seed(program);
    let mut dice = Dice(program.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let device = |dice: &mut Dice| *dice.pick(&[Device::Cpu(0), Device::Gpu(0), Device::Gpu(1)]);
    let put = |x: &Array, device: Device| match place {
        Place::Plainly => ops::copy(x, AT).unwrap(),
        Place::Spread => ops::transfer(x, device, AT).unwrap(),
    };
    let mut pool: Vec<Array> = Vec::new();
    for dtype in DType::ALL {
        let x = ops::uniform(&[rows, columns], -3.0, 3.0, DType::F64, AT).unwrap();
        let to = device(&mut dice);
        pool.push(put(&ops::cast(&x, dtype, AT).unwrap(), to));
        pool.push(ops::index(pool.last().unwrap(), &[Index::At(0)]).unwrap());
    }
    for _ in 0..12 {
        let x = dice.pick(&pool).clone();
        let mut y = dice.pick(&pool).clone();
        let to = device(&mut dice);
        if place == Place::Spread && y.device() != x.device() {
            y = ops::transfer(&y, x.device(), AT).unwrap();
        }
        let made = match dice.roll(4) {
            0 => Ok(Some(put(&x, to))),
            _ => forerun::device::on_device(x.device(), || step(&mut dice, &x, &y, rows, columns)).unwrap(),
        };
        if let Ok(Some(made)) = made {
            if place == Place::Plainly {
                made.wait_to_read().unwrap();
            }
            let at = dice.roll(pool.len());
            pool[at] = made;
        }
    }
    pool.iter().map(bits).collect()
}

#[test]
fn devices_do_not_change_bits() {
    let programs: u64 = std::env::var("FORERUN_TEST_DEVICE_PROGRAMS").ok().and_then(|v| v.parse().ok()).unwrap_or(500);
    simulate(2, SimOptions { jitter: Duration::from_micros(30), seed: 5, ..SimOptions::default() }).unwrap();
    for program in 1..=programs {
        let sizes = [(2, 3), (5, 7), (33, 65), (7, 300)];
        let (rows, columns) = sizes[program as usize % sizes.len()];
        let want = run(program, rows, columns, Place::Plainly);
        let got = run(program, rows, columns, Place::Spread);
        assert_eq!(got.len(), want.len());
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            assert_eq!(got, want, "program {program}, array {i}");
        }
    }
    let stats = forerun::device::device_stats(Device::Gpu(0)).unwrap();
    // If every op is waited for, no lane ever has to wait for another.
    let ahead = *forerun::runtime::engine().mode() == forerun::runtime::Mode::Async;
    assert!(stats.waits_skipped > 0 && (stats.waits > 0 || !ahead), "{stats:?}");
}
