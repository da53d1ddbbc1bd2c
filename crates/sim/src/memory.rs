//! The memory of a simulated device: blocks of the host's heap, counted against a limit, cached by size.

use forerun_plan::DeviceBlock;
use parking_lot::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;

/// Blocks are multiples of this size, and aligned to it.
const GRAIN: usize = 256;

/// The memory of one device.
pub(crate) struct Memory {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: usize,
    cached: usize,
    /// Freed blocks, by size.
    free: HashMap<usize, Vec<DeviceBlock>>,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Memory {
        Memory { limit, state: Mutex::new(State::default()) }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn cached(&self) -> usize {
        self.state.lock().cached
    }

    /// Allocates a block of at least `bytes`. `discard` gets cached blocks that must make room.
    pub(crate) fn take(&self, bytes: usize, discard: impl FnMut(DeviceBlock)) -> Option<DeviceBlock> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRAIN)?;
        let mut state = self.state.lock();
        if let Some(block) = state.free.get_mut(&bytes).and_then(Vec::pop) {
            state.cached -= bytes;
            state.live += bytes;
            return Some(block);
        }
        if state.live.checked_add(bytes)? > self.limit {
            return None;
        }
        if state.live + state.cached + bytes > self.limit {
            state.drain(discard);
        }
        // SAFETY: the size is not zero.
        let address = unsafe { alloc(layout(bytes)?) };
        if address.is_null() {
            return None;
        }
        state.live += bytes;
        Some(DeviceBlock { address, bytes, since: 0 })
    }

    /// Frees a block for commands enqueued from now on; those up to `since` may still use it.
    pub(crate) fn give_back(&self, block: DeviceBlock, since: u64) {
        let mut state = self.state.lock();
        state.live -= block.bytes;
        state.cached += block.bytes;
        state.free.entry(block.bytes).or_default().push(DeviceBlock { since, ..block });
    }

    /// Empties the cache: `discard` gets every block in it.
    pub(crate) fn drain(&self, discard: impl FnMut(DeviceBlock)) {
        self.state.lock().drain(discard);
    }

    /// Releases a block that no command uses any more.
    pub(crate) fn give_up(&self, block: DeviceBlock) {
        let Some(layout) = layout(block.bytes) else { return };
        // SAFETY: the block came from `take` and left the cache once, and no command uses it. A command that does so
        // anyway finds it overwritten.
        unsafe {
            std::ptr::write_bytes(block.address, 0xdd, block.bytes);
            dealloc(block.address, layout);
        }
    }
}

impl State {
    fn drain(&mut self, discard: impl FnMut(DeviceBlock)) {
        self.cached = 0;
        std::mem::take(&mut self.free).into_values().flatten().for_each(discard);
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, GRAIN).ok()
}
