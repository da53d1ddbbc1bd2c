//! The disk cache of compiled kernels. A file holds its whole key (stamp and source) next to the machine code, so that
//! hash collisions and damaged files are detected and ignored.

use std::fs;
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
        let file = fs::read(self.path(key)?).ok()?;
        let rest = file.strip_prefix(MAGIC)?;
        let (key_length, rest) = rest.split_first_chunk::<8>()?;
        let (image_length, rest) = rest.split_first_chunk::<8>()?;
        let (sum, rest) = rest.split_first_chunk::<8>()?;
        let lengths = (u64::from_le_bytes(*key_length) as usize, u64::from_le_bytes(*image_length) as usize);
        let image = rest.strip_prefix(key.as_bytes())?;
        let whole = lengths == (key.len(), image.len()) && u64::from_le_bytes(*sum) == checksum(image);
        whole.then(|| image.to_vec())
    }

    /// Stores machine code. The file is written under a temporary name and renamed, so that nobody reads a partial one.
    /// A failure only costs another compilation.
    pub(crate) fn store(&self, key: &str, image: &[u8]) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let Some(path) = self.path(key) else { return };
        let Some(folder) = path.parent() else { return };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{number}", std::process::id()));
        let mut file = MAGIC.to_vec();
        for word in [key.len() as u64, image.len() as u64, checksum(image)] {
            file.extend(word.to_le_bytes());
        }
        file.extend(key.as_bytes());
        file.extend(image);
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&beside, file))
            .and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            remove(&beside);
        }
    }
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
}
