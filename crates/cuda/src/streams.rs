//! The CUDA streams of a device, one per [`Lane`], and the marks that measure their progress.
//!
//! Invariant: a stream passes its marks in order, so its progress is one number.
//!
//! The compute stream, or its last kernel, writes marks to a word of pinned host memory. The host polls that word, and
//! other streams wait for it on the device. Events, which the copy streams use, would cost one more driver call per
//! mark; and querying an event takes the driver's locks, which can delay a launch on another thread by up to a
//! millisecond. The host still queries the driver occasionally, because a stream that faulted writes no more marks.

use crate::pinned::Slots;
use crate::sys::{Driver, Event, Stream, driver_code as code};
use forerun_base::Result;
use forerun_plan::Lane;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

/// Polls of the word between two driver queries: a fraction of a millisecond of spinning, or half a second of sleeping.
const LOOKS: u32 = 1 << 14;

/// A position in a stream: when the stream has passed it, everything enqueued before is complete. Marks count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u64);

/// A mark that a kernel may write itself, and the address of the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkWord {
    pub(crate) address: u64,
    pub(crate) mark: u64,
}

#[derive(Debug)]
pub(crate) struct Streams {
    driver: &'static Driver,
    streams: [Stream; 3],
    marks: [Mutex<Marks>; Lane::COUNT],
    spare: Mutex<Vec<Event>>,
    /// The last mark that the compute stream has passed, if the device supports such a word.
    word: Option<&'static AtomicU64>,
    looks: AtomicU32,
}

#[derive(Debug, Default)]
struct Marks {
    /// The last mark issued, and the last one known to have passed.
    given: u64,
    passed: u64,
    /// Events of the marks in between, for streams without a word.
    events: VecDeque<(u64, Event)>,
}

impl Streams {
    pub(crate) fn new(driver: &'static Driver) -> Result<Streams> {
        let mut streams = [std::ptr::null_mut(); 3];
        for stream in &mut streams {
            // SAFETY: `stream` has room for the one handle that the call writes.
            let error = unsafe { (driver.stream_create)(stream, code::STREAM_NON_BLOCKING) };
            driver.check(error, "cuStreamCreate")?;
        }
        let word = word_of(driver, streams[Lane::Compute as usize]);
        Ok(Streams {
            driver,
            streams,
            marks: Default::default(),
            spare: Mutex::default(),
            word,
            looks: AtomicU32::new(0),
        })
    }

