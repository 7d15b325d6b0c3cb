//! The threads that copy, as their users see them. Their interleavings are in the tests' `protocols`.

use std::sync::mpsc;
use std::time::Duration;

use super::numa::Node;
use super::{CORES, PIECE, Way, Workers};

#[test]
fn every_byte_is_copied_once_done_whatever_the_length() {
    let workers = Workers::near(None);
    workers.employ(0, 3);
    for (index, bytes) in [0, 1, 63, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 17].into_iter().enumerate() {
        for way in [Way::Cached, Way::PastCache] {
            let from: Vec<u8> = (0..bytes).map(|i| (i * 31 + index) as u8).collect();
            let mut to = vec![0_u8; bytes + 2];
            // SAFETY: both are that long, at an odd address, and are left alone until the task is done.
            let task = unsafe { workers.start(to.as_mut_ptr().add(1), from.as_ptr(), bytes, way) };
            task.finish();
            assert!(task.is_done());
            assert_eq!(to[1..=bytes], from);
            assert_eq!((to[0], to[bytes + 1]), (0, 0));
        }
    }
}

#[test]
fn each_node_has_its_own() {
    let nodes = [Node::of(70, &[0, 1]), Node::of(71, &[0, 1])];
    let [first, second] = nodes.each_ref().map(|node| Workers::near(Some(node)));
    assert!(std::ptr::eq(first, Workers::near(Some(&nodes[0]))));
    assert!(!std::ptr::eq(first, second) && !std::ptr::eq(first, Workers::near(None)));
    // One of them is the thread that waits.
    first.employ(0, 8);
    let from = vec![9_u8; 9 * PIECE];
    let mut to = vec![0_u8; from.len()];
    // SAFETY: both are that long, and are left alone until the copy is done.
    unsafe { first.copy(to.as_mut_ptr(), from.as_ptr(), from.len(), Way::Cached) };
    assert_eq!(to, from);
    assert_eq!((first.started(), second.started()), ((*CORES).min(2) - 1, 0));
}

#[test]
fn each_device_has_threads_for_its_link() {
    let workers = Workers::near(Some(&Node::of(72, &[0, 1])));
    for (device, threads, wanted) in [(1, 4, 3), (0, 3, 5), (1, 2, 5), (0, 6, 8), (2, 0, 8)] {
        workers.employ(device, threads);
        assert_eq!(workers.wanted(), wanted, "device {device} wants {threads}");
    }
}

#[test]
fn devices_that_begin_wait_for_no_thread_that_copies() {
    let workers = Workers::near(Some(&Node::of(73, &[0, 1])));
    let (begun, told) = mpsc::channel();
    let held = workers.hold();
    std::thread::spawn(move || {
        Workers::near(Some(&Node::of(73, &[0, 1]))).employ(0, 3);
        let _ = begun.send(());
    });
    let outcome = told.recv_timeout(Duration::from_secs(30));
    drop(held);
    assert_eq!((outcome, workers.wanted()), (Ok(()), 2));
}

#[test]
fn several_threads_may_have_tasks_at_once() {
    let workers = Workers::near(None);
    workers.employ(0, 3);
    std::thread::scope(|scope| {
        for seed in 0..4_u8 {
            scope.spawn(move || {
                for round in 0..20 {
                    let from = vec![seed.wrapping_mul(20).wrapping_add(round); 3 * PIECE + 5];
                    let mut to = vec![!from[0]; from.len()];
                    // SAFETY: as above.
                    let task =
                        unsafe { workers.start(to.as_mut_ptr(), from.as_ptr(), from.len(), Way::PastCache) };
                    task.finish();
                    assert_eq!(to, from);
                }
            });
        }
    });
}
