//! `resident` and `carry` of data that are on the device already: nothing is copied, in or out.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::{accumulate, gather};
use thalweg_tests::{built, copied, on_every_device, read, written};

// ANCHOR: shared
stream_pipeline! {
    /// Each chunk looks up elements of a table that stays on the device.
    pipeline LookUp {
        param entries: u32;
        resident table: device [f32];
        input index: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 10;
        stage load { copy index -> d_index; }
        stage look_up { gather<<<blocks(c.len, 32), 32>>>(c.len as u32, entries, &d_index, &table, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// The sum and the number of all items so far, left on the device.
    pipeline AddUp {
        input x: [i64];
        carry total: device [i64; 2];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage add { accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}
// ANCHOR_END: shared

stream_pipeline! {
    /// Starts from 100 each time, whatever the memory held.
    pipeline AddUpFrom {
        param start: i64;
        input x: [i64];
        carry total: device [i64; 2] = start;
        chunk c = 10;
        depth = 4;
        stream s per slot;
        stage all on s { copy x -> dx; accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}

on_every_device! {
    fn a_table_stays_on_the_device(device, case) on one {
        let mut look_up = built!(LookUp, device, case);
        let table: Vec<f32> = (0..37).map(|i| i as f32 * 0.5).collect();
        let on_device = DeviceBuf::from_slice(device, &table)?;
        let index: Vec<u32> = (0..case.len as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let expected: Vec<f32> = index.iter().map(|i| table[(i % 37) as usize]).collect();
        for _ in 0..2 {
            let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| {
                read!(device, case.pinned_in, index.clone(), |index| look_up.run(37, &on_device, index, y))
            });
            assert_eq!(y, expected, "{case:?}");
            assert_eq!(report?.bytes_to_device, copied(device, 4 * case.len), "the table is not copied");
        }
        assert_eq!(on_device.to_vec()?, table);
    }

    fn a_sum_stays_on_the_device(device, case) on one {
        let (mut add_up, mut from) = (built!(AddUp, device, case), built!(AddUpFrom, device, case));
        let x: Vec<i64> = (0..case.len as i64).collect();
        let sum: i64 = x.iter().sum();
        let mut total = DeviceBuf::from_slice(device, &[7, 1])?;
        for runs in 1..3 {
            let report = read!(device, case.pinned_in, x.clone(), |x| add_up.run(x, &mut total))?;
            assert_eq!((report.bytes_to_device, report.bytes_to_host), (copied(device, 8 * case.len), 0), "{case:?}");
            assert_eq!(total.to_vec()?, [7 + runs * sum, 1 + runs * case.len as i64], "{case:?}");
        }
        for start in [100, -3] {
            read!(device, case.pinned_in, x.clone(), |x| from.run(start, x, &mut total))?;
            assert_eq!(total.to_vec()?, [start + sum, start + case.len as i64], "{case:?}");
        }
    }
}

#[test]
fn what_is_on_the_device_is_checked() {
    let (device, other) =
        (Device::simulated(Simulation::default()), Device::simulated(Simulation::default()));
    let mut add_up = AddUp::new(&device).unwrap();
    let mut run = |on: &Device, len| add_up.run(&[1], &mut DeviceBuf::zeroed(on, len).unwrap()).unwrap_err();
    assert!(matches!(run(&device, 3).detail(), Detail::CarryLength { carry: "total", len: 3, declared: 2 }));
    let error = run(&other, 2);
    assert!(matches!(error.detail(), Detail::OtherDevice { host: "total", .. }));
    assert_eq!(error.place().pipeline, Some("AddUp"));
    let table = DeviceBuf::zeroed(&other, 5).unwrap();
    let error = LookUp::new(&device).unwrap().run(5, &table, &[1], &mut [0.0]).unwrap_err();
    assert!(matches!(error.detail(), Detail::OtherDevice { host: "table", .. }));
    // No launch may look into a table without elements.
    let nothing = DeviceBuf::zeroed(&device, 0).unwrap();
    let error = LookUp::new(&device).unwrap().run(5, &nothing, &[1], &mut [0.0]).unwrap_err();
    assert!(matches!(error.detail(), Detail::Requires { .. }), "{error}");
}

#[test]
fn a_budget_does_not_count_what_is_there_already() {
    stream_pipeline! {
        pipeline Budgeted {
            input x: [i64];
            carry total: device [i64; 2];
            chunk c = 10;
            depth = 2;
            budget = 512;
            stage add { copy x -> dx; accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total); }
        }
    }
    let device = Device::simulated(Simulation::default());
    let mut total = DeviceBuf::zeroed(&device, 2).unwrap();
    Budgeted::new(&device).unwrap().run(&[1; 25], &mut total).unwrap();
    assert_eq!(total.to_vec().unwrap(), [25, 25]);
}
