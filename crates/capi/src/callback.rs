//! Callbacks when arrays are ready.
//!
//! The thread that computes an array must not run foreign code, which may wait for the engine. It only adds the callback
//! to a list. A thread of this library, started by the first callback, calls them one after the other. It sleeps on a
//! pipe and never on the engine.

use crate::abi::{FORERUN_OK, forerun_array, forerun_callback, forerun_status};
use crate::caller::{Outcome, call};
use crate::error::{Failure, store};
use forerun::{Array, Error, ErrorKind, Loc, Wait};
use std::ffi::c_void;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Wake, Waker};

type Function = unsafe extern "C" fn(*mut c_void, forerun_status);

/// What is passed to a callback; the library does not look at it.
struct Context(*mut c_void);

// SAFETY: the header says that the callback runs on another thread.
unsafe impl Send for Context {}
// SAFETY: as above; the address is only passed on.
unsafe impl Sync for Context {}

/// A callback, and the array that it waits for.
struct Pending {
    array: Mutex<Array>,
    function: Function,
    context: Context,
    loc: Loc,
}

/// Callbacks whose arrays may be ready.
struct Carrier {
    woken: Vec<Arc<Pending>>,
    /// The pipe that wakes the thread, and the process it belongs to: a fork has none of its parent's threads.
    bell: Option<(u32, PipeWriter)>,
}

static CARRIER: Mutex<Carrier> = Mutex::new(Carrier { woken: Vec::new(), bell: None });

fn carrier() -> MutexGuard<'static, Carrier> {
    CARRIER.lock().unwrap_or_else(|e| e.into_inner())
}

/// Starts the thread if it is not running.
fn start() -> Outcome<()> {
    let mut carrier = carrier();
    let process = std::process::id();
    if carrier.bell.as_ref().is_none_or(|(started_in, _)| *started_in != process) {
        let failed = |error| Error::new(ErrorKind::Runtime, format!("cannot start the thread of callbacks: {error}"));
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        std::thread::Builder::new().name("forerun-calls".into()).spawn(|| carry(reader)).map_err(failed)?;
        carrier.bell = Some((process, writer));
    }
    Ok(())
}

fn carry(mut bell: PipeReader) {
    let mut rings = [0; 64];
    while bell.read(&mut rings).is_ok_and(|count| count > 0) {
        let woken = std::mem::take(&mut carrier().woken);
        woken.into_iter().for_each(Pending::poll);
    }
}

impl Pending {
    /// Calls the function if the array is ready or failed; otherwise it is polled again when it may be.
    fn poll(self: Arc<Pending>) {
        let read = {
            let array = self.array.lock().unwrap_or_else(|e| e.into_inner());
            if !array.settled_or_wake(&Waker::from(self.clone())) {
                return;
            }
            array.wait_to_read_with(&Wait { allowed: true, ..Wait::at(self.loc, "when_ready") })
        };
        let status = read.map_or_else(|error| store(error.into(), self.loc), |()| FORERUN_OK);
        // SAFETY: the header demands a function that may be called with this context, once, on this thread.
        unsafe { (self.function)(self.context.0, status) };
    }
}

impl Wake for Pending {
    fn wake(self: Arc<Pending>) {
        let mut carrier = carrier();
        carrier.woken.push(self);
        if carrier.woken.len() == 1
            && let Some((_, bell)) = &mut carrier.bell
        {
            // A pipe without a reader means that the process is ending.
            let _ = bell.write_all(&[0]);
        }
    }
}

/// Calls `callback` once with `context` when an array is computed or failed, on a thread of this library; never before
/// this function returns on the same thread. The callback may call any function, and may wait; callbacks run one after
/// the other. It must not throw. If the array failed, the callback's thread has the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_when_ready(
    x: *const forerun_array,
    callback: forerun_callback,
    context: *mut c_void,
) -> forerun_status {
    call(|caller| {
        let array = Mutex::new(Clone::clone(&*caller.get(x)?));
        let function = callback.ok_or_else(|| Failure::value("the callback is null").within("when_ready"))?;
        start()?;
        Arc::new(Pending { array, function, context: Context(context), loc: caller.loc() }).wake();
        Ok(())
    })
}
