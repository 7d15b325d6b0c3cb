//! How memory, streams and other resources are given back to their device.

use crate::base::fork;
use crate::device::Device;
use crate::device::pending::callbacks::Message;
use crate::driver::Driver;

/// Gives memory back. Inside a function of a stream, another thread does so, since freeing would wait for the
/// stream, which waits for the function. If there is no such thread, and in a forked process, the memory is
/// not given back.
pub(crate) fn release(device: &Device, free: impl FnOnce(&dyn Driver) + Send + 'static) {
    if fork::is_child() {
        // The memory belongs to the other process, which still uses it.
        return std::mem::forget(free);
    }
    // Note 7: a function of a stream may not call the driver.
    if device.driver().may_wait().is_ok() {
        return free(device.driver());
    }
    match device.registry().callbacks() {
        Ok(queue) => {
            let its = device.clone();
            // The thread ends when the last sender is dropped.
            drop(queue.send(Message::Do(Box::new(move || free(its.driver())))));
        }
        // No thread can be started. The closure is not even dropped: it may hold what keeps another library's
        // memory, or a destructor that calls the driver.
        Err(_) => std::mem::forget(free),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::base::plan::Priority;
    use crate::device::memory::NO_OPERATION;
    use crate::device::stream::Stream;
    use crate::driver::Command;
    use crate::sim::Simulation;

    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    /// Keeps another library's memory.
    struct Keep;

    impl Drop for Keep {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Inside a function of a stream nobody may wait, so memory that is released there stays if no other
    /// thread can release it. If it were dropped there, it would be gone while the device works with it.
    #[test]
    fn what_no_thread_can_release_stays() {
        const CHILD: &str = "THALWEG_WITHOUT_THREADS";
        if std::env::var_os(CHILD).is_none() {
            let module = module_path!().split_once("::").expect("a module of this crate").1;
            let output = Process::new(std::env::current_exe().expect("the test's own path"))
                .args(["--exact", &format!("{module}::what_no_thread_can_release_stays"), "--test-threads=1"])
                // No stack can be so large, so no thread can be started.
                .envs([(CHILD, "1"), ("RUST_MIN_STACK", "70368744177664")])
                .output()
                .expect("the test runs again");
            let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let device = Device::simulated(Simulation::default());
        let stream = Stream::new(&device, Priority::Default).expect("a stream");
        let its = device.clone();
        let keep = Keep;
        let job = Box::new(move || {
            assert!(its.driver().may_wait().is_err(), "a function may wait");
            release(&its, move |_| drop(keep));
        });
        // SAFETY: the stream is live, and the function uses no memory.
        let enqueued = unsafe {
            device.driver().enqueue(Command::Host { job, accesses: &[] }, stream.raw, NO_OPERATION)
        };
        enqueued.expect("a function");
        stream.synchronize().expect("the device");
        assert!(device.registry().callbacks().is_err(), "a thread could be started");
        assert_eq!(DROPPED.load(Ordering::Relaxed), 0, "it is gone, though nobody has waited");
    }
}
