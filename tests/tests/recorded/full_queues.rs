//! A driver that keeps its caller, since a stream's queue is full. A stub of CUDA's library does so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg::streams::{Event, Stream};
use thalweg_tests::stubs::Stubs;

const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/full-queues"));

/// Long enough for two operations of other threads.
const MILLISECONDS: &str = "4000";

/// A thread is in the driver with an event, and another one waits for that event to record it on the null stream.
#[test]
fn streams_of_the_null_streams_kind_do_not_wait_for_an_event() {
    let name = "streams_of_the_null_streams_kind_do_not_wait_for_an_event";
    STUBS.record(name, &[("THALWEG_FULL", MILLISECONDS)], |device| {
        let (full, null) = (Stream::new(device).unwrap(), Stream::null(device).unwrap());
        let (blocking, event) = (Stream::blocking(device).unwrap(), Event::new(device).unwrap());
        let mut x = DeviceBuf::<f32>::zeroed(device, 16).unwrap();
        full.record(&event).unwrap();
        let is_in_driver = AtomicBool::new(true);
        thread::scope(|scope| {
            scope.spawn(|| {
                full.wait(&event).unwrap();
                is_in_driver.store(false, Ordering::Release);
            });
            thread::sleep(Duration::from_millis(300));
            scope.spawn(|| null.record(&event).unwrap());
            thread::sleep(Duration::from_millis(300));
            blocking.fill(&mut x, 1.0).unwrap();
            assert!(is_in_driver.load(Ordering::Acquire), "the fill has waited for another stream's queue");
        });
    });
}
