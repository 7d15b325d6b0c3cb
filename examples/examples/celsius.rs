//! A program with a kernel of its own, whose result is another array than its input.
//!
//! ```text
//! cargo run --release --example celsius
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

// ANCHOR: program
use thalweg::prelude::*;

/// A temperature from Fahrenheit to Celsius, no lower than `floor`.
#[kernel]
fn celsius(i: Index, floor: f32, fahrenheit: &[f32], celsius: &mut Out<[f32]>) {
    let Some(celsius) = celsius.get_mut(i) else { return };
    *celsius = ((fahrenheit[i] - 32.0) * 5.0 / 9.0).max(floor);
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
        stage convert { celsius<<<blocks(c.len, 256), 256>>>(floor, &d_fahrenheit, out d_celsius); }
        stage store { copy d_celsius -> temperatures; }
    }
}

/// Converts a million temperatures on one device, or on several that share the chunks.
fn convert(devices: &[Device]) -> thalweg::Result<()> {
    let fahrenheit: Vec<f32> = (0..1_000_000).map(|i| (i % 500) as f32).collect();
    let mut temperatures = PinnedBuf::zeroed(&devices[0], fahrenheit.len())?;
    let report = ToCelsius::new(devices)?.run(-10.0, &fahrenheit, &mut temperatures)?;
    println!("{report}");
    println!("32 °F are {} °C, 212 °F are {} °C", temperatures[32], temperatures[212]);
    println!("0 °F are set to {} °C", temperatures[0]);
    Ok(())
}
// ANCHOR_END: program

fn main() -> Result<(), Box<dyn std::error::Error>> {
    convert(&thalweg_examples::devices()?)?;
    Ok(())
}
