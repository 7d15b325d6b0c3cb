// A routine gets a shape behind an argument.

use thalweg::prelude::*;

/// `y <- x`
fn copied(queue: &Enqueue<'_>, x: DeviceSlice<'_, f32>, y: DeviceSliceOut<'_, f32>) -> thalweg::Result<()> {
    queue.simulate((x, y), |(x, y)| y.copy_from_slice(x))
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; call copied(&dx, out dy as [2, 2]); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::simulated(Simulation::default()))?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
