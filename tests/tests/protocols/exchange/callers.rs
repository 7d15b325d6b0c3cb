//! A run and a caller that pushes or pulls: each slot belongs to one of them, and the data go through once
//! and in order.

use loom::thread;

use super::run::Run;
use super::slot_exchange::{Moved, SlotExchange};
use super::slots::Slot;
use crate::check;

/// The work of a `Pusher`. Returns the number of elements that had room before it was over.
fn push(exchange: &SlotExchange, data: &[u8]) -> usize {
    let mut pushed = 0;
    while pushed < data.len() {
        let version = exchange.wakeup().version();
        // SAFETY: the elements are bytes.
        match unsafe { exchange.push(&data[pushed..]) } {
            Moved::Some(elements) => pushed += elements,
            Moved::None => exchange.wakeup().wait(version),
            Moved::Over => break,
        }
    }
    pushed
}

/// The work of a `Puller`, with this number of elements at a time, until it is over.
fn pull(exchange: &SlotExchange, at_once: usize) -> Vec<u8> {
    let mut pulled = Vec::new();
    loop {
        let (version, mut to) = (exchange.wakeup().version(), vec![0; at_once]);
        // SAFETY: the elements are bytes.
        match unsafe { exchange.pull(&mut to) } {
            Moved::Some(elements) => pulled.extend_from_slice(&to[..elements]),
            Moved::None => exchange.wakeup().wait(version),
            Moved::Over => return pulled,
        }
    }
}

/// Two chunks go through one slot, and the second is not full.
#[test]
fn what_is_pushed_arrives_once_and_in_order() {
    check(2, || {
        let (run, slot) = (Run::new(), Slot::new([0; 2]));
        let exchange = run.exchange.clone();
        thread::spawn(move || {
            assert_eq!(push(&exchange, &[1, 2, 3]), 3);
            exchange.end();
        });
        assert!(run.give(0, &slot, false));
        run.wait_until(|exchange| exchange.has_filled(0));
        assert_eq!((run.items(0), slot.get()), (2, [1, 2]));
        slot.set([0; 2]);
        assert!(run.give(1, &slot, false));
        run.wait_until(|exchange| exchange.has_filled(1));
        assert_eq!((run.items(1), slot.get()[0]), (1, 3));
        assert!(run.exchange.ends_before(2) && run.exchange.trouble().is_none());
        run.end(true);
    });
}

/// Pushed data go through at once, as a shorter chunk; the caller waits if there is no slot yet.
#[test]
fn what_is_flushed_goes_through() {
    check(2, || {
        let (run, slot) = (Run::new(), Slot::new([0; 2]));
        let exchange = run.exchange.clone();
        thread::spawn(move || {
            assert_eq!(push(&exchange, &[1]), 1);
            assert_eq!(exchange.flush(), Ok(Moved::Some(1)));
            exchange.end();
        });
        assert!(run.give(0, &slot, false));
        run.wait_until(|exchange| exchange.has_filled(0));
        assert_eq!((run.items(0), slot.get()[0]), (1, 1));
        run.wait_until(|exchange| exchange.has_filled(1));
        assert_eq!(run.items(1), 0);
        run.end(true);
    });
}

/// A run that unwinds takes its slots back and frees their memory, whatever the caller is doing.
#[test]
fn slots_are_taken_back_from_who_pushes() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([0; 2]), Slot::new([0; 2])]);
        let exchange = run.exchange.clone();
        let pusher = thread::spawn(move || push(&exchange, &[1, 2, 3, 4, 5]));
        assert!(run.give(0, &slots[0], false));
        assert!(run.give(1, &slots[1], false));
        run.end(false);
        slots.iter().for_each(|slot| slot.set([9; 2]));
        let pushed = pusher.join().expect("no panic");
        // Elements that were pushed into no whole chunk belong to nobody.
        assert!(pushed <= 4 && run.exchange.done() == pushed / 2, "{pushed} pushed");
        assert!(!run.give(2, &slots[0], false));
    });
}

/// The same for results that nobody has pulled.
#[test]
fn slots_are_taken_back_from_who_pulls() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([1, 2]), Slot::new([3, 4])]);
        let exchange = run.exchange.clone();
        let puller = thread::spawn(move || pull(&exchange, 1));
        assert!(run.give(0, &slots[0], true));
        assert!(run.give(1, &slots[1], true));
        run.end(false);
        slots.iter().for_each(|slot| slot.set([9; 2]));
        let pulled = puller.join().expect("no panic");
        assert!([1, 2, 3, 4].starts_with(&pulled), "{pulled:?}");
    });
}

