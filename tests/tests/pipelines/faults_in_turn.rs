//! Faults that meet at one call strike one after another, and none of them is lost.

use std::time::Duration;

use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg_tests::kernels::add_to;

stream_pipeline! {
    pipeline Add {
        inout y: [f32];
        chunk c = 10;
        stage load { copy y -> dy; }
        stage add { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn refused(device: &Device) -> Option<u32> {
    DeviceBuf::<u8>::zeroed(device, 16).err().map(|_| 1)
}

/// There are two faults for the same call: the second fault strikes the next call.
#[test]
fn two_for_one_call() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let both = [0, 1].map(|_| device.inject(Fault::nth(DriverCall::Allocate, 1, Effect::Refused)).unwrap());
    assert_eq!(refused(&device), None);
    assert!(refused(&device).is_some());
    assert_eq!(both.each_ref().map(|fault| fault.struck()), [true, false]);
    assert!(refused(&device).is_some());
    assert!(both.iter().all(|fault| fault.struck()));
    assert_eq!(refused(&device), None);
    Ok(())
}

/// A fault that has to wait counts the calls until then: the second call is the second one, whatever becomes
/// of the first.
#[test]
fn each_counts_every_call() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let inject = |n| device.inject(Fault::nth(DriverCall::Allocate, n, Effect::Refused)).unwrap();
    let faults = [inject(0), inject(0), inject(1), inject(3)];
    let mut struck = Vec::new();
    for _ in 0..5 {
        assert_eq!(refused(&device).is_some(), struck.len() < 4);
        struck.push(faults.iter().filter(|fault| fault.struck()).count());
        struck.truncate(4);
    }
    assert_eq!(struck, [1, 2, 3, 4]);
    Ok(())
}

/// A fault that refuses all calls of a kind also refuses the call that another fault is for.
#[test]
fn a_limit_is_a_limit() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let slow = device.inject(Fault::nth(DriverCall::Allocate, 0, Effect::Slow(Duration::ZERO)))?;
    let limit = device.inject(Fault::larger_than(8))?;
    assert!(refused(&device).is_some());
    assert!(limit.struck() && !slow.struck());
    DeviceBuf::<u8>::zeroed(&device, 8)?;
    assert!(slow.struck());
    Ok(())
}

/// At an operation, the second fault strikes in the next run.
#[test]
fn two_at_an_operation() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let mut add = Add::new(&device)?;
    let fault = Fault::at(&Add::PLAN, "add", 1, Effect::Fails)?;
    let (first, second) = (device.inject(fault)?, device.inject(fault)?);
    let mut run = || add.run(&mut vec![1.0; 30]);
    run().unwrap_err();
    assert!(first.struck() && !second.struck());
    let error = run().unwrap_err();
    assert!(second.struck());
    assert_eq!(error.place().chunk, Some(1));
    run().map(drop)
}
