use thalweg::prelude::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Line {
    a: f32,
    b: f32,
}

#[kernels("../../../tests/ui/sources/line.cu", include("../../../tests/ui/sources/include"))]
unsafe extern "CUDA" {
    #[host(along_on_host)]
    #[requires(n as usize <= y.len())]
    safe fn along(n: u32, line: Line, y: &mut [f32]);
}

fn along_on_host(t: Thread, n: u32, line: Line, y: &mut [f32]) {
    if t.global_x() < n as usize {
        y[t.global_x()] = line.a * y[t.global_x()] + line.b;
    }
}

stream_pipeline! {
    pipeline P {
        param line: Line;
        inout y: [f32];
        chunk c = auto;
        stage all { copy y -> dy; along<<<blocks(c.len, 256), 256>>>(c.len as u32, line, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(Line { a: 2.0, b: 1.0 }, &mut [2.0; 4])?;
    Ok(())
}
