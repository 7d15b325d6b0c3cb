//! `device` arguments of pipelines on several devices: parts and copies, one on each.

use thalweg::__private::Detail;
use thalweg::explore::Explore;
use thalweg::io::source;
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault, MachineModel, SimulatedMachine};
use thalweg::streams::Stream;
use thalweg::{Replicated, Sharded};
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::numbers;

stream_pipeline! {
    /// `y += x + w`, where all of them are.
    pipeline InPlace {
        input x: device [f32];
        inout y: device [f32];
        resident w: device [f32];
        chunk c = auto;
        stage all {
            axpy_each<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &x, &mut y);
            axpy_each<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &w, &mut y);
        }
    }
}

stream_pipeline! {
    /// `z = x + 1`, from the host and back, with what is on the device between: the sum of both goes to `y`.
    pipeline Beside {
        input x: [f32];
        output y: device [f32];
        output z: [f32];
        chunk c = auto;
        stage up { copy x -> dx; }
        stage math {
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut dx);
            copy dx -> y;
        }
        stage down { copy dx -> z; }
    }
}

stream_pipeline! {
    /// Three floats an item.
    pipeline Triples {
        inout y: device [f32; 3];
        chunk c = auto;
        stage math { add_to<<<blocks(3 * c.len, 256), 256>>>(3 * c.len as u32, 1.0, &mut y); }
    }
}

stream_pipeline! {
    /// A number for each chunk.
    pipeline PerChunk {
        input x: device [f32];
        output y: device [f32; 1] per chunk;
        chunk c = 1024;
        stage math { fill y = 1.0; axpy_each<<<1, 32>>>(1, 1.0, &x, &mut y); }
    }
}

fn machine(devices: usize) -> Vec<Device> {
    Device::simulated_machine(MachineModel::h200(devices))
}

/// The sum of the two and of the table, of which each chunk takes the first elements.
fn expected(x: &[f32], y: &[f32], w: &[f32], starts: &[usize]) -> Vec<f32> {
    let mut sums = Vec::new();
    for (chunk, start) in starts.iter().enumerate() {
        let end = starts.get(chunk + 1).copied().unwrap_or(x.len());
        sums.extend((*start..end).map(|i| x[i] + y[i] + w[i - start]));
    }
    sums
}

#[test]
fn a_chunk_is_on_the_device_that_has_its_part() {
    for devices in 1..=4 {
        let devices = machine(devices);
        for len in [0, 1, 4096, 4097, 50_000] {
            let (x, w) = (numbers(len), numbers(len.max(1)));
            let sharded = Sharded::from_slice(&devices, &x).expect("memory");
            let mut y = Sharded::zeroed(&devices, len).expect("memory");
            let table = Replicated::from_slice(&devices, &w).expect("memory");
            for chunk in [None, Some(256), Some(4096)] {
                y.copy_from_slice(&vec![1.0; len]).expect("a copy");
                let options = InPlace::options(&devices);
                let options = chunk.map_or(options.clone(), |chunk| options.chunk(chunk));
                let mut in_place = options.build().expect("a pipeline");
                let report = in_place.run(&sharded, &mut y, &table).expect("a run");
                let starts: Vec<_> = (0..report.chunks).map(|index| index * report.chunk).collect();
                assert_eq!(y.to_vec().expect("a copy"), expected(&x, &vec![1.0; len], &w, &starts));
                assert_eq!((report.bytes_to_device, report.bytes_to_host), (0, 0));
                if devices.len() > 1 {
                    let items: Vec<_> = report.parts.iter().map(|part| part.items).collect();
                    let parts: Vec<_> = sharded.parts().iter().map(DeviceBuf::len).collect();
                    assert_eq!(items, parts, "{report}");
                }
                let predicted = in_place.predict(&sharded, &mut y, &table).expect("a prediction");
                assert_eq!(predicted.report.chunks, report.chunks);
            }
        }
    }
}

