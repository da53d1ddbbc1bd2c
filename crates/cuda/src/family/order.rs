//! Sorting: short lines by a sorting network in shared memory, long ones by radix sort.

use crate::run::{CheckedCall, DeviceKernel, Job, Plan, are_real, checked};
use crate::text::{define, ordered, routine_text};
use forerun_base::{DType, Kind, Result};
use forerun_ops::order::{Sorting, Top};
use forerun_ops::{Given, Order, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/order.cuh");
/// The maximum number of elements for 32-bit indices in kernels.
pub(super) const MOST_ELEMENTS: usize = u32::MAX as usize / 2;
/// The maximum length of a short line.
const SHORT: usize = 2048;
/// Elements per tile, and values of a digit.
const TILE: usize = 4096;
const VALUES: usize = 256;

/// The size of the network for lines of this length.
fn network(count: usize) -> usize {
    count.next_power_of_two().max(32)
}

impl DeviceKernel for Order {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let (dtype, sort) = (call.inputs[0].0, define("SORT", (*self == Order::Sort) as usize));
        let [outer, count, inner] = call.extents(0);
        if count <= SHORT {
            let defines = [ordered(dtype), sort, define("SIZE", network(count))].concat();
            return Plan { texts: vec![routine_text(&defines, &[TEXT])], scratch: 0, steps: short };
        }
        let text = |part: usize| {
            routine_text(&[ordered(dtype), sort.clone(), define("SIZE", 0), define("PART", part)].concat(), &[TEXT])
        };
        let scratch = Places::new(0, dtype.size(), outer * inner, count).end as usize;
        Plan { texts: (0..3).map(text).collect(), scratch, steps: long }
    }

    fn runs(&self, given: &[Given]) -> bool {
        match self {
            Order::Sort | Order::Argsort | Order::Argtop => are_real(given) && given[0].1.size() < MOST_ELEMENTS,
            // Shortcuts of the host; on a device, frontends use other ops with the same result.
            Order::Partition | Order::Argpartition | Order::Quantile => false,
        }
    }

    fn checked_calls(&self, _: Routine) -> Vec<CheckedCall> {
        let sorting = || Sorting { axis: 0, descending: false };
        let real = DType::ALL.into_iter().filter(|dtype| dtype.kind() != Kind::Complex);
        match self {
            Order::Sort => {
                let all = real.map(|dtype| checked(&[(dtype, &[3000])], sorting()));
                all.chain([20, 100, 5000].map(|count| checked(&[(DType::F64, &[count])], sorting()))).collect()
            }
            Order::Argsort => real.map(|dtype| checked(&[(dtype, &[2000])], sorting())).collect(),
            _ => {
                let top =
                    |count: usize| checked(&[(DType::F16, &[count])], Top { axis: 0, descending: true, count: 3 });
                [20, 100, 5000].map(top).into()
            }
        }
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("arrays of 2^31 elements and more; complex numbers")
    }
}

fn short(job: &Job<'_>) -> Result<()> {
    let [outer, count, inner] = job.extents(0);
    if outer * inner * count == 0 {
        return Ok(());
    }
    let threads = (network(count) / 2).max(32);
    job.blocks(0, (outer * inner).min(1 << 20), threads, &words(job, 0))
}

/// The argument words that all passes share.
fn words(job: &Job<'_>, tiles: usize) -> Vec<u64> {
    let ([outer, count, inner], io) = (job.extents(0), &job.io);
    let descending = match job.call.routine {
        Routine::Order(Order::Argtop) => job.attributes::<Top>().descending,
        _ => job.attributes::<Sorting>().descending,
    };
    let wanted = job.call.out.1.size() / (outer * inner);
    let [lines, count, inner, tiles, wanted] = [outer * inner, count, inner, tiles, wanted].map(|n| n as u64);
    vec![lines, count, inner, tiles, io.inputs[0], descending as u64, io.outputs[0], wanted]
}

/// The buffers for keys, indices and digit counts.
struct Places {
    keys: [u64; 2],
    indices: [u64; 2],
    counts: u64,
    totals: u64,
    end: u64,
}

impl Places {
    fn new(first: u64, size: usize, lines: usize, count: usize) -> Places {
        let mut next = first;
        let mut take = |bytes: usize| {
            let start = next;
            next += bytes.next_multiple_of(256) as u64;
            start
        };
        // One-byte keys need a single pass and no buffer, two-byte keys one buffer.
        let places = |n: usize| size > n;
        let elements = lines * count;
        let mut pair = |each: usize| [0, 1].map(|n| if places(n + 1) { take(each * elements) } else { 0 });
        let (keys, indices) = (pair(size), pair(4));
        let counts = take(4 * lines * VALUES * count.div_ceil(TILE));
        let totals = take(4 * lines * VALUES);
        Places { keys, indices, counts, totals, end: next }
    }
}

fn long(job: &Job<'_>) -> Result<()> {
    let [outer, count, inner] = job.extents(0);
    let (lines, tiles, size) = (outer * inner, count.div_ceil(TILE), job.call.inputs[0].0.size());
    if lines == 0 {
        return Ok(());
    }
    let places = Places::new(job.scratch, size, lines, count);
    for pass in 0..size {
        let (from, to) = ((pass + 1) % 2, pass % 2);
        let read = |places: [u64; 2]| if pass == 0 { 0 } else { places[from] };
        let written = |places: [u64; 2]| if pass + 1 == size { 0 } else { places[to] };
        let mut words = words(job, tiles);
        words.extend([read(places.keys), read(places.indices), written(places.keys), written(places.indices)]);
        words.extend([places.counts, places.totals, 8 * pass as u64]);
        job.blocks(0, lines * tiles, 256, &words)?;
        job.blocks(1, lines * VALUES, 256, &words)?;
        job.blocks(2, lines * tiles, 256, &words)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart_and_as_many_as_passes_need() {
        let places = Places::new(4096, 8, 3, 5000);
        let mut starts = vec![places.keys[0], places.keys[1], places.indices[0], places.indices[1]];
        starts.extend([places.counts, places.totals, places.end]);
        assert!(starts.windows(2).all(|w| w[0] < w[1]) && starts[0] == 4096, "{starts:?}");
        assert!(starts[1] - starts[0] >= 8 * 15_000 && starts[3] - starts[2] >= 4 * 15_000);
        assert_eq!(Places::new(0, 1, 3, 5000).keys, [0, 0]);
        assert_eq!(Places::new(512, 2, 3, 5000).keys, [512, 0]);
    }
}
