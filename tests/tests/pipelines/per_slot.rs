//! What ring slots carry: each has a part of the result, and the parts are combined.

#![allow(clippy::needless_range_loop, reason = "kernels go through slices by index")]

use std::time::Duration;

use thalweg::explore::Explore;
use thalweg::plan::{BufferKind, Distance, Plan};
use thalweg::prelude::*;
use thalweg::sim::{DeviceModel, Effect, Fault, MachineModel, SimulatedMachine};

/// Adds a chunk, one element after another, so that the order shows in the bits. `sums[1]` counts chunks.
#[kernel]
fn sum_and_count(i: Index, x: &[f32], sums: &mut Own<[f32]>) {
    let at = i.get();
    let Some(sum) = sums.get_mut(i) else { return };
    if at > 0 {
        *sum += 1.0;
        return;
    }
    for at in 0..x.len() {
        *sum += x[at];
    }
}

/// Copies what a slot has so far.
#[kernel]
fn see(i: Index, sums: &[f32], now: &mut Out<[f32]>) {
    let Some(now) = now.get_mut(i) else { return };
    *now = sums[i];
}

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    /// `sums[0] += x[0] + x[1] + …`, `sums[1] +=` the number of chunks.
    pipeline InSlots {
        input x: [f32];
        carry sums: [f32; 2] = 0.0 combine plus;
        chunk c = 16;
        depth = 3;
        stream each per slot;
        stage up { copy x -> dx; }
        stage math on each { sum_and_count<<<1, 32>>>(&dx, &mut sums); }
    }
}

stream_pipeline! {
    /// The same on one stream, which orders the chunks.
    pipeline InOrder {
        input x: [f32];
        carry sums: [f32; 2] = 0.0 combine plus;
        chunk c = 16;
        depth = 3;
        stream one;
        stage up { copy x -> dx; }
        stage math on one { sum_and_count<<<1, 32>>>(&dx, &mut sums); }
    }
}

stream_pipeline! {
    /// What the slot has so far comes back with each chunk, over another stream.
    pipeline SoFar {
        input x: [f32];
        carry sums: [f32; 2] = 0.0 combine plus;
        output seen: [f32; 2] per chunk;
        device now: [f32; 2] per chunk;
        chunk c = 16;
        stream each per slot;
        stream down;
        stage up { copy x -> dx; }
        stage math on each { sum_and_count<<<1, 32>>>(&dx, &mut sums); }
        stage store on down { see<<<1, 32>>>(&sums, out now); copy now -> seen; }
    }
}

/// Numbers whose sum depends on the order in which they are added.
fn uneven(len: usize) -> Vec<f32> {
    (0..len).map(|i| 1.0 / (1 + i * 7919 % 1009) as f32).collect()
}

/// The sums of what slots have, device after device, added to what there was.
fn in_slots(x: &[f32], devices: usize, depth: usize, before: [f32; 2]) -> [f32; 2] {
    let mut parts = vec![[0.0_f32; 2]; devices * depth];
    for (chunk, items) in x.chunks(16).enumerate() {
        let part = &mut parts[chunk % devices * depth + chunk / devices % depth];
        items.iter().for_each(|x| part[0] += x);
        part[1] += 1.0;
    }
    parts.into_iter().fold(before, |sums, part| [plus(sums[0], part[0]), plus(sums[1], part[1])])
}

fn bits(sums: [f32; 2]) -> [u32; 2] {
    sums.map(f32::to_bits)
}

const LENGTHS: [usize; 9] = [0, 1, 15, 16, 17, 33, 48, 100, 1000];

#[test]
fn the_parts_of_slots_are_combined_in_their_order() {
    for devices in 1..=4 {
        let devices = Device::simulated_machine(MachineModel::h200(devices));
        for graph in [false, true] {
            for depth in [1, 2, 3, 5] {
                let options = InSlots::options(&devices).depth(depth);
                let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
                for len in LENGTHS {
                    let x = uneven(len);
                    let expected = in_slots(&x, devices.len(), depth, [5.0, 0.5]);
                    let mut sums = [5.0, 0.5];
                    pipeline.run(&x, &mut sums).unwrap();
                    assert_eq!(bits(sums), bits(expected), "{len} on {}, {depth} slots", devices.len());
                    let pinned = PinnedBuf::from_slice(&devices[0], &x).unwrap();
                    let mut sums = PinnedBuf::from_slice(&devices[0], &[5.0, 0.5]).unwrap();
                    pipeline.run(&pinned, &mut sums).unwrap();
                    assert_eq!(sums[..], expected, "{len} page-locked on {}", devices.len());
                }
            }
        }
    }
}

#[test]
fn the_parts_of_slots_on_the_cpu() {
    let mut pipeline = InSlots::new(&Device::cpu().unwrap()).unwrap();
    for len in LENGTHS {
        let (x, mut sums) = (uneven(len), [1.0, 2.0]);
        pipeline.run(&x, &mut sums).unwrap();
        assert_eq!(bits(sums), bits(in_slots(&x, 1, 3, [1.0, 2.0])), "{len}");
    }
}

