//! Threads of a GPU that fail: the host runs the launch again, and the error names the thread and the numbers.
//! A stub of CUDA's libraries stands in for the GPU. Its launches do nothing, but a thread fails where the test
//! says.

use thalweg::Options;
use thalweg::prelude::*;
use thalweg_tests::book::{in_listing, recorded};
use thalweg_tests::stubs::Stubs;

use crate::rust_kernels::{ELEMENT, element};

/// The driver and the compiler.
const STUBS: Stubs =
    Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/replaying-kernels"));

// ANCHOR: gathered
#[kernel]
fn gathered(i: Index, x: &[f32], at: &[u32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[at[i] as usize];
}
// ANCHOR_END: gathered
const GATHERED: u32 = line!() - 3;

stream_pipeline! {
    pipeline Gathered {
        resident x: [f32];
        input at: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 64;
        stage all {
            copy at -> places;
            gathered<<<blocks(c.len, 32), 32>>>(&x, &places, out dy);
            copy dy -> y;
        }
    }
}

/// What the whole test does: in a process that has the stubs, `body`. A thread of each launch fails at the line
/// of the kernel, or of the function that counts so many backwards from the kernel.
fn at(test: &str, line: u32, function: u32, body: fn(&Device)) {
    let place = (function << 20 | line).to_string();
    STUBS.record(test, &[("THALWEG_FAULT", &place)], body);
}

/// The beginning of the error of a run.
fn failed(kernel: &str, line: u32, message: &str) -> String {
    format!("kernel `{kernel}` failed at {}:{line}: {message}", file!())
}

const AGAIN: &str = "note: a GPU tells the line alone; the host has run the launch again";

#[test]
fn an_index_out_of_bounds_names_its_thread_and_numbers() {
    at("an_index_out_of_bounds_names_its_thread_and_numbers", GATHERED, 0, |device| {
        let mut gathered = Gathered::new(device).unwrap();
        let (mut at, mut y) = ([0; 100], [7.0; 100]);
        (at[64 + 35], at[64 + 34]) = (9, 7);
        for _ in 0..2 {
            let error = gathered.run(&[1.0, 2.0], &at, &mut y).unwrap_err();
            let said = error.to_string();
            let message = "index out of bounds: the len is 2 but the index is 7";
            assert!(said.starts_with(&failed("gathered", GATHERED, message)), "{said}");
            assert!(said.contains("it was the thread of index 34, thread 2 of block 1\n"), "{said}");
            assert!(said.contains(AGAIN) && said.contains("chunk 1"), "{said}");
            let ErrorKind::Function(function) = error.kind() else { panic!("{error:?}") };
            assert_eq!(function.message(), message);
            // Threads of other chunks may have failed, too.
            assert!(error.complete().iter().all(|complete| complete.items == 0), "{error:?}");
            recorded("rust-kernels-gpu-fault.txt", &in_listing(&error, file!(), "gathered"));
        }
    });
}

/// The device is asked for what the launch has read, after the run, and for nothing else.
#[test]
fn what_a_launch_has_read_is_copied_once_it_has_failed() {
    let test = "what_a_launch_has_read_is_copied_once_it_has_failed";
    let place = GATHERED.to_string();
    let calls = STUBS.record(test, &[("THALWEG_FAULT", &place), ("THALWEG_NO_FAULT", "1")], |device| {
        let mut gathered = Gathered::new(device).unwrap();
        let mut y = PinnedBuf::<f32>::zeroed(device, 64).unwrap();
        let mut at = PinnedBuf::<u32>::zeroed(device, 64).unwrap();
        at.fill(2);
        gathered.run(&[1.0, 2.0], &at, &mut y).unwrap();
        let said = gathered.run(&[1.0, 2.0], &at, &mut y).unwrap_err().to_string();
        assert!(said.contains("the len is 2 but the index is 2"), "{said}");
    });
    let Some(calls) = calls else { return };
    let is_told = |line: &&str| ["cuLaunchKernel", "cuMemcpyDtoH"].iter().any(|call| line.starts_with(call));
    let told: Vec<_> = calls.lines().filter(is_told).collect();
    let launch = "cuLaunchKernel gathered <<<(2, 1, 1), (32, 1, 1), 0, s1>>>";
    let of = |bytes: usize| move |line: &&str| line.ends_with(&format!(" {bytes} s1"));
    // Each run copies `y`, and the second one then `x` and `at`.
    assert_eq!(told.len(), 6, "{calls}");
    assert_eq!([told[0], told[2]], [launch; 2], "{calls}");
    assert!(of(256)(&told[1]) && of(256)(&told[3]) && of(8)(&told[4]) && of(256)(&told[5]), "{calls}");
}

#[kernel]
fn divided(i: Index, x: &[u32], by: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    assert!(by[i] < 100, "a divisor is small");
    let quotient = x[i] / by[i];
    match quotient {
        0..50 => *y = quotient + 1,
        50 => panic!("fifty"),
        _ => *y = x[i] + x[i],
    }
}
const ASSERTED: u32 = line!() - 8;
const DIVIDED: u32 = ASSERTED + 1;
const PANICKED: u32 = ASSERTED + 4;
const ADDED: u32 = ASSERTED + 5;

stream_pipeline! {
    pipeline Divided {
        input x: [u32];
        input by: [u32];
        output y: [u32];
        device dy: [u32];
        chunk c = 16;
        stage all {
            copy x -> dx;
            copy by -> divisors;
            divided<<<blocks(c.len, 8), 8>>>(&dx, &divisors, out dy);
            copy dy -> y;
        }
    }
}

/// Runs `Divided`, of which each kind of failure has a thread.
fn divide(device: &Device) -> String {
    let (mut x, mut by, mut y) = ([1; 16], [1; 16], [0; 16]);
    by[3] = 100;
    (by[5], by[6]) = (0, 0);
    x[9] = 50;
    (x[12], x[13]) = (60, u32::MAX);
    Divided::new(device).unwrap().run(&x, &by, &mut y).unwrap_err().to_string()
}

#[test]
fn a_division_by_zero_names_its_thread() {
    at("a_division_by_zero_names_its_thread", DIVIDED, 0, |device| {
        let said = divide(device);
        assert!(said.starts_with(&failed("divided", DIVIDED, "attempt to divide by zero\n")), "{said}");
        assert!(said.contains("the thread of index 5, thread 5 of block 0\n"), "{said}");
    });
}

#[test]
fn a_false_assertion_names_its_thread() {
    at("a_false_assertion_names_its_thread", ASSERTED, 0, |device| {
        let said = divide(device);
        assert!(said.starts_with(&failed("divided", ASSERTED, "a divisor is small\n")), "{said}");
        assert!(said.contains("the thread of index 3, thread 3 of block 0\n"), "{said}");
    });
}

#[test]
fn a_panic_names_its_thread() {
    at("a_panic_names_its_thread", PANICKED, 0, |device| {
        let said = divide(device);
        assert!(said.starts_with(&failed("divided", PANICKED, "fifty\n")), "{said}");
        assert!(said.contains("the thread of index 9, thread 1 of block 1\n"), "{said}");
    });
}

/// A release build does not fail there, neither on a GPU nor on the host.
#[test]
fn an_overflow_names_its_thread_in_debug_builds() {
    at("an_overflow_names_its_thread_in_debug_builds", ADDED, 0, |device| {
        let said = divide(device);
        if cfg!(debug_assertions) {
            let message = "attempt to add with overflow\n";
            assert!(said.starts_with(&failed("divided", ADDED, message)), "{said}");
            assert!(said.contains("the thread of index 13, thread 5 of block 1\n"), "{said}");
        } else {
            assert!(said.contains("run the launch again, and no thread failed there"), "{said}");
        }
    });
}

/// Others have failed at other lines, but none there.
#[test]
fn a_fault_at_another_line_is_not_told() {
    at("a_fault_at_another_line_is_not_told", ASSERTED - 1, 0, |device| {
        let said = divide(device);
        assert!(said.starts_with(&failed("divided", ASSERTED - 1, "an index out of bounds")), "{said}");
        assert!(!said.contains("the thread of index") && !said.contains("chunk"), "{said}");
        assert!(said.contains("the host has run the launch again, and no thread failed there"), "{said}");
    });
}

#[kernel]
fn taken(i: Index, x: &[f32], at: &[u32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = element(x, at[i]);
}

stream_pipeline! {
    pipeline Taken {
        resident x: [f32];
        input at: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 64;
        stage all {
            copy at -> places;
            taken<<<blocks(c.len, 32), 32>>>(&x, &places, out dy);
            copy dy -> y;
        }
    }
}

#[test]
fn a_function_of_another_file_names_its_thread() {
    at("a_function_of_another_file_names_its_thread", ELEMENT, 1, |device| {
        let said =
            Taken::new(device).unwrap().run(&[1.0], &[0, 0, 3], &mut [0.0; 3]).unwrap_err().to_string();
        let place = format!("kernel `taken` failed at {}:{ELEMENT}: ", crate::rust_kernels::FILE);
        assert!(said.starts_with(&place) && !place.contains(file!()), "{said}");
        assert!(said.contains("the len is 1 but the index is 3\n"), "{said}");
        assert!(said.contains("the thread of index 2, thread 2 of block 0\n"), "{said}");
    });
}

#[kernel]
fn weighed(block: Block, x: &[u32], weights: &[u32], sums: &mut Out<[u32]>) {
    let first = block.reduce(|t| x[t.rank()], |a, b| a.max(b));
    let sum = block.reduce(
        |t| {
            let mut sum = 0;
            for i in t.of_grid(x.len()) {
                sum += weights[(x[i] % 8 + first) as usize];
            }
            sum
        },
        |a, b| a + b,
    );
    sums.put(block.index(), sum);
}
const WEIGHED: u32 = line!() - 8;

stream_pipeline! {
    pipeline Weighed {
        resident x: [u32];
        resident weights: [u32];
        output sums: [u32];
        device d_sums: [u32];
        chunk c = 64;
        stage all {
            weighed<<<c.len, 32>>>(&x, &weights, out d_sums);
            copy d_sums -> sums;
        }
    }
}

#[test]
fn a_phase_of_a_block_names_its_thread() {
    at("a_phase_of_a_block_names_its_thread", WEIGHED, 0, |device| {
        let mut x = [1; 200];
        (x[32 + 7], x[160 + 6]) = (6, 7);
        let said = Weighed::new(device).unwrap().run(&x, &[1; 7], &mut [0; 3]).unwrap_err().to_string();
        let message = "index out of bounds: the len is 7 but the index is 7\n";
        assert!(said.starts_with(&failed("weighed", WEIGHED, message)), "{said}");
        assert!(said.contains("note: it was thread 7 of block 1\n") && said.contains(AGAIN), "{said}");
    });
}

stream_pipeline! {
    pipeline Overwritten {
        resident x: [f32];
        input at: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 64;
        stage all {
            copy at -> places;
            gathered<<<blocks(c.len, 32), 32>>>(&x, &places, out dy);
            fill places = 0;
            copy dy -> y;
        }
    }
}

#[test]
fn what_was_overwritten_since_is_not_run_again() {
    at("what_was_overwritten_since_is_not_run_again", GATHERED, 0, |device| {
        let outcome = Overwritten::new(device).unwrap().run(&[1.0], &[9; 100], &mut [0.0; 100]);
        let said = outcome.unwrap_err().to_string();
        assert!(
            said.starts_with(&failed("gathered", GATHERED, "an index out of bounds, an overflow")),
            "{said}"
        );
        assert!(
            said.contains("cannot be run again on the host: what it has read was overwritten since"),
            "{said}"
        );
        assert!(!said.contains("the thread of index") && !said.contains("chunk"), "{said}");
    });
}

/// Only the last chunks are left in the ring, and the others have failed.
#[test]
fn launches_that_are_left_are_not_all() {
    at("launches_that_are_left_are_not_all", GATHERED, 0, |device| {
        let options = Options::<Gathered>::new(device).depth(2);
        let (mut at, mut y) = (vec![0; 64 * 5], vec![0.0; 64 * 5]);
        at[64 * 2] = 9;
        let mut gathered = options.build().unwrap();
        let said = gathered.run(&[1.0], &at, &mut y).unwrap_err().to_string();
        assert!(
            said.contains("again the launches whose data are left, and no thread failed there"),
            "{said}"
        );
        at[64 * 3 + 40] = 5;
        let said = gathered.run(&[1.0], &at, &mut y).unwrap_err().to_string();
        assert!(said.contains("the index is 5\n") && said.contains("chunk 3"), "{said}");
        assert!(said.contains("the thread of index 40, thread 8 of block 1\n"), "{said}");
    });
}

#[kernel]
fn followed(i: Index, next: &[u32], at: &mut Own<[u32]>) {
    let Some(at) = at.get_mut(i) else { return };
    *at = next[*at as usize];
}
const FOLLOWED: u32 = line!() - 2;

#[kernel]
fn added(i: Index, x: &[f32], at: &[u32], sums: &mut Own<[f32]>) {
    let Some(sum) = sums.get_mut(i) else { return };
    *sum += x[at[i] as usize];
}
const SUMMED: u32 = line!() - 2;

stream_pipeline! {
    pipeline Followed {
        resident next: [u32];
        inout at: [u32];
        chunk c = 64;
        stage all {
            copy at -> places;
            followed<<<blocks(c.len, 32), 32>>>(&next, &mut places);
            copy places -> at;
        }
    }
}

stream_pipeline! {
    pipeline Added {
        resident x: [f32];
        input at: [u32];
        inout sums: [f32];
        chunk c = 64;
        stage all {
            copy at -> places;
            copy sums -> d_sums;
            added<<<blocks(c.len, 32), 32>>>(&x, &places, &mut d_sums);
            copy d_sums -> sums;
        }
    }
}

/// An index that comes from the thread's own element is changed when the thread has failed.
#[test]
fn own_elements_that_decide_are_not_run_again() {
    at("own_elements_that_decide_are_not_run_again", FOLLOWED, 0, |device| {
        let said = Followed::new(device).unwrap().run(&[1, 0], &mut [0, 1, 5]).unwrap_err().to_string();
        assert!(said.starts_with(&failed("followed", FOLLOWED, "an index out of bounds")), "{said}");
        assert!(said.contains("what its own elements held decides whether a thread fails"), "{said}");
        assert!(!said.contains("the thread of index"), "{said}");
    });
}

#[test]
fn own_elements_that_decide_nothing_do_not_matter() {
    at("own_elements_that_decide_nothing_do_not_matter", SUMMED, 0, |device| {
        let outcome = Added::new(device).unwrap().run(&[1.0, 2.0], &[0, 1, 2], &mut [5.0; 3]);
        let said = outcome.unwrap_err().to_string();
        assert!(said.contains("the len is 2 but the index is 2\n"), "{said}");
        assert!(said.contains("the thread of index 2, thread 2 of block 0\n"), "{said}");
    });
}

stream_pipeline! {
    pipeline Repeated {
        input x: [f32];
        input at: [u32];
        output y: [f32];
        device dy: [f32];
        mode = graph;
        chunk c = 64;
        stage all {
            copy x -> dx;
            copy at -> places;
            gathered<<<blocks(c.len, 32), 32>>>(&dx, &places, out dy);
            copy dy -> y;
        }
    }
}

/// A run that repeats the graphs of the run before enqueues no launch, and has the same launches.
#[test]
fn a_repeated_run_is_run_again() {
    let test = "a_repeated_run_is_run_again";
    let place = GATHERED.to_string();
    let calls = STUBS.record(test, &[("THALWEG_FAULT", &place), ("THALWEG_NO_FAULT", "2")], |device| {
        let mut repeated = Repeated::new(device).unwrap();
        let mut at = PinnedBuf::<u32>::zeroed(device, 128).unwrap();
        let x = PinnedBuf::<f32>::zeroed(device, 128).unwrap();
        let mut y = PinnedBuf::<f32>::zeroed(device, 128).unwrap();
        repeated.run(&x, &at, &mut y).unwrap();
        at[64 + 2] = 77;
        let said = repeated.run(&x, &at, &mut y).unwrap_err().to_string();
        assert!(said.contains("the len is 64 but the index is 77\n") && said.contains("chunk 1"), "{said}");
        assert!(said.contains("the thread of index 2, thread 2 of block 0\n"), "{said}");
    });
    let Some(calls) = calls else { return };
    assert_eq!(calls.matches("cuGraphInstantiate").count(), 1, "{calls}");
    assert_eq!(calls.matches("cuGraphLaunch").count(), 2, "{calls}");
}

/// What a device does not give back costs the numbers, and not the line.
#[test]
fn a_device_that_refuses_the_copy_leaves_the_line() {
    let test = "a_device_that_refuses_the_copy_leaves_the_line";
    let place = GATHERED.to_string();
    let variables = [("THALWEG_FAULT", &*place), ("THALWEG_FAIL", "cuMemcpyDtoHAsync:700:2")];
    STUBS.record(test, &variables, |device| {
        let mut y = PinnedBuf::<f32>::zeroed(device, 64).unwrap();
        let at = PinnedBuf::<u32>::zeroed(device, 64).unwrap();
        let said = Gathered::new(device).unwrap().run(&[1.0], &at, &mut y).unwrap_err().to_string();
        assert!(
            said.starts_with(&failed("gathered", GATHERED, "an index out of bounds, an overflow")),
            "{said}"
        );
        assert!(said.contains("the device does not give back what it has read"), "{said}");
    });
}
