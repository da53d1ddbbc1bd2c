//! Copies between the device and pageable host memory, through a ring of pinned buffers, so that the bus is busy while
//! the host copies the next piece.

use crate::sys::{Driver, Event, Stream, driver_code as code};
use forerun_base::{Result, Team};
use std::ffi::c_void;

/// Bytes per piece, and pieces of the ring.
const PIECE: usize = 4 << 20;
const PIECES: usize = 4;

#[derive(Debug)]
pub(crate) struct Staging {
    driver: &'static Driver,
    /// Created at first use: pinning is slow.
    pieces: Vec<Piece>,
    next: usize,
}

#[derive(Debug)]
struct Piece {
    address: *mut u8,
    event: Event,
}

impl Staging {
    pub(crate) fn new(driver: &'static Driver) -> Staging {
        Staging { driver, pieces: Vec::new(), next: 0 }
    }

    fn make(&mut self) -> Result<()> {
        while self.pieces.len() < PIECES {
            let (mut address, mut event): (*mut c_void, Event) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: the pointers are to local handles, the only memory that the calls write.
            unsafe {
                self.driver.check((self.driver.host_alloc)(&mut address, PIECE, 0), "cuMemHostAlloc")?;
                let made = (self.driver.event_create)(&mut event, code::EVENT_UNTIMED);
                if let Err(error) = self.driver.check(made, "cuEventCreate") {
                    (self.driver.host_free)(address);
                    return Err(error);
                }
            }
            self.pieces.push(Piece { address: address.cast(), event });
        }
        Ok(())
    }

    /// Returns the next piece after the device has finished with it. (An event that was never recorded counts as
    /// complete.)
    fn take(&mut self) -> Result<(*mut u8, Event)> {
        let Piece { address, event } = self.pieces[self.next];
        self.next = (self.next + 1) % PIECES;
        // SAFETY: an event of this device.
        self.driver.check(unsafe { (self.driver.event_synchronize)(event) }, "cuEventSynchronize")?;
        Ok((address, event))
    }

    /// Enqueues a copy to the device; returns when the last host byte was read.
    pub(crate) fn copy_in(&mut self, stream: Stream, from: &[u8], to: u64, team: &dyn Team) -> Result<()> {
        self.make()?;
        let driver = self.driver;
        for (n, part) in from.chunks(PIECE).enumerate() {
            let (piece, event) = self.take()?;
            // SAFETY: the piece has room for a part, and nobody accesses it now; the caller guarantees the target.
            unsafe {
                spread(part.as_ptr(), piece, part.len(), team);
                let to = to + (n * PIECE) as u64;
                driver.check((driver.copy_in)(to, piece.cast(), part.len(), stream), "cuMemcpyHtoDAsync")?;
                driver.check((driver.event_record)(event, stream), "cuEventRecord")?;
            }
        }
        Ok(())
    }

    /// Copies from the device; returns when the copy is complete.
    pub(crate) fn copy_out(&mut self, stream: Stream, from: u64, to: &mut [u8], team: &dyn Team) -> Result<()> {
        self.make()?;
        let driver = self.driver;
        let length = to.len();
        let mut parts = to.chunks_mut(PIECE);
        let mut queued: std::collections::VecDeque<(*mut u8, Event)> = Default::default();
        let mut at = 0;
        while at < length || !queued.is_empty() {
            if at < length && queued.len() < PIECES {
                let (piece, event) = self.take()?;
                let bytes = PIECE.min(length - at);
                // SAFETY: the piece has room for a part, and nobody accesses it now; the caller guarantees the source.
                unsafe {
                    driver
                        .check((driver.copy_out)(piece.cast(), from + at as u64, bytes, stream), "cuMemcpyDtoHAsync")?;
                    driver.check((driver.event_record)(event, stream), "cuEventRecord")?;
                }
                queued.push_back((piece, event));
                at += bytes;
            } else if let (Some((piece, event)), Some(part)) = (queued.pop_front(), parts.next()) {
                // SAFETY: the copy into this piece is complete, because its event has completed.
                unsafe {
                    driver.check((driver.event_synchronize)(event), "cuEventSynchronize")?;
                    spread(piece, part.as_mut_ptr(), part.len(), team);
                }
            }
        }
        Ok(())
    }
}

/// Bytes that one thread of a team copies at a time.
const SHARE: usize = 512 << 10;

/// Addresses shared by the threads of a team.
struct Shared(*const u8, *mut u8);

// SAFETY: each thread accesses its own part.
unsafe impl Sync for Shared {}

/// Copies bytes with the whole team, because one thread is slower than the bus.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
unsafe fn spread(from: *const u8, to: *mut u8, bytes: usize, team: &dyn Team) {
    let shared = Shared(from, to);
    let shared = &shared;
    team.split(bytes.div_ceil(SHARE), &|n| {
        let (first, count) = (n * SHARE, SHARE.min(bytes - n * SHARE));
        // SAFETY: a part of the ranges that the caller guarantees.
        unsafe { std::ptr::copy_nonoverlapping(shared.0.add(first), shared.1.add(first), count) }
    });
}
