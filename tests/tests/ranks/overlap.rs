//! Gradients travel while those of the layers before are computed.

use std::time::Duration;

use thalweg::prelude::*;
use thalweg::sim::{LinkModel, MachineModel, SimulatedMachine, ranks};
use thalweg::timeline::Engine;

use super::{gradient, sgd};

const WEIGHTS: usize = 1 << 14;

/// The machine is so many times slower than an H200, and the network smaller, so that the test is quick.
const SLOWER: f64 = 16.0;

stream_pipeline! {
    /// A pair of stages for each layer.
    pipeline Train {
        input x: [f32];
        carry w1: [f32; WEIGHTS];
        carry w2: [f32; WEIGHTS];
        carry w3: [f32; WEIGHTS];
        device g1: [f32; WEIGHTS] per chunk;
        device g2: [f32; WEIGHTS] per chunk;
        device g3: [f32; WEIGHTS] per chunk;
        chunk c = 1;
        stream math;
        stream comm;
        stage load on math { copy x -> _d; }
        stage back3 on math { repeat 4 { gradient<<<blocks(WEIGHTS, 256), 256>>>(&w3, out g3); } }
        stage share3 on comm { all_reduce mean g3; }
        stage back2 on math { repeat 4 { gradient<<<blocks(WEIGHTS, 256), 256>>>(&w2, out g2); } }
        stage share2 on comm { all_reduce mean g2; }
        stage back1 on math { repeat 4 { gradient<<<blocks(WEIGHTS, 256), 256>>>(&w1, out g1); } }
        stage share1 on comm { all_reduce mean g1; }
        stage step on math {
            sgd<<<blocks(WEIGHTS, 256), 256>>>(&g3, &mut w3);
            sgd<<<blocks(WEIGHTS, 256), 256>>>(&g2, &mut w2);
            sgd<<<blocks(WEIGHTS, 256), 256>>>(&g1, &mut w1);
        }
    }
}

const STEPS: usize = 8;

/// The time of a step on four ranks whose links have this rate, and the least that it could take: the longer of
/// computation and communication, and the last layer's share, which nothing hides.
fn step(rate: f64) -> (Duration, Duration) {
    let mut machine = MachineModel::h200(4);
    machine.links = LinkModel::mesh(4, rate / SLOWER, Duration::from_micros(3));
    machine.devices.iter_mut().for_each(|device| device.memory_rate /= SLOWER);
    let all = ranks(SimulatedMachine::from(machine), |world| {
        let mut w = [(); 3].map(|()| vec![1.0; WEIGHTS]);
        let [w1, w2, w3] = &mut w;
        let mut train = Train::options(&world.device()?).world(world).build()?;
        let timeline = train.profile(&[0.0; STEPS], w1, w2, w3)?;
        // Every step multiplies by 0.95.
        assert!(w.iter().flatten().all(|w| (w - 0.95_f32.powi(STEPS as i32)).abs() < 1e-5));
        let of = |engine: Engine| timeline.spans.iter().filter(move |span| span.engine == engine);
        let sum = |engine| of(engine).map(|span| span.end - span.start).sum::<Duration>();
        let last = of(Engine::Network).map(|span| span.end - span.start).max().unwrap_or_default();
        let first = timeline.spans.iter().find(|span| span.engine == Engine::Compute).map(|span| span.start);
        let end = timeline.spans.iter().map(|span| span.end).max();
        let took = end.zip(first).map(|(end, first)| end - first).unwrap_or_default();
        let least = sum(Engine::Compute).max(sum(Engine::Network)) / STEPS as u32 + last;
        Ok::<_, Error>((took / STEPS as u32, least))
    });
    let all: Vec<_> = all.into_iter().map(|one| one.unwrap_or_else(|error| panic!("{error}"))).collect();
    all[0]
}

#[test]
fn communication_is_hidden_behind_computation_or_the_other_way_round() {
    for rate in [2e12, 450e9, 100e9] {
        let (took, least) = step(rate);
        let ratio = took.as_secs_f64() / least.as_secs_f64();
        assert!(
            ratio <= 1.1,
            "{rate:.0e} bytes a second: {took:?} a step, and {least:?} at least: {ratio:.3}"
        );
    }
}
