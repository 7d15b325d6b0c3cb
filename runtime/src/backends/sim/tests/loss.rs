//! A device that is lost, beside another of its machine that goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::backends::sim::{DriverCall, Effect, Fault, SimulatedMachine};
use crate::base::machine::MachineModel;

/// Two devices of one machine.
fn two(seed: Option<u64>) -> [Rig; 2] {
    let machine = SimulatedMachine::from(MachineModel::h200(2));
    let machine = match seed {
        Some(seed) => machine.adversarial(seed),
        None => machine,
    };
    let devices = Sim::all(&machine).into_iter().map(|sim| Rig::of(Arc::new(sim)));
    devices.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("two devices"))
}

impl Rig {
    /// Loses the device at the call that this makes.
    fn lose(&self) {
        self.sim.inject(Fault::nth(DriverCall::CreateEvent, 0, Effect::Lost));
        assert!(self.sim.create_event().unwrap_err().lost);
    }
}

#[test]
fn nothing_of_a_lost_device_is_carried_out_when_others_go_on() {
    for seed in [None, Some(1), Some(2)] {
        let [lost, other] = two(seed);
        let (of_lost, of_other, log) = (lost.stream(), other.stream(), Log::default());
        lost.launch(of_lost, tag(0, 0), &[], log.note(0)).unwrap();
        lost.host(of_lost, tag(1, 0), &[], log.note(1)).unwrap();
        let done = lost.event();
        lost.record(done, of_lost);
        lost.lose();
        other.launch(of_other, tag(2, 0), &[], log.note(2)).unwrap();
        other.sync(of_other).unwrap();
        assert_eq!(log.taken(), [2], "seed {seed:?}");
        assert!(lost.sync(of_lost).unwrap_err().lost);
        assert!(lost.sync_event(done).unwrap_err().lost);
        // The race checker knows that all of it is over.
        assert!(lost.sim.machine().order.all_quiet(), "seed {seed:?}");
    }
}

/// Work that an operation on the device had begun in virtual time, and not ended.
#[test]
fn nothing_that_a_lost_device_had_begun_is_carried_out() {
    let [lost, other] = two(None);
    let (of_lost, of_other, log) = (lost.stream(), other.stream(), Log::default());
    let (large, small) = (lost.device(1 << 20), other.device(64));
    lost.launch(of_lost, tag(0, 0), &[write(large, 1 << 20)], log.note(0)).unwrap();
    other.launch(of_other, tag(1, 0), &[write(small, 64)], log.note(1)).unwrap();
    other.sync(of_other).unwrap();
    assert_eq!(log.taken(), [1]);
    assert_eq!(lost.sim.machine().active.len(), 1, "the launch has begun");
    lost.lose();
    other.launch(of_other, tag(2, 0), &[], log.note(2)).unwrap();
    other.sync(of_other).unwrap();
    assert_eq!(log.taken(), [2]);
}

/// The other device's thread carries out a job of the device while it is lost.
#[test]
fn a_call_to_a_lost_device_waits_for_what_another_thread_carries_out() {
    let waits: [fn(&Rig, RawStream, Pinned); 4] = [
        |lost, _, pinned| assert!(lost.redirect(pinned, None)),
        |lost, _, pinned| assert!(lost.free_pinned(pinned).is_err()),
        |lost, stream, _| assert!(lost.sync(stream).is_err()),
        |lost, stream, _| lost.destroy(stream),
    ];
    for wait in waits {
        let [lost, other] = two(None);
        let (of_lost, of_other, pinned) = (lost.stream(), other.stream(), lost.pinned(64));
        let (begun, has_begun) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let body = move || {
            begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(50));
            is_over.store(true, Ordering::Release);
        };
        lost.launch(of_lost, tag(0, 0), &[write(lost.address(pinned), 64)], body).unwrap();
        let last = other.pinned(64);
        other.launch(of_other, tag(1, 0), &[write(other.address(last), 64)], || {}).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| other.sync(of_other).unwrap());
            has_begun.recv().unwrap();
            lost.lose();
            wait(&lost, of_lost, pinned);
            assert!(over.load(Ordering::Acquire), "the body was being carried out");
        });
        assert!(lost.sim.machine().order.all_quiet());
    }
}

/// A callback by hand may wait for the thread that calls the device.
#[test]
fn a_call_to_a_lost_device_does_not_wait_for_a_callback_by_hand() {
    let [lost, other] = two(None);
    let (of_lost, of_other) = (lost.stream(), other.stream());
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let by_hand = Tag { pipeline: Tag::BY_HAND, operation: 0, chunk: 0 };
    let job = move || {
        begun.send(()).unwrap();
        may_go_on.recv().unwrap();
    };
    lost.host(of_lost, by_hand, &[], job).unwrap();
    other.host(of_other, tag(1, 0), &[], || {}).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| other.sync(of_other).unwrap());
        has_begun.recv().unwrap();
        lost.lose();
        assert!(lost.sync(of_lost).unwrap_err().lost);
        go_on.send(()).unwrap();
    });
}
