//! The page on several devices.

#![allow(clippy::needless_range_loop, reason = "kernels go through slices by index")]

use thalweg_tests::book::recorded;

// ANCHOR: pipeline
use thalweg::prelude::*;
use thalweg::sim::MachineModel;
use thalweg::streams::{Event, Stream};
use thalweg::{Replicated, Sharded, Timeline};

/// `y[i] += a * x[i]`.
#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: pipeline

// ANCHOR: run
fn on_all(devices: &[Device], x: &PinnedBuf<f32>, y: &mut PinnedBuf<f32>) -> thalweg::Result<Report> {
    let mut saxpy = Saxpy::new(devices)?; // or `Saxpy::new(&Device::all()?)?`
    saxpy.run(3.0, x, y)
}
// ANCHOR_END: run

// ANCHOR: combine
/// `sum[0] += x[0] + x[1] + …`
#[kernel]
fn add_up(i: Index, x: &[f64], sum: &mut Own<[f64]>) {
    let Some(sum) = sum.get_mut(i) else { return };
    for at in 0..x.len() {
        *sum += x[at];
    }
}

fn plus(one: f64, other: f64) -> f64 {
    one + other
}

stream_pipeline! {
    pipeline Sum {
        input x: [f64];
        carry sum: [f64; 1] = 0.0 combine plus;
        chunk c = 1 << 10;
        stage load { copy x -> dx; }
        stage add { add_up<<<1, 32>>>(&dx, &mut sum); }
    }
}
// ANCHOR_END: combine

// ANCHOR: sums
fn sums(devices: &[Device]) -> thalweg::Result<()> {
    let x: Vec<f64> = (0..100_000).map(f64::from).collect();
    let mut sum = [1000.0];
    Sum::new(devices)?.run(&x, &mut sum)?;
    assert_eq!(sum, [1000.0 + 99_999.0 * 50_000.0]);
    Ok(())
}
// ANCHOR_END: sums

// ANCHOR: in_place
stream_pipeline! {
    /// `y <- a * x + y`, where both are.
    pipeline OnDevice {
        param a: f32;
        input x: device [f32];
        inout y: device [f32];
        chunk c = auto;
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &x, &mut y); }
    }
}
// ANCHOR_END: in_place

// ANCHOR: sharded
fn many_times(devices: &[Device], x: &[f32]) -> thalweg::Result<Vec<f32>> {
    let x = Sharded::from_slice(devices, x)?; // a part on each device
    let mut y = Sharded::zeroed(devices, x.len())?;
    let mut saxpy = OnDevice::new(devices)?;
    for _ in 0..10 {
        saxpy.run(3.0, &x, &mut y)?; // copies nothing
    }
    y.to_vec()
}
// ANCHOR_END: sharded

// ANCHOR: replicated
/// `sums[i] = x[i] + table[x[i] % table.len()]`.
#[kernel]
fn look_up(i: Index, x: &[u32], table: &[u32], sums: &mut Out<[u32]>) {
    let Some(sum) = sums.get_mut(i) else { return };
    *sum = x[i] + table[x[i] as usize % table.len()];
}

stream_pipeline! {
    pipeline LookUp {
        input x: device [u32];
        resident table: device [u32];
        output sums: device [u32];
        chunk c = auto;
        stage all { look_up<<<blocks(c.len, 256), 256>>>(&x, &table, out sums); }
    }
}

fn looked_up(devices: &[Device], x: &[u32], table: &[u32]) -> thalweg::Result<Vec<u32>> {
    let x = Sharded::from_slice(devices, x)?;
    let table = Replicated::from_slice(devices, table)?; // all of it on each device
    let mut sums = Sharded::zeroed(devices, x.len())?;
    LookUp::new(devices)?.run(&x, &table, &mut sums)?;
    sums.to_vec()
}
// ANCHOR_END: replicated

// ANCHOR: peers
fn doubled_elsewhere(devices: &[Device; 2], x: &DeviceBuf<f32>) -> thalweg::Result<Vec<f32>> {
    let (here, there) = (Stream::new(&devices[0])?, Stream::new(&devices[1])?);
    let copied = Event::new(&devices[0])?; // on the device of the stream that records it
    let mut copy = DeviceBuf::zeroed(&devices[1], x.len())?;
    here.copy(x, &mut copy)?; // `x` is on the first device
    here.record(&copied)?;
    there.wait(&copied)?; // in one call: `there.wait_stream(&here)?`
    let double = double_each::load(&devices[1])?;
    double.launch(there.config(blocks(copy.len(), 256), 256, 0), &mut copy)?;
    copy.to_vec() // waits
}
// ANCHOR_END: peers

// ANCHOR: guess
fn of_four(device: &Device, x: &[f32], y: &mut [f32]) -> thalweg::Result<Timeline> {
    let mut machine = MachineModel::from(vec![device.calibration().clone(); 4]);
    machine.host_memory = 200e9;
    Saxpy::new(&Device::simulated_machine(machine))?.predict(3.0, x, y)
}
// ANCHOR_END: guess

