//! Atomic file replacement: a reader finds the old file or the new one, never a part of either.
//!
//! The new file is written next to the old one under a random name, and renamed once its bytes are on disk. Concurrent
//! saves to one path therefore never mix, and the last one to finish wins.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Replaces the file at `path` by what `fill` writes. If that fails, the old file stays.
pub(crate) fn replace<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let target = pointed_at(path);
    let (partial, file) = create(&target, || RandomState::new().build_hasher().finish())?;
    let mut file = BufWriter::new(file);
    let done = fill(&mut file).and_then(|()| Ok(finish(file, &partial, &target)?));
    if done.is_err() {
        // The original error is more useful than one of the clean-up.
        let _ = fs::remove_file(&partial);
    }
    done
}

/// The target of a symbolic link, as a plain write would find it; any other path unchanged.
fn pointed_at(path: &Path) -> PathBuf {
    let Ok(next) = fs::read_link(path) else { return path.to_owned() };
    fs::canonicalize(path).unwrap_or_else(|_| path.parent().unwrap_or(Path::new("")).join(next))
}

/// Creates a new file next to the target. A link at that name is never followed.
fn create(target: &Path, mut random: impl FnMut() -> u64) -> io::Result<(PathBuf, File)> {
    loop {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{:016x}.partial", random()));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (name.into(), file)),
        }
    }
}

/// Flushes the bytes to disk and renames the file.
fn finish(mut file: BufWriter<File>, partial: &Path, target: &Path) -> io::Result<()> {
    file.flush()?;
    file.get_ref().sync_all()?;
    if let Ok(old) = fs::metadata(target) {
        // Keep the old file's permissions; file systems without modes reject this.
        let _ = fs::set_permissions(partial, old.permissions());
    }
    fs::rename(partial, target)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The file is complete; this only makes its name durable, which not every system supports for directories.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_followed_to_write() {
        let folder = std::env::temp_dir().join(format!("forerun-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (precious, target) = (folder.join("precious"), folder.join("net"));
        fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, folder.join("net.0000000000000001.partial")).unwrap();
        let mut names = 1..;
        let (partial, mut file) = create(&target, || names.next().unwrap()).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(partial, folder.join("net.0000000000000002.partial"));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
        fs::remove_dir_all(&folder).unwrap();
    }
}
