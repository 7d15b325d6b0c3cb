//! A launch on a GPU that gives less shared memory than its kernel asks for. A stub of CUDA's libraries stands in for
//! the GPU: its launches do nothing, but a thread leaves what the kernel would leave.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::stubs::Stubs;

/// The driver and the compiler.
const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/shared-slices"));

#[kernel]
fn doubled(block: Block, n: usize, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared_slice::<f32>(n);
    block.fill(&mut part, |i| x[i] * 2.0);
    block.each(|t| {
        for i in t.of_grid(y.len()) {
            let Some(y) = y.get_mut(i) else { return };
            *y = part[i];
        }
    });
}

/// The line of the slice in `doubled`.
const SLICE: u32 = line!() - 11;

stream_pipeline! {
    pipeline Doubled {
        param n: usize;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 64;
        stage all { copy x -> dx; doubled<<<1, 32, 48>>>(n, &dx, out dy); copy dy -> y; }
    }
}

/// A GPU tells all numbers, so that nothing is run again on the host.
#[test]
fn a_gpu_tells_how_much_is_needed_and_given() {
    let place = (0xfff << 20 | SLICE).to_string();
    let environment = [("THALWEG_FAULT", place.as_str()), ("THALWEG_NEEDED", "256"), ("THALWEG_GIVEN", "48")];
    STUBS.record("a_gpu_tells_how_much_is_needed_and_given", &environment, |device| {
        let expected = format!(
            "kernel `doubled` failed at {}:{SLICE}: the shared slices need 256 bytes, and the launch gives 48\n  \
             help: write the bytes as the third value of the launch: `<<<grid, block, 256>>>`",
            file!()
        );
        let mut pipeline = Doubled::new(device).unwrap();
        let mut y = [0.0; 64];
        for _ in 0..2 {
            let error = pipeline.run(64, &[1.0; 64], &mut y).unwrap_err();
            let said = error.to_string();
            assert!(said.starts_with(&expected), "{said}");
            assert!(!said.contains("a GPU tells the line alone") && !said.contains("again"), "{said}");
            let ErrorKind::Function(function) = error.kind() else { panic!("{error:?}") };
            assert!(function.message().starts_with("the shared slices need 256 bytes"), "{error:?}");
        }
        let stream = Stream::new(device).unwrap();
        let x = DeviceBuf::from_slice(device, &[1.0_f32; 64]).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(device, 64).unwrap();
        let kernel = doubled::load(device).unwrap();
        kernel.launch(stream.config(1, 32, 48), 64, &x, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        assert!(said.starts_with(&expected), "{said}");
    });
}
