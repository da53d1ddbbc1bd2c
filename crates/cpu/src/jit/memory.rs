//! Memory for code. Pages are written while nobody can run them and run while nobody can write them; kernels share
//! them, and a span of them goes back to the system with its last kernel.
//!
//! A page that is being run is never made writable again. What is to be added to it is written to a copy of the page,
//! which then takes its place in one system call: a thread that runs there meanwhile sees the old page or the new one, and
//! both have what it runs. The memory is private to the process, so a forked child has copies of its own.

use super::stats::SPANS;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, TryLockError};

const PAGE: usize = 4096;
/// Address space of a span. Pages that no kernel uses yet are only reserved.
const SPAN: usize = 256 * 1024;
/// Functions begin at cache lines.
const ALIGN: usize = 64;

/// The span that new kernels go to, and how many of its bytes are taken.
static OPEN: Mutex<Option<(Arc<Span>, usize)>> = Mutex::new(None);

/// Address space for code.
#[derive(Debug)]
struct Span {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a span is addresses; what lies there is only ever run.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Drop for Span {
    fn drop(&mut self) {
        // SAFETY: the span's own mapping, of which no kernel is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        SPANS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn map(bytes: usize, protection: libc::c_int) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping touches nobody's memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

impl Span {
    fn new(bytes: usize) -> Option<Span> {
        let start = map(bytes, libc::PROT_NONE)?;
        SPANS.fetch_add(1, Ordering::Relaxed);
        Some(Span { start, bytes })
    }

    /// Writes `code` at an offset behind all code of the span; `None` if the system refuses.
    fn write(&self, at: usize, code: &[u8]) -> Option<()> {
        let first = at / PAGE * PAGE;
        let bytes = (at + code.len() - first).next_multiple_of(PAGE);
        let fresh = map(bytes, libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the fresh pages are this call's own until they take their place, where they lie within the span; of the
        // page they replace, the part in use is copied, and it was made readable when it was written.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr().add(first), fresh.as_ptr(), at - first);
            std::ptr::copy_nonoverlapping(code.as_ptr(), fresh.as_ptr().add(at - first), code.len());
            let runnable = libc::mprotect(fresh.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) == 0;
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            let place = self.start.as_ptr().add(first);
            if !runnable
                || libc::mremap(fresh.as_ptr().cast(), bytes, bytes, flags, place.cast::<libc::c_void>())
                    == libc::MAP_FAILED
            {
                libc::munmap(fresh.as_ptr().cast(), bytes);
                return None;
            }
        }
        Some(())
    }
}

/// Code in memory, while it lives.
#[derive(Debug)]
pub(super) struct Code {
    span: Arc<Span>,
    offset: usize,
}

impl Code {
    /// Makes `code` runnable; `None` if the system refuses.
    pub(super) fn new(code: &[u8]) -> Option<Code> {
        // Whoever finds the open span taken, if only because a fork left it so, maps one of its own.
        let mut open = match OPEN.try_lock() {
            Ok(open) => Some(open),
            Err(TryLockError::Poisoned(open)) => Some(open.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let known = open.as_ref().and_then(|open| open.as_ref()).filter(|(span, used)| used + code.len() <= span.bytes);
        let shared = known.is_some() || (open.is_some() && code.len() <= SPAN / 2);
        let (span, offset) = match known {
            Some((span, used)) => (span.clone(), *used),
            None => (Arc::new(Span::new(if shared { SPAN } else { code.len().next_multiple_of(PAGE) })?), 0),
        };
        span.write(offset, code)?;
        let used = (offset + code.len()).next_multiple_of(ALIGN);
        if let Some(open) = open.as_mut().filter(|_| shared) {
            // A full span is no longer open: what is written to it next would lie over its last kernel.
            **open = (used < span.bytes).then(|| (span.clone(), used));
        }
        Some(Code { span, offset })
    }

    /// The address of a byte of the code.
    pub(super) fn address(&self, offset: usize) -> *const u8 {
        self.span.start.as_ptr().wrapping_add(self.offset + offset)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // The open span is given back as well when this was its last kernel.
        if let Ok(mut open) = OPEN.try_lock()
            && open.as_ref().is_some_and(|(span, _)| Arc::ptr_eq(span, &self.span))
            && Arc::strong_count(&self.span) == 2
        {
            *open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kernels_share_a_byte() {
        // Two spans of the shortest functions, so that spans are filled to their last byte.
        let codes: Vec<(Code, [u8; ALIGN])> = (0..2 * SPAN / ALIGN)
            .map(|n| {
                let bytes = std::array::from_fn(|k| (n >> (8 * (k % 4))) as u8);
                (Code::new(&bytes).expect("memory for code"), bytes)
            })
            .collect();
        for (code, bytes) in &codes {
            // SAFETY: the code lives, and is that long; its pages may be read.
            let written = unsafe { std::slice::from_raw_parts(code.address(0), ALIGN) };
            assert_eq!(written, bytes);
        }
    }
}
