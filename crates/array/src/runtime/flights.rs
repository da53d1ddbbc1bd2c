//! Flights: the planned tasks that are not known to be finished, in planning order.
//!
//! The structure keeps planning cheap for any number of flights: the producer of a value is found by its node, finished
//! flights leave from the front, and the rest is swept only when the list has doubled.

use crate::observe::origin::Origin;
use crate::runtime::node::Node;
use crate::runtime::window::Window;
use forerun_base::WordHash;
use forerun_engine::TaskRef;
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};

/// A planned task.
pub(crate) struct Flight {
    pub(crate) task: TaskRef,
    pub(crate) window: &'static Window,
    /// First record of its segment.
    pub(crate) start: u64,
    pub(crate) makes: SmallVec<[(&'static Node, Origin); 2]>,
    pub(crate) reads: SmallVec<[&'static Node; 4]>,
}

/// All flights.
#[derive(Default)]
pub(crate) struct Flights {
    list: VecDeque<Flight>,
    makers: HashMap<usize, TaskRef, WordHash>,
    sweep_at: usize,
}

fn name(node: &Node) -> usize {
    node as *const Node as usize
}

impl Flights {
    /// Adds a flight.
    pub(crate) fn push(&mut self, flight: Flight) {
        for (node, _) in &flight.makes {
            self.makers.insert(name(node), flight.task.clone());
        }
        self.list.push_back(flight);
    }

    /// Removes finished flights.
    pub(crate) fn purge(&mut self) {
        while self.list.front().is_some_and(|f| f.task.is_done()) {
            if let Some(flight) = self.list.pop_front() {
                forget(&mut self.makers, &flight);
            }
        }
        if self.list.len() > self.sweep_at {
            let makers = &mut self.makers;
            self.list.retain(|flight| {
                let done = flight.task.is_done();
                if done {
                    forget(makers, flight);
                }
                !done
            });
            self.sweep_at = 2 * self.list.len() + 64;
        }
    }

    /// The unfinished task that produces a value.
    pub(crate) fn maker(&self, node: &Node) -> Option<&TaskRef> {
        self.makers.get(&name(node)).filter(|task| !task.is_done())
    }

    /// The origin of a value that an unfinished task produces.
    pub(crate) fn origin(&self, node: &Node) -> Option<Origin> {
        let mut makes = self.unfinished().flat_map(|flight| &flight.makes);
        makes.find(|(made, _)| std::ptr::eq(*made, node)).map(|(_, origin)| *origin)
    }

    /// The unfinished tasks that read a value.
    pub(crate) fn readers<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a TaskRef> {
        self.unfinished().filter(|f| f.reads.iter().any(|n| std::ptr::eq(*n, node))).map(|f| &f.task)
    }

    /// The unfinished flights.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &Flight> {
        self.list.iter().filter(|f| !f.task.is_done())
    }

    /// The first record of a window that belongs to an unfinished flight. Flights of a window are in its order.
    pub(crate) fn first_of(&self, window: &Window) -> Option<u64> {
        self.unfinished().find(|f| std::ptr::eq(f.window, window)).map(|f| f.start)
    }
}

/// Removes a flight's values from the producers, except those that a later flight produces in a reused slot.
fn forget(makers: &mut HashMap<usize, TaskRef, WordHash>, flight: &Flight) {
    for (node, _) in &flight.makes {
        if makers.get(&name(node)).is_some_and(|task| task.age() == flight.task.age()) {
            makers.remove(&name(node));
        }
    }
}
