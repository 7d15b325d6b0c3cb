//! Programs as users write them by hand. Each has one mistake, and is tried with and without it.
//!
//! The checker knows clocks, not time, so each mistake is found in the order of time and in every other.

use super::graphs::Drawn;
use super::*;

/// Prints what was tried, past the harness, which hides the output of tests that pass.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}

/// The number of adversarial orders that each program is tried in, besides that of time.
const SEEDS: u64 = 40;

/// The program, with its mistake or without.
type Program = fn(&Rig, correct: bool) -> Result<(), String>;

/// Each program with the description of its mistake.
const PROGRAMS: &[(&str, &str, Program)] = &[
    ("a kernel reads what a copy is writing", "race", read_after_write),
    ("a copy overwrites what a kernel is reading", "race", write_after_read),
    ("two kernels write", "race", write_after_write),
    ("two copies on the device meet", "race", copies_on_the_device),
    ("an upload reads what a download is writing", "race", copies_both_ways),
    ("a fill meets a copy", "race", fill_and_copy),
    ("a host function writes what a copy reads", "race", host_function_and_copy),
    ("two host functions on one buffer", "race", two_host_functions),
    ("a kernel reads mapped memory that a host function writes", "race", mapped_memory),
    ("a slot is overwritten while the chunk before reads it", "race", slot_reused_after_read),
    ("a slot is overwritten while the chunk before writes it", "race", slot_reused_after_write),
    ("a chunk adds to a sum while the one before does", "race", sum_of_the_chunk_before),
    ("a chunk reads what the one before writes", "race", value_of_the_chunk_before),
    ("a graph without an edge", "race", edge_in_a_graph),
    ("two graphs on two streams", "race", two_graphs),
    ("a graph and an operation of another stream", "race", graph_and_operation),
    ("a wait before the event is recorded", "race", wait_before_record),
    ("a wait before the event is recorded anew", "race", wait_before_record_anew),
    ("an event recorded too early", "race", recorded_too_early),
    ("an event recorded on another stream", "race", recorded_elsewhere),
    ("another stream waits", "race", waited_elsewhere),
    ("an event that one of two readers has recorded", "race", one_of_two_readers),
    ("a chain of events with a link missing", "race", missing_link),
    ("parts that overlap by a byte", "race", overlapping_parts),
    ("a part within another", "race", part_within_another),
    ("the host waits for an event recorded too early", "race", host_waits_too_early),
    ("a stream in place of a destroyed one", "race", stream_in_place_of_another),
    ("device memory freed before it is synchronised with", "still in use", freed_on_device),
    ("pinned memory freed before it is synchronised with", "still in use", freed_on_host),
    ("the host reads a result before it has waited", "not there yet", read_on_host),
];

#[test]
fn every_mistake_is_found_in_every_order() {
    let specs = || (0..SEEDS).map(|seed| Simulation::h200().adversarial(seed)).chain([Simulation::h200()]);
    let (mut caught, mut passed) = (0, 0);
    for (name, said, program) in PROGRAMS {
        let finds = |spec| match program(&Rig::with(spec), false) {
            Ok(()) => false,
            Err(error) if error.contains(said) => true,
            Err(error) => panic!("{name}: {error}"),
        };
        caught += usize::from(specs().all(finds));
        passed += usize::from(specs().all(|spec| match program(&Rig::with(spec), true) {
            Ok(()) => true,
            Err(error) => panic!("{name}, corrected: {error}"),
        }));
    }
    let planted = PROGRAMS.len();
    say!(
        "{planted} races planted, {caught} caught, {passed} corrected programs pass ({} orders each)",
        SEEDS + 1
    );
    assert_eq!((planted, caught, passed), (30, 30, 30));
}

/// Waits for all of the streams, and returns the first failure.
fn finish(rig: &Rig, streams: &[RawStream]) -> Result<(), String> {
    let outcomes: Vec<_> = streams.iter().map(|&stream| rig.sync(stream)).collect();
    outcomes.into_iter().collect::<DriverResult<()>>().map_err(|error| error.to_string())
}

