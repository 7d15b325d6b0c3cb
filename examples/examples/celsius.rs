//! A program with its own kernel: its CUDA C++ in `celsius.cu` beside this file, its declaration and its host
//! body here.
//!
//! ```text
//! cargo run --release --example celsius
//! ```

// ANCHOR: program
use thalweg::prelude::*;

#[kernels("celsius.cu")]
unsafe extern "CUDA" {
    /// Temperatures from Fahrenheit to Celsius, no lower than `floor`.
    #[host(celsius_on_host)]
    #[requires(n as usize <= fahrenheit.len())]
    #[requires(n as usize <= celsius.len())]
    safe fn celsius(n: u32, floor: f32, fahrenheit: &[f32], celsius: Out<[f32]>);
}

/// The kernel in Rust, which the simulated device runs once for each thread.
fn celsius_on_host(thread: Thread, n: u32, floor: f32, fahrenheit: &[f32], celsius: &mut [f32]) {
    let i = thread.global_x();
    if i < n as usize {
        let degrees = (fahrenheit[i] - 32.0) * 5.0 / 9.0;
        celsius[i] = if degrees < floor { floor } else { degrees };
    }
}

stream_pipeline! {
    /// Fahrenheit in, Celsius out.
    pipeline ToCelsius {
        param floor: f32;
        input fahrenheit: [f32];
        output temperatures: [f32];
        device d_celsius: [f32];

        chunk c = 1 << 16;

        stage load { copy fahrenheit -> d_fahrenheit; }
        stage convert {
            celsius<<<blocks(c.len, 256), 256>>>(c.len as u32, floor, &d_fahrenheit, out d_celsius);
        }
        stage store { copy d_celsius -> temperatures; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let fahrenheit: Vec<f32> = (0..1_000_000).map(|i| (i % 500) as f32).collect();
    let mut temperatures = PinnedBuf::zeroed(&device, fahrenheit.len())?;
    let report = ToCelsius::new(&device)?.run(-10.0, &fahrenheit, &mut temperatures)?;
    println!("{report}");
    println!("32 °F are {} °C, 212 °F are {} °C", temperatures[32], temperatures[212]);
    println!("0 °F are set to {} °C", temperatures[0]);
    Ok(())
}
// ANCHOR_END: program
