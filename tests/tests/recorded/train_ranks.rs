//! The calls that the example `train_ranks` makes of NCCL, cuBLAS and CUDA's driver on two ranks: the first steps of
//! its training.

use thalweg::World;
use thalweg::prelude::*;
use thalweg_tests::stubs::{Stubs, is_child};

use super::ranks::{LEFT, LIMIT, TRIED, WAITS, is_collective, of_nccl, of_rank, ranks};

#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../../../examples/examples/train_ranks/digits.rs"]
mod digits;
#[allow(dead_code, reason = "the example uses more of it")]
#[path = "../../../examples/examples/train_ranks/network.rs"]
mod network;

use digits::Digits;
use network::{BATCH, FIRST, SECOND, Train};

const STUBS: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-train-ranks"),
    libraries: &["libcuda", "libnvrtc", "libnccl", "libcublas", "libcublasLt"],
    flags: &["-DWRITE_VALUE"],
    broken: &[],
};

const STEPS: usize = 8;
/// The slots of the ring.
const DEPTH: usize = 5;

fn train(world: &World, device: &Device) -> thalweg::Result<()> {
    let mut train = Train::options(device).world(world).depth(DEPTH).build()?;
    let Digits { images, labels } = Digits::draw(1, 0..STEPS * BATCH / world.size());
    let (mut loss, mut first, mut second) = ([0.0; STEPS], vec![0.0; FIRST], vec![0.0; SECOND]);
    train.run(0.3, &images, &labels, &mut loss, &mut first, &mut second)?;
    Ok(())
}

/// What a line has before its addresses, and its stream.
fn call_and_stream(line: &str) -> (&str, &str) {
    let word = |at: Option<usize>| at.map_or(line, |at| &line[..at]);
    (word(line.find(' ')), line.rsplit(' ').next().unwrap_or_default())
}

#[test]
fn gradients_travel_while_the_next_ones_are_computed() {
    if is_child() {
        ranks(LIMIT, train).into_iter().collect::<thalweg::Result<Vec<_>>>().expect("no rank fails");
        return;
    }
    let variables = [("THALWEG_GPUS", "2"), ("THALWEG_WHICH", "1"), ("THALWEG_DEVICE", "cuda:all")];
    let record = STUBS.run_again("gradients_travel_while_the_next_ones_are_computed", &variables);
    for rank in 0..2 {
        let lines = of_rank(&record, rank, TRIED);
        let posts: Vec<usize> = (0..lines.len()).filter(|&line| is_collective(&lines[line])).collect();
        // The weights once; then in each step the gradient of the second layer, that of the first, and the loss. All are
        // on one stream, in this order, each by itself.
        let calls: Vec<_> = posts.iter().map(|&post| call_and_stream(&lines[post])).collect();
        let in_step = ["ncclAllReduce", "ncclAllReduce", "ncclReduce"];
        let expected = ["ncclBroadcast"; 2].into_iter().chain(in_step.into_iter().cycle().take(3 * STEPS));
        assert!(expected.map(|call| (call, calls[0].1)).eq(calls.iter().copied()), "{lines:#?}");
        assert_eq!(
            of_nccl(&lines).len(),
            posts.len() + LEFT.len(),
            "nothing but these and the end: {lines:#?}"
        );

        // What may let the driver wait for the device, and the collectives that the host has waited for until then.
        let last = posts[posts.len() - 1];
        let mut waited = 0;
        for (at, line) in lines[..last].iter().enumerate() {
            let posted = posts.iter().filter(|&&post| post < at).count();
            if *line == format!("cuStreamSynchronize {}", calls[0].1) {
                waited = posted;
                let in_slot = (posted - 2) / 3;
                assert!(in_slot < DEPTH, "the first chunk of each slot alone is waited for: {lines:#?}");
            } else if WAITS.iter().any(|call| line.starts_with(call)) {
                assert_eq!(waited, posted, "`{line}` waits for a collective: {lines:#?}");
            }
        }
        assert_eq!(
            waited,
            2 + 3 * (DEPTH - 1),
            "nothing is made after the last slot's first chunk: {lines:#?}"
        );

        // An event of the stream that counts collectives comes first.
        let event_of = |line: &str| line.strip_prefix("cuEventRecord ")?.split(' ').next().map(str::to_owned);
        let counter = event_of(&lines[posts[0] + 1]).expect("an event");
        // Between the two gradients of a step the first layer's is computed, on a stream that does not wait for the
        // second layer's to arrive before the step is made of both.
        for step in posts[2..].chunks(3) {
            let between = &lines[step[0]..step[1]];
            let kernel = between.iter().position(|line| line.contains("through_tanh")).expect("a kernel");
            let records = |line: &&String| event_of(line).is_some_and(|event| event != counter);
            let arrives = between.iter().find(records).expect("an event");
            let event = event_of(arrives).expect("it is one");
            assert!(arrives.ends_with(calls[0].1), "{between:#?}");
            let waits = lines[step[0]..].iter().position(|line| {
                line.starts_with("cuStreamWaitEvent ") && line.ends_with(&format!(" {event}"))
            });
            assert!(waits.is_some_and(|waits| step[0] + waits > step[2] && kernel < waits), "{between:#?}");
        }
    }
}
