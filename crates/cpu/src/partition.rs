//! Partitions of a large pass over memory: which thread runs which pieces.
//!
//! Handing out pieces one by one would scatter every thread over the whole array. Instead each thread starts with its
//! own partition, the same in every pass, so it reads long runs and finds the data of the last pass in its own cache. A
//! thread that has finished its partition takes pieces of the others.

use forerun_base::Team;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of partitions; larger teams share them.
const MOST_PARTITIONS: usize = 32;

/// Consecutive pieces: the next to run, and where they end. Padded to two cache lines to prevent false sharing.
#[repr(align(128))]
struct Partition {
    next: AtomicUsize,
    end: usize,
}

thread_local! {
    /// Numbers the threads that ever ran a piece.
    static NUMBER: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed)
    };
}

/// Like [`Team::split`], but each thread takes the pieces of its own partition first.
pub(crate) fn split(team: &dyn Team, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
    let partitions = team.width().min(pieces).min(MOST_PARTITIONS);
    if partitions <= 1 {
        return team.split(pieces, piece);
    }
    let all: [Partition; MOST_PARTITIONS] = std::array::from_fn(|n| {
        let from = |n: usize| n.min(partitions) * pieces / partitions;
        Partition { next: AtomicUsize::new(from(n)), end: from(n + 1) }
    });
    // There are as many calls as pieces, so each call finds one.
    team.split(pieces, &|_| {
        let own = NUMBER.with(|&number| number);
        for n in 0..partitions {
            let partition = &all[(own + n) % partitions];
            let taken = partition.next.fetch_add(1, Ordering::Relaxed);
            if taken < partition.end {
                return piece(taken);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spawns its threads anew in every call.
    struct Threads(usize);

    impl Team for Threads {
        fn width(&self) -> usize {
            self.0
        }

        fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..self.0 {
                    scope.spawn(|| {
                        while next.fetch_add(1, Ordering::Relaxed) < pieces {
                            piece(0);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn every_piece_is_taken_once() {
        for threads in [1, 2, 3, 40] {
            for pieces in [0, 1, 2, 3, 7, 64, 1000] {
                let taken: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                let count = |i: usize| {
                    taken[i].fetch_add(1, Ordering::Relaxed);
                };
                if threads == 1 {
                    split(&forerun_base::Solo, pieces, &count);
                } else {
                    split(&Threads(threads), pieces, &count);
                }
                assert!(taken.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} threads, {pieces} pieces");
            }
        }
    }

    /// A team of two whose second thread never runs a piece.
    struct Late;

    impl Team for Late {
        fn width(&self) -> usize {
            2
        }

        fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
            (0..pieces).for_each(piece);
        }
    }

    #[test]
    fn a_thread_begins_with_its_own_partition_every_time() {
        let order = || {
            let taken = std::sync::Mutex::new(Vec::new());
            split(&Late, 7, &|i| taken.lock().unwrap().push(i));
            taken.into_inner().unwrap()
        };
        let own = NUMBER.with(|&number| number) % 2;
        let expected = if own == 0 { [0, 1, 2, 3, 4, 5, 6] } else { [3, 4, 5, 6, 0, 1, 2] };
        assert_eq!((order(), order()), (expected.to_vec(), expected.to_vec()));
    }
}
