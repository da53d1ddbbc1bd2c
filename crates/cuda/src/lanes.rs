//! Lanes: the streams of a device, and the tickets that mark places in them.
//!
//! Invariant: tickets of a lane are passed in order, so one number says how far a lane is.
//!
//! The compute lane writes its tickets to a word of the host's memory, or its last kernel does. Whoever looks reads that word; another
//! lane that must come later waits for it on the device. Events of the driver, which the lanes of copies have, would cost a call more a
//! ticket, and to ask for one takes the driver's locks: while one thread asks, another that launches may wait for up to a
//! millisecond. Now and then the driver is asked all the same: a lane that faulted writes nothing any more.

use crate::pinned::Slots;
use crate::sys::{Driver, Event, Stream, driver_code as code};
use forerun_base::Result;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

/// So many looks at the word go by between two questions to the driver: a fraction of a millisecond of looking without a pause, half a
/// second of naps.
const LOOKS: u32 = 1 << 14;

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

/// A ticket that a kernel may write itself, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) address: u64,
    pub(crate) ticket: u64,
}

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
    /// Events of the tickets between, where no word tells.
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
        self.record_after(lane, |_| false)
    }

    /// Marks the place behind what `last` gives to the lane. It says whether its kernel will write the ticket itself.
    pub(crate) fn record_after(&self, lane: Lane, last: impl FnOnce(Option<Mark>) -> bool) -> Result<Ticket> {
        let mut marks = self.marks(lane);
        let (ticket, word) = (marks.given + 1, self.word(lane));
        let written = last(word.map(|word| Mark { address: word.as_ptr().addr() as u64, ticket }));
        match word {
            Some(_) if written => {}
            Some(word) => {
                let address = word.as_ptr().addr() as u64;
                // SAFETY: a word of pinned memory that is never given back. What the stream did before is visible before the ticket.
                let error = unsafe { (self.driver.stream_write)(self.stream(lane), address, ticket, 0) };
                self.driver.check(error, "cuStreamWriteValue64")?;
            }
            None => {
                let event = self.event()?;
                // SAFETY: an event and a stream of this device.
                let error = unsafe { (self.driver.event_record)(event, self.stream(lane)) };
                self.driver.check(error, "cuEventRecord")?;
                marks.events.push_back((ticket, event));
            }
        }
        marks.given = ticket;
        Ok(Ticket(ticket))
    }

    pub(crate) fn wait(&self, lane: Lane, other: Lane, ticket: Ticket) -> Result<()> {
        if lane == other {
            return Ok(());
        }
        let stream = self.stream(lane);
        if let Some(word) = self.word(other) {
            if word.load(Ordering::Acquire) >= ticket.0 {
                return Ok(());
            }
            let address = word.as_ptr().addr() as u64;
            // Whatever writes the ticket was told before this, so it is ahead of the wait in any queue that the two may share.
            // SAFETY: a word of pinned memory that is never given back.
            let error = unsafe { (self.driver.stream_wait_value)(stream, address, ticket.0, code::WAIT_AT_LEAST) };
            return self.driver.check(error, "cuStreamWaitValue64");
        }
        let marks = self.marks(other);
        let Some(&(_, event)) = marks.events.iter().find(|(number, _)| *number >= ticket.0) else { return Ok(()) };
        // SAFETY: an event and a stream of this device; the event is not used again before it is passed.
        self.driver.check(unsafe { (self.driver.stream_wait)(stream, event, 0) }, "cuStreamWaitEvent")
    }

    /// Nobody marks the compute lane or asks the driver how far it is while this is held: neither goes during a capture.
    pub(crate) fn hold_still(&self) -> impl Sized + '_ {
        self.marks(Lane::Compute)
    }

    pub(crate) fn passed(&self, lane: Lane) -> Result<Ticket> {
        if let Some(word) = self.word(lane) {
            // Somebody marks it just now, or captures: the next look will do.
            let marks = match self.marks[lane as usize].try_lock() {
                Ok(marks) => marks,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Ok(Ticket(word.load(Ordering::Acquire))),
            };
            // SAFETY: a stream of this device. Nothing is given to the lane meanwhile that has a ticket.
            return match unsafe { (self.driver.stream_query)(self.stream(lane)) } {
                code::NOT_READY => Ok(Ticket(word.load(Ordering::Acquire))),
                error => self.driver.check(error, "cuStreamQuery").map(|()| Ticket(marks.given)),
            };
        }
        let mut marks = self.marks(lane);
        while let Some(&(number, event)) = marks.events.front() {
            // SAFETY: an event of this device.
            match unsafe { (self.driver.event_query)(event) } {
                code::NOT_READY => break,
                error => self.driver.check(error, "cuEventQuery")?,
            }
            // It is used again.
            marks.events.pop_front();
            marks.passed = number;
            self.spare.lock().unwrap_or_else(|e| e.into_inner()).push(event);
        }
        Ok(Ticket(marks.passed))
    }

    pub(crate) fn block(&self, lane: Lane, ticket: Ticket) -> Result<()> {
        if self.passed(lane)? >= ticket {
            return Ok(());
        }
        // SAFETY: a stream of this device.
        let error = unsafe { (self.driver.stream_synchronize)(self.stream(lane)) };
        self.driver.check(error, "cuStreamSynchronize")?;
        self.passed(lane).map(drop)
    }
}

/// A word that a stream can write, and another wait for.
fn word_of(driver: &'static Driver, stream: Stream) -> Option<&'static AtomicU64> {
    let address = Slots::new(driver, size_of::<AtomicU64>(), 1).take().ok()?;
    // SAFETY: pinned memory of that size, aligned to a page, never given back, and shared with the device, which writes whole words.
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
