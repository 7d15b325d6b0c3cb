//! Shifts by distances whose type only C++ knows, since they are fields of a struct in another.

use thalweg::bytemuck::{Pod, Zeroable};
use thalweg::prelude::*;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Distance {
    left: i64,
    right: i64,
}

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Held {
    by: Distance,
}

#[kernel]
fn shifted(i: Index, x: &[Held], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let held = x[i.get()];
    *y = *y << held.by.left >> held.by.right;
}

#[test]
fn a_shift_that_is_too_far_fails_whatever_the_type_of_its_distance() {
    let ((device, stream), program) = (simulated(), program::<shifted>());
    let kernel = shifted::load(&device).unwrap();
    let far = [0, 3, 63, 64, 255, 1 << 32, (1 << 32) + 3, i64::MAX, -1, i64::MIN];
    for by in
        far.into_iter().flat_map(|by| [Distance { left: by, right: 0 }, Distance { left: 1, right: by }])
    {
        let (x, mut found) = ([Held { by }], [0x1234_5678_9abc_def0_u64]);
        let (on_x, mut y) =
            (DeviceBuf::from_slice(&device, &x).unwrap(), DeviceBuf::from_slice(&device, &found).unwrap());
        let _ = kernel.launch(stream.config(1, 1, 0), &on_x, &mut y).and_then(|()| stream.synchronize());
        let expected = y.to_vec();
        let faults = run::<shifted>(&program, 1, 1, 0, &[slice(&x), slice_mut(&mut found)].concat()).faults;
        assert_eq!(faults.is_empty(), expected.is_ok(), "{} {}: {faults:?}", by.left, by.right);
        assert_eq!(faults.is_empty(), by.left.max(by.right) < 64 && by.left.min(by.right) >= 0);
        if let Ok(expected) = expected {
            assert_eq!(found[..], expected, "{} {}", by.left, by.right);
        }
    }
}
