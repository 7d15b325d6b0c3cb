//! What is said of arguments that do not fit several devices.

use crate::engine::tests::saxpy;
use crate::prelude::*;
use crate::sim::MachineModel;
use crate::{Replicated, Sharded};

stream_pipeline! {
    #![crate = crate]
    /// `y += x + w`, where all of them are.
    pipeline InPlace {
        input x: device [f32];
        inout y: device [f32];
        resident w: device [f32];
        chunk c = auto;
        stage all {
            saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &x, &mut y);
            saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &w, &mut y);
        }
    }
}

stream_pipeline! {
    #![crate = crate]
    /// A number for each chunk.
    pipeline PerChunk {
        input x: device [f32];
        output y: device [f32; 1] per chunk;
        chunk c = 1024;
        stage math { fill y = 1.0; saxpy<<<1, 32>>>(1, 1.0, &x, &mut y); }
    }
}

const LEN: usize = 8192;

fn machine(devices: usize) -> Vec<Device> {
    Device::simulated_machine(MachineModel::h200(devices))
}

/// The error's text, without its place; it has the line of the run in this file.
#[track_caller]
fn refused(result: Result<Report, Error>) -> String {
    let error = result.expect_err("it is refused");
    assert!(error.place().run.is_some_and(|run| run.file == file!()), "{error}");
    assert!(error.to_string().contains("\n  in the run at "), "{error}");
    assert_eq!(error.device(), None, "{error}");
    error.kind().to_string()
}

#[test]
fn parts_and_copies_of_other_devices() {
    let devices = machine(2);
    let of = |devices: &[Device]| Sharded::from_slice(devices, &[1.0; LEN]).expect("memory");
    let copies_of = |devices: &[Device]| Replicated::from_slice(devices, &[1.0; LEN]).expect("memory");
    let (mut y, table) = (of(&devices), copies_of(&devices));
    let mut pipeline = InPlace::new(&devices).expect("a pipeline");

    let said = refused(pipeline.run(&of(&devices[..1]), &mut y, &table));
    let help = "\n  help: make it for the list of devices that the pipeline is built on";
    let expected = "`x` is a `Sharded` of 1 part, but the pipeline is built on 2 devices";
    assert_eq!(said, format!("{expected}{help}"));
    let said = refused(pipeline.run(&of(&machine(3)), &mut y, &table));
    assert!(said.starts_with("`x` is a `Sharded` of 3 parts, but"), "{said}");
    let said = refused(pipeline.run(&of(&devices), &mut y, &copies_of(&devices[..1])));
    let expected = "`w` is a `Replicated` of 1 copy, but the pipeline is built on 2 devices";
    assert_eq!(said, format!("{expected}{help}"));
    let said = refused(pipeline.run(&of(&devices), &mut y, &copies_of(&machine(3))));
    assert!(said.starts_with("`w` is a `Replicated` of 3 copies, but"), "{said}");
    let mut alone = InPlace::new(&devices[1]).expect("a pipeline");
    let said = refused(alone.run(&of(&devices), &mut y, &table));
    assert!(
        said.starts_with("`x` is a `Sharded` of 2 parts, but the pipeline is built on 1 device\n"),
        "{said}"
    );

    let swapped: Vec<_> = devices.iter().rev().cloned().collect();
    let said = refused(pipeline.run(&of(&swapped), &mut y, &table));
    assert_eq!(
        said,
        "part 0 of `x` is on device 1 of the pipeline, and belongs on device 0\n  \
         help: make `x` for the list of devices that the pipeline is built on, in the same order"
    );
    let said = refused(pipeline.run(&of(&devices), &mut y, &copies_of(&swapped)));
    assert!(said.starts_with("copy 0 of `w` is on device 1 of the pipeline, and belongs"), "{said}");
    let partly_other = [devices[0].clone(), machine(2)[1].clone()];
    let said = refused(pipeline.run(&of(&partly_other), &mut y, &table));
    assert!(
        said.starts_with(
            "part 1 of `x` is on `simulated H200`, which is no device of the pipeline, and belongs on device 1\n"
        ),
        "{said}"
    );
}