#[test]
fn no_chunk_waits_for_the_one_before() {
    let kind = |plan: &Plan| plan.buffers.iter().find(|buffer| buffer.name == "sums").unwrap().kind;
    assert_eq!((kind(&InSlots::PLAN), kind(&InOrder::PLAN)), (BufferKind::CarryPerSlot, BufferKind::Carry));
    assert!(InSlots::PLAN.waits.iter().all(|wait| wait.distance != Distance::Previous));
    // Of two chunks that do not wait for each other, the kernels run at the same time.
    let slow = |plan, chunk| Fault::at(plan, "math", chunk, Effect::Slow(Duration::from_millis(2))).unwrap();
    let time = |plan: &'static Plan, run: &dyn Fn(&[Device], &[f32]) -> Report| {
        let machine = (0..30).fold(SimulatedMachine::from(MachineModel::h200(1)), |machine, chunk| {
            machine.with_fault(0, slow(plan, chunk))
        });
        run(&Device::simulated_machine(machine), &uneven(480)).time
    };
    let apart =
        time(&InSlots::PLAN, &|devices, x| InSlots::new(devices).unwrap().run(x, &mut [0.0; 2]).unwrap());
    let in_order =
        time(&InOrder::PLAN, &|devices, x| InOrder::new(devices).unwrap().run(x, &mut [0.0; 2]).unwrap());
    assert!(apart * 2 < in_order, "{apart:?} beside {in_order:?}");
}

#[test]
fn a_sum_in_slots_has_the_same_bits_whatever_time_chunks_take() {
    let x = uneven(1000);
    let expected = in_slots(&x, 2, 3, [0.0; 2]);
    for seed in 0..300_u64 {
        let mut machine = SimulatedMachine::from(MachineModel::h200(2)).adversarial(seed);
        for device in 0..2 {
            let (chunk, time) = ((seed * 7 + device * 5) % 40, Duration::from_micros(seed * 13 % 97 + 1));
            let slow = Fault::at(&InSlots::PLAN, "math", chunk, Effect::Slow(time)).unwrap();
            machine = machine.with_fault(device as usize, slow);
        }
        let mut sums = [0.0; 2];
        InSlots::new(&Device::simulated_machine(machine)).unwrap().run(&x, &mut sums).unwrap();
        assert_eq!(bits(sums), bits(expected), "{seed}");
    }
}

#[test]
fn every_order_of_slots_has_the_same_result() {
    let explored = Explore::new(3, 200).run_on_machine(MachineModel::h200(2), |devices| {
        let (x, mut sums, mut seen) = (uneven(200), [0.0; 2], [[0.0; 2]; 13]);
        InSlots::new(devices)?.run(&x, &mut sums)?;
        assert_eq!(sums, in_slots(&x, 2, 3, [0.0; 2]));
        SoFar::options(devices).depth(2).build()?.run(&x, &mut sums, seen.as_flattened_mut())?;
        // The chunks of a slot count on.
        assert_eq!(seen.map(|[_, chunks]| chunks)[..9], [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
        Ok(())
    });
    assert!(explored.unwrap().orders > 190);
}

#[test]
fn a_prediction_and_a_report_count_all_parts() {
    let device = Device::simulated(DeviceModel::h200());
    let (x, mut sums) = (uneven(100), [0.0; 2]);
    let mut pipeline = InSlots::new(&device).unwrap();
    let report = pipeline.run(&x, &mut sums).unwrap();
    assert_eq!(report.bytes_to_host, 3 * 8);
    let predicted = pipeline.predict(&x, &mut sums).unwrap();
    assert_eq!(predicted.report.bytes_to_host, 3 * 8);
    // A run of one chunk has one part.
    assert_eq!(pipeline.run(&x[..3], &mut sums).unwrap().bytes_to_host, 8);
    assert_eq!(pipeline.predict(&x[..3], &mut sums).unwrap().report.bytes_to_host, 8);
}

#[test]
fn a_run_that_fails_leaves_what_the_caller_has() {
    let fault = Fault::at(&InSlots::PLAN, "math", 4, Effect::Fails).unwrap();
    let machine = SimulatedMachine::from(MachineModel::h200(2)).with_fault(0, fault);
    let mut sums = [3.0, 4.0];
    let failed = InSlots::new(&Device::simulated_machine(machine)).unwrap().run(&uneven(100), &mut sums);
    assert_eq!((failed.unwrap_err().place().chunk, sums), (Some(4), [3.0, 4.0]));
}

/// Elements of a result that fills much of a small device: 1 MiB.
const LARGE: usize = 1 << 18;

stream_pipeline! {
    pipeline Large {
        input x: [f32];
        carry sums: [f32; LARGE] = 0.0 combine plus;
        chunk c = auto;
        stream each per slot;
        stage up { copy x -> dx; }
        stage math on each { sum_and_count<<<blocks(LARGE, 256), 256>>>(&dx, &mut sums); }
    }
}

fn with_memory(bytes: u64) -> Device {
    let mut model = DeviceModel::h200();
    model.memory = bytes;
    Device::simulated(model)
}

#[test]
fn there_are_as_many_slots_as_their_parts_leave_room_for() {
    for (memory, depth) in [(16 << 20, 3), (5 << 19, 2), (3 << 19, 1)] {
        let (x, mut sums) = (uneven(100_000), vec![0.0; LARGE]);
        let mut large = Large::options(&with_memory(memory)).chunk(10_000).build().unwrap();
        let report = large.run(&x, &mut sums).unwrap();
        assert_eq!(report.depth, depth, "{memory} bytes: {report}");
        assert_eq!((sums[1], sums[LARGE - 1]), (report.chunks as f32, report.chunks as f32));
    }
    let error =
        Large::new(&with_memory(3 << 18)).unwrap().run(&uneven(100), &mut vec![0.0; LARGE]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfMemory(_)), "{error}");
}

#[test]
fn a_budget_counts_every_part() {
    let device = Device::simulated(DeviceModel::h200());
    let (x, mut sums) = (uneven(100_000), vec![0.0; LARGE]);
    let options = Large::options(&device).chunk(10_000).budget(3 << 19);
    assert_eq!(options.clone().build().unwrap().run(&x, &mut sums).unwrap().depth, 1);
    let error = options.depth(2).build().unwrap().run(&x, &mut sums).unwrap_err();
    assert!(!error.to_string().contains("`resident` or `carry`"), "{error}");
}
