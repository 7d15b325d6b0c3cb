//! [`Faults`]: what threads of a kernel in Rust have left when they failed.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::error::{Detail, Error};
use crate::base::in_rust::{KernelFault, RustSource};
use crate::driver::FaultWord;

/// The faults of a kernel in Rust on a GPU.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) kernel: &'static str,
    source: &'static RustSource,
    word: FaultWord,
    /// Whether a launch fails again in the same way on what it has read.
    pub(crate) replays: bool,
}

impl Faults {
    /// The faults of a kernel whose module writes to this word.
    pub(crate) fn new(
        kernel: &'static str,
        source: &'static RustSource,
        word: FaultWord,
        replays: bool,
    ) -> Self {
        Self { kernel, source, word, replays }
    }

    /// The fault of a thread since the last call. Launches before it have completed.
    pub(crate) fn take(&self) -> Option<KernelFault> {
        match self.word.take() {
            (0, _) => None,
            (place, numbers) => Some(self.source.fault(place, numbers)),
        }
    }
}

/// The faults of a kernel that streams by hand launch. The word does not say which of them has launched the thread that
/// has failed. So whoever finds a fault is told, and so are all streams that have launched the kernel.
#[derive(Debug)]
pub(crate) struct SharedFaults {
    faults: Faults,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    count: u64,
    last: Option<KernelFault>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of the user's runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedFaults {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, found: Mutex::default() }
    }

    /// The fault of a thread since the last call.
    pub(crate) fn take(&self) -> Option<Error> {
        let mut found = locked(&self.found);
        let fault = self.faults.take()?;
        found.count += 1;
        found.last = Some(fault.clone());
        Some(self.error(fault))
    }

    fn error(&self, fault: KernelFault) -> Error {
        Detail::KernelFault { kernel: self.faults.kernel, fault: Box::new(fault) }.into()
    }
}

/// The kernels in Rust that a stream has launched since it was last waited for itself, and how many faults of each had
/// been found before.
#[derive(Debug, Default)]
pub(crate) struct Launches(Mutex<Vec<(Arc<SharedFaults>, u64)>>);

impl Launches {
    /// The stream launches a kernel.
    pub(crate) fn add(&self, faults: &Arc<SharedFaults>) {
        let mut launches = locked(&self.0);
        if !launches.iter().any(|(known, _)| Arc::ptr_eq(known, faults)) {
            let before = locked(&faults.found).count;
            launches.push((Arc::clone(faults), before));
        }
    }

    /// All of them, which are over as soon as the stream was waited for.
    pub(crate) fn take(&self) -> Self {
        Self(Mutex::new(mem::take(&mut *locked(&self.0))))
    }

    /// A fault of one of them since it was launched, whoever has found it.
    pub(crate) fn fault(&self) -> Option<Error> {
        locked(&self.0).iter().find_map(|(faults, before)| {
            let own = faults.take();
            let found = locked(&faults.found);
            let earlier =
                || found.last.clone().filter(|_| found.count > *before).map(|fault| faults.error(fault));
            own.or_else(earlier)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static SOURCE: RustSource = RustSource::none("k");

    /// The word for faults of a kernel, and what is behind it.
    struct Words([AtomicU32; 4]);

    impl Words {
        const fn new() -> Self {
            Self([const { AtomicU32::new(0) }; 4])
        }

        /// A kernel whose threads leave their faults there.
        fn kernel(&'static self) -> Arc<SharedFaults> {
            let word = FaultWord::new(self.0.as_ptr().expose_provenance(), 0);
            Arc::new(SharedFaults::new(Faults::new("k", &SOURCE, word, false)))
        }

        /// A thread of the kernel fails.
        fn fail(&self) {
            self.0[0].store(7, Ordering::Relaxed);
        }
    }

    static ONE: Words = Words::new();
    static OTHER: Words = Words::new();

    #[test]
    fn a_fault_that_another_stream_has_found_is_told_to_each_that_has_launched_the_kernel() {
        let (one, other) = (ONE.kernel(), OTHER.kernel());
        let [before, first, second, third] = [(); 4].map(|()| Launches::default());
        before.add(&one);
        assert!(before.take().fault().is_none(), "nothing has failed");
        first.add(&one);
        first.add(&one);
        second.add(&other);
        second.add(&one);
        third.add(&other);
        ONE.fail();
        // The stream that finds it has launched nothing.
        assert!(one.take().is_some() && one.take().is_none() && other.take().is_none());
        let told = |launches: &Launches| {
            launches.take().fault().is_some_and(|error| error.to_string().contains("`k`"))
        };
        assert!(told(&first) && told(&second));
        assert!(!told(&third) && !told(&before), "they have not launched it since then");
        // It is told once, and what is launched later has not failed.
        assert!(!told(&first));
        first.add(&one);
        assert!(!told(&first));
        first.add(&one);
        ONE.fail();
        assert!(one.take().is_some() && told(&first));
        // A stream finds its own by itself.
        first.add(&one);
        ONE.fail();
        assert!(told(&first) && one.take().is_none());
    }
}
