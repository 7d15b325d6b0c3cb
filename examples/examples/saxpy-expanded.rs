//! `saxpy.rs` without the macro: the same copies, launches, waits and records in the same order, on streams
//! by hand.
//!
//! ```text
//! cargo run --release --example saxpy-expanded
//! ```
//!
//! Each line says why it is there: the race, stall or mistake that would occur without it. A race is refused
//! here (`ErrorKind::Race`, with both lines); CUDA C++ would carry it out, and the result would depend on how
//! long things take. The driver calls are compared with the pipeline's in
//! `tests/tests/recorded/pipelines/by_hand.rs`.
//!
//! | in `saxpy.rs` | here |
//! | --- | --- |
//! | `#[kernel]` | the same |
//! | `stream up: high; stream math; stream down: low;` | `up`, `math` and `down` |
//! | `depth = 3;` | `DEPTH` |
//! | `chunk c = auto;` | `CHUNK`: a number, since nothing here works one out |
//! | `input x: [f32]; inout y: [f32];` | page-locked memory; to stage ordinary memory would be more code than all of this |
//! | the `dx` and `dy` that the copies declare | `dx` and `dy`, of which each chunk has its `slot` |
//! | the events, which nobody writes | `Marks` |
//! | `Saxpy::new` | `ByHand::new` |
//! | `stage load`, `stage axpy`, `stage store` | the three paragraphs of the loop in `enqueue` |
//! | the end of `run` | what `run` does after `enqueue` |

use std::time::Duration;

use thalweg::prelude::*;
use thalweg::streams::{Event, Priority, Stream};

/// The program that this one stands beside, for its pipeline's results.
#[path = "saxpy.rs"]
#[allow(dead_code, reason = "its `main` is the other example's")]
pub mod with_the_macro;

/// The kernel: here the two programs are the same.
#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

/// Chunks under way at once: one comes in, one is computed, one goes out. With two slots one of these would
/// have to wait.
const DEPTH: usize = 3;

/// Items of a chunk. One large chunk would overlap with nothing; thousands of small ones would cost more in
/// calls than in copies. A multiple of 32, so that each slot begins at a multiple of 128 bytes, a cache line,
/// as the first one does (CUDA allocates at multiples of 256): else each load of a warp would touch a line
/// more.
pub const CHUNK: usize = 1 << 17;

/// How far the chunk in a ring slot is. Each slot has one set: with one set for all, `up` would wait for the
/// chunk before, not for the one that had the slot, and the two would not overlap.
struct Marks {
    load_done: Event,
    axpy_done: Event,
    store_done: Event,
}

impl Marks {
    fn new(device: &Device) -> thalweg::Result<Self> {
        // Without timing: each record of an event that tells the time costs more.
        let event = || Event::new(device);
        Ok(Self { load_done: event()?, axpy_done: event()?, store_done: event()? })
    }
}

/// The parts that last from run to run.
pub struct ByHand {
    up: Stream,
    math: Stream,
    down: Stream,
    saxpy: saxpy,
    dx: DeviceBuf<f32>,
    dy: DeviceBuf<f32>,
    ring: Vec<Marks>,
}

impl ByHand {
    /// Makes all of this before the first run: allocating or freeing device memory between operations may
    /// make them wait.
    pub fn new(device: &Device) -> thalweg::Result<Self> {
        Ok(Self {
            // Not the null stream: streams made without the non-blocking flag, also those of other libraries,
            // wait for it, and it waits for them. The priority is as declared. It decides whose blocks go
            // first where two kernels could, so for a stream of copies it does nothing.
            up: Stream::with_priority(device, Priority::High)?,
            // Not `up` again: the copies of chunk 1 would wait for the kernel of chunk 0.
            math: Stream::new(device)?,
            // Not `up` either: they would wait for the copy out of chunk 0, though the link carries data both
            // ways at once.
            down: Stream::with_priority(device, Priority::Low)?,
            // Otherwise CUDA may load the kernel at its first launch, while everything behind it waits.
            saxpy: saxpy::load(device)?,
            // Memory for `DEPTH` chunks, not for all items, which need not fit on the device.
            dx: DeviceBuf::zeroed(device, DEPTH * CHUNK)?,
            // This is not `dx` again: the kernel needs both.
            dy: DeviceBuf::zeroed(device, DEPTH * CHUNK)?,
            ring: (0..DEPTH).map(|_| Marks::new(device)).collect::<thalweg::Result<_>>()?,
        })
    }

    // ANCHOR: run
    /// `y <- a * x + y`, chunk by chunk.
    ///
    /// # Panics
    /// `x` and `y` are not of one length.
    pub fn run(&mut self, a: f32, x: &PinnedBuf<f32>, y: &mut PinnedBuf<f32>) -> thalweg::Result<()> {
        // A longer `y` would keep its old numbers at the end, and nobody would notice.
        assert_eq!(x.len(), y.len(), "`x` and `y` have as many items");
        let enqueued = self.enqueue(a, x, y);

        // So far everything is only enqueued: the caller would read `y` too early (in CUDA C++; here a read
        // of `y` waits). The last copy out comes after all else, so `down` would do; but here each stream
        // tells what failed on it. (In CUDA, what a kernel does wrong is an error of the whole context.) All
        // of them come before any `?`: also after an error, the next run takes the slots for free.
        let ended = [&self.up, &self.math, &self.down].map(Stream::synchronize);
        enqueued?;
        ended.into_iter().collect()
    }

