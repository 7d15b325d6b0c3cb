use std::sync::{Arc, Mutex};

use super::*;
use crate::driver::DevicePtr;

const GRID: Grid = Grid { grid_dim: [1; 3], block_dim: [1; 3], shared: 0 };

/// Memory that bodies write.
#[derive(Clone)]
struct SimulatedMemory(Arc<Mutex<Box<[u8]>>>);

impl SimulatedMemory {
    fn new(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![0; bytes].into())))
    }

    fn access(&self) -> Access {
        let mut bytes = self.0.lock().unwrap();
        let ptr = DevicePtr(bytes.as_mut_ptr().expose_provenance() as u64);
        Access { ptr, bytes: bytes.len(), write: true, anew: false }
    }

    fn promise(&self, element: usize) -> Promise {
        Promise::new("y", self.access(), element)
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the memory is there as long as this, and nobody writes it now.
        unsafe { bytes(self.access()) }.to_vec()
    }
}

/// The finding for a body that writes elements of this many bytes through `write`, which gets the memory and
/// the number of earlier calls.
fn found(
    memory: &SimulatedMemory,
    element: usize,
    others: &[Access],
    write: impl Fn(&mut [u8], usize) + Send + 'static,
) -> (Option<(usize, usize)>, usize) {
    let calls = Arc::new(AtomicU64::new(0));
    let (counted, access) = (Arc::clone(&calls), memory.access());
    let body = move || {
        let before = counted.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the test holds the memory.
        write(unsafe { bytes(access) }, before as usize);
    };
    let accesses: Vec<Access> = [memory.access()].into_iter().chain(others.iter().copied()).collect();
    // SAFETY: the body stays within the accesses, which the test holds.
    let body = unsafe { whole_body(GRID, &[memory.promise(element)], &accesses, body) };
    let found = asked(body).map(|found| (found.unwritten, found.first));
    (found, calls.load(Ordering::Relaxed) as usize)
}

/// Elements of eight bytes are certain at once. Smaller ones are certain after as many calls as make eight
/// bytes.
#[test]
fn one_element_and_how_often_the_body_is_called() {
    for (element, calls) in [(4, 2), (5, 2), (6, 2), (7, 2), (8, 1), (12, 1), (16, 1), (100, 1)] {
        for hole in [0, 3, 9] {
            let memory = SimulatedMemory::new(10 * element);
            let write = move |bytes: &mut [u8], _| {
                let elements = bytes.chunks_exact_mut(element).enumerate();
                elements.filter(|(i, _)| *i != hole).for_each(|(_, bytes)| bytes.fill(7));
            };
            let expected = match element {
                // The element does not contain four bytes at a multiple of four.
                5 if hole == 9 => (None, 1),
                _ => (Some((1, hole)), calls),
            };
            assert_eq!(found(&memory, element, &[], write), expected, "{element} {hole}");
        }
    }
}

/// Eight bytes in a row are found whatever the elements, with their exact border. Fewer than four are not
/// found.
#[test]
fn several_small_elements() {
    for element in [1_usize, 2, 3] {
        for (first, count) in [(0, 8), (5, 8), (100, 92), (191, 1), (17, 1)] {
            let memory = SimulatedMemory::new(192 * element);
            let write = move |bytes: &mut [u8], _| {
                let elements = bytes.chunks_exact_mut(element).enumerate();
                let elements = elements.filter(|(i, _)| !(first..first + count).contains(i));
                elements.for_each(|(_, bytes)| bytes.fill(7));
            };
            let (found, calls) = found(&memory, element, &[], write);
            if count >= 8 {
                assert_eq!(
                    (found, calls),
                    (Some((count, first)), WORD.div_ceil(element)),
                    "{element} {first}"
                );
            } else {
                assert_eq!((found, calls), (None, 1), "{element} {first}");
            }
        }
    }
}

/// A value that equals the pattern by chance is not reported, and all memory is as after the first call.
#[test]
fn what_was_written_by_chance() {
    let (memory, other) = (SimulatedMemory::new(400), SimulatedMemory::new(8));
    let others = other.access();
    let write = move |bytes: &mut [u8], before: usize| {
        // SAFETY: the test holds the memory.
        let count = unsafe { super::bytes(others) };
        count[0] += 1;
        // In the first call, element 50 already holds what it is to be written.
        let (all, chance) = (before as u8 + 1, bytes[200..204].to_vec());
        bytes.fill(all);
        if before == 0 {
            bytes[200..204].copy_from_slice(&chance);
        }
    };
    let (found, calls) = found(&memory, 4, &[others], write);
    assert_eq!((found, calls), (None, 2));
    assert_eq!(other.bytes(), [1, 0, 0, 0, 0, 0, 0, 0]);
    let bytes = memory.bytes();
    assert!(bytes[..200].iter().chain(&bytes[204..]).all(|&byte| byte == 1), "{bytes:?}");
    assert!(bytes[200..204] != [2; 4], "{bytes:?}");
}

/// A body that panics only when it is called again has done its work once.
#[test]
fn a_body_that_panics_the_second_time() {
    let memory = SimulatedMemory::new(400);
    let write = |bytes: &mut [u8], before| {
        bytes[..396].fill(1);
        assert_eq!(before, 0, "it was called before");
    };
    assert_eq!(found(&memory, 4, &[], write), (None, 2));
    assert!(memory.bytes()[..396].iter().all(|&byte| byte == 1));
}

#[test]
fn nothing_is_all_written() {
    let memory = SimulatedMemory::new(0);
    assert_eq!(found(&memory, 4, &[], |_, _| {}), (None, 1));
}

#[test]
fn ranges_in_both() {
    assert_eq!(
        common(&[0..5, 8..9, 20..30], &[1..2, 4..9, 25..26, 29..40]),
        [1..2, 4..5, 8..9, 25..26, 29..30]
    );
    let whole = std::slice::from_ref(&(0..5));
    assert_eq!(common(whole, &[]), []);
    assert_eq!(common(&[0..2, 3..5], whole), [0..2, 3..5]);
}

#[test]
fn the_grid_that_would_do() {
    let enough = |elements, unwritten, first, [blocks, threads]: [u32; 2]| {
        let grid = Grid { grid_dim: [blocks, 1, 1], block_dim: [threads, 1, 1], shared: 0 };
        Unwritten { parameter: "y", elements, unwritten, first, grid, by_threads: false }.enough()
    };
    assert_eq!(enough(1000, 488, 512, [2, 256]), Some(4));
    assert_eq!(enough(4000, 2976, 1024, [4, 256]), Some(16));
    assert_eq!(enough(4000, 3488, 512, [1, 256]), Some(8), "two elements a thread");
    assert_eq!(enough(8, 6, 2, [2, 64]), Some(8), "one a block");
    assert_eq!(enough(1000, 1, 999, [4, 256]), None, "the threads would do");
    assert_eq!(enough(1000, 500, 500, [4, 256]), None, "the threads would do");
    assert_eq!(enough(1000, 250, 0, [4, 256]), None, "not at the end");
    assert_eq!(enough(1000, 1000, 0, [4, 256]), None, "nothing at all");
}
