//! Compiled kernels on disk, so that a program's next start compiles nothing.
//!
//! A file holds the result for one [`Key`], and says so. Its beginning, the key, the lengths of its parts and
//! a hash of it all must agree; otherwise the file is ignored. It is written under another name and renamed,
//! so that processes that do the same at the same time replace each other's files with equal ones. No failure
//! here is an error, since the kernel can be compiled, with one exception: a folder that others can write
//! into is an error, since they would decide what the GPU runs. A hash shows that a file is whole, not who
//! wrote it. [`owned`](super::owned) checks the folder.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use etcetera::BaseStrategy;

use super::compiled::Compiled;
use super::key::{Key, MAGIC, VERSION};
use super::owned;
use crate::base::error::Result;

/// The extension of finished files.
const EXTENSION: &str = "kernels";

/// The size above which a file is not read, in bytes. No kernel source makes such a file.
const LARGEST: u64 = 256 << 20;

/// The size that the folder may have, in bytes. Beyond it, the files that were unused for longest are
/// removed.
const LIMIT: u64 = 512 << 20;

/// The age beyond which an unfinished file was left by a process that has died.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder, if nobody else may write into it. Without one, the caller measures again.
pub(crate) fn own_folder() -> Option<PathBuf> {
    owned::folder(&folder()?).ok().flatten()
}

/// The folder that `THALWEG_CACHE` names, or the default one of this user; `None` if it is `off` or empty.
fn folder() -> Option<PathBuf> {
    match env::var_os("THALWEG_CACHE") {
        Some(value) if value.is_empty() || value == OsStr::new("off") => None,
        Some(folder) => Some(folder.into()),
        None => Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("thalweg").join("kernels")),
    }
}

/// A folder of compiled kernels.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache; `None` if nothing is to be kept, or nothing can be kept.
    ///
    /// # Errors
    /// Users other than this process's may write into the folder.
    pub(super) fn get() -> Result<Option<Self>> {
        match folder() {
            Some(folder) => Self::at(&folder),
            None => Ok(None),
        }
    }

    fn at(folder: &Path) -> Result<Option<Self>> {
        Ok(owned::folder(folder)?.map(|folder| Self { folder }))
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.name()).with_extension(EXTENSION)
    }

    /// The result that was stored for a key, if it is there and whole.
    pub(super) fn load(&self, key: &Key) -> Option<Compiled> {
        let path = self.path(key);
        // This is checked before the file is opened: opening a pipe would wait for a process that writes to
        // it.
        let is_ours = |file: fs::Metadata| (file.is_file() && file.len() <= LARGEST).then_some(file.len());
        let bytes = is_ours(fs::symlink_metadata(&path).ok()?)?;
        let file = File::open(&path).ok()?;
        if !owned::is_own(&file.metadata().ok()?) {
            return None;
        }
        let mut content = Vec::with_capacity(bytes as usize);
        (&file).take(LARGEST).read_to_end(&mut content).ok()?;
        let compiled = decode(&content, &key.hash())?;
        // The time is for `prune`. If it cannot be set, the file seems unused, and is compiled again one day.
        let _ = file.set_modified(SystemTime::now());
        Some(compiled)
    }

    /// Keeps the result for a key, if possible.
    pub(super) fn store(&self, key: &Key, compiled: &Compiled) {
        if self.try_store(key, compiled).is_some() {
            self.prune(LIMIT);
        }
    }

    fn try_store(&self, key: &Key, compiled: &Compiled) -> Option<()> {
        let content = encode(compiled, &key.hash());
        if content.len() as u64 > LARGEST {
            return None;
        }
        // The folder may have been deleted since.
        owned::create(&self.folder).ok()?;
        let mut file = tempfile::Builder::new().prefix("unfinished-").tempfile_in(&self.folder).ok()?;
        // A crash may leave a file without its content under the new name. The hash shows that.
        file.write_all(&content).ok()?;
        let path = self.path(key);
        match file.persist(&path) {
            Ok(_) => Some(()),
            Err(failed) => {
                // An empty folder of that name can be moved out of the way.
                fs::remove_dir(&path).ok()?;
                failed.file.persist(&path).ok().map(drop)
            }
        }
    }

    /// Removes the files that were unused for longest until the rest is at most `limit` bytes, and those that
    /// were never finished.
    fn prune(&self, limit: u64) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
            let Some(used) = data.modified().ok().filter(|_| data.is_file()) else { continue };
            let name = entry.file_name();
            if path.extension() == Some(OsStr::new(EXTENSION)) {
                files.push((used, data.len(), path));
            } else if name.as_encoded_bytes().starts_with(b"unfinished-")
                && now.duration_since(used).is_ok_and(|age| age > ABANDONED)
            {
                remove(&path);
            }
        }
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort_unstable();
        for (_, bytes, path) in files {
            if total <= limit {
                break;
            }
            remove(&path);
            total -= bytes;
        }
    }
}