/// Two results go through one slot, which the run writes as soon as the caller has taken the first.
#[test]
fn what_is_pulled_is_each_result_once() {
    check(2, || {
        let (run, slot) = (Run::new(), Slot::new([1, 2]));
        let exchange = run.exchange.clone();
        let puller = thread::spawn(move || pull(&exchange, 1));
        assert!(run.give(0, &slot, true));
        run.wait_until(|exchange| exchange.done() > 0);
        slot.set([3, 4]);
        assert!(run.give(1, &slot, true));
        run.wait_until(|exchange| exchange.done() > 1);
        slot.set([9; 2]);
        run.end(true);
        assert_eq!(puller.join().expect("no panic"), [1, 2, 3, 4]);
    });
}

/// The run goes on to its end without the caller, who has all results nevertheless.
#[test]
fn what_is_kept_is_each_result_once() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([1, 2]), Slot::new([3, 4])]);
        let exchange = run.exchange.clone();
        let puller = thread::spawn(move || pull(&exchange, 1));
        assert!(run.give(0, &slots[0], true));
        assert!(run.exchange.keep());
        slots[0].set([9; 2]);
        assert!(run.give(1, &slots[1], true));
        assert!(run.exchange.keep());
        assert_eq!(run.exchange.done(), 2);
        run.end(true);
        slots[1].set([9; 2]);
        assert_eq!(puller.join().expect("no panic"), [1, 2, 3, 4]);
        assert_eq!(run.exchange.pulled(), 2);
    });
}

/// A caller that discards results no longer has a slot, and the run goes on.
#[test]
fn what_is_discarded_holds_no_slot() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([1, 2]), Slot::new([3, 4])]);
        let exchange = run.exchange.clone();
        thread::spawn(move || {
            let mut first = [0_u8];
            // SAFETY: the elements are bytes.
            let moved = unsafe { exchange.pull(&mut first) };
            assert!(moved == Moved::None || first == [1]);
            exchange.discard();
        });
        for (index, slot) in slots.iter().enumerate() {
            assert!(run.give(index, slot, true));
        }
        run.wait_until(|exchange| exchange.done() == 2);
        slots.iter().for_each(|slot| slot.set([9; 2]));
        run.end(true);
    });
}

/// A run that has not given a result is notified when a caller waits for it.
#[test]
fn a_run_hears_of_who_waits() {
    check(2, || {
        let (run, slot) = (Run::new(), Slot::new([1, 2]));
        let exchange = run.exchange.clone();
        let puller = thread::spawn(move || pull(&exchange, 2));
        run.wait_until(SlotExchange::is_wanted);
        assert!(run.give(0, &slot, true));
        run.wait_until(|exchange| exchange.done() == 1);
        slot.set([9; 2]);
        run.end(true);
        assert_eq!(puller.join().expect("no panic"), [1, 2]);
    });
}

/// Callers that wait for slots when the run ends are woken: in this model both are at one exchange.
#[test]
fn the_end_of_a_run_wakes_everybody() {
    check(2, || {
        let run = Run::new();
        let (pushed, pulled) = (run.exchange.clone(), run.exchange.clone());
        thread::spawn(move || assert_eq!(push(&pushed, &[1]), 0));
        thread::spawn(move || assert_eq!(pull(&pulled, 1), []));
        run.end(false);
    });
}

/// The run sees what a caller has done before it begins: nothing notifies it later.
#[test]
fn a_run_sees_an_end_before_it() {
    check(2, || {
        let (run, slot) = (Run::before(), Slot::new([0; 2]));
        let exchange = run.exchange.clone();
        thread::spawn(move || exchange.end());
        run.begin();
        assert!(run.give(0, &slot, false));
        run.wait_until(|exchange| exchange.has_filled(0));
        assert_eq!(run.items(0), 0);
        run.end(true);
    });
}

/// The same for a caller that already waits for a result.
#[test]
fn a_run_sees_who_waited_before_it() {
    check(2, || {
        let run = Run::before();
        let exchange = run.exchange.clone();
        let puller = thread::spawn(move || pull(&exchange, 1));
        run.begin();
        run.wait_until(SlotExchange::is_wanted);
        run.end(true);
        assert_eq!(puller.join().expect("no panic"), []);
    });
}