/// Runs `first` on one stream and `second` on another, with an event between them if the program is correct.
fn two(
    rig: &Rig,
    correct: bool,
    first: impl FnOnce(RawStream),
    second: impl FnOnce(RawStream),
) -> Result<(), String> {
    let (one, other, event) = (rig.stream(), rig.stream(), rig.event());
    first(one);
    if correct {
        rig.record(event, one);
        rig.wait(other, event);
    }
    second(other);
    finish(rig, &[one, other])
}

fn read_after_write(rig: &Rig, correct: bool) -> Result<(), String> {
    let (host, x) = (rig.pinned(64), rig.device(64));
    let up = |stream| rig.up(stream, tag(0, 0), x, host).unwrap();
    two(rig, correct, up, |stream| rig.kernel(stream, tag(1, 0), &[read(x, 64)]))
}

fn write_after_read(rig: &Rig, correct: bool) -> Result<(), String> {
    let (host, x) = (rig.pinned(64), rig.device(64));
    let up = |stream| rig.up(stream, tag(1, 0), x, host).unwrap();
    two(rig, correct, |stream| rig.kernel(stream, tag(0, 0), &[read(x, 64)]), up)
}

fn write_after_write(rig: &Rig, correct: bool) -> Result<(), String> {
    let x = rig.device(64);
    let kernel = |operation| move |stream| rig.kernel(stream, tag(operation, 0), &[write(x, 64)]);
    two(rig, correct, kernel(0), kernel(1))
}

fn copies_on_the_device(rig: &Rig, correct: bool) -> Result<(), String> {
    let [x, y, z] = [(); 3].map(|()| rig.device(64));
    let copy = |to, from| move |stream| rig.across(stream, tag(0, 0), to, from, 64).unwrap();
    two(rig, correct, copy(y, x), copy(z, y))
}

fn copies_both_ways(rig: &Rig, correct: bool) -> Result<(), String> {
    let (host, x, y) = (rig.pinned(64), rig.device(64), rig.device(64));
    let down = |stream| rig.down(stream, tag(0, 0), host, x).unwrap();
    two(rig, correct, down, |stream| rig.up(stream, tag(1, 0), y, host).unwrap())
}

fn fill_and_copy(rig: &Rig, correct: bool) -> Result<(), String> {
    let (host, x) = (rig.pinned(64), rig.device(64));
    // SAFETY: see `Rig`.
    let fill = |stream| unsafe {
        rig.sim.enqueue(Command::Fill { to: x, pattern: &[7], count: 64 }, stream, tag(0, 0)).unwrap();
    };
    two(rig, correct, fill, |stream| rig.up(stream, tag(1, 0), x, host).unwrap())
}

fn host_function_and_copy(rig: &Rig, correct: bool) -> Result<(), String> {
    let (host, x) = (rig.pinned(64), rig.device(64));
    let at = rig.address(host);
    let function = |stream| rig.host(stream, tag(0, 0), &[write(at, 64)], || {}).unwrap();
    two(rig, correct, function, |stream| rig.up(stream, tag(1, 0), x, host).unwrap())
}

fn two_host_functions(rig: &Rig, correct: bool) -> Result<(), String> {
    let at = rig.address(rig.pinned(64));
    let function =
        |operation| move |stream| rig.host(stream, tag(operation, 0), &[write(at, 64)], || {}).unwrap();
    two(rig, correct, function(0), function(1))
}

fn mapped_memory(rig: &Rig, correct: bool) -> Result<(), String> {
    let at = rig.address(rig.pinned(64));
    let function = |stream| rig.host(stream, tag(0, 0), &[write(at, 64)], || {}).unwrap();
    two(rig, correct, function, |stream| rig.kernel(stream, tag(1, 0), &[read(at, 64)]))
}

