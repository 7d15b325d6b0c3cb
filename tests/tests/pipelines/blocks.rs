//! `if` and `repeat`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, double_all, plus_one};
use thalweg_tests::{built, numbers, on_every_device, read, written};

// ANCHOR: refine
stream_pipeline! {
    /// An item `x` becomes `2^turns * x` if it is to be refined, else 7; an `extra` of more than 2 is added.
    pipeline Refine {
        param turns: u32;
        param refine: bool;
        param extra: i32;
        input x: [f32];
        output y: [f32];
        device t: [f32];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage work {
            if refine {
                copy dx -> t;
                repeat turns { double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut t); }
            } else {
                fill t = 7.0;
            }
            repeat extra {
                if extra > 2 { add_to<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &mut t); }
            }
        }
        stage store { copy t -> y; }
    }
}
// ANCHOR_END: refine

on_every_device! {
    fn both_branches_and_any_number_of_turns(device, case) {
        let mut refine = built!(Refine, device, case);
        let x = numbers(case.len);
        for (turns, refined, extra) in
            [(0, true, 0), (3, true, 2), (2, true, 4), (5, false, 3), (1, false, -4)]
        {
            let added = if extra > 2 { extra as f32 } else { 0.0 };
            let scale = f32::from(1_u8 << turns);
            let expected: Vec<f32> =
                x.iter().map(|x| if refined { x * scale } else { 7.0 } + added).collect();
            let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| {
                read!(device, case.pinned_in, x.clone(), |x| refine.run(turns, refined, extra, x, y))
            });
            assert_eq!(report?.chunks, case.chunks().len());
            assert_eq!(y, expected, "{turns} {refined} {extra} {case:?}");
        }
    }
}

stream_pipeline! {
    /// Every other chunk is left as it is.
    pipeline Sometimes {
        input x: [f32];
        output y: [f32];
        chunk c = 10;
        stream up;
        stream work;
        stream down;
        stage load on up { if c.index % 2 == 0 { copy x -> dx; } else { copy x -> dx; } }
        stage work on work {
            if c.index % 2 == 0 {
                if c.len > 1 { plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &dx, out dy); }
                else { fill dy = 0.5; }
            }
            else if c.index % 3 == 0 { fill dy = 1.5; }
            else { copy dx -> dy; }
        }
        stage store on down { if c.index % 2 == 0 { copy dy -> y; } else { copy dy -> y; } }
        device dy: [f32];
    }
}

on_every_device! {
    fn what_a_chunk_leaves_out_orders_all_the_same(device, case) {
        let mut sometimes = built!(Sometimes, device, case);
        let x = numbers(case.len);
        let expected = x.chunks(case.chunk).enumerate().flat_map(|(index, chunk)| {
            chunk.iter().map(move |&x| match index {
                _ if index % 2 == 0 => {
                    if chunk.len() > 1 {
                        x + 1.0
                    } else {
                        0.5
                    }
                }
                _ if index % 3 == 0 => 1.5,
                _ => x,
            })
        });
        let expected: Vec<f32> = expected.collect();
        for _ in 0..2 {
            let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| {
                read!(device, case.pinned_in, x.clone(), |x| sometimes.run(x, y))
            });
            report?;
            assert_eq!(y, expected, "{case:?}");
        }
    }
}

stream_pipeline! {
    /// `y` is not written if `write` is false.
    pipeline Perhaps {
        param write: bool;
        input x: [f32];
        output y: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage store { if write { copy dx -> y; } }
    }
}

stream_pipeline! {
    /// Adds 1 for each branch that is taken, and 100 for one that must not be.
    pipeline Nested {
        param outer: bool;
        param inner: bool;
        param turns: Arc<AtomicUsize>;
        input x: [f32];
        output y: [f32];
        chunk c = 10;
        stage load { copy x -> t; }
        stage work {
            if outer {
                if inner || c.len == 1 { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut t); }
                else if inner || c.len > 1 { add_to<<<1, 32>>>(c.len as u32, 2.0, &mut t); }
                else { add_to<<<1, 32>>>(c.len as u32, 100.0, &mut t); }
            } else {
                if inner { add_to<<<1, 32>>>(c.len as u32, 4.0, &mut t); }
            }
            repeat 2 {
                if turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { copy t -> u; }
                else { copy t -> u; add_to<<<1, 32>>>(c.len as u32, 8.0, &mut t); }
            }
        }
        stage store { copy u -> y; }
    }
}

#[test]
fn one_branch_is_taken_whatever_the_condition() {
    let device = Device::simulated(Simulation::default());
    let mut nested = Nested::new(&device).unwrap();
    let x = numbers(21);
    for (outer, inner, added) in [
        (true, true, [1.0, 1.0]),
        (true, false, [2.0, 1.0]),
        (false, true, [4.0, 4.0]),
        (false, false, [0.0, 0.0]),
    ] {
        let (turns, mut y) = (Arc::new(AtomicUsize::new(0)), vec![0.0; 21]);
        nested.run(outer, inner, Arc::clone(&turns), &x, &mut y).unwrap();
        let expected: Vec<f32> = x.iter().enumerate().map(|(i, x)| x + added[usize::from(i == 20)]).collect();
        assert_eq!(y, expected, "{outer} {inner}");
        assert_eq!(turns.load(Ordering::Relaxed), 2 * 3, "each condition is looked at once");
    }
}

#[test]
fn an_output_that_is_left_out_stays_as_it_is() {
    let device = Device::simulated(Simulation::default());
    let mut perhaps = Perhaps::new(&device).unwrap();
    let (x, mut y) = (numbers(11), vec![3.0; 11]);
    let report = perhaps.run(false, &x, &mut y).unwrap();
    assert_eq!((y[0], y[10], report.bytes_to_host), (3.0, 3.0, 0));
    perhaps.run(true, &x, &mut y).unwrap();
    assert_eq!(y, x);
}

#[test]
fn the_plan_has_the_events_of_both_branches() {
    let plan = Sometimes::PLAN;
    assert_eq!(
        plan.operations.iter().filter(|operation| operation.conditional).count(),
        plan.operations.len()
    );
    // There are two loads, and each chunk does one: the first operation of the next stage waits for the
    // second.
    assert!(plan.waits.iter().all(|wait| plan.events[wait.event].operation != 0), "{plan}");
    let refine = Refine::PLAN;
    let conditional: Vec<_> = refine.operations.iter().filter(|o| o.conditional).map(|o| o.text).collect();
    assert_eq!(conditional, ["copy dx -> t", "double_all<<<..>>>", "fill t", "add_to<<<..>>>"]);
}
