//! Devices.

use std::fmt;

/// A device that holds buffers and runs tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// A host device; different numbers are distinct devices over the same cores.
    Cpu(u8),
    /// An accelerator.
    Gpu(u8),
}

impl Device {
    /// Whether its memory is the host's and its tasks run on the host's threads.
    pub fn is_host(self) -> bool {
        matches!(self, Device::Cpu(_))
    }

    /// The number of an accelerator; `None` for the host.
    pub fn accelerator(self) -> Option<usize> {
        match self {
            Device::Cpu(_) => None,
            Device::Gpu(number) => Some(number as usize),
        }
    }
}

impl Default for Device {
    fn default() -> Self {
        Device::Cpu(0)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu(n) => write!(f, "cpu({n})"),
            Device::Gpu(n) => write!(f, "gpu({n})"),
        }
    }
}