#[test]
fn parts_of_any_lengths_beside_data_of_the_host() {
    let devices = machine(3);
    let parts = |lens: [usize; 3]| {
        let parts =
            devices.iter().zip(lens).map(|(device, len)| DeviceBuf::zeroed(device, len).expect("memory"));
        Sharded::from_parts(parts.collect()).expect("parts")
    };
    for (lens, chunk) in
        [([300, 600, 50], 300), ([0, 512, 77], 256), ([700, 0, 0], 100), ([256, 256, 0], 128)]
    {
        let mut y = parts(lens);
        let x = numbers(y.len());
        let mut z = vec![0.0; x.len()];
        for graph in [false, true] {
            let options = Beside::options(&devices).chunk(chunk);
            let options = if graph { options.graph() } else { options };
            let mut beside = options.build().expect("a pipeline");
            for _ in 0..2 {
                let report = beside.run(&x, &mut y, &mut z).expect("a run");
                assert_eq!(report.parts.iter().map(|part| part.items).collect::<Vec<_>>(), lens);
                let sum: Vec<f32> = x.iter().map(|x| x + 1.0).collect();
                assert!(z == sum && y.to_vec().expect("a copy") == sum);
            }
        }
    }
    // The chunk is chosen so that parts have whole ones.
    let mut y = parts([3 << 12, 5 << 12, 1]);
    let x = numbers(y.len());
    let report =
        Beside::new(&devices).expect("a pipeline").run(&x, &mut y, &mut vec![0.0; x.len()]).expect("a run");
    assert_eq!(((3 << 12) % report.chunk, (5 << 12) % report.chunk), (0, 0), "{report}");
}

#[test]
fn any_order_has_the_same_result() {
    let x = numbers(2000);
    let explored = Explore::new(3, 100).run_on_machine(MachineModel::h200(2), |devices| {
        let sharded = Sharded::from_parts(vec![
            DeviceBuf::from_slice(&devices[0], &x[..1200])?,
            DeviceBuf::from_slice(&devices[1], &x[1200..])?,
        ])?;
        let mut y = Sharded::from_parts(vec![
            DeviceBuf::zeroed(&devices[0], 1200)?,
            DeviceBuf::zeroed(&devices[1], 800)?,
        ])?;
        let table = Replicated::from_slice(devices, &x)?;
        let mut in_place = InPlace::options(devices).chunk(400).build()?;
        in_place.run(&sharded, &mut y, &table)?;
        assert_eq!(y.to_vec()?, expected(&x, &[0.0; 2000], &x, &[0, 400, 800, 1200, 1600]));
        Ok(())
    });
    explored.expect("no order matters");
}

#[track_caller]
fn refused(result: thalweg::Result<Report>, parts: &[&str]) -> Error {
    let error = result.expect_err("it is refused");
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    error
}

