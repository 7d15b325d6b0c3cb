//! Whether this process was forked from one that had opened a device.
//!
//! A forked process has the memory of the other one and nothing else. The threads of this crate stay in the
//! other process, with whatever they have locked, and so does the state of CUDA's driver. So in a child
//! [every device](crate::backends::forked) refuses every call, drops release nothing, and no call waits for a
//! thread that does not exist. A process that is forked before the first device is opened is not such a child
//! and can use devices.
//!
//! Ranks ask for the [`process`] instead: each membership of a world belongs to the process that has made it.

use std::sync::OnceLock;

use crate::base::error::{DriverDetail, DriverError};

/// The process that opened the first device.
static HOME: OnceLock<Home> = OnceLock::new();

struct Home {
    process: u32,
    #[cfg(target_os = "linux")]
    page: Option<&'static std::sync::atomic::AtomicU32>,
}

/// Notes that a device is opened in this process.
pub(crate) fn is_home() {
    HOME.get_or_init(Home::new);
}

/// Whether this process is the child of one that had opened a device. It is asked before each call of a
/// device.
#[inline]
pub(crate) fn is_child() -> bool {
    HOME.get().is_some_and(Home::is_elsewhere)
}

/// The error of a call in a child, with CUDA's code for it.
#[cold]
pub(crate) fn refused(call: &'static str) -> Box<DriverError> {
    let description = "a device was opened before this process was forked, and stays with the other one";
    DriverError::new(call, 3, "CUDA_ERROR_NOT_INITIALIZED", description).with(DriverDetail::Forked)
}

/// The number of this process. On Linux it takes a system call once only.
pub(crate) fn process() -> u32 {
    #[cfg(target_os = "linux")]
    {
        use std::sync::atomic::{AtomicU32, Ordering};

        /// The number of this process, or something that is none: 0 in a child, and 1 before it was asked for.
        static PAGE: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();
        if let Some(page) = PAGE.get_or_init(page) {
            let known = page.load(Ordering::Relaxed);
            if known > 1 {
                return known;
            }
            page.store(std::process::id(), Ordering::Relaxed);
        }
    }
    std::process::id()
}

impl Home {
    fn new() -> Self {
        Self {
            process: std::process::id(),
            #[cfg(target_os = "linux")]
            page: page(),
        }
    }

    #[inline]
    fn is_elsewhere(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(page) = self.page {
            return page.load(std::sync::atomic::Ordering::Relaxed) == 0;
        }
        // `id` is a system call.
        std::process::id() != self.process
    }
}

/// A number that is not zero, on a page that the system clears in every child. Reading it takes no system call.
#[cfg(target_os = "linux")]
fn page() -> Option<&'static std::sync::atomic::AtomicU32> {
    use std::ptr;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    // The system rounds the size up to a page.
    const BYTES: usize = 4;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: it is a new mapping, at an address where there is none.
    let page = unsafe { mmap_anonymous(ptr::null_mut(), BYTES, access, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the mapping is this function's own, and no child has anything in it to lose.
    // Note 44: a number that the kernel wipes in children.
    if unsafe { madvise(page, BYTES, Advice::LinuxWipeOnFork) }.is_err() {
        // SAFETY: nothing else has the mapping's address.
        let _ = unsafe { munmap(page, BYTES) };
        return None;
    }
    // SAFETY: the mapping is never unmapped from here on, is readable and writable, is aligned as pages are,
    // and is accessed atomically only.
    let number = unsafe { AtomicU32::from_ptr(page.cast()) };
    number.store(1, Ordering::Relaxed);
    Some(number)
}
