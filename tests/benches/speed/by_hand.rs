//! The same ring by hand, over [`thalweg::streams`].

use std::time::Instant;

use thalweg::prelude::*;
use thalweg::streams::{Event, Stream};

use crate::measure::{Contender, Output, Sample};
use crate::pipelines::step;

/// One slot of a ring, with the events that say how far it is.
struct Slot {
    x: DeviceBuf<f32>,
    z: DeviceBuf<f32>,
    loaded: Event,
    stepped: Event,
    stored: Event,
}

/// A stream for each stage and events between them, checked for races or not.
pub fn by_stage<'a>(
    device: &Device,
    checked: bool,
    chunk: usize,
    depth: usize,
    iterations: u32,
) -> thalweg::Result<Contender<'a>> {
    let stream = || {
        let stream = Stream::new(device)?;
        // SAFETY: the events order what the slots are used for, as the checked contender shows.
        Ok(if checked { stream } else { unsafe { stream.unchecked() } })
    };
    let [up, math, down]: [thalweg::Result<Stream>; 3] = [stream(), stream(), stream()];
    let (up, math, down, kernel) = (up?, math?, down?, step::load(device)?);
    let slot = || {
        let buffer = || DeviceBuf::zeroed(device, chunk);
        let [loaded, stepped, stored] = [Event::new(device), Event::new(device), Event::new(device)];
        Ok(Slot { x: buffer()?, z: buffer()?, loaded: loaded?, stepped: stepped?, stored: stored? })
    };
    let mut slots = (0..depth).map(|_| slot()).collect::<thalweg::Result<Vec<_>>>()?;
    let name = if checked { "Thalweg, streams by hand" } else { "Thalweg, streams by hand, unchecked" };
    Ok(Contender::new(name, Output::Pinned, move |data| {
        let (start, len) = (Instant::now(), data.x.len());
        for (c, begin) in (0..len).step_by(chunk).enumerate() {
            let (part, n) = (begin..len.min(begin + chunk), chunk.min(len - begin));
            let Slot { x, z, loaded, stepped, stored } = &mut slots[c % depth];
            up.wait(stepped)?;
            up.upload(data.x.slice(part.clone())?, x.slice_mut(..n)?)?;
            up.record(loaded)?;
            math.wait(loaded)?;
            math.wait(stored)?;
            kernel.launch(math.config(blocks(n, 256), 256, 0), n as u32, iterations, &*x, &mut *z)?;
            math.record(stepped)?;
            down.wait(stepped)?;
            down.download(z.slice(..n)?, data.z.slice_mut(part)?)?;
            down.record(stored)?;
        }
        let enqueue = start.elapsed().as_secs_f64() / len.div_ceil(chunk) as f64;
        for stream in [&up, &math, &down] {
            stream.synchronize()?;
        }
        Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: Some(enqueue) })
    }))
}