    fn enqueue(&mut self, a: f32, x: &PinnedBuf<f32>, y: &mut PinnedBuf<f32>) -> thalweg::Result<()> {
        let Self { up, math, down, saxpy, dx, dy, ring } = self;
        for (c, start) in (0..x.len()).step_by(CHUNK).enumerate() {
            // The last chunk may be shorter: a full one would reach beyond the end.
            let items = start..(start + CHUNK).min(x.len());
            let n = items.len();
            // In turn, so that a chunk gets the slot that has been in use for longest.
            let (marks, first) = (&ring[c % DEPTH], c % DEPTH * CHUNK);
            // As long as the chunk: copies are between memory of one length.
            let slot = first..first + n;
            // The first chunks of a run find their slots free: their events stand for the run before, which
            // is over even if it failed.
            let used_before = c >= DEPTH;

            // stage load on up { copy x -> dx;  copy y -> dy; }
            if used_before {
                // Write after read: chunk `c - 3` had the slot, and its kernel may still read `dx`.
                // `store_done` would be right, too, but `x` would then wait for a copy out that does not
                // concern it.
                up.wait(&marks.axpy_done)?;
            }
            // This returns at once, since `x` is page-locked: the host would have to copy ordinary memory
            // first.
            up.upload(x.slice(items.clone())?, dx.slice_mut(slot.clone())?)?;
            if used_before {
                // Write after read: the results of chunk `c - 3` may still be on their way out of `dy`, and
                // would be overwritten. This wait is easily forgotten: without it, all is well up to the
                // third chunk.
                up.wait(&marks.store_done)?;
            }
            // The chunk's `y` as it was, which the kernel adds to.
            up.upload(y.slice(items.clone())?, dy.slice_mut(slot.clone())?)?;
            // This comes after both copies: before the second, `math` would not wait for `dy`.
            up.record(&marks.load_done)?;

            // stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
            //
            // Read after write: the kernel would read what was in the slot before.
            math.wait(&marks.load_done)?;
            // Blocks are rounded up: `n / 256` of them would leave out up to 255 items.
            let config = math.config(blocks(n, 256), 256, 0);
            // The kernel gets the slot's items alone, and knows their number: the last block may have more
            // threads than there are items left, and `get_mut` gives those no element.
            saxpy.launch(config, a, dx.slice(slot.clone())?, dy.slice_mut(slot.clone())?)?;
            // Two streams wait for it: `down` for the results, and `up`, three chunks on, to have `dx` for
            // itself.
            math.record(&marks.axpy_done)?;

            // stage store on down { copy dy -> y; }
            //
            // Read after write: the copy would take what is not computed yet. It also comes after the copy of
            // the same part of `y` on its way in then, since the kernel does.
            down.wait(&marks.axpy_done)?;
            // Into the same items: `y` is in and out.
            down.download(dy.slice(slot)?, y.slice_mut(items)?)?;
            // `up` waits for it, three chunks on. Nothing waits for those of the last three chunks; leaving
            // them out takes an `if`.
            down.record(&marks.store_done)?;
        }
        Ok(())
    }
    // ANCHOR_END: run
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open()?;
    let x: Vec<f32> = (0..1_000_000).map(|i| (i % 1009) as f32 / 7.0).collect();
    let x = PinnedBuf::from_slice(&device, &x)?;
    let mut y = PinnedBuf::from_slice(&device, &vec![2.0; x.len()])?;
    let mut expected = PinnedBuf::from_slice(&device, &y)?;

    let mut pipeline = with_the_macro::Saxpy::options(&device).chunk(CHUNK).build()?;
    let mut by_hand = ByHand::new(&device)?;
    let (mut piped_for, mut by_hand_for) = (Duration::ZERO, Duration::ZERO);
    // The first runs warm up.
    for _ in 0..2 {
        piped_for = stopwatch(&device, || pipeline.run(3.0, &x, &mut expected).map(drop))?;
        by_hand_for = stopwatch(&device, || by_hand.run(3.0, &x, &mut y))?;
    }
    println!("{} items in chunks of {CHUNK}, on {}", y.len(), device.name());
    for (way, time) in [("pipeline", piped_for), ("by hand", by_hand_for)] {
        println!("  {way:<9} {:>7.1} us", time.as_secs_f64() * 1e6);
    }
    let wrong =
        y.iter().zip(expected.iter()).filter(|(y, expected)| y.to_bits() != expected.to_bits()).count();
    println!("{wrong} results differ, bit for bit");
    if wrong == 0 { Ok(()) } else { Err("by hand, something is wrong".into()) }
}

/// How long some work takes on the device's clock.
fn stopwatch(device: &Device, work: impl FnOnce() -> thalweg::Result<()>) -> thalweg::Result<Duration> {
    let clock = Stream::new(device)?;
    let (start, stop) = (Event::with_timing(device)?, Event::with_timing(device)?);
    clock.record(&start)?;
    work()?;
    clock.record(&stop)?;
    stop.synchronize()?;
    start.elapsed(&stop)
}
