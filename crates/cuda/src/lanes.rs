//! Lanes: the streams of a device, and the tickets that mark places in them.
//!
//! Invariant: tickets of a lane are passed in order, so one number says how far a lane is. A ticket is an event of the driver
//! until it is seen to be passed; events are used again.
//!
//! The compute lane also writes its last ticket to a word of the host's memory, which is all that is looked at as a rule: to
//! ask the driver for an event takes its locks, and while one thread asks, another that launches or records may wait for up to a
//! millisecond. Now and then the driver is asked all the same: a lane that faulted writes nothing any more.

use crate::pinned::Slots;
use crate::sys::{Driver, Event, Stream, driver_code as code};
use forerun_base::Result;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// So many looks at the word go by between two questions to the driver.
const LOOKS: u32 = 512;

/// What runs in order on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Kernels.
    Compute,
    /// Copies from the host.
    ToDevice,
    /// Copies to the host.
    FromDevice,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Lane; 3] = [Lane::Compute, Lane::ToDevice, Lane::FromDevice];
}

/// A place in a lane: everything given to it before is done when the ticket is passed. Tickets count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

#[derive(Debug)]
pub(crate) struct Lanes {
    driver: &'static Driver,
    streams: [Stream; 3],
    marks: [Mutex<Marks>; 3],
    spare: Mutex<Vec<Event>>,
    /// The last ticket that the compute lane has passed, if the device can write such a word.
    word: Option<&'static AtomicU64>,
    looks: AtomicU32,
}

#[derive(Debug, Default)]
struct Marks {
    /// The last ticket given out, and the last one known to be passed.
    given: u64,
    passed: u64,
    /// Events of the tickets between.
    events: VecDeque<(u64, Event)>,
}

impl Lanes {
    pub(crate) fn new(driver: &'static Driver) -> Result<Lanes> {
        let mut streams = [std::ptr::null_mut(); 3];
        for stream in &mut streams {
            // SAFETY: writes one handle.
            let error = unsafe { (driver.stream_create)(stream, code::STREAM_NON_BLOCKING) };
            driver.check(error, "cuStreamCreate")?;
        }
        let word = word_of(driver, streams[Lane::Compute as usize]);
        Ok(Lanes {
            driver,
            streams,
            marks: Default::default(),
            spare: Mutex::default(),
            word,
            looks: AtomicU32::new(0),
        })
    }

    /// The word of a lane.
    fn word(&self, lane: Lane) -> Option<&'static AtomicU64> {
        self.word.filter(|_| lane == Lane::Compute)
    }

    /// How far a lane is, without the driver; `None` if that is not to be known, or it is time to ask.
    pub(crate) fn glance(&self, lane: Lane) -> Option<Ticket> {
        let word = self.word(lane)?;
        // Several threads may count the same look: it is only about how often.
        let looks = self.looks.load(Ordering::Relaxed).wrapping_add(1);
        self.looks.store(looks, Ordering::Relaxed);
        // Acquire: what the lane wrote to the host's memory before is seen by whoever sees the ticket.
        (!looks.is_multiple_of(LOOKS)).then(|| Ticket(word.load(Ordering::Acquire)))
    }

    pub(crate) fn stream(&self, lane: Lane) -> Stream {
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
        // SAFETY: writes one handle.
        self.driver.check(unsafe { (self.driver.event_create)(&mut event, code::EVENT_UNTIMED) }, "cuEventCreate")?;
        Ok(event)
    }

    pub(crate) fn record(&self, lane: Lane) -> Result<Ticket> {
        let event = self.event()?;
        let mut marks = self.marks(lane);
        if let Some(word) = self.word(lane) {
            // SAFETY: a word of pinned memory that is never given back. What the stream did before is visible before the ticket.
            let error = unsafe {
                (self.driver.stream_write)(self.stream(lane), word.as_ptr().addr() as u64, marks.given + 1, 0)
            };
            self.driver.check(error, "cuStreamWriteValue64")?;
            self.take_back(&mut marks, word.load(Ordering::Acquire));
        }
        // SAFETY: an event and a stream of this device.
        let error = unsafe { (self.driver.event_record)(event, self.stream(lane)) };
        self.driver.check(error, "cuEventRecord")?;
        marks.given += 1;
        let ticket = marks.given;
        marks.events.push_back((ticket, event));
        Ok(Ticket(ticket))
    }

    pub(crate) fn wait(&self, lane: Lane, other: Lane, ticket: Ticket) -> Result<()> {
        if lane == other {
            return Ok(());
        }
        let marks = self.marks(other);
        let Some(&(_, event)) = marks.events.iter().find(|(number, _)| *number >= ticket.0) else { return Ok(()) };
        // SAFETY: an event and a stream of this device; the event is not used again before it is passed.
        self.driver.check(unsafe { (self.driver.stream_wait)(self.stream(lane), event, 0) }, "cuStreamWaitEvent")
    }

    pub(crate) fn passed(&self, lane: Lane) -> Result<Ticket> {
        let mut marks = self.marks(lane);
        self.take_back(&mut marks, self.word(lane).map_or(0, |word| word.load(Ordering::Acquire)));
        while let Some(&(number, event)) = marks.events.front() {
            // SAFETY: an event of this device.
            match unsafe { (self.driver.event_query)(event) } {
                code::NOT_READY => break,
                error => self.driver.check(error, "cuEventQuery")?,
            }
            self.take_back(&mut marks, number);
        }
        Ok(Ticket(marks.passed))
    }

    /// The events of what has passed are used again.
    fn take_back(&self, marks: &mut Marks, reached: u64) {
        let mut spare = self.spare.lock().unwrap_or_else(|e| e.into_inner());
        while let Some(&(_, event)) = marks.events.front().filter(|(number, _)| *number <= reached) {
            marks.events.pop_front();
            spare.push(event);
        }
        marks.passed = marks.passed.max(reached);
    }

    pub(crate) fn block(&self, lane: Lane, ticket: Ticket) -> Result<()> {
        if self.passed(lane)? >= ticket {
            return Ok(());
        }
        let found = self.marks(lane).events.iter().find(|(number, _)| *number >= ticket.0).map(|(_, event)| *event);
        if let Some(event) = found {
            // Another thread may see it passed and record it anew before this one gets here: then the wait is longer than
            // need be, and no more.
            // SAFETY: an event of this device; events are never destroyed.
            self.driver.check(unsafe { (self.driver.event_synchronize)(event) }, "cuEventSynchronize")?;
        }
        self.passed(lane).map(drop)
    }
}

/// A word that a stream can write.
fn word_of(driver: &'static Driver, stream: Stream) -> Option<&'static AtomicU64> {
    let address = Slots::new(driver, size_of::<AtomicU64>(), 1).take().ok()?;
    // SAFETY: pinned memory of that size, aligned to a page, never given back, and shared with the device, which writes whole words.
    unsafe {
        let word = &*std::ptr::with_exposed_provenance::<AtomicU64>(address);
        word.store(0, Ordering::Relaxed);
        let wrote = (driver.stream_write)(stream, address as u64, 0, 0) == code::SUCCESS;
        (wrote && (driver.stream_synchronize)(stream) == code::SUCCESS).then_some(word)
    }
}