#[test]
fn a_buffer_of_one_device_is_replaced_by_what_fits_the_declaration() {
    let devices = machine(2);
    let of = |devices: &[Device]| Sharded::from_slice(devices, &[1.0; LEN]).expect("memory");
    let table = Replicated::from_slice(&devices, &[1.0; LEN]).expect("memory");
    let (mut y, of_one) = (of(&devices), DeviceBuf::from_slice(&devices[0], &[1.0; LEN]).expect("memory"));
    let mut pipeline = InPlace::new(&devices).expect("a pipeline");
    let help_for = |name: &str, instead: &str| {
        format!(
            "`{name}` is in the memory of `simulated H200`, but the run has 2 devices\n  \
             help: chunks go to all of them: take `{name}` from the host, {instead}or run on that device alone"
        )
    };
    let instead = |of_several: &str| format!("use a `{of_several}` in place of the `DeviceBuf`, ");
    let said = refused(pipeline.run(&of_one, &mut y, &table));
    assert_eq!(said, help_for("x", &instead("Sharded")));
    let said = refused(pipeline.run(&of(&devices), &mut y, &of_one));
    assert_eq!(said, help_for("w", &instead("Replicated")));
    let mut each = DeviceBuf::zeroed(&devices[0], 8).expect("memory");
    let said = refused(PerChunk::new(&devices).expect("a pipeline").run(&of(&devices), &mut each));
    assert_eq!(said, help_for("y", ""));
}

/// Arguments on devices are refused before the run begins, and yet it is named.
#[test]
fn the_run_is_named_whatever_is_wrong() {
    let devices = machine(2);
    let of = |len: usize| Sharded::from_slice(&devices, &vec![1.0; len]).expect("memory");
    let table = Replicated::from_slice(&devices, &[1.0; LEN]).expect("memory");
    let mut pipeline = InPlace::new(&devices).expect("a pipeline");
    let said = refused(pipeline.run(&of(8000), &mut of(LEN), &table));
    assert!(said.starts_with("`y` has 8192 items, but `x` has 8000"), "{said}");
    let parts = vec![
        DeviceBuf::zeroed(&devices[0], 1024).expect("memory"),
        DeviceBuf::zeroed(&devices[1], LEN - 1024).expect("memory"),
    ];
    let mut other_borders = Sharded::from_parts(parts).expect("parts");
    let said = refused(pipeline.run(&of(LEN), &mut other_borders, &table));
    assert!(said.starts_with("the parts of `y` begin at the items [0, 1024]"), "{said}");
    let said = refused(pipeline.run(&of(LEN), &mut of(LEN), &of(LEN)));
    assert!(said.starts_with("`w` is on several devices"), "{said}");
    let said = refused(PerChunk::new(&devices).expect("a pipeline").run(&of(LEN), &mut of(LEN)));
    assert!(said.starts_with("`y` is on several devices: but it has elements for each chunk"), "{said}");
    let other = DeviceBuf::from_slice(&devices[1], &[1.0; LEN]).expect("memory");
    let mut y = DeviceBuf::from_slice(&devices[0], &[1.0; LEN]).expect("memory");
    let mut alone = InPlace::new(&devices[0]).expect("a pipeline");
    let said = refused(alone.run(&other, &mut y, &other));
    assert_eq!(said, "`x` belongs to `simulated H200`, but the pipeline to another `simulated H200`");
}

/// Where parts begin concerns all devices alike.
#[test]
fn a_part_within_a_chunk_is_of_no_device() {
    let devices = machine(2);
    let of = || Sharded::from_slice(&devices, &[1.0; LEN]).expect("memory");
    let table = Replicated::from_slice(&devices, &[1.0; LEN]).expect("memory");
    let mut whole = InPlace::options(&devices).chunk(usize::MAX).build().expect("a pipeline");
    let said = refused(whole.run(&of(), &mut of(), &table));
    assert_eq!(
        said,
        "a part of `x` begins at item 4096, within a chunk of 8192 items\n  \
         help: a chunk is on one device, so that each part but the last has whole chunks: \
         write `auto`, or a divisor of 4096"
    );
    let mut auto = InPlace::new(&devices).expect("a pipeline");
    let uneven = || {
        let part = |number: usize, len| DeviceBuf::zeroed(&devices[number], len).expect("memory");
        Sharded::<f32>::from_parts(vec![part(0, 1), part(1, LEN - 1)]).expect("parts")
    };
    let said = refused(auto.run(&uneven(), &mut uneven(), &table));
    assert!(
        said.starts_with("the parts of `x` begin at the items [0, 1], and `auto` finds no chunk"),
        "{said}"
    );
}