    /// The progress word of a lane's stream.
    fn word(&self, lane: Lane) -> Option<&'static AtomicU64> {
        self.word.filter(|_| lane == Lane::Compute)
    }

    /// The progress of a stream according to its word; `None` if it has none, or if a driver query is due.
    pub(crate) fn poll(&self, lane: Lane) -> Option<Mark> {
        let word = self.word(lane)?;
        // Racing threads may count two polls as one, which is harmless.
        let looks = self.looks.load(Ordering::Relaxed).wrapping_add(1);
        self.looks.store(looks, Ordering::Relaxed);
        // Acquire: pairs with the device's write, so host memory that the stream wrote before the mark is visible.
        (!looks.is_multiple_of(LOOKS)).then(|| Mark(word.load(Ordering::Acquire)))
    }

    pub(crate) fn get(&self, lane: Lane) -> Stream {
        self.streams[lane as usize]
    }

    fn marks(&self, lane: Lane) -> std::sync::MutexGuard<'_, Marks> {
        self.marks[lane as usize].lock().unwrap_or_else(|e| e.into_inner())
    }

    fn event(&self) -> Result<Event> {
        if let Some(event) = self.spare.lock().unwrap_or_else(|e| e.into_inner()).pop() {
            return Ok(event);
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: `event` has room for the one handle that the call writes.
        self.driver.check(unsafe { (self.driver.event_create)(&mut event, code::EVENT_UNTIMED) }, "cuEventCreate")?;
        Ok(event)
    }

    pub(crate) fn record(&self, lane: Lane) -> Result<Mark> {
        self.record_after(lane, |_| false)
    }

    /// Records a mark after the work that `last` enqueues. `last` returns whether its kernel writes the mark itself.
    pub(crate) fn record_after(&self, lane: Lane, last: impl FnOnce(Option<MarkWord>) -> bool) -> Result<Mark> {
        let mut marks = self.marks(lane);
        let (mark, word) = (marks.given + 1, self.word(lane));
        let written = last(word.map(|word| MarkWord { address: word.as_ptr().addr() as u64, mark }));
        match word {
            Some(_) if written => {}
            Some(word) => {
                let address = word.as_ptr().addr() as u64;
                // SAFETY: a word of pinned memory that is never freed. The write is ordered after all earlier work of
                // the stream.
                let error = unsafe { (self.driver.stream_write)(self.get(lane), address, mark, 0) };
                self.driver.check(error, "cuStreamWriteValue64")?;
            }
            None => {
                let event = self.event()?;
                // SAFETY: an event and a stream of this device.
                let error = unsafe { (self.driver.event_record)(event, self.get(lane)) };
                self.driver.check(error, "cuEventRecord")?;
                marks.events.push_back((mark, event));
            }
        }
        marks.given = mark;
        Ok(Mark(mark))
    }

    pub(crate) fn wait(&self, lane: Lane, other: Lane, mark: Mark) -> Result<()> {
        if lane == other {
            return Ok(());
        }
        let stream = self.get(lane);
        if let Some(word) = self.word(other) {
            if word.load(Ordering::Acquire) >= mark.0 {
                return Ok(());
            }
            let address = word.as_ptr().addr() as u64;
            // The write of the mark was enqueued before this wait, so it comes first in any hardware queue that both
            // may share. SAFETY: a word of pinned memory that is never freed.
            let error = unsafe { (self.driver.stream_wait_value)(stream, address, mark.0, code::WAIT_AT_LEAST) };
            return self.driver.check(error, "cuStreamWaitValue64");
        }
        let marks = self.marks(other);
        let Some(&(_, event)) = marks.events.iter().find(|(number, _)| *number >= mark.0) else { return Ok(()) };
        // SAFETY: an event and a stream of this device; the event is not reused before it has completed.
        self.driver.check(unsafe { (self.driver.stream_wait)(stream, event, 0) }, "cuStreamWaitEvent")
    }

    /// Blocks marks and queries of the compute stream while the guard is alive: a capture allows neither.
    pub(crate) fn block_queries(&self) -> impl Sized + '_ {
        self.marks(Lane::Compute)
    }

    pub(crate) fn passed(&self, lane: Lane) -> Result<Mark> {
        if let Some(word) = self.word(lane) {
            // Another thread marks or captures the stream; the next poll will succeed.
            let marks = match self.marks[lane as usize].try_lock() {
                Ok(marks) => marks,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Ok(Mark(word.load(Ordering::Acquire))),
            };
            // SAFETY: a stream of this device. The lock prevents others from adding a mark meanwhile.
            return match unsafe { (self.driver.stream_query)(self.get(lane)) } {
                code::NOT_READY => Ok(Mark(word.load(Ordering::Acquire))),
                error => self.driver.check(error, "cuStreamQuery").map(|()| Mark(marks.given)),
            };
        }
        let mut marks = self.marks(lane);
        while let Some(&(number, event)) = marks.events.front() {
            // SAFETY: an event of this device.
            match unsafe { (self.driver.event_query)(event) } {
                code::NOT_READY => break,
                error => self.driver.check(error, "cuEventQuery")?,
            }
            marks.events.pop_front();
            marks.passed = number;
            self.spare.lock().unwrap_or_else(|e| e.into_inner()).push(event);
        }
        Ok(Mark(marks.passed))
    }

    pub(crate) fn block(&self, lane: Lane, mark: Mark) -> Result<()> {
        if self.passed(lane)? >= mark {
            return Ok(());
        }
        // SAFETY: a stream of this device.
        let error = unsafe { (self.driver.stream_synchronize)(self.get(lane)) };
        self.driver.check(error, "cuStreamSynchronize")?;
        self.passed(lane).map(drop)
    }
}

/// Allocates a word of pinned memory that one stream can write and another can wait for; `None` if the device does not
/// support that.
fn word_of(driver: &'static Driver, stream: Stream) -> Option<&'static AtomicU64> {
    let address = Slots::new(driver, size_of::<AtomicU64>(), 1).take().ok()?;
    // SAFETY: pinned memory of that size, page-aligned and never freed; the device writes full words.
    unsafe {
        let word = &*std::ptr::with_exposed_provenance::<AtomicU64>(address);
        word.store(0, Ordering::Relaxed);
        let address = address as u64;
        let goes = (driver.stream_write)(stream, address, 0, 0) == code::SUCCESS
            && (driver.stream_wait_value)(stream, address, 0, code::WAIT_AT_LEAST) == code::SUCCESS
            && (driver.stream_synchronize)(stream) == code::SUCCESS;
        goes.then_some(word)
    }
}
