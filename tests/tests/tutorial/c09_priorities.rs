//! Priorities.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::kernel::blocks;
use thalweg::streams::{Event, Priority, Stream};
use thalweg::{Device, DeviceBuf, Result};
// ANCHOR_END: uses

use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, Us, check, simulated};

// ANCHOR: urgent
/// How long a kernel takes on a stream of its own, while four other streams are full of kernels.
fn urgent(device: &Device, priority: Priority) -> Result<Duration> {
    let adjust = adjust::load(device)?;
    let memory = || DeviceBuf::<f32>::zeroed(device, LEN);
    let (start, stop) = (Event::with_timing(device)?, Event::with_timing(device)?);

    let mut busy = Vec::new();
    for _ in 0..4 {
        busy.push((Stream::new(device)?, memory()?));
    }
    let (stream, mut v) = (Stream::with_priority(device, priority)?, memory()?);

    for _ in 0..10 {
        for (stream, v) in &mut busy {
            let config = stream.config(blocks(LEN, 256), 256, 0);
            adjust.launch(config, GAIN, OFFSET, v)?;
        }
    }
    stream.record(&start)?;
    let config = stream.config(blocks(LEN, 256), 256, 0);
    adjust.launch(config, GAIN, OFFSET, &mut v)?;
    stream.record(&stop)?;
    device.synchronize()?;
    start.elapsed(&stop)
}
// ANCHOR_END: urgent

#[test]
fn urgent_kernels_come_first() -> Result<()> {
    let device = simulated();
    let mut text = format!("priorities {:?}, the most urgent first\n", device.priorities());
    let mut times = Vec::new();
    for priority in [Priority::Low, Priority::Default, Priority::High] {
        let level = Stream::with_priority(&device, priority)?.priority();
        let time = urgent(&device, priority)?;
        writeln!(text, "{:<8} {level:>3} {:>10}", format!("{priority:?}"), Us(time)).expect("a string");
        times.push(time);
    }
    assert!(times[2] < times[1].mul_f64(0.5), "{times:?}");
    check("09-urgent.txt", &text);
    Ok(())
}
