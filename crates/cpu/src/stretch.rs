//! Which thread takes which pieces of a large pass over memory.
//!
//! Pieces handed out one by one would scatter every thread over the whole array. Here each keeps to a stretch of its own, the
//! same in every pass: it reads long runs, and finds what it read last time in its own cache, which counts where the
//! processor's cores do not share one. Who is done with its stretch helps with the others'.

use forerun_base::Team;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most stretches; larger teams share them.
const MOST: usize = 32;

/// Pieces that follow each other: the next to be taken, and where they end. Alone on its lines.
#[repr(align(128))]
struct Stretch {
    next: AtomicUsize,
    end: usize,
}

thread_local! {
    /// The thread's number among those that ever took a piece.
    static NUMBER: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed)
    };
}

/// As [`Team::split`], each thread taking the pieces of its own stretch first.
pub(crate) fn split(team: &dyn Team, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
    let stretches = team.width().min(pieces).min(MOST);
    if stretches <= 1 {
        return team.split(pieces, piece);
    }
    let all: [Stretch; MOST] = std::array::from_fn(|n| {
        let from = |n: usize| n.min(stretches) * pieces / stretches;
        Stretch { next: AtomicUsize::new(from(n)), end: from(n + 1) }
    });
    // There are as many calls as pieces, so each call finds one.
    team.split(pieces, &|_| {
        let own = NUMBER.with(|&number| number);
        for n in 0..stretches {
            let stretch = &all[(own + n) % stretches];
            let taken = stretch.next.fetch_add(1, Ordering::Relaxed);
            if taken < stretch.end {
                return piece(taken);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of its own in every call.
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

    /// Two, of whom one never comes.
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
    fn a_thread_begins_with_its_own_stretch_every_time() {
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
