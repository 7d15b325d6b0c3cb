//! [`SharedFaults`] and [`Launches`]: which streams by hand are told of the faults of kernels in Rust.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::progress::{Clock, Progress};
use crate::base::error::{Detail, Error};
use crate::base::in_rust::KernelFault;
use crate::device::faults::Faults;

/// The faults of a kernel that streams by hand launch. The word does not say which of them has launched the thread that
/// has failed. So all streams that have launched the kernel are told, and so is the first wait that may be for the
/// results of one of them.
#[derive(Debug)]
pub(crate) struct SharedFaults {
    faults: Faults,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    count: u64,
    last: Option<KernelFault>,
    /// Whether nobody has been told of the last one.
    is_untold: bool,
    launched: Vec<Launched>,
}

/// A stream that has launched a kernel since it was last waited for itself.
#[derive(Debug)]
struct Launched {
    progress: Arc<Progress>,
    /// The number of the first operation that launches it.
    first: u64,
    /// How many faults had been found before.
    before: u64,
}

impl Found {
    /// Notes the fault of a thread since the last call.
    fn look(&mut self, faults: &Faults) {
        if let Some(fault) = faults.take() {
            self.count += 1;
            self.last = Some(fault);
            self.is_untold = true;
        }
    }

    /// Whether a wait that has reached a point may be for what the kernel should have written. Who needs the results of
    /// a stream that is at the kernel still has to wait for that stream.
    fn may_concern(&self, clock: &Clock) -> bool {
        let is_over = |launched: &Launched| launched.progress.has_reached(launched.first);
        let comes_before = |launched: &Launched| {
            let is_waited_for = !is_over(launched) && clock.covers(&launched.progress, launched.first);
            is_waited_for && launched.before < self.count
        };
        let may_be_of_anybody = self.launched.is_empty() || self.launched.iter().any(is_over);
        (self.is_untold && may_be_of_anybody) || self.launched.iter().any(comes_before)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of the user's runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedFaults {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, found: Mutex::default() }
    }

    /// A fault, for a wait that has reached a point after a launch of the kernel; or one that nobody has been told of, if
    /// a launch is known to be over, or nobody is known to have launched it.
    pub(crate) fn take(&self, clock: &Clock) -> Option<Error> {
        let mut found = locked(&self.found);
        found.look(&self.faults);
        if !found.may_concern(clock) {
            return None;
        }
        found.is_untold = false;
        found.last.clone().map(|fault| self.error(fault))
    }

    /// Whether [`take`](Self::take) would return one.
    pub(crate) fn is_there(&self, clock: &Clock) -> bool {
        let mut found = locked(&self.found);
        found.look(&self.faults);
        found.last.is_some() && found.may_concern(clock)
    }

    /// Notes that a stream has done its first `number` operations, and was asked for its faults.
    pub(crate) fn are_over(&self, progress: &Arc<Progress>, number: u64) {
        locked(&self.found).launched.retain(|of| !Arc::ptr_eq(&of.progress, progress) || of.first > number);
    }

    fn error(&self, fault: KernelFault) -> Error {
        Detail::KernelFault { kernel: self.faults.kernel, fault: Box::new(fault) }.into()
    }
}

/// The kernels in Rust that a stream has launched since it was last waited for itself, and how many faults of each had
/// been found before.
#[derive(Debug, Default)]
pub(crate) struct Launches(Vec<(Arc<SharedFaults>, u64)>);

impl Launches {
    /// The stream launches a kernel by the operation of this number.
    pub(crate) fn add(&mut self, faults: &Arc<SharedFaults>, progress: &Arc<Progress>, number: u64) {
        if !self.0.iter().any(|(known, _)| Arc::ptr_eq(known, faults)) {
            self.add_new(faults, progress, number);
        }
    }

    #[cold]
    fn add_new(&mut self, faults: &Arc<SharedFaults>, progress: &Arc<Progress>, number: u64) {
        let mut found = locked(&faults.found);
        // What has failed before is not of this launch.
        found.look(&faults.faults);
        let before = found.count;
        found.launched.push(Launched { progress: Arc::clone(progress), first: number, before });
        self.0.push((Arc::clone(faults), before));
    }

    /// All of them, which are over as soon as the stream was waited for.
    pub(crate) fn take(&mut self) -> Self {
        mem::take(self)
    }

