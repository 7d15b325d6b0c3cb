//! A run's report shows what limits the run: the book's page on speed.

use thalweg::prelude::*;
use thalweg_tests::kernels::add_to;

stream_pipeline! {
    /// `y <- y + a`.
    pipeline Add {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage add { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage store { copy dy -> y; }
    }
}

// ANCHOR: shares
/// The shares of the link's rate that a run reached, to the device and back, and that of its
/// time in which it was enqueued.
fn shares(device: &Device, report: &Report) -> [f64; 3] {
    let link = device.calibration();
    let both = report.bytes_to_device > 0 && report.bytes_to_host > 0;
    // While both ways copy, each is slower.
    let duplex = if both { link.duplex } else { 1.0 };
    [
        report.bandwidth_to_device() / (link.to_device * duplex),
        report.bandwidth_to_host() / (link.to_host * duplex),
        report.enqueuing.as_secs_f64() / report.time.as_secs_f64(),
    ]
}
// ANCHOR_END: shares

const LEN: usize = 16 << 20;

/// The shares of a second run on page-locked memory.
fn second_run(mut add: Add, device: &Device) -> thalweg::Result<(Report, [f64; 3])> {
    let mut y = PinnedBuf::from_slice(device, &vec![1.0; LEN])?;
    add.run(1.0, &mut y)?;
    let report = add.run(1.0, &mut y)?;
    assert!(y.iter().all(|&y| y == 3.0));
    let shares = shares(device, &report);
    Ok((report, shares))
}

#[test]
fn a_run_on_page_locked_memory_is_limited_by_the_link() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (report, [to_device, to_host, host]) = second_run(Add::new(&device)?, &device)?;
    assert_eq!(report.bytes_staged, 0);
    assert!((0.85..=1.0).contains(&to_device) && (0.85..=1.0).contains(&to_host), "{to_device} {to_host}");
    assert!(host < 0.5, "{host}");
    Ok(())
}

#[test]
fn a_run_of_small_chunks_is_limited_by_the_host() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (_, [to_device, _, host]) = second_run(Add::options(&device).chunk(4 << 10).build()?, &device)?;
    assert!(to_device < 0.5, "{to_device}");
    assert!(host > 0.9, "{host}");
    Ok(())
}

#[test]
fn what_is_in_ordinary_memory_is_staged() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = vec![1.0; LEN];
    let report = Add::new(&device)?.run(1.0, &mut y)?;
    assert_eq!(report.bytes_staged, report.bytes_to_device + report.bytes_to_host);
    assert_eq!(report.bytes_to_device, 4 * LEN as u64);
    Ok(())
}