/// A ring of two slots: each chunk is copied in, changed on another stream, and copied out on a third.
fn ring(rig: &Rig, chunks: u64, waits: [bool; 3], in_place: bool) -> Result<(), String> {
    let [up, work, down] = [(); 3].map(|()| rig.stream());
    let [loaded, worked, stored] = [(); 3].map(|()| [rig.event(), rig.event()]);
    let (from, to, slots) = (rig.pinned(32), rig.pinned(32), rig.device(64));
    let [changed, reused, before] = waits;
    for chunk in 0..chunks {
        let slot = chunk as usize % 2;
        let at = slots.offset(32 * slot);
        if reused {
            rig.wait(up, if in_place { worked[slot] } else { stored[slot] });
        }
        if before {
            rig.wait(up, worked[1 - slot]);
        }
        rig.up(up, tag(0, chunk), at, from).unwrap();
        rig.record(loaded[slot], up);
        if changed {
            rig.wait(work, loaded[slot]);
        }
        rig.kernel(work, tag(1, chunk), &[read(at, 32), write(at, 32)]);
        rig.record(worked[slot], work);
        if !in_place {
            rig.wait(down, worked[slot]);
            rig.down(down, tag(2, chunk), to, at).unwrap();
            rig.record(stored[slot], down);
        }
    }
    finish(rig, &[up, work, down])
}

fn slot_reused_after_read(rig: &Rig, correct: bool) -> Result<(), String> {
    ring(rig, 2, [true, false, false], false)?;
    ring(rig, 5, [true, correct, false], false)
}

fn slot_reused_after_write(rig: &Rig, correct: bool) -> Result<(), String> {
    ring(rig, 2, [true, false, false], true)?;
    // The event of the chunk before belongs to another slot: it orders this chunk's work with that of the
    // chunk before that.
    ring(rig, 5, [true, false, true], true)?;
    ring(rig, 5, [true, correct, false], true)
}

/// Chunks on the streams of their slots. Each does the same to `shared`.
fn chunks_on_slots(rig: &Rig, waits: bool, accesses: impl Fn(u64) -> Vec<Access>) -> Result<(), String> {
    let streams = [rig.stream(), rig.stream()];
    let events = [rig.event(), rig.event()];
    for chunk in 0..4 {
        let slot = chunk as usize % 2;
        if waits {
            rig.wait(streams[slot], events[1 - slot]);
        }
        rig.kernel(streams[slot], tag(0, chunk), &accesses(chunk));
        rig.record(events[slot], streams[slot]);
    }
    finish(rig, &streams)
}

fn sum_of_the_chunk_before(rig: &Rig, correct: bool) -> Result<(), String> {
    let sum = rig.device(8);
    chunks_on_slots(rig, correct, |_| vec![read(sum, 8), write(sum, 8)])
}

fn value_of_the_chunk_before(rig: &Rig, correct: bool) -> Result<(), String> {
    let values = rig.device(5 * 8);
    let value = |chunk: u64| values.offset(8 * chunk as usize);
    chunks_on_slots(rig, correct, |chunk| vec![read(value(chunk), 8), write(value(chunk + 1), 8)])
}

fn edge_in_a_graph(rig: &Rig, correct: bool) -> Result<(), String> {
    let (stream, x) = (rig.stream(), rig.device(64));
    let mut graph = Drawn::default();
    let first = graph.node(0, &[], &[write(x, 64)], || {});
    graph.node(1, &[first][..usize::from(correct)], &[read(x, 64)], || {});
    graph.launch(rig, stream).unwrap();
    finish(rig, &[stream])
}

fn two_graphs(rig: &Rig, correct: bool) -> Result<(), String> {
    let x = rig.device(64);
    let graph = |operation| {
        move |stream| {
            let mut graph = Drawn::default();
            let begin = graph.node(operation, &[], &[], || {});
            graph.node(operation + 1, &[begin], &[write(x, 64)], || {});
            graph.launch(rig, stream).unwrap();
        }
    };
    two(rig, correct, graph(0), graph(2))
}