/// `x[i] *= 2`.
#[kernel]
fn double_each(i: Index, x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x *= 2.0;
}

// ANCHOR: machine
fn four_of_them() -> Vec<Device> {
    let mut machine = MachineModel::l40s(); // two behind each port
    machine.host_memory = 100e9; // bytes a second
    Device::simulated_machine(machine)
}
// ANCHOR_END: machine

fn run_on(machine: MachineModel) -> Report {
    let devices = Device::simulated_machine(machine);
    let x = PinnedBuf::from_slice(&devices[0], &vec![1.0; 1 << 24]).expect("memory");
    let mut y = PinnedBuf::from_slice(&devices[0], &vec![2.0; 1 << 24]).expect("memory");
    let report = on_all(&devices, &x, &mut y).expect("a run");
    assert!(y.iter().all(|y| *y == 5.0));
    report
}

#[test]
fn a_run_on_two_and_on_unequal_devices() {
    recorded("several-two.txt", &run_on(MachineModel::h200(2)).to_string());
    recorded("several-unequal.txt", &run_on(MachineModel::unequal()).to_string());
}

#[test]
fn a_run_that_the_host_s_memory_binds() {
    let mut machine = MachineModel::h200(4);
    machine.host_memory = 120e9;
    recorded("several-shared.txt", &run_on(machine).to_string());
}

#[test]
fn copies_between_two_devices() {
    let devices: [Device; 2] =
        Device::simulated_machine(MachineModel::h200(2)).try_into().expect("two devices");
    let x = DeviceBuf::from_slice(&devices[0], &[1.0, 2.0, 3.0]).expect("memory");
    assert_eq!(doubled_elsewhere(&devices, &x).expect("a copy"), [2.0, 4.0, 6.0]);
}

#[test]
fn data_that_stay_on_several_devices() {
    let devices = Device::simulated_machine(MachineModel::h200(3));
    assert_eq!(many_times(&devices, &[1.0; 10_000]).expect("runs"), [30.0; 10_000]);
}

#[test]
fn a_table_on_each_device() {
    let devices = Device::simulated_machine(MachineModel::h200(3));
    let (x, table) = ((0..10_000).collect::<Vec<_>>(), [5, 6, 7]);
    let expected: Vec<_> = x.iter().map(|x| x + table[*x as usize % 3]).collect();
    assert_eq!(looked_up(&devices, &x, &table).expect("a run"), expected);
}

#[test]
fn what_four_would_give() {
    let device = Device::simulated(Simulation::h200());
    let (x, mut y) = (vec![1.0; 1 << 22], vec![2.0; 1 << 22]);
    let four = of_four(&device, &x, &mut y).expect("a prediction").time();
    let one = Saxpy::new(&device).expect("a pipeline").predict(3.0, &x, &mut y).expect("a prediction").time();
    assert!(four < one, "{four:?} and {one:?}");
}

/// `least[i]` is the least of itself and of every 64th element from `x[i]` on.
#[kernel]
fn lower(i: Index, x: &[f32], least: &mut Own<[f32]>) {
    let Some(least) = least.get_mut(i) else { return };
    for row in 0..x.len() / 64 {
        *least = least.min(x[64 * row + i.get()]);
    }
}

stream_pipeline! {
    pipeline Least {
        input x: [f32];
        carry least: [f32; 64] = f32::INFINITY combine f32::min;
        carry again: [f32; 64] = f32::INFINITY combine |a, b| if a < b { a } else { b };
        chunk c = 1 << 10;
        stage load { copy x -> dx; }
        stage math {
            lower<<<1, 64>>>(&dx, &mut least);
            lower<<<1, 64>>>(&dx, &mut again);
        }
    }
}

/// What the page says of a minimum: each thread has its own, and what the argument has before counts.
#[test]
fn each_thread_keeps_its_least() {
    let x: Vec<f32> = (0..1 << 14).map(|i| (1 + i * 7919 % 10_007) as f32).collect();
    let expected: Vec<_> =
        (0..64).map(|i| x.iter().skip(i).step_by(64).copied().fold(f32::INFINITY, f32::min)).collect();
    let mut pipeline = Least::new(&four_of_them()).expect("a pipeline");
    let (mut least, mut again) = ([f32::INFINITY; 64], [0.0; 64]);
    pipeline.run(&x, &mut least, &mut again).expect("a run");
    assert_eq!((&least[..], again), (&expected[..], [0.0; 64]));
}

#[test]
fn what_devices_carry_is_added_up() {
    sums(&four_of_them()).expect("a run");
    for devices in 1..=3 {
        sums(&Device::simulated_machine(MachineModel::h200(devices))).expect("a run");
    }
}
