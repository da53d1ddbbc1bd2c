//! The default float: the dtype of floats without an explicit dtype.
//!
//! Invariant: it is float32 or float64. There is one for the whole process, because two threads that share arrays must
//! agree on the result of `ones / 3`.

use crate::{DType, Settings};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The state before the environment was read.
const UNREAD: u8 = 0;
const SINGLE: u8 = 1;
const DOUBLE: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNREAD);

fn state_of(dtype: DType) -> u8 {
    if dtype == DType::F64 { DOUBLE } else { SINGLE }
}

#[cold]
fn read_environment() -> u8 {
    let state = state_of(chosen(&Settings::environment()));
    // Another thread may have set it meanwhile; its setting wins.
    STATE.compare_exchange(UNREAD, state, Relaxed, Relaxed).map_or_else(|set| set, |_| state)
}

fn chosen(settings: &Settings<'_>) -> DType {
    let parse = |value: &str| DType::from_name(value).filter(|dtype| matches!(dtype, DType::F32 | DType::F64));
    settings.read("FORERUN_DEFAULT_DTYPE", "float32 or float64", parse).unwrap_or(DType::F32)
}

impl DType {
    /// The dtype of Python floats, new arrays, and integers in float-only ops: float32 unless the program or
    /// `FORERUN_DEFAULT_DTYPE` selects float64.
    #[inline]
    pub fn default_float() -> DType {
        let state = STATE.load(Relaxed);
        let state = if state == UNREAD { read_environment() } else { state };
        if state == DOUBLE { DType::F64 } else { DType::F32 }
    }

    /// Sets the default of the process to float64, or back to float32. Existing arrays keep their dtypes.
    pub fn set_default_float(double: bool) {
        STATE.store(if double { DOUBLE } else { SINGLE }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn read(value: &str) -> (DType, usize) {
        let complaints = RefCell::new(0);
        let var = |_: &str| Some(value.to_owned());
        let complain = |_: &str| *complaints.borrow_mut() += 1;
        let dtype = chosen(&Settings::new(&var, &complain));
        (dtype, complaints.into_inner())
    }

    #[test]
    fn the_environment_sets_the_default_float() {
        assert_eq!(read(""), (DType::F32, 0));
        assert_eq!(read("float32"), (DType::F32, 0));
        assert_eq!(read("float64"), (DType::F64, 0));
        assert_eq!(read("float16"), (DType::F32, 1));
        assert_eq!(read("double"), (DType::F32, 1));
    }
}