fn graph_and_operation(rig: &Rig, correct: bool) -> Result<(), String> {
    let (host, x) = (rig.pinned(64), rig.device(64));
    let graph = |stream| {
        let mut graph = Drawn::default();
        graph.node(0, &[], &[write(x, 64)], || {});
        graph.launch(rig, stream).unwrap();
    };
    two(rig, correct, graph, |stream| rig.down(stream, tag(1, 0), host, x).unwrap())
}

fn wait_before_record(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, event, x) = (rig.stream(), rig.stream(), rig.event(), rig.device(64));
    if !correct {
        rig.wait(other, event);
    }
    rig.kernel(one, tag(0, 0), &[write(x, 64)]);
    rig.record(event, one);
    if correct {
        rig.wait(other, event);
    }
    rig.kernel(other, tag(1, 0), &[read(x, 64)]);
    finish(rig, &[one, other])
}

/// The wait finds the record of the chunk before.
fn wait_before_record_anew(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, event, x) = (rig.stream(), rig.stream(), rig.event(), rig.device(64));
    for chunk in 0..2 {
        let at = x.offset(32 * chunk as usize);
        if !correct && chunk == 1 {
            rig.wait(other, event);
        }
        rig.kernel(one, tag(0, chunk), &[write(at, 32)]);
        rig.record(event, one);
        if correct || chunk == 0 {
            rig.wait(other, event);
        }
        rig.kernel(other, tag(1, chunk), &[read(at, 32)]);
    }
    finish(rig, &[one, other])
}

fn recorded_too_early(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, event, x) = (rig.stream(), rig.stream(), rig.event(), rig.device(64));
    if !correct {
        rig.record(event, one);
    }
    rig.kernel(one, tag(0, 0), &[write(x, 64)]);
    if correct {
        rig.record(event, one);
    }
    rig.wait(other, event);
    rig.kernel(other, tag(1, 0), &[read(x, 64)]);
    finish(rig, &[one, other])
}

fn recorded_elsewhere(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, event, x) = (rig.stream(), rig.stream(), rig.event(), rig.device(64));
    rig.kernel(one, tag(0, 0), &[write(x, 64)]);
    rig.record(event, if correct { one } else { other });
    rig.wait(other, event);
    rig.kernel(other, tag(1, 0), &[write(x, 64)]);
    finish(rig, &[one, other])
}

fn waited_elsewhere(rig: &Rig, correct: bool) -> Result<(), String> {
    let [one, other, third] = [(); 3].map(|()| rig.stream());
    let (event, x) = (rig.event(), rig.device(64));
    rig.kernel(one, tag(0, 0), &[write(x, 64)]);
    rig.record(event, one);
    rig.wait(if correct { other } else { third }, event);
    rig.kernel(other, tag(1, 0), &[write(x, 64)]);
    finish(rig, &[one, other, third])
}

fn one_of_two_readers(rig: &Rig, correct: bool) -> Result<(), String> {
    let [load, one, other] = [(); 3].map(|()| rig.stream());
    let [loaded, read_once, read_twice] = [(); 3].map(|()| rig.event());
    let x = rig.device(64);
    rig.kernel(load, tag(0, 0), &[write(x, 64)]);
    rig.record(loaded, load);
    for (operation, stream, event) in [(1, one, read_once), (2, other, read_twice)] {
        rig.wait(stream, loaded);
        rig.kernel(stream, tag(operation, 0), &[read(x, 64)]);
        rig.record(event, stream);
    }
    rig.wait(load, read_once);
    if correct {
        rig.wait(load, read_twice);
    }
    rig.kernel(load, tag(0, 1), &[write(x, 64)]);
    finish(rig, &[load, one, other])
}

