//! Kernels that fail on the simulated device: the error says the kernel, the line and the thread.

use thalweg::prelude::*;
use thalweg_tests::book::{in_listing, recorded};

use crate::both::simulated;

// ANCHOR: gathered
#[kernel]
fn gathered(i: Index, x: &[f32], at: &[u32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[at[i] as usize];
}
// ANCHOR_END: gathered

/// The line of the index in `gathered`.
pub(crate) const LINE: u32 = 12;
pub(crate) const FILE: &str = file!();

#[kernel]
pub(crate) fn summed(i: Index, x: &[i32], y: &mut Out<[i32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i] + 1;
}

/// The line of the sum in `summed`.
pub(crate) const OVERFLOW: u32 = 23;

stream_pipeline! {
    pub(crate) pipeline Gathered {
        resident x: [f32];
        input at: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 4;
        stage all {
            copy at -> places;
            gathered<<<blocks(c.len, 32), 32>>>(&x, &places, out dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    pub(crate) pipeline Summed {
        input x: [i32];
        output y: [i32];
        device dy: [i32];
        chunk c = 4;
        stage all { copy x -> dx; summed<<<blocks(c.len, 32), 32>>>(&dx, out dy); copy dy -> y; }
    }
}

#[test]
fn overflow_is_a_fault_in_debug_builds() {
    let mut summed = Summed::new(&Device::simulated(Simulation::default())).unwrap();
    let mut y = [0; 4];
    let outcome = summed.run(&[1, 2, 3, i32::MAX], &mut y);
    if cfg!(debug_assertions) {
        let said = outcome.unwrap_err().to_string();
        assert!(
            said.contains(&format!("failed at {FILE}:{OVERFLOW}: attempt to add with overflow")),
            "{said}"
        );
        assert!(said.contains("it was the thread of index 3"), "{said}");
    } else {
        outcome.unwrap();
        assert_eq!(y, [2, 3, 4, i32::MIN]);
    }
}

#[test]
fn an_index_out_of_bounds_names_its_line_and_thread() {
    let mut gathered = Gathered::new(&Device::simulated(Simulation::default())).unwrap();
    let mut y = [0.0; 8];
    gathered.run(&[1.0, 2.0], &[0, 1, 0, 1, 1, 1, 0, 0], &mut y).unwrap();
    assert_eq!(y, [1.0, 2.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
    let error = gathered.run(&[1.0, 2.0], &[0, 1, 0, 1, 1, 1, 7, 0], &mut y).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("kernel `gathered` failed at "), "{said}");
    assert!(
        said.contains(&format!("faults.rs:{LINE}: index out of bounds: the len is 2 but the index is 7")),
        "{said}"
    );
    assert!(said.contains("it was the thread of index 2, thread 2 of block 0\n"), "{said}");
    assert!(said.contains("chunk 1"), "{said}");
    let ErrorKind::Function(function) = error.kind() else { panic!("{error:?}") };
    assert_eq!(function.message(), "index out of bounds: the len is 2 but the index is 7");
    recorded("rust-kernels-fault.txt", &in_listing(&error, FILE, "gathered"));
    // The pipeline goes on.
    gathered.run(&[1.0, 2.0], &[0, 1], &mut y[..2]).unwrap();
}

/// The error speaks of the kernel, and of no call of a driver.
#[test]
fn a_launch_by_hand_that_fails_names_the_kernel() {
    let (device, stream) = simulated();
    let x = DeviceBuf::from_slice(&device, &[1.0_f32, 2.0]).unwrap();
    let at = DeviceBuf::from_slice(&device, &[0_u32, 1, 2, 0]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, 4).unwrap();
    gathered::load(&device).unwrap().launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
    let error = stream.synchronize().unwrap_err();
    let said = error.to_string();
    let first = format!(
        "kernel `gathered` failed at {FILE}:{LINE}: index out of bounds: the len is 2 but the index is 2\n"
    );
    assert!(said.starts_with(&first), "{said}");
    assert!(said.contains("it was the thread of index 2, thread 2 of block 0\n"), "{said}");
    assert!(!said.contains("cuLaunchKernel"), "{said}");
    let ErrorKind::Function(function) = error.kind() else { panic!("{error:?}") };
    assert_eq!(function.message(), "index out of bounds: the len is 2 but the index is 2");
}
