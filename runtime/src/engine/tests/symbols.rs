//! Kernels whose launches give a value to a variable of their module, on a driver with one failing call.

use std::sync::Arc;

use crate::base::error::{Detail, Result};
use crate::engine::tests::faulty::{Call, Fault, Faulty, Mode, SYMBOL_BYTES};
use crate::engine::tests::{KEPT, OF_THE_CALL, OF_THE_DEVICE};
use crate::prelude::*;

#[kernels("../../../../tests/cu/symbols.cu", crate = crate)]
unsafe extern "CUDA" {
    #[host(blur_on_host)]
    safe fn blur(n: u32, taps: u32, x: &[f32], y: Out<[f32]>, #[symbol] weights: &[f32]);
}

fn blur_on_host(t: Thread, n: u32, _: u32, x: &[f32], y: &mut [f32], weights: &[f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] = x[i] * weights[0];
    }
}

stream_pipeline! {
    #![crate = crate]
    pipeline Blur {
        resident weights: [f32];
        input x: [f32];
        output y: [f32];
        chunk c = 4;
        depth = 2;
        device dy: [f32];
        stage load { copy x -> dx; }
        stage work { blur<<<1, 4>>>(c.len as u32, 1, &dx, out dy, &weights); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    #![crate = crate]
    pipeline BlurByWhatIsThere {
        resident weights: device [f32];
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage load { copy x -> dx; }
        stage work { blur<<<1, 16>>>(c.len as u32, 1, &dx, out dy, &weights); }
        stage store { copy dy -> y; }
        chunk c = 16;
    }
}

const X: [f32; 10] = [3.0; 10];
const CALLS: [Call; 7] = [
    Call::Load,
    Call::CreateStream,
    Call::CopyOnDevice,
    Call::SynchronizeStream,
    Call::Launch,
    Call::BuildGraph,
    Call::LaunchGraph,
];

/// Lets each of the calls fail in turn, in streams and in graphs.
fn every_call(mode: Mode, code: u32, check: impl Fn(&Faulty, Option<&mut Blur>, Result<()>)) {
    for (call, graph) in CALLS.into_iter().flat_map(|call| [(call, false), (call, true)]) {
        for nth in 0.. {
            let driver = Arc::new(Faulty::new(Fault { call, nth, mode, code }));
            let device = Device::with_driver(driver.clone());
            let options = Blur::options(&device);
            match if graph { options.graph() } else { options }.build() {
                Ok(mut blur) => {
                    let mut y = [0.0; 10];
                    let result = blur.run(&[2.0], &X, &mut y).map(|_| assert_eq!(y, [6.0; 10]));
                    check(&driver, Some(&mut blur), result);
                }
                Err(error) => check(&driver, None, Err(error)),
            }
            let failed = driver.state().failed.is_some();
            if mode == Mode::Lost {
                KEPT.lock().unwrap().push(device);
            }
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn a_call_that_fails_leaves_a_pipeline_that_works() {
    for mode in [Mode::Refused, Mode::Done] {
        every_call(mode, OF_THE_CALL, |driver, blur, result| {
            assert_eq!(result.is_err(), driver.state().failed.is_some());
            if let Some(blur) = blur.filter(|_| result.is_err()) {
                // The value differs from that of the run before.
                let mut y = [0.0; 10];
                blur.run(&[5.0], &X, &mut y).unwrap();
                assert_eq!(y, [15.0; 10]);
                let taken = std::mem::take(&mut blur.pipeline.first().symbols);
                assert!(taken.streams().next().is_none(), "a copy is thought to be under way");
                blur.pipeline.first().symbols = taken;
            }
            assert_eq!(driver.state().refused, []);
        });
    }
}

/// The kernel may be under way and may read the variable, so its module stays.
#[test]
fn a_lost_device_keeps_the_module() {
    every_call(Mode::Lost, OF_THE_DEVICE, |driver, blur, result| {
        let Some(blur) = blur else { return };
        if result.is_ok() {
            return;
        }
        let refused = blur.run(&[5.0], &X, &mut [0.0; 10]).unwrap_err();
        assert!(matches!(refused.detail(), Detail::PipelinePoisoned | Detail::Driver(_)), "{refused}");
        assert_eq!(driver.state().refused, []);
    });
    let fault = Fault { call: Call::Launch, nth: 1, mode: Mode::Lost, code: OF_THE_DEVICE };
    let driver = Arc::new(Faulty::new(fault));
    let device = Device::with_driver(driver.clone());
    let mut blur = Blur::new(&device).unwrap();
    blur.run(&[2.0], &X, &mut [0.0; 10]).unwrap_err();
    drop(blur);
    let state = driver.state();
    assert_eq!((state.variables.len(), &state.refused[..]), (1, &[][..]));
    drop(state);
    KEPT.lock().unwrap().push(device);
}

/// Nothing is left when the pipeline goes.
#[test]
fn the_module_goes_with_its_pipeline() {
    let fault = Fault { call: Call::Host, nth: 0, mode: Mode::Refused, code: OF_THE_CALL };
    let driver = Arc::new(Faulty::new(fault));
    let device = Device::with_driver(driver.clone());
    for graph in [false, true] {
        let options = Blur::options(&device);
        let mut blur = if graph { options.graph() } else { options }.build().unwrap();
        for _ in 0..2 {
            blur.run(&[2.0], &X, &mut [0.0; 10]).unwrap();
        }
        // The value has more bytes than the variable.
        let error = blur.run(&[1.0; SYMBOL_BYTES / 4 + 1], &X, &mut [0.0; 10]).unwrap_err();
        assert!(matches!(error.detail(), Detail::SymbolSize { size: SYMBOL_BYTES, .. }), "{error}");
        blur.run(&[2.0], &X, &mut [0.0; 10]).unwrap();
        assert_eq!(driver.state().variables.len(), 1);
        drop(blur);
        let state = driver.state();
        assert_eq!((state.live(), &state.refused[..]), (0, &[][..]));
    }
}

/// A `resident` that is already on the device is a variable's value, too.
#[test]
fn a_resident_on_the_device_is_a_variables_value() {
    let device = Device::simulated(Simulation::default());
    let mut blur = BlurByWhatIsThere::new(&device).unwrap();
    for weight in [2.0, 5.0] {
        let weights = DeviceBuf::from_slice(&device, &[weight]).unwrap();
        let mut y = [0.0; 10];
        blur.run(&weights, &X, &mut y).unwrap();
        assert_eq!(y, [3.0 * weight; 10]);
    }
}
