//! Gathers, failures and goodbyes, over loopback and in one process.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::ranks::members::MOST;

#[test]
fn every_rank_gets_all_payloads_in_the_order_of_ranks() {
    for kind in KINDS {
        for n in [1, 2, 4, 16, 64] {
            let results = run(kind, n, limits(), |members| {
                let rounds = (0..5_u8).map(|round| {
                    let rank = u8::try_from(members.rank()).expect("a small world");
                    members.gather("round", &[round, rank]).wait().expect("all come")
                });
                rounds.collect::<Vec<_>>()
            });
            let expected =
                |round| (0..n).map(|rank| vec![round, u8::try_from(rank).expect("a small world")]).collect();
            let expected: Vec<Vec<Vec<u8>>> = (0..5_u8).map(expected).collect();
            assert!(results.iter().all(|rounds| *rounds == expected), "{kind:?} {n}");
        }
    }
}

#[test]
fn the_largest_payloads_arrive_and_larger_ones_are_refused() {
    for kind in KINDS {
        let results = run(kind, 4, limits(), |members| {
            let refused = members.gather("much", &[0; MOST + 1]);
            assert!(refused.is_over());
            assert_eq!(
                text(refused.wait()),
                "`much` gives 65537 bytes to the other ranks, and 65536 bytes are the most"
            );
            let payload = vec![u8::try_from(members.rank()).expect("a small world"); MOST];
            members.gather("much", &payload).wait().expect("all come")
        });
        for payloads in results {
            assert!((0..4).all(|rank| payloads[usize::from(rank)] == vec![rank; MOST]), "{kind:?}");
        }
    }
}

#[test]
fn gathers_may_be_begun_ahead_and_dropped() {
    for kind in KINDS {
        run(kind, 3, limits(), |members| {
            let ahead: Vec<_> = (0..100_u8).map(|number| members.gather("ahead", &[number])).collect();
            for (number, gathering) in (0..100_u8).zip(ahead) {
                if number % 3 == 0 {
                    drop(gathering);
                } else {
                    assert_eq!(gathering.wait().expect("all come"), vec![vec![number]; 3]);
                }
            }
        });
    }
}

#[test]
fn a_gather_is_over_when_the_last_rank_has_come() {
    for kind in KINDS {
        let has_come = AtomicUsize::new(0);
        run(kind, 2, limits(), |members| {
            if members.rank() == 1 {
                while has_come.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
            }
            let gathering = members.gather("a", b"");
            if members.rank() == 0 {
                assert!(!gathering.is_over());
                has_come.store(1, Ordering::Release);
            }
            let start = Instant::now();
            while !gathering.is_over() {
                assert!(start.elapsed() < LONG);
                std::thread::yield_now();
            }
            assert_eq!(gathering.wait().expect("all come").len(), 2);
        });
    }
}

/// Ranks that do not come to a gather stay in the world until the others have given up.
fn late(kind: Kind, absent: &[usize]) -> Vec<String> {
    let size = 4;
    let present: Vec<_> = (0..size).filter(|rank| !absent.contains(rank)).collect();
    let (given_up, have_come) = (AtomicUsize::new(0), Barrier::new(present.len()));
    run(kind, size, limits(), |members| {
        if absent.contains(&members.rank()) {
            let start = Instant::now();
            while given_up.load(Ordering::Acquire) < present.len() && start.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(5));
            }
            return text(members.gather("run 4 of Train", b"").wait());
        }
        // The last one to come is the least patient, so that no time runs while others are on their way.
        let is_last = present.last() == Some(&members.rank());
        let patient = (!is_last).then(|| members.gather("run 4 of Train", b""));
        have_come.wait();
        let gathering = patient.unwrap_or_else(|| members.gather_within("run 4 of Train", b"", SHORT));
        let result = text(gathering.wait());
        given_up.fetch_add(1, Ordering::Release);
        result
    })
}

#[test]
fn ranks_that_do_not_come_are_named_on_all_ranks() {
    for kind in KINDS {
        let text = "ranks 1 and 3 have not come to `run 4 of Train` within 0.4 s";
        assert_eq!(late(kind, &[1, 3]), [text; 4], "{kind:?}");
        let text = "rank 0 has not come to `run 4 of Train` within 0.4 s";
        assert_eq!(late(kind, &[0]), [text; 4], "{kind:?}");
        let text = "ranks 0, 2 and 3 have not come to `run 4 of Train` within 0.4 s";
        assert_eq!(late(kind, &[0, 2, 3]), [text; 4], "{kind:?}");
        let text = "ranks 1 to 3 have not come to `run 4 of Train` within 0.4 s";
        assert_eq!(late(kind, &[1, 2, 3]), [text; 4], "{kind:?}");
    }
}

