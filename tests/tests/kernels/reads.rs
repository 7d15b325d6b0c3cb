//! Kernels whose pointers are not `const` although they only read: `#[reads]`.

use thalweg::prelude::*;
use thalweg_tests::on_every_device;

mod promised {
    use super::*;

    // ANCHOR: reads
    #[kernels("../../cu/unmarked.cu")]
    unsafe extern "CUDA" {
        #[host(shifted_on_host)]
        #[requires(n as usize <= x.len().min(y.len()))]
        pub safe fn shifted(n: u32, b: f32, #[reads] x: &[f32], y: Out<[f32]>);

        #[host(scaled_on_host)]
        #[requires(n as usize <= x.len().min(y.len()))]
        pub safe fn scaled(n: u32, a: f32, #[reads] x: &[f32], y: Out<[f32]>);
    }
    // ANCHOR_END: reads
}

/// The same kernels, declared as their prototypes are. They are planned with, but not run.
mod as_they_are {
    use super::*;

    #[kernels("../../cu/unmarked.cu")]
    unsafe extern "CUDA" {
        #[requires(n as usize <= x.len().min(y.len()))]
        pub safe fn shifted(n: u32, b: f32, x: &mut [f32], y: Out<[f32]>);

        #[requires(n as usize <= x.len().min(y.len()))]
        pub safe fn scaled(n: u32, a: f32, x: &mut [f32], y: Out<[f32]>);
    }
}

fn shifted_on_host(thread: Thread, n: u32, b: f32, x: &[f32], y: &mut [f32]) {
    let i = thread.global_x();
    if i < n as usize {
        y[i] = x[i] + b;
    }
}

fn scaled_on_host(thread: Thread, n: u32, a: f32, x: &[f32], y: &mut [f32]) {
    let i = thread.global_x();
    if i < n as usize {
        y[i] = a * x[i];
    }
}

macro_rules! both {
    ($pipeline:ident, $kernels:ident, ($($x:tt)+)) => {
        stream_pipeline! {
            pipeline $pipeline {
                input x: [f32];
                output sums: [f32];
                output products: [f32];
                device ds: [f32];
                device dp: [f32];
                chunk c = auto;
                depth = 2;
                stream up;
                stream one;
                stream other;
                stage load on up { copy x -> dx; }
                stage add on one {
                    $kernels::shifted<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, $($x)+, out ds);
                    copy ds -> sums;
                }
                stage multiply on other {
                    $kernels::scaled<<<blocks(c.len, 32), 32>>>(c.len as u32, 3.0, $($x)+, out dp);
                    copy dp -> products;
                }
            }
        }
    };
}

both!(Shared, promised, (&dx));
both!(InTurn, as_they_are, (&mut dx));

/// The number of waits between the kernels' streams in a plan, without those for the copy that both kernels
/// need.
fn waits_between_the_kernels(plan: &Plan) -> usize {
    let stream = |operation: usize| plan.operations[operation].stream;
    let is_load = |stream: usize| plan.streams[stream].name == "up";
    let between = plan.waits.iter().filter(|wait| {
        let (waits, records) = (stream(wait.operation), stream(plan.events[wait.event].operation));
        !is_load(waits) && !is_load(records)
    });
    between.count()
}

#[test]
fn two_streams_read_one_buffer_without_waits_for_each_other() {
    assert_eq!(waits_between_the_kernels(&Shared::PLAN), 0, "{}", Shared::PLAN);
    assert_ne!(waits_between_the_kernels(&InTurn::PLAN), 0, "{}", InTurn::PLAN);
}

on_every_device! {
    fn both_get_what_was_loaded(device, case) {
        let x: Vec<f32> = (0..case.len).map(|i| i as f32).collect();
        let (mut sums, mut products) = (vec![-1.0; case.len], vec![-1.0; case.len]);
        let mut shared = Shared::options(device).chunk(case.chunk).depth(case.depth).build()?;
        shared.run(&x, &mut sums, &mut products)?;
        assert!(sums.iter().zip(&x).all(|(sum, x)| *sum == x + 1.0), "{sums:?}");
        assert!(products.iter().zip(&x).all(|(product, x)| *product == 3.0 * x), "{products:?}");
    }
}
