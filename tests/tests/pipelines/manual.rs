//! Events that the user places work like those that the macro places.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline Auto {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 64), 64>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

// ANCHOR: manual
stream_pipeline! {
    /// The same, written by hand.
    pipeline Manual {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        sync = manual;
        stream up;
        stream math;
        stream down;
        stage load on up {
            wait axpy_done @ reuse;
            copy x -> dx;
            wait store_done @ reuse;
            copy y -> dy;
            record load_done;
        }
        stage axpy on math {
            wait load_done;
            saxpy<<<blocks(c.len, 64), 64>>>(a, &dx, &mut dy);
            record axpy_done;
        }
        stage store on down {
            wait axpy_done;
            copy dy -> y;
            record store_done;
        }
    }
}
// ANCHOR_END: manual

stream_pipeline! {
    /// More order than is needed: each chunk waits for all operations of the one before.
    pipeline OneAfterTheOther {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        depth = 2;
        sync = manual;
        stream up;
        stream math;
        stream down;
        stage load on up { wait store_done @ previous; copy x -> dx; copy y -> dy; record load_done; }
        stage axpy on math {
            wait load_done;
            saxpy<<<blocks(c.len, 64), 64>>>(a, &dx, &mut dy);
            record axpy_done;
        }
        stage store on down { wait axpy_done; copy dy -> y; record store_done; }
    }
}

#[test]
fn the_plan_is_the_same() {
    assert_eq!(Manual::PLAN.events, Auto::PLAN.events);
    assert_eq!(Manual::PLAN.waits, Auto::PLAN.waits);
}

#[test]
fn a_wait_for_the_chunk_before_is_in_the_plan() {
    let text = OneAfterTheOther::PLAN.to_string();
    assert!(text.contains("    wait store_done @ previous"), "{text}");
}

/// Runs in the order of time and in orders that only the events restrain; the simulated device reports any
/// race.
#[test]
fn every_length_and_depth_in_many_orders() {
    for seed in 0..40 {
        let spec = if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
        let device = Device::simulated(spec);
        for depth in [1, 2, 3, 9] {
            let mut manual = Manual::options(&device).depth(depth).build().unwrap();
            let mut serial = OneAfterTheOther::options(&device).depth(depth).build().unwrap();
            for len in [0, 1, 99, 100, 101, 757] {
                let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
                let (mut y, mut z) =
                    (vec![1.0; len], PinnedBuf::from_slice(&device, &vec![1.0; len]).unwrap());
                manual.run(2.0, &x, &mut y).unwrap();
                serial.run(2.0, &x, &mut z).unwrap();
                assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0));
                assert_eq!(z[..], y);
            }
        }
    }
}

/// Operations that are ordered more than the data demand overlap less.
#[test]
fn order_costs_overlap() {
    let device = Device::simulated(Simulation::default());
    let (x, mut y) = (vec![1.0; 1 << 22], vec![2.0; 1 << 22]);
    let mut manual = Manual::options(&device).chunk(1 << 18).build().unwrap();
    let overlapped = manual.run(1.0, &x, &mut y).unwrap().time;
    let mut serial = OneAfterTheOther::options(&device).chunk(1 << 18).depth(3).build().unwrap();
    let in_turn = serial.run(1.0, &x, &mut y).unwrap().time;
    assert!(in_turn > overlapped.mul_f64(1.3), "{in_turn:?} against {overlapped:?}");
}