#[test]
fn ranks_that_do_different_things_are_told_so() {
    for kind in KINDS {
        let texts = run(kind, 2, limits(), |members| {
            let what = ["run 1 of Train", "run 1 of Eval"][members.rank()];
            text(members.gather(what, b"").wait())
        });
        let one = "rank 0 has come to `run 1 of Train`, and rank 1 to `run 1 of Eval`";
        let other = "rank 1 has come to `run 1 of Eval`, and rank 0 to `run 1 of Train`";
        assert!(texts[0] == texts[1] && [one, other].contains(&texts[0].as_str()), "{texts:?}");
    }
}

#[test]
fn a_rank_that_fails_stops_the_others() {
    for kind in KINDS {
        for failing in [0, 2] {
            let texts = run(kind, 3, limits(), |members| {
                if members.rank() == failing {
                    members.fail("its disk is full");
                    // The first failure stays.
                    members.fail("something else");
                }
                let error = text(members.gather("run 1", b"").wait());
                assert_eq!(members.failure().map(|failure| failure.to_string()), Some(error.clone()));
                // Nothing works any more.
                assert_eq!(text(members.gather("run 2", b"").wait()), error);
                assert_eq!(text(members.exchange(&[], &mut [])), error);
                error
            });
            assert_eq!(
                texts,
                vec![format!("{} has failed: its disk is full", named(failing)); 3],
                "{kind:?}"
            );
        }
    }
}

#[test]
fn hooks_run_once_with_the_first_failure() {
    for kind in KINDS {
        let world = world(kind, 3, limits());
        let (sender, receiver) = std::sync::mpsc::channel();
        for members in &world {
            let (sender, rank) = (sender.clone(), members.rank());
            members.on_failure(move |error| sender.send((rank, error.to_string())).expect("the test"));
        }
        world[1].fail("no memory");
        world[2].fail("a consequence");
        let mut called: Vec<_> = (0..3).map(|_| receiver.recv_timeout(LONG).expect("a hook")).collect();
        called.sort();
        assert_eq!(called.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 1, 2]);
        // Over connections, ranks 1 and 2 fail by themselves.
        assert_eq!(called[1].1, format!("{} has failed: no memory", named(1)));
        for members in &world {
            let (sender, rank) = (sender.clone(), members.rank());
            members.on_failure(move |error| sender.send((rank, error.to_string())).expect("the test"));
            assert_eq!(receiver.try_recv().expect("at once"), called[rank]);
        }
        drop((sender, world));
        assert!(receiver.recv().is_err(), "a hook has run twice");
    }
}

#[test]
fn a_rank_that_has_left_is_named_by_later_gathers() {
    for kind in KINDS {
        for leaving in [0, 1, 2] {
            let texts = run(kind, 3, limits(), |members| {
                members.gather("run 1", b"").wait().expect("all come");
                if members.rank() == leaving {
                    return String::new();
                }
                text(members.gather("run 2", b"").wait())
            });
            for (rank, text) in texts.iter().enumerate().filter(|(rank, _)| *rank != leaving) {
                assert_eq!(*text, format!("{} has left the world", named(leaving)), "{kind:?} {rank}");
            }
        }
    }
}

#[test]
fn a_world_that_is_left_by_one_after_the_other_does_not_fail() {
    for kind in KINDS {
        for first in [0, 2] {
            let mut world = world(kind, 3, limits());
            let last: Vec<_> = world.iter().map(|members| members.gather("last", b"")).collect();
            last.into_iter().for_each(|gathering| drop(gathering.wait().expect("all have come")));
            drop(world.remove(first));
            std::thread::sleep(Duration::from_millis(30));
            assert!(world.iter().all(|members| members.failure().is_none()), "{kind:?}");
            drop(world.remove(1));
            std::thread::sleep(Duration::from_millis(30));
            assert!(world[0].failure().is_none(), "{kind:?}");
        }
    }
}

#[test]
fn a_rank_may_leave_before_the_others_come_to_its_last_gather() {
    for kind in KINDS {
        for first in [0, 1] {
            let mut world = world(kind, 3, limits());
            let gathering = world[first].gather("last", b"x");
            drop(gathering);
            drop(world.remove(first));
            std::thread::sleep(Duration::from_millis(20));
            let others: Vec<_> = world.iter().map(|members| members.gather("last", b"x")).collect();
            for other in others {
                assert_eq!(other.wait().expect("all have come"), [b"x"; 3], "{kind:?} {first}");
            }
        }
    }
}

#[test]
fn a_rank_whose_thread_panics_has_failed() {
    for kind in KINDS {
        let mut world = world(kind, 2, limits());
        let (one, zero) = (world.remove(1), world.remove(0));
        let thread = std::thread::spawn(move || {
            let _one = one;
            std::panic::resume_unwind(Box::new("a panic that prints nothing"));
        });
        assert!(thread.join().is_err());
        let error = text(zero.gather("run 1", b"").wait());
        assert_eq!(error, format!("{} has failed: its thread has panicked", named(1)), "{kind:?}");
    }
}