/// Another process may have removed it meanwhile.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// The beginning, the version, the key, the names and the image, each with its length, and a hash of all of
/// it.
fn encode(compiled: &Compiled, key: &[u8; 32]) -> Vec<u8> {
    let mut content = Vec::with_capacity(compiled.image.len() + 4096);
    content.extend_from_slice(MAGIC);
    content.extend_from_slice(&VERSION.to_le_bytes());
    content.extend_from_slice(key);
    let mut part = |bytes: &[u8]| {
        content.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        content.extend_from_slice(bytes);
    };
    part(&compiled.image);
    for (expression, lowered) in &compiled.names {
        part(expression.as_bytes());
        part(lowered.as_bytes());
    }
    let hash = blake3::hash(&content);
    content.extend_from_slice(hash.as_bytes());
    content
}

/// The content of a file, if it is a file for this key and every bit of it is as it was written.
fn decode(content: &[u8], key: &[u8; 32]) -> Option<Compiled> {
    let (content, hash) = content.split_last_chunk::<32>()?;
    let mut rest = content.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?.strip_prefix(key)?;
    if blake3::hash(content) != *hash {
        return None;
    }
    let mut part = || {
        let (bytes, after) = rest.split_first_chunk::<8>()?;
        let (part, after) = after.split_at_checked(usize::try_from(u64::from_le_bytes(*bytes)).ok()?)?;
        rest = after;
        Some(part)
    };
    let image = part()?.to_vec();
    let mut names = Vec::new();
    while let Some(expression) = part() {
        names.push((String::from_utf8(expression.to_vec()).ok()?, String::from_utf8(part()?.to_vec()).ok()?));
    }
    rest.is_empty().then_some(Compiled { image, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        let names = vec![("reduce<float>".to_owned(), "_Z6reduceIfEvv".to_owned())];
        Compiled { image: (0..=255).collect(), names }
    }

    fn key(text: &str) -> Key {
        let mut key = Key::new();
        key.text(text);
        key
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(&folder.path().join("a/b")).expect("it is our own").expect("a folder");
        (folder, cache)
    }

    /// A file that exists is replaced by the one that is stored, which is then loaded.
    fn is_rewritten(cache: &Cache) {
        assert_eq!(cache.load(&key("k")), None);
        cache.store(&key("k"), &compiled());
        assert_eq!(cache.load(&key("k")), Some(compiled()));
    }

    #[test]
    fn what_was_stored_is_loaded_for_its_key_alone() {
        let (_folder, cache) = cache();
        is_rewritten(&cache);
        assert_eq!(cache.load(&key("other")), None);
        let plain = Compiled { image: Vec::new(), names: Vec::new() };
        cache.store(&key("other"), &plain);
        assert_eq!((cache.load(&key("other")), cache.load(&key("k"))), (Some(plain), Some(compiled())));
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        let list = |texts: &[&'static str]| {
            let mut key = Key::new();
            key.list(texts.iter().copied());
            key.name()
        };
        let lists: [&[&str]; 5] = [&[], &[""], &["ab"], &["a", "b"], &["", "ab"]];
        let names: std::collections::BTreeSet<_> = lists.into_iter().map(list).collect();
        assert_eq!(names.len(), lists.len());
    }

    #[test]
    fn every_flipped_bit_and_every_length_is_noticed() {
        let (_folder, cache) = cache();
        cache.store(&key("k"), &compiled());
        let path = cache.path(&key("k"));
        let good = fs::read(&path).expect("the file");
        for byte in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[byte] ^= 1 << bit;
                assert_eq!(decode(&bad, &key("k").hash()), None, "bit {bit} of byte {byte}");
            }
        }
        for length in 0..good.len() {
            assert_eq!(decode(&good[..length], &key("k").hash()), None, "{length} bytes");
        }
        assert_eq!(decode(&[&good[..], &[0]].concat(), &key("k").hash()), None);
        // The file of another key, renamed.
        cache.store(&key("other"), &compiled());
        fs::rename(cache.path(&key("other")), &path).expect("renamed");
        is_rewritten(&cache);
    }

    /// A hash over wrong lengths is right, too.
    #[test]
    fn lengths_that_lie_are_noticed() {
        let content = encode(&compiled(), &[7; 32]);
        let start = MAGIC.len() + 4 + 32;
        for length in [0, 255, 257, content.len() as u64, u64::MAX] {
            let mut lie = content[..content.len() - 32].to_vec();
            lie[start..start + 8].copy_from_slice(&length.to_le_bytes());
            let hash = blake3::hash(&lie);
            lie.extend_from_slice(hash.as_bytes());
            assert_eq!(decode(&lie, &[7; 32]), None, "{length}");
        }
    }

    #[test]
    fn a_folder_in_the_files_place_is_moved_if_it_is_empty() {
        let (_folder, cache) = cache();
        let path = cache.path(&key("k"));
        fs::create_dir_all(&path).expect("a folder");
        is_rewritten(&cache);
        let path = cache.path(&key("other"));
        fs::create_dir_all(path.join("full")).expect("a folder");
        cache.store(&key("other"), &compiled());
        assert_eq!(cache.load(&key("other")), None);
        let entries = fs::read_dir(&cache.folder).expect("the folder").count();
        assert_eq!(entries, 2, "an unfinished file is left");
    }

    #[test]
    #[cfg(unix)]
    fn pipes_links_and_huge_files_are_replaced_unread() {
        let (_folder, cache) = cache();
        fs::create_dir_all(&cache.folder).expect("a folder");
        let path = cache.path(&key("k"));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        is_rewritten(&cache);
        // A link to a good file is not read either, since anyone may own its target.
        let aside = cache.folder.join("aside");
        fs::rename(&path, &aside).expect("renamed");
        std::os::unix::fs::symlink(&aside, &path).expect("a link");
        is_rewritten(&cache);
        File::create(&path).and_then(|file| file.set_len(LARGEST + 1)).expect("a sparse file");
        is_rewritten(&cache);
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_cannot_be_used_is_no_error() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for folder in [file.path().join("below/a/file"), "/proc/thalweg".into(), "/dev/full".into()] {
            assert!(Cache::at(&folder).expect("no error").is_none());
            let cache = Cache { folder };
            cache.store(&key("k"), &compiled());
            assert_eq!(cache.load(&key("k")), None);
        }
    }

    #[test]
    #[cfg(unix)]
    fn files_that_others_may_write_are_replaced_unread() {
        use std::os::unix::fs::PermissionsExt;

        let (_folder, cache) = cache();
        for mode in [0o620, 0o602, 0o666] {
            cache.store(&key("k"), &compiled());
            assert_eq!(cache.load(&key("k")), Some(compiled()));
            fs::set_permissions(cache.path(&key("k")), fs::Permissions::from_mode(mode)).expect("its mode");
            is_rewritten(&cache);
        }
    }

    #[test]
    fn threads_do_no_harm_to_each_other() {
        let (_folder, cache) = cache();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        cache.store(&key("k"), &compiled());
                        assert_eq!(cache.load(&key("k")), Some(compiled()));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(&cache.folder).expect("the folder").count(), 1);
    }

    #[test]
    fn what_was_unused_for_longest_goes_first() {
        let (_folder, cache) = cache();
        let now = SystemTime::now();
        for (age, name) in ["new", "middle", "old"].into_iter().enumerate() {
            cache.store(&key(name), &compiled());
            let file = File::options().append(true).open(cache.path(&key(name))).expect("the file");
            file.set_modified(now - Duration::from_secs(100 * age as u64)).expect("its time");
        }
        // It was used just now.
        assert!(cache.load(&key("old")).is_some());
        let foreign = cache.folder.join("foreign");
        fs::write(&foreign, vec![0; 10_000]).expect("a file");
        let bytes = fs::metadata(cache.path(&key("old"))).expect("the file").len();
        cache.prune(2 * bytes);
        let left = ["new", "middle", "old"].map(|name| cache.path(&key(name)).exists());
        assert_eq!((left, foreign.exists()), ([true, false, true], true));
    }

    #[test]
    fn what_was_never_finished_goes_after_a_day() {
        let (_folder, cache) = cache();
        cache.store(&key("k"), &compiled());
        let [fresh, stale] = ["unfinished-1", "unfinished-2"].map(|name| cache.folder.join(name));
        for path in [&fresh, &stale] {
            fs::write(path, "x").expect("a file");
        }
        let yesterday = SystemTime::now() - ABANDONED - Duration::from_secs(1);
        let file = File::options().append(true).open(&stale).expect("the file");
        file.set_modified(yesterday).expect("its time");
        cache.prune(LIMIT);
        assert_eq!((fresh.exists(), stale.exists()), (true, false));
    }
}