fn missing_link(rig: &Rig, correct: bool) -> Result<(), String> {
    let [one, middle, last] = [(); 3].map(|()| rig.stream());
    let (first, second, x) = (rig.event(), rig.event(), rig.device(64));
    rig.kernel(one, tag(0, 0), &[write(x, 64)]);
    rig.record(first, one);
    if correct {
        rig.wait(middle, first);
    }
    rig.kernel(middle, tag(1, 0), &[]);
    rig.record(second, middle);
    rig.wait(last, second);
    rig.kernel(last, tag(2, 0), &[read(x, 64)]);
    finish(rig, &[one, middle, last])
}

/// Two parts. The second begins at byte 32, or one byte earlier.
fn overlapping_parts(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, x) = (rig.stream(), rig.stream(), rig.device(64));
    let start = if correct { 32 } else { 31 };
    rig.kernel(one, tag(0, 0), &[write(x, 32)]);
    rig.kernel(other, tag(1, 0), &[write(x.offset(start), 64 - start)]);
    finish(rig, &[one, other])
}

/// A part in the middle of bytes that were read in two parts, or of the gap between them.
fn part_within_another(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, x) = (rig.stream(), rig.stream(), rig.device(64));
    let gap = if correct { 8 } else { 0 };
    rig.kernel(one, tag(0, 0), &[read(x, 28), read(x.offset(28 + gap), 36 - gap)]);
    rig.kernel(other, tag(1, 0), &[write(x.offset(28), 8)]);
    finish(rig, &[one, other])
}

fn host_waits_too_early(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other, event, x) = (rig.stream(), rig.stream(), rig.event(), rig.device(64));
    if !correct {
        rig.record(event, one);
    }
    rig.kernel(one, tag(0, 0), &[write(x, 64)]);
    if correct {
        rig.record(event, one);
    }
    rig.sync_event(event).unwrap();
    rig.kernel(other, tag(1, 0), &[read(x, 64)]);
    finish(rig, &[one, other])
}

fn stream_in_place_of_another(rig: &Rig, correct: bool) -> Result<(), String> {
    let (old, x) = (rig.stream(), rig.device(64));
    rig.kernel(old, tag(0, 0), &[write(x, 64)]);
    if correct {
        rig.sync(old).unwrap();
    }
    rig.destroy(old);
    let new = rig.stream();
    rig.kernel(new, tag(1, 0), &[write(x, 64)]);
    finish(rig, &[new])
}

fn freed_on_device(rig: &Rig, correct: bool) -> Result<(), String> {
    let (stream, x) = (rig.stream(), rig.device(64));
    rig.kernel(stream, tag(0, 0), &[write(x, 64)]);
    if correct {
        finish(rig, &[stream])?;
    }
    rig.free(x).map_err(|error| error.to_string())
}

/// There are two copies from the memory, and the mistake is that the host has waited for only one of them.
fn freed_on_host(rig: &Rig, correct: bool) -> Result<(), String> {
    let (one, other) = (rig.stream(), rig.stream());
    let (host, x, y) = (rig.pinned(64), rig.device(64), rig.device(64));
    rig.up(one, tag(0, 0), x, host).unwrap();
    rig.up(other, tag(1, 0), y, host).unwrap();
    finish(rig, &[one, other][..1 + usize::from(correct)])?;
    rig.free_pinned(host).map_err(|error| error.to_string())
}

/// Even waiting for another stream does not guarantee the result.
fn read_on_host(rig: &Rig, correct: bool) -> Result<(), String> {
    let (stream, host, x) = (rig.stream(), rig.pinned(64), rig.device(64));
    rig.launch(stream, tag(0, 0), &[write(x, 64)], fill(x, 64, 3)).unwrap();
    rig.down(stream, tag(1, 0), host, x).unwrap();
    if correct {
        finish(rig, &[stream])?;
    }
    if rig.get(host) == [3; 64] { Ok(()) } else { Err("the result is not there yet".to_owned()) }
}