#[test]
fn what_does_not_fit_the_devices_is_refused() {
    let devices = machine(2);
    let (x, w) = (numbers(8192), numbers(8192));
    let sharded = Sharded::from_slice(&devices, &x).expect("memory");
    let mut y = Sharded::zeroed(&devices, 8192).expect("memory");
    let table = Replicated::from_slice(&devices, &w).expect("memory");
    let mut in_place = InPlace::options(&devices).chunk(1024).build().expect("a pipeline");

    let of_one = DeviceBuf::from_slice(&devices[0], &x).expect("memory");
    refused(in_place.run(&of_one, &mut y, &table), &["`x` is in the memory of", "use a `Sharded` in"]);
    refused(in_place.run(&sharded, &mut y, &of_one), &["`w` is in the memory of", "use a `Replicated` in"]);
    refused(in_place.run(&sharded, &mut y, &sharded), &["`w` is on several devices", "`Replicated`"]);
    refused(in_place.run(&table, &mut y, &table), &["`x` is on several devices", "`resident`"]);
    let alone = Sharded::from_slice(&devices[0], &x).expect("memory");
    refused(
        in_place.run(&alone, &mut y, &table),
        &["`x` is a `Sharded` of 1 part, but", "built on 2 devices"],
    );
    let three = Sharded::from_slice(&machine(3), &x).expect("memory");
    let three = in_place.run(&three, &mut y, &table);
    refused(three, &["`x` is a `Sharded` of 3 parts, but the pipeline is built on 2 devices"]);
    let swapped: Vec<_> = devices.iter().rev().cloned().collect();
    let swapped = Sharded::from_slice(&swapped, &x).expect("memory");
    refused(in_place.run(&swapped, &mut y, &table), &["part 0 of `x` is on device 1 of the pipeline"]);

    let shorter = Sharded::from_slice(&devices, &x[..8000]).expect("memory");
    refused(in_place.run(&shorter, &mut y, &table), &["8000"]);
    let uneven = |at: usize| {
        let parts = vec![
            DeviceBuf::from_slice(&devices[0], &x[..at]).expect("memory"),
            DeviceBuf::from_slice(&devices[1], &x[at..]).expect("memory"),
        ];
        Sharded::from_parts(parts).expect("parts")
    };
    let error = refused(
        in_place.run(&uneven(1024), &mut y, &table),
        &["`y` begin at the items [0, 4096]", "`x` at [0, 1024]"],
    );
    assert!(matches!(error.kind(), ErrorKind::Shape(_)), "{error:?}");
    let mut same = uneven(1000);
    let error = refused(
        in_place.run(&uneven(1000), &mut same, &table),
        &["begins at item 1000, within a chunk of 1024 items"],
    );
    assert!(matches!(error.detail(), Detail::PartInChunk { buffer: "x", .. }));
    // With `auto` a part is a chunk of its own, if it must be.
    let mut auto = InPlace::new(&devices).expect("a pipeline");
    let mut prime = uneven(4099);
    assert_eq!(auto.run(&uneven(4099), &mut prime, &table).expect("a run").chunk, 4099);

    let mut per_chunk = PerChunk::new(&devices).expect("a pipeline");
    refused(per_chunk.run(&sharded, &mut y), &["`y` is on several devices", "for each chunk"]);
    let mut triples = Triples::options(&devices).chunk(100).build().expect("a pipeline");
    let mut in_an_item = uneven(4096);
    refused(triples.run(&mut in_an_item), &["3"]);
    let mut begins_within = Sharded::zeroed(&devices, 3 * 10_000).expect("memory");
    refused(triples.run(&mut begins_within), &["`y` is on several devices", "a whole item", "zeroed_items"]);
    let mut by_items = Sharded::zeroed_items(&devices, 10_000, 3).expect("memory");
    triples = Triples::new(&devices).expect("a pipeline");
    triples.run(&mut by_items).expect("a run");
    assert_eq!(by_items.to_vec().expect("a copy"), [1.0; 30_000]);
    assert!(Sharded::from_items(&devices, &[1.0; 10], 3).is_err());
    assert_eq!(Sharded::from_items(&devices, &x, 2).expect("memory").to_vec().expect("a copy"), x);
    let mut beside = Beside::options(&devices).chunk(1024).build().expect("a pipeline");
    let read = source::iter(x.iter().copied());
    refused(beside.run(read, &mut y, &mut vec![0.0; 8192]), &["`y` is in parts", "sources and sinks"]);
    // All of it works afterwards.
    in_place.run(&sharded, &mut y, &table).expect("a run");
    for bad in [Sharded::<f32>::zeroed(&Vec::<Device>::new(), 1), Sharded::from_parts(Vec::new())] {
        assert!(matches!(bad.expect_err("no device").detail(), Detail::NoDevices));
    }
    let twice = [devices[0].clone(), devices[0].clone()];
    assert!(matches!(
        Replicated::from_slice(&twice, &x).expect_err("twice").detail(),
        Detail::SameDevice { .. }
    ));
    assert!(y.copy_from_slice(&x[1..]).is_err() && y.copy_to_slice(&mut [0.0; 3]).is_err());
}

/// Parts of fewer items than a usual chunk has.
#[test]
fn small_parts_and_few_large_items() {
    let devices = machine(2);
    for lens in [[128, 128], [100, 110], [30, 34], [1, 1], [1, 0], [0, 1]] {
        let part = |device: usize| DeviceBuf::zeroed(&devices[device], lens[device]).expect("memory");
        let mut y = Sharded::from_parts(vec![part(0), part(1)]).expect("parts");
        let x = numbers(y.len());
        let mut z = vec![0.0; x.len()];
        Beside::new(&devices).expect("a pipeline").run(&x, &mut y, &mut z).expect("a run");
        assert_eq!(y.to_vec().expect("a copy"), z);
    }
}

