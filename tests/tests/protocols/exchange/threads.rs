//! A run and the thread of a source or a sink.

use std::io;

use loom::thread;

use super::run::Run;
use super::slot_exchange::SlotExchange;
use super::slots::{self, Slot};
use crate::check;

/// The work of a source's thread, which has this number of chunks.
fn read(exchange: &SlotExchange, chunks: usize) {
    while let Some(job) = exchange.wait_for_job(false) {
        let index = job.chunk.index;
        if index == chunks {
            exchange.filled(job.chunk, 0, true);
            break;
        }
        // SAFETY: the slot is this thread's until the answer: the model finds out.
        unsafe { slots::write(job.slot, 0, &[index as u8; 2]) };
        exchange.filled(job.chunk, job.chunk.len, false);
    }
    exchange.finished();
}

/// The work of a sink's thread, which fails at a chunk.
fn write(exchange: &SlotExchange, fails_at: usize) {
    while let Some(job) = exchange.wait_for_job(true) {
        if job.chunk.index == fails_at {
            exchange.failed(Some(fails_at), io::Error::other("full"));
            break;
        }
        let mut seen = [0; 2];
        // SAFETY: the slot is this thread's until the answer: the model finds out.
        unsafe { slots::read(job.slot, 0, &mut seen) };
        assert_eq!(seen, [job.chunk.index as u8; 2]);
        exchange.accepted(job.chunk);
    }
    exchange.finished();
}

/// A source is asked for one chunk after another in one slot, until it has no more.
#[test]
fn a_source_fills_each_slot_once() {
    check(2, || {
        let (run, slot) = (Run::new(), Slot::new([9; 2]));
        let exchange = run.exchange.clone();
        thread::spawn(move || read(&exchange, 1));
        assert!(run.give(0, &slot, false));
        run.wait_until(|exchange| exchange.has_filled(0));
        assert_eq!((run.items(0), slot.get()), (2, [0; 2]));
        slot.set([9; 2]);
        assert!(run.give(1, &slot, false));
        run.wait_until(|exchange| exchange.has_filled(1));
        assert_eq!((run.items(1), slot.get()), (0, [9; 2]));
        run.exchange.close();
        run.wait_until(SlotExchange::is_over);
    });
}

/// A run that no longer needs a source has its slots back when the thread is over.
#[test]
fn a_source_is_closed_at_any_time() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([9; 2]), Slot::new([9; 2])]);
        let exchange = run.exchange.clone();
        thread::spawn(move || read(&exchange, 2));
        for (index, slot) in slots.iter().enumerate() {
            assert!(run.give(index, slot, false));
        }
        run.exchange.close();
        // There is no wakeup, which would order more than the exchange itself does.
        while !run.exchange.is_over() {
            thread::yield_now();
        }
        let done = run.exchange.done();
        for (index, slot) in slots.iter().enumerate() {
            assert_eq!(slot.get(), if index < done { [index as u8; 2] } else { [9; 2] });
        }
        assert!(!run.give(2, &slots[0], false));
    });
}

/// A sink writes the results that it was given, even if nothing more comes.
#[test]
fn a_sink_writes_all_that_it_was_given() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([0; 2]), Slot::new([1; 2])]);
        let exchange = run.exchange.clone();
        thread::spawn(move || write(&exchange, usize::MAX));
        assert!(run.give(0, &slots[0], true));
        run.wait_until(|exchange| exchange.done() > 0);
        slots[0].set([9; 2]);
        assert!(run.give(1, &slots[1], true));
        run.exchange.close();
        run.wait_until(SlotExchange::is_over);
        assert_eq!(run.exchange.done(), 2);
        slots[1].set([9; 2]);
    });
}

/// A sink that has failed takes no more, and the run learns it.
#[test]
fn a_sink_that_fails_has_no_slot_when_it_is_over() {
    check(2, || {
        let (run, slots) = (Run::new(), [Slot::new([0; 2]), Slot::new([1; 2]), Slot::new([2; 2])]);
        let exchange = run.exchange.clone();
        thread::spawn(move || write(&exchange, 1));
        let given = slots.iter().enumerate().filter(|(index, slot)| run.give(*index, slot, true)).count();
        run.wait_until(|exchange| exchange.trouble().is_some() || given < 2);
        run.exchange.close();
        run.wait_until(SlotExchange::is_over);
        slots.iter().for_each(|slot| slot.set([9; 2]));
        assert_eq!((run.exchange.done(), given >= 2), (1, true));
        assert_eq!(run.exchange.trouble().expect("it has failed").chunk, Some(1));
    });
}
