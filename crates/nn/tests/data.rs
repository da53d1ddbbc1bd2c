//! Batches: every sample once, in order or shuffled, with its label.

mod common;

use common::{failure, values};
use forerun_base::DType;
use forerun_nn::{Samples, batches};

fn samples() -> (Vec<f32>, Vec<i64>) {
    ((0..14).map(|i| i as f32).collect(), (0..7).collect())
}

#[test]
fn in_order_with_a_smaller_batch_at_the_end() {
    let (x, y) = samples();
    let (x, y) = (Samples::new(&x, &[2, 1]).unwrap(), Samples::new(&y, &[]).unwrap());
    assert_eq!((x.count(), y.count()), (7, 7));
    let all = batches(&x, &y, 3, None).unwrap();
    assert_eq!(all.len(), 3);
    let all: Vec<_> = all.map(|batch| batch.unwrap()).collect();
    assert_eq!(*all[0].0.shape(), [3, 2, 1]);
    assert_eq!(values(&all[1].0), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    assert_eq!((values(&all[2].1), all[2].1.dtype()), (vec![6.0], DType::I64));
    assert_eq!(*all[2].0.shape(), [1, 2, 1]);
}

#[test]
fn a_seed_decides_the_order() {
    let x: Vec<f32> = (0..200).map(|i| i as f32).collect();
    let y: Vec<i64> = (0..100).collect();
    let (x, y) = (Samples::new(&x, &[2]).unwrap(), Samples::new(&y, &[]).unwrap());
    let order = |seed: u64| -> Vec<f64> {
        let mut labels = Vec::new();
        for batch in batches(&x, &y, 32, Some(seed)).unwrap() {
            let (x, y) = batch.unwrap();
            let (rows, numbers) = (values(&x), values(&y));
            assert!(rows.chunks(2).zip(&numbers).all(|(row, label)| *row == [2.0 * label, 2.0 * label + 1.0]));
            labels.extend(numbers);
        }
        labels
    };
    let (first, second) = (order(1), order(2));
    assert_eq!(first, order(1));
    assert_ne!(first, second);
    let mut sorted = first.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, (0..100).map(f64::from).collect::<Vec<_>>());
    assert_ne!(first, sorted);
}

#[test]
fn permutations_are_uniform() {
    let y = [0i64, 1, 2];
    let y = Samples::new(&y, &[]).unwrap();
    let mut counts = std::collections::HashMap::new();
    for seed in 0..600 {
        let (batch, _) = batches(&y, &y, 3, Some(seed)).unwrap().next().unwrap().unwrap();
        *counts.entry(format!("{:?}", values(&batch))).or_insert(0) += 1;
    }
    assert!(counts.len() == 6 && counts.values().all(|n| (60..140).contains(n)), "{counts:?}");
}

#[test]
fn mistakes_are_errors() {
    let (x, y) = samples();
    let error = failure(Samples::new(&x, &[3]));
    assert_eq!(error.to_string(), "samples: 14 numbers are not a multiple of the sample shape (3,)");
    assert!(Samples::new(&x, &[0]).is_err());
    let (x, y) = (Samples::new(&x, &[1]).unwrap(), Samples::new(&y, &[1]).unwrap());
    assert_eq!(failure(batches(&x, &y, 2, None)).to_string(), "batches: 14 samples, but 7 labels");
    assert_eq!(failure(batches(&y, &y, 0, None)).to_string(), "batches: the batch size must be at least 1, got 0");
    let none = Samples::<f32>::new(&[], &[2]).unwrap();
    assert_eq!(batches(&none, &none, 2, Some(1)).unwrap().count(), 0);
}
