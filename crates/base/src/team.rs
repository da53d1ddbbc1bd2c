//! What kernels get from the engine: threads to split work over, and a ledger for bytes.

/// Threads that share the work of one task. Their number never changes a result: the kernel splits its work by shapes
/// alone.
pub trait Team: Sync {
    /// Maximum number of threads that take part, including the caller.
    fn width(&self) -> usize;

    /// Calls `piece(0)`, ..., `piece(pieces - 1)`, each once, on any thread of the team, and returns when all are done.
    /// A panic in a piece is resumed in the caller after the others are done.
    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync));
}

/// The team that consists of the caller alone.
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

/// Counts the bytes of a device. Allocators report to it, and the engine admits tasks by it.
pub trait BytesLedger: Send + Sync {
    /// Adds live bytes.
    fn charge(&self, bytes: usize);

    /// Subtracts live bytes.
    fn release(&self, bytes: usize);
}
