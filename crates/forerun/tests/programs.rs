//! Random programs made from the catalogue: the bits do not depend on the plan.

mod program;

use forerun::runtime::{set_drop_dead, set_fuse, set_tiny_limit};
use forerun::{Array, DType, Index, ops, seed};
use program::{AT, Dice, bits, step};

/// Runs the program of this seed. With `wait`, waits for every result at once.
fn run(program: u64, rows: usize, columns: usize, wait: bool) -> Vec<(DType, Vec<Vec<u8>>)> {
    seed(program);
    let mut dice = Dice(program.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut pool: Vec<Array> = Vec::new();
    for dtype in DType::ALL {
        let x = ops::uniform(&[rows, columns], -3.0, 3.0, DType::F64, AT).unwrap();
        pool.push(ops::cast(&x, dtype, AT).unwrap());
        pool.push(ops::index(pool.last().unwrap(), &[Index::At(0)]).unwrap());
    }
    for _ in 0..40 {
        let x = dice.pick(&pool).clone();
        let y = dice.pick(&pool).clone();
        let made = step(&mut dice, &x, &y, rows, columns);
        let Ok(made) = made else { continue };
        if let Some(made) = made {
            if wait {
                made.wait_to_read().unwrap();
            }
            if dice.roll(3) == 0 {
                let at = dice.roll(pool.len());
                pool[at] = made;
            } else {
                pool.push(made);
            }
        }
        if pool.len() > 14 {
            let gone = dice.roll(pool.len());
            pool.remove(gone);
        }
    }
    pool.iter().map(bits).collect()
}

/// One test, because the switches are global. The final counters show that fusion, dropping and donation took place.
#[test]
fn plans_do_not_change_bits() {
    let programs: u64 = std::env::var("FORERUN_TEST_PROGRAMS").ok().and_then(|v| v.parse().ok()).unwrap_or(150);
    for program in 1..=programs {
        let mut dice = Dice(program | 1 << 40);
        let sizes = [(2, 3), (5, 7), (33, 65), (128, 129), (7, 1000)];
        let (rows, columns) = *dice.pick(&sizes);
        set_fuse(false);
        set_drop_dead(false);
        set_tiny_limit(0);
        let want = run(program, rows, columns, true);
        for (fuse, drop_dead, tiny, wait) in [
            (true, true, 0, false),
            (true, false, 0, false),
            (true, true, 4096, false),
            (false, true, 0, false),
            (true, true, 64, true),
        ] {
            set_fuse(fuse);
            set_drop_dead(drop_dead);
            set_tiny_limit(tiny);
            let got = run(program, rows, columns, wait);
            assert_eq!(got.len(), want.len());
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                assert_eq!(
                    got, want,
                    "program {program}, array {i}: fuse {fuse}, drop {drop_dead}, tiny {tiny}, wait {wait}"
                );
            }
        }
    }
    let stats = forerun::runtime::stats();
    eprintln!("{stats:?}");
    assert!(stats.plan_hits > 0 && stats.donated > 0 && stats.inlined > 0 && stats.tasks > 0);
    // If every op runs on its caller, its result is always still held.
    assert!(stats.dropped > 0 || *forerun::runtime::engine().mode() == forerun::runtime::Mode::Sync);
}
