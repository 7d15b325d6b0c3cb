//! `DeviceBuf`s on a driver with one failing call.

use crate::base::error::Detail;
use crate::engine::tests::{Call, Fault, Faulty, KEPT, Mode, OF_THE_CALL, OF_THE_DEVICE, OUT_OF_MEMORY};
use crate::prelude::*;
use std::sync::Arc;

/// The calls that the program makes.
const CALLS: [Call; 7] = [
    Call::Allocate,
    Call::AllocatePinned,
    Call::CreateStream,
    Call::CopyToDevice,
    Call::CopyToHost,
    Call::Fill,
    Call::SynchronizeStream,
];

/// Runs `check` for every call that `program` makes, each failing in one way.
fn every_call(mode: Mode, code: u32, check: impl Fn(&Faulty, &Device, Fault)) {
    for call in CALLS {
        for nth in 0.. {
            let fault = Fault { call, nth, mode, code };
            let driver = Arc::new(Faulty::new(fault));
            let device = Device::with_driver(driver.clone());
            check(&driver, &device, fault);
            let failed = driver.state().failed.is_some();
            if mode == Mode::Lost {
                KEPT.lock().unwrap().push(device);
            }
            if !failed {
                assert!(nth > 0, "{call:?} is never called");
                break;
            }
        }
    }
}

/// Makes two buffers and copies both ways, going on after an error.
fn program(device: &Device) -> (Vec<DeviceBuf<u32>>, Vec<Error>) {
    let (mut buffers, mut errors) = (Vec::new(), Vec::new());
    for made in [DeviceBuf::from_slice(device, &[1; 100]), DeviceBuf::zeroed(device, 100)] {
        match made {
            Ok(buffer) => buffers.push(buffer),
            Err(error) => errors.push(error),
        }
    }
    for buffer in &mut buffers {
        errors.extend(buffer.copy_from_slice(&[7; 100]).err());
        errors.extend(buffer.to_vec().err());
    }
    (buffers, errors)
}

#[test]
fn a_call_that_fails_fails_once() {
    let ways = [
        (Mode::Refused, OF_THE_CALL),
        (Mode::Done, OF_THE_CALL),
        (Mode::Done, OF_THE_DEVICE),
        (Mode::Refused, OUT_OF_MEMORY),
    ];
    for (mode, code) in ways {
        every_call(mode, code, |driver, device, fault| {
            let (mut buffers, errors) = program(device);
            let failed = driver.state().failed.is_some();
            assert_eq!(errors.len(), usize::from(failed), "{fault:?}: {errors:?}");
            if let ([error], OUT_OF_MEMORY) = (&errors[..], code) {
                let fits = match fault.call {
                    Call::Allocate => matches!(error.detail(), Detail::OutOfDeviceMemory { .. }),
                    Call::AllocatePinned => matches!(error.detail(), Detail::OutOfPinnedMemory { .. }),
                    _ => matches!(error.detail(), Detail::Driver(_)),
                };
                assert!(fits, "{fault:?}: {error}");
            }
            // If nothing has failed so far, the next call would.
            for buffer in buffers.iter_mut().filter(|_| failed) {
                assert!(!buffer.is_poisoned());
                buffer.copy_from_slice(&[8; 100]).unwrap();
                assert_eq!(buffer.to_vec().unwrap(), [8; 100]);
            }
            drop(buffers);
            let state = driver.state();
            assert_eq!((&state.refused[..], state.live()), (&[][..], 0), "{fault:?}");
        });
    }
}

/// The device never answers again: memory that a copy may still reach stays.
#[test]
fn a_lost_device_keeps_the_memory() {
    every_call(Mode::Lost, OF_THE_DEVICE, |driver, device, fault| {
        let (buffers, errors) = program(device);
        assert_eq!(errors.is_empty(), driver.state().failed.is_none(), "{fault:?}");
        let address = |buffer: &DeviceBuf<u32>| buffer.core().ptr().0;
        let (poisoned, sound): (Vec<_>, Vec<_>) = buffers.iter().partition(|buffer| buffer.is_poisoned());
        let (poisoned, sound): (Vec<_>, Vec<_>) =
            (poisoned.into_iter().map(address).collect(), sound.into_iter().map(address).collect());
        drop(buffers);
        let state = driver.state();
        assert_eq!(state.refused, [], "{fault:?}");
        assert!(poisoned.iter().all(|address| state.device.contains(address)), "{fault:?}");
        assert!(!sound.iter().any(|address| state.device.contains(address)), "{fault:?}");
        let enqueues = [Call::CopyToDevice, Call::CopyToHost, Call::Fill, Call::SynchronizeStream];
        if enqueues.contains(&fault.call) {
            assert_eq!(state.device.is_empty(), state.failed.is_none(), "{fault:?}");
        }
    });
}
