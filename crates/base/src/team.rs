//! What kernels receive from the engine: threads to split work over, and a ledger for bytes.

/// Threads that share one task's work. How many there are never changes a result: what is split, and
/// where, is decided by the kernel from shapes alone.
pub trait Team: Sync {
    /// How many threads might take part, the caller included.
    fn width(&self) -> usize;

    /// Calls `piece(0)`, ..., `piece(pieces - 1)`, each once, on any thread of the team, and returns when
    /// all are done. A panic in a piece reaches the caller after the others are done.
    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync));
}

/// The team of one: the caller.
pub struct Solo;

impl Team for Solo {
    fn width(&self) -> usize {
        1
    }

    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        for i in 0..pieces {
            piece(i);
        }
    }
}

/// Who counts the bytes of a device. Allocators report to it; the engine admits tasks by it.
pub trait BytesLedger: Send + Sync {
    /// These bytes are now live.
    fn charge(&self, bytes: usize);

    /// These bytes are no longer live.
    fn release(&self, bytes: usize);
}
