//! The system's number of a thread, by which frontends and profilers know it.

/// The system's number of the calling thread; `None` where the system does not report it.
pub fn thread_number() -> Option<usize> {
    // On Linux this is a link to `PID/task/NUMBER`.
    std::fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_have_different_numbers() {
        let other = std::thread::spawn(thread_number).join().unwrap();
        assert!(other.is_some() && other != thread_number());
    }
}
