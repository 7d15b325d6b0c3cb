// A kernel and a pipeline work on a struct that does not derive what plain data are.

use thalweg::prelude::*;

#[repr(C)]
struct Point {
    at: [f32; 3],
    speed: f32,
}

#[kernels("../advance.cu")]
unsafe extern "CUDA" {
    #[host(advance_on_host)]
    #[requires(n as usize <= points.len())]
    safe fn advance(n: u32, points: &mut [Point]);
}

fn advance_on_host(_: Grid, n: u32, points: &mut [Point]) {
    points[..n as usize].iter_mut().for_each(|point| point.at[0] += point.speed);
}

stream_pipeline! {
    pipeline P {
        inout points: [Point];
        chunk c = auto;
        stage all { copy points -> d; advance<<<1, 32>>>(c.len as u32, &mut d); copy d -> points; }
    }
}

fn main() {}
