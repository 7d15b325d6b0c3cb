//! [`Turn`]: who measures a device while nobody else on the machine does.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a device waits at most for other processes that measure. Ranks of a machine, each with a GPU, take some
/// tenths of a second each.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// As long as it is kept, nobody else finds out how fast a device is: ranks that are started together would slow each
/// other down, and keep what they have measured.
pub(super) struct Turn {
    /// The folder that is locked.
    folder: Option<File>,
    _here: MutexGuard<'static, ()>,
}

impl Turn {
    /// Waits for the turn of this thread among those of this process, and among the processes that keep their
    /// calibrations in this folder.
    pub(super) fn take(folder: Option<&Path>) -> Self {
        static HERE: Mutex<()> = Mutex::new(());
        // Nothing is guarded but the time.
        let here = HERE.lock().unwrap_or_else(PoisonError::into_inner);
        Self { folder: folder.and_then(|folder| locked(folder, PATIENCE)), _here: here }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A process that was forked meanwhile has the folder open, too, and would keep the lock.
        self.folder.iter().for_each(unlock);
    }
}

/// The locked folder, which is made if there is none. `None` if it cannot be locked: to measure beside others is better
/// than not to.
fn locked(folder: &Path, patience: Duration) -> Option<File> {
    fs::create_dir_all(folder).ok()?;
    let (folder, began) = (File::open(folder).ok()?, Instant::now());
    while !lock(&folder)? {
        if began.elapsed() > patience {
            return None;
        }
        thread::sleep(PAUSE);
    }
    Some(folder)
}

/// Whether the folder is locked now; `None` if this system cannot lock it.
#[cfg(unix)]
fn lock(folder: &File) -> Option<bool> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    match flock(folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Some(false),
        Err(_) => None,
    }
}

#[cfg(not(unix))]
fn lock(_: &File) -> Option<bool> {
    None
}

#[cfg(unix)]
fn unlock(folder: &File) {
    // Nobody here could use an error.
    let _ = rustix::fs::flock(folder, rustix::fs::FlockOperation::Unlock);
}

#[cfg(not(unix))]
fn unlock(_: &File) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn processes_take_turns_but_do_not_wait_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = locked(folder.path(), PATIENCE).expect("nobody else measures");
        // A folder that is opened again is locked as another process's is.
        assert!(locked(folder.path(), Duration::from_millis(20)).is_none());
        thread::scope(|scope| {
            let second = scope.spawn(|| locked(folder.path(), PATIENCE).map(|_| Instant::now()));
            thread::sleep(Duration::from_millis(60));
            let until = Instant::now();
            drop(first);
            let since = second.join().expect("it does not panic").expect("the first one has ended");
            assert!(since >= until);
        });
        let turn = Turn::take(Some(folder.path()));
        let forked = turn.folder.as_ref().expect("it is locked").try_clone().expect("another descriptor");
        drop(turn);
        assert!(locked(folder.path(), Duration::from_millis(20)).is_some(), "{forked:?} has no lock");
        assert!(locked(&folder.path().join("a/new/one"), PATIENCE).is_some());
        assert!(locked(Path::new("/dev/null/none"), PATIENCE).is_none(), "there can be no such folder");
    }
}
