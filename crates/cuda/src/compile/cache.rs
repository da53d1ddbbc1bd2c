//! The disk cache of compiled kernels. A file holds its whole key (stamp and source) next to the machine code, so that
//! hash collisions and damaged files are detected and ignored.
//!
//! Anyone who can write a file of the cache decides what the device runs. Invariant: a folder or file that another user owns
//! or may write is not read, and no link is followed.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of compiled kernels; without one nothing is cached.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
}

const MAGIC: &[u8; 8] = b"forerun1";

impl Cache {
    /// The user's cache: `FORERUN_CACHE_DIR`, or a folder in the user's cache directory.
    pub(crate) fn of_user() -> Cache {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = var("FORERUN_CACHE_DIR")
            .or_else(|| var("XDG_CACHE_HOME").map(|folder| folder.join("forerun")))
            .or_else(|| var("HOME").map(|home| home.join(".cache/forerun")));
        Cache { folder: folder.map(|folder| folder.join("cuda")) }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        let name = format!("{:016x}{:016x}.bin", hash(key, 0), hash(key, 0x9e37_79b9_7f4a_7c15));
        self.folder.as_ref().map(|folder| folder.join(name))
    }

    /// Loads the machine code of a key.
    pub(crate) fn load(&self, key: &str) -> Option<Vec<u8>> {
        let file = self.read(&self.path(key)?)?;
        let rest = file.strip_prefix(MAGIC)?;
        let (key_length, rest) = rest.split_first_chunk::<8>()?;
        let (image_length, rest) = rest.split_first_chunk::<8>()?;
        let (sum, rest) = rest.split_first_chunk::<8>()?;
        let lengths = (u64::from_le_bytes(*key_length) as usize, u64::from_le_bytes(*image_length) as usize);
        let image = rest.strip_prefix(key.as_bytes())?;
        let whole = lengths == (key.len(), image.len()) && u64::from_le_bytes(*sum) == checksum(image);
        whole.then(|| image.to_vec())
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
        let trusted =
            is_private(&self.folder.as_ref()?.symlink_metadata().ok()?) && is_private(&opened.metadata().ok()?);
        let mut bytes = Vec::new();
        (trusted && (&opened).read_to_end(&mut bytes).is_ok()).then_some(bytes)
    }

    /// Stores machine code. The file is written under a temporary name and renamed, so that nobody reads a partial one.
    /// A failure only costs another compilation.
    pub(crate) fn store(&self, key: &str, image: &[u8]) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let (Some(path), Some(folder)) = (self.path(key), &self.folder) else { return };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{number}", std::process::id()));
        let mut file = MAGIC.to_vec();
        for word in [key.len() as u64, image.len() as u64, checksum(image)] {
            file.extend(word.to_le_bytes());
        }
        file.extend(key.as_bytes());
        file.extend(image);
        let written = make(folder)
            .and_then(|()| create(&beside))
            .and_then(|mut made| made.write_all(&file))
            .and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            remove(&beside);
        }
    }
}

/// Whether only this user, or the administrator, can have written it.
fn is_private(found: &fs::Metadata) -> bool {
    (found.uid() == user() || found.uid() == 0) && found.mode() & 0o022 == 0 && !found.is_symlink()
}

fn user() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() }
}

/// Makes the folder, for this user alone. One that exists may have the permissions that an earlier release gave it.
fn make(folder: &Path) -> std::io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    let made = fs::DirBuilder::new().mode(0o700).create(folder);
    match folder.symlink_metadata()? {
        found if found.is_dir() && found.uid() == user() => {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
        }
        // It is a link, or another user's.
        _ => made,
    }
}

/// Creates a file that nothing has prepared.
fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn remove(path: &Path) {
    // If it cannot be removed, it was never written.
    let _ = fs::remove_file(path);
}

/// The FNV hash with a given start value, for file names.
fn hash(text: &str, start: u64) -> u64 {
    let step = |h: u64, byte: &u8| (h ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
    text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325 ^ start, step)
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(1u64, |sum, byte| sum.rotate_left(5).wrapping_add(*byte as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_and_what_is_broken_is_not() {
        let folder = std::env::temp_dir().join(format!("forerun-cache-test-{}", std::process::id()));
        let cache = Cache { folder: Some(folder.clone()) };
        assert_eq!(cache.load("key"), None);
        cache.store("key", b"machine code");
        assert_eq!(cache.load("key").unwrap(), b"machine code");
        assert_eq!(cache.load("another"), None);
        let path = cache.path("key").unwrap();
        let mut bytes = fs::read(&path).unwrap();
        for broken in [bytes.len() - 1, 9] {
            fs::write(&path, &bytes[..broken]).unwrap();
            assert_eq!(cache.load("key"), None, "cut at {broken}");
        }
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.load("key"), None, "a flipped bit");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&folder).unwrap();
        Cache { folder: None }.store("key", b"nowhere");
    }

    #[test]
    fn what_others_may_write_is_not_read() {
        let folder = std::env::temp_dir().join(format!("forerun-cache-trust-{}", std::process::id()));
        let cache = Cache { folder: Some(folder.join("cuda")) };
        cache.store("key", b"machine code");
        let (inner, path) = (folder.join("cuda"), cache.path("key").unwrap());
        let allow = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!((mode(&inner), mode(&path)), (0o700, 0o600));
        for (place, mode, is_read) in
            [(&path, 0o644, true), (&path, 0o620, false), (&path, 0o602, false), (&inner, 0o720, false)]
        {
            allow(&inner, 0o700);
            allow(&path, 0o600);
            allow(place, mode);
            assert_eq!(cache.load("key").is_some(), is_read, "{} {mode:o}", place.display());
        }
        // The owner's next store takes the folder back.
        cache.store("another", b"machine code");
        assert_eq!(mode(&inner), 0o700);
        let target = folder.join("elsewhere");
        fs::rename(&path, &target).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert_eq!(cache.load("key"), None, "a link");
        fs::remove_dir_all(&folder).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }
}