    /// The first fault of one of them since it was launched, whoever has found it.
    pub(crate) fn fault(&self) -> Option<Error> {
        let mut first = None;
        for (faults, before) in &self.0 {
            let mut found = locked(&faults.found);
            found.look(&faults.faults);
            if found.count > *before {
                found.is_untold = false;
                first = first.or_else(|| found.last.clone().map(|fault| faults.error(fault)));
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::base::in_rust::RustSource;
    use crate::device::Device;
    use crate::driver::FaultWord;
    use crate::sim::Simulation;

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

    /// A stream, as far as its launches go.
    struct Stream {
        launches: Mutex<Launches>,
        progress: Arc<Progress>,
    }

    impl Stream {
        fn new() -> Self {
            let progress = Progress::new(&Device::simulated(Simulation::default()));
            Self { launches: Mutex::default(), progress }
        }

        fn launch(&self, kernel: &Arc<SharedFaults>, number: u64) {
            locked(&self.launches).add(kernel, &self.progress, number);
        }

        /// The point after so many of its operations.
        fn at(&self, number: u64) -> Clock {
            let mut clock = Clock::default();
            clock.advance(&self.progress, number);
            clock
        }

        /// The host waits for it.
        fn is_told(&self, kernels: &[&Arc<SharedFaults>], number: u64) -> bool {
            let clock = self.at(number);
            let fault = locked(&self.launches)
                .take()
                .fault()
                .or_else(|| kernels.iter().find_map(|kernel| kernel.take(&clock)));
            kernels.iter().for_each(|kernel| kernel.are_over(&self.progress, number));
            self.progress.reached(number);
            fault.is_some_and(|error| error.to_string().contains("`k`"))
        }
    }

    #[test]
    fn a_fault_is_told_to_each_stream_that_has_launched_the_kernel() {
        static ONE: Words = Words::new();
        static OTHER: Words = Words::new();
        let (one, other) = (ONE.kernel(), OTHER.kernel());
        let kernels = [&one, &other];
        let [before, first, second, third] = [(); 4].map(|()| Stream::new());
        before.launch(&one, 1);
        assert!(!before.is_told(&kernels, 1), "nothing has failed");
        first.launch(&one, 1);
        first.launch(&one, 2);
        second.launch(&other, 1);
        second.launch(&one, 2);
        third.launch(&other, 1);
        ONE.fail();
        assert!(first.is_told(&kernels, 2) && second.is_told(&kernels, 2));
        assert!(
            !third.is_told(&kernels, 1) && !before.is_told(&kernels, 2),
            "they have not launched it since then"
        );
        // It is told once, and what is launched later has not failed.
        assert!(!first.is_told(&kernels, 2));
        first.launch(&one, 3);
        assert!(!first.is_told(&kernels, 3));
        first.launch(&one, 4);
        ONE.fail();
        assert!(first.is_told(&kernels, 4) && !first.is_told(&kernels, 4));
    }

    #[test]
    fn a_stream_beside_is_told_only_if_it_may_use_the_results() {
        static WORDS: Words = Words::new();
        let kernel = WORDS.kernel();
        let kernels = [&kernel];
        let [at_it, beside] = [(); 2].map(|()| Stream::new());
        at_it.launch(&kernel, 3);
        WORDS.fail();
        // Whoever needs the results has to wait for that stream.
        assert!(!beside.is_told(&kernels, 1));
        assert!(at_it.is_told(&kernels, 3) && !beside.is_told(&kernels, 1));
        // A wait that comes after the launch, by an event, is for the results, also if another has found the fault.
        for (number, has_found) in [(5, false), (7, true)] {
            at_it.launch(&kernel, number);
            WORDS.fail();
            assert!(!has_found || !beside.is_told(&kernels, 1));
            assert!(kernel.take(&at_it.at(number - 1)).is_none() && kernel.take(&at_it.at(number)).is_some());
            assert!(at_it.is_told(&kernels, number) && !beside.is_told(&kernels, 1));
        }
        // Nobody has to wait for what is known to be over.
        at_it.launch(&kernel, 9);
        at_it.progress.reached(9);
        WORDS.fail();
        assert!(beside.is_told(&kernels, 1) && at_it.is_told(&kernels, 9));
        // A stream that is gone is waited for, and who comes first is told of its faults.
        at_it.launch(&kernel, 10);
        kernel.are_over(&at_it.progress, 10);
        WORDS.fail();
        assert!(beside.is_told(&kernels, 1));
    }
}
