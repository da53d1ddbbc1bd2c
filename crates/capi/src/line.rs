//! Source lines of C programs.
//!
//! A thread has a current line, which its calls are attributed to. Setting it costs a look-up in a small cache of the
//! thread, by the address of the file's name: names of files are string literals.

use crate::caller::text;
use forerun::Loc;
use std::cell::Cell;
use std::ffi::{CStr, c_char};

/// Number of lines that a thread caches.
const RECENT: usize = 64;

type Known = (usize, u32, Loc);

thread_local! {
    static HERE: Cell<Loc> = const { Cell::new(Loc::UNKNOWN) };
    static KNOWN: [Cell<Known>; RECENT] = const { [const { Cell::new((0, 0, Loc::UNKNOWN)) }; RECENT] };
}

/// The current line of the thread.
#[inline]
pub(crate) fn here() -> Loc {
    HERE.get()
}

/// Sets the line that this thread's following calls are attributed to in errors and reports. `file` is a string
/// literal, or lives and stays the same for as long as the process; null: an unknown line. The macros FORERUN_HERE
/// and FORERUN_AT set the line they stand on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_set_line(file: *const c_char, line: u32) {
    HERE.set(KNOWN.with(|known| {
        let place = &known[(file.addr() ^ line as usize) % RECENT];
        let (seen, seen_line, loc) = place.get();
        if (seen, seen_line) == (file.addr(), line) {
            return loc;
        }
        // SAFETY: the header demands null or a string.
        let loc = unsafe { interned(file, line, std::ptr::null()) };
        place.set((file.addr(), line, loc));
        loc
    }));
}

/// The number of a line, for forerun_set_line_number(). The texts may change afterwards. `function` may be null.
/// Programs whose files have no literal names, such as interpreters of other languages, use this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_line_number(file: *const c_char, line: u32, function: *const c_char) -> u32 {
    // SAFETY: the header demands null or strings.
    unsafe { interned(file, line, function) }.id()
}

/// Sets the line of this thread by its number; 0: an unknown line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_set_line_number(number: u32) {
    HERE.set(Loc::from_id(number));
}

/// # Safety
/// The pointers are null or strings.
unsafe fn interned(file: *const c_char, line: u32, function: *const c_char) -> Loc {
    // SAFETY: the caller's guarantee.
    let [file, function] = [file, function].map(|name| (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }));
    let Some(file) = file else { return Loc::UNKNOWN };
    Loc::foreign(&text(file), line, &function.map(text).unwrap_or_default())
}