/// What is said to be complete is, whichever device fails before its first chunk.
#[test]
fn a_device_that_does_not_begin_has_its_own_first_chunk() {
    let mut struck = 0;
    for (call, graph) in [(DriverCall::CreateEvent, false), (DriverCall::CreateStream, true)] {
        for nth in 0..48 {
            let fault = Fault::nth(call, nth, Effect::Refused);
            let devices =
                Device::simulated_machine(SimulatedMachine::from(MachineModel::h200(2)).with_fault(1, fault));
            let none = DeviceBuf::<f32>::zeroed(&devices[0], 0).expect("memory");
            let Ok(all) = DeviceBuf::zeroed(&devices[1], 500) else { continue };
            let mut y = Sharded::from_parts(vec![none, all]).expect("parts");
            let options = Beside::options(&devices).chunk(100);
            let Ok(mut beside) = (if graph { options.graph() } else { options }).build() else { continue };
            let (x, mut z) = (numbers(500), vec![0.0; 500]);
            let failed = match graph {
                false => beside.profile(&x, &mut y, &mut z).map(drop),
                true => beside.run(&x, &mut y, &mut z).map(drop),
            };
            if let Err(error) = failed {
                struck += 1;
                let complete = error.complete().first().map_or(0, |complete| complete.items);
                assert!(z[..complete].iter().zip(&x).all(|(z, x)| *z == x + 1.0), "{call:?} {nth}: {error}");
            }
        }
    }
    assert!(struck > 0, "a test whose faults have not struck has tested nothing");
}

/// Streams write the parts before a run, which waits, and read them afterwards.
#[test]
fn streams_by_hand_use_the_parts() {
    let devices = machine(2);
    let mut y = Sharded::<f32>::zeroed(&devices, 8192).expect("memory");
    let streams: Vec<_> = devices.iter().map(|device| Stream::new(device).expect("a stream")).collect();
    for (stream, part) in streams.iter().zip(y.parts_mut()) {
        stream.fill(part, 2.0).expect("a fill");
    }
    let x = Sharded::from_slice(&devices, &[1.0; 8192]).expect("memory");
    let table = Replicated::from_slice(&devices, &[4.0; 8192]).expect("memory");
    InPlace::new(&devices).expect("a pipeline").run(&x, &mut y, &table).expect("a run");
    let [first, second] = y.parts_mut() else { panic!("two parts") };
    streams[0].copy(&*second, first).expect("a copy");
    assert_eq!(y.to_vec().expect("a copy"), [7.0; 8192]);
}

#[test]
fn a_device_that_fails_leaves_the_parts_of_the_others() {
    static KEPT: std::sync::Mutex<Vec<Device>> = std::sync::Mutex::new(Vec::new());
    for effect in [Effect::Fails, Effect::Lost] {
        let fault = Fault::nth(DriverCall::Launch, 2, effect);
        let devices =
            Device::simulated_machine(SimulatedMachine::from(MachineModel::h200(2)).with_fault(1, fault));
        KEPT.lock().expect("no panic").extend(devices.clone());
        let x = Sharded::from_slice(&devices, &[1.0; 8192]).expect("memory");
        let mut y = Sharded::zeroed(&devices, 8192).expect("memory");
        let table = Replicated::from_slice(&devices, &[1.0; 8192]).expect("memory");
        let mut in_place = InPlace::options(&devices).chunk(1024).build().expect("a pipeline");
        let error = in_place.run(&x, &mut y, &table).expect_err("a launch fails");
        assert_eq!(error.device(), Some(1), "{error}");
        assert!(y.parts()[0].to_vec().is_ok());
        if effect == Effect::Fails {
            in_place.run(&x, &mut y, &table).expect("it works again");
        } else {
            assert!(y.parts()[1].is_poisoned() && !y.parts()[0].is_poisoned());
        }
    }
}
