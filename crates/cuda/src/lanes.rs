//! Lanes: the streams of a device, and the tickets that mark places in them.
//!
//! Invariant: tickets of a lane are passed in order, so one number says how far a lane is. A ticket is an event of the driver
//! until it is seen to be passed; events are used again.

use crate::sys::{Driver, Event, Stream, driver_code as code};
use forerun_base::Result;
use std::collections::VecDeque;
use std::sync::Mutex;

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
        Ok(Lanes { driver, streams, marks: Default::default(), spare: Mutex::default() })
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
        while let Some(&(number, event)) = marks.events.front() {
            // SAFETY: an event of this device.
            match unsafe { (self.driver.event_query)(event) } {
                code::NOT_READY => break,
                error => self.driver.check(error, "cuEventQuery")?,
            }
            marks.passed = number;
            marks.events.pop_front();
            self.spare.lock().unwrap_or_else(|e| e.into_inner()).push(event);
        }
        Ok(Ticket(marks.passed))
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
