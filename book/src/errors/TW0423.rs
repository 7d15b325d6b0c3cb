use thalweg::prelude::*;

#[kernels("../../../tests/ui/host/guarded.cu")]
unsafe extern "CUDA" {
    #[host(scale_on_host)]
    #[requires(n as usize <= y.len())]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn scale_on_host(thread: Thread, n: u32, a: f32, y: &mut [f32]) {
    if thread.global_x() < n as usize {
        y[thread.global_x()] *= a;
    }
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; scale<<<1, 256>>>(4, 2.0, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
