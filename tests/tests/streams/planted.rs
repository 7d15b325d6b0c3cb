//! Programs by hand with one mistake each: streams refuse them. If the streams do not check, the simulated
//! device finds the mistake in every order. The two share no code.

use std::cell::Cell;

use thalweg::__private::Detail;
use thalweg::explore::{Explore, explore};
use thalweg::kernel::blocks;
use thalweg::sim::Simulation;
use thalweg::streams::{Event, Rectangle, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf, Result};
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::random::Random;

/// Says what was tried, past the harness, which keeps what a test that passes prints.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}

const N: usize = 64;
const ORDERS: u64 = 40;

/// A device whose streams check, or do not.
struct Rig<'a> {
    device: &'a Device,
    checked: bool,
    /// Whether the program is without its mistake.
    correct: bool,
}

impl Rig<'_> {
    fn stream(&self) -> Stream {
        self.look(Stream::new(self.device).expect("a stream"))
    }

    fn look(&self, stream: Stream) -> Stream {
        // SAFETY: the simulated device carries out nothing that races, and reports it.
        if self.checked { stream } else { unsafe { stream.unchecked() } }
    }

    fn event(&self) -> Event {
        Event::new(self.device).expect("an event")
    }

    fn buffer(&self) -> DeviceBuf<f32> {
        let buffer = DeviceBuf::from_slice(self.device, &[1.0; N]);
        buffer.expect("memory")
    }

    fn pinned(&self) -> PinnedBuf<f32> {
        PinnedBuf::from_slice(self.device, &[1.0; N]).expect("memory")
    }

    fn add(&self, stream: &Stream, x: &mut DeviceBuf<f32>) -> Result<()> {
        add_to::load(self.device)?.launch(stream.config(blocks(N, 32), 32, 0), N as u32, 1.0, x)
    }

    fn axpy(&self, stream: &Stream, x: &DeviceBuf<f32>, y: &mut DeviceBuf<f32>) -> Result<()> {
        axpy_each::load(self.device)?.launch(stream.config(blocks(N, 32), 32, 0), N as u32, 1.0, x, y)
    }

    /// The second stream comes after the first, if it is correct.
    fn order(&self, first: &Stream, second: &Stream) -> Result<()> {
        if self.correct { second.wait_stream(first) } else { Ok(()) }
    }

    /// Waits for all of them, and returns the first error.
    fn finish(&self, streams: &[&Stream]) -> Result<()> {
        let outcomes: Vec<_> = streams.iter().map(|stream| stream.synchronize()).collect();
        outcomes.into_iter().collect()
    }
}

type Program = fn(&Rig<'_>) -> Result<()>;

const PROGRAMS: &[(&str, Program)] = &[
    ("a kernel reads what a copy is writing", |rig| {
        let (one, other, host) = (rig.stream(), rig.stream(), rig.pinned());
        let (mut x, mut y) = (rig.buffer(), rig.buffer());
        one.upload(&host, &mut x)?;
        rig.order(&one, &other)?;
        rig.axpy(&other, &x, &mut y)?;
        rig.finish(&[&one, &other])
    }),
    ("a copy overwrites what a kernel is reading", |rig| {
        let (one, other, host) = (rig.stream(), rig.stream(), rig.pinned());
        let (mut x, mut y) = (rig.buffer(), rig.buffer());
        rig.axpy(&one, &x, &mut y)?;
        rig.order(&one, &other)?;
        other.upload(&host, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("two kernels write", |rig| {
        let (one, other, mut x) = (rig.stream(), rig.stream(), rig.buffer());
        rig.add(&one, &mut x)?;
        rig.order(&one, &other)?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("two fills meet", |rig| {
        let (one, other, mut x) = (rig.stream(), rig.stream(), rig.buffer());
        one.fill(&mut x, 1.0)?;
        rig.order(&one, &other)?;
        other.fill(x.slice_mut(N - 1..)?, 2.0)?;
        rig.finish(&[&one, &other])
    }),
    ("copies on the device meet", |rig| {
        let (one, other) = (rig.stream(), rig.stream());
        let [x, mut y, mut z] = [(); 3].map(|()| rig.buffer());
        one.copy(&x, &mut y)?;
        rig.order(&one, &other)?;
        other.copy(&y, &mut z)?;
        rig.finish(&[&one, &other])
    }),
    ("an upload reads what a download is writing", |rig| {
        let (one, other, mut host) = (rig.stream(), rig.stream(), rig.pinned());
        let (x, mut y) = (rig.buffer(), rig.buffer());
        one.download(&x, &mut host)?;
        rig.order(&one, &other)?;
        other.upload(&host, &mut y)?;
        rig.finish(&[&one, &other])
    }),
    ("two downloads write", |rig| {
        let (one, other, mut host, x) = (rig.stream(), rig.stream(), rig.pinned(), rig.buffer());
        one.download(&x, &mut host)?;
        rig.order(&one, &other)?;
        other.download(&x, &mut host)?;
        rig.finish(&[&one, &other])
    }),
    ("a kernel reads mapped memory that a copy is writing", |rig| {
        let (one, other, mut host) = (rig.stream(), rig.stream(), rig.pinned());
        let (x, mut y) = (rig.buffer(), rig.buffer());
        one.download(&x, &mut host)?;
        rig.order(&one, &other)?;
        let axpy = axpy_each::load(rig.device)?;
        axpy.launch(other.config(blocks(N, 32), 32, 0), N as u32, 1.0, &host, &mut y)?;
        rig.finish(&[&one, &other])
    }),
    ("rows overlap by an element", |rig| {
        let (one, other, host, mut x) = (rig.stream(), rig.stream(), rig.pinned(), rig.buffer());
        let half = Rectangle { width: 4, height: 8, from_pitch: 8, to_pitch: 8 };
        one.upload_2d(&host, &mut x, half)?;
        let from = if rig.correct { 4 } else { 3 };
        other.upload_2d(host.slice(4..)?, x.slice_mut(from..)?, half)?;
        rig.finish(&[&one, &other])
    }),
    ("a slot is overwritten while the chunk before reads it", |rig| {
        let (up, math, host) = (rig.stream(), rig.stream(), rig.pinned());
        let mut slots = [(); 2].map(|()| (rig.buffer(), rig.event(), rig.event()));
        let mut sum = rig.buffer();
        for chunk in 0..5 {
            let (slot, loaded, used) = &mut slots[chunk % 2];
            if rig.correct {
                up.wait(used)?;
            }
            up.upload(&host, &mut *slot)?;
            up.record(loaded)?;
            math.wait(loaded)?;
            rig.axpy(&math, slot, &mut sum)?;
            math.record(used)?;
        }
        rig.finish(&[&up, &math])
    }),
    ("a chunk adds to a sum while the one before does", |rig| {
        let (streams, mut sum) = ([rig.stream(), rig.stream()], rig.buffer());
        for chunk in 0..4 {
            let [before, now] = [chunk + 1, chunk].map(|chunk| &streams[chunk % 2]);
            rig.order(before, now)?;
            rig.add(now, &mut sum)?;
        }
        rig.finish(&[&streams[0], &streams[1]])
    }),
    ("a wait before the event is recorded", |rig| {
        let (one, other, event, mut x) = (rig.stream(), rig.stream(), rig.event(), rig.buffer());
        if !rig.correct {
            other.wait(&event)?;
        }
        rig.add(&one, &mut x)?;
        one.record(&event)?;
        if rig.correct {
            other.wait(&event)?;
        }
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("an event recorded too early", |rig| {
        let (one, other, event, mut x) = (rig.stream(), rig.stream(), rig.event(), rig.buffer());
        one.record(&event)?;
        rig.add(&one, &mut x)?;
        if rig.correct {
            one.record(&event)?;
        }
        other.wait(&event)?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("an event recorded on another stream", |rig| {
        let (one, other, event, mut x) = (rig.stream(), rig.stream(), rig.event(), rig.buffer());
        rig.add(&one, &mut x)?;
        if rig.correct { &one } else { &other }.record(&event)?;
        other.wait(&event)?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("an event that was recorded anew, elsewhere", |rig| {
        let (one, other, event, mut x) = (rig.stream(), rig.stream(), rig.event(), rig.buffer());
        rig.add(&one, &mut x)?;
        one.record(&event)?;
        if !rig.correct {
            other.record(&event)?;
        }
        other.wait(&event)?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("another stream waits", |rig| {
        let [one, other, third] = [(); 3].map(|()| rig.stream());
        let (event, mut x) = (rig.event(), rig.buffer());
        rig.add(&one, &mut x)?;
        one.record(&event)?;
        if rig.correct { &other } else { &third }.wait(&event)?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other, &third])
    }),
    ("a chain of events with a link missing", |rig| {
        let [one, middle, last] = [(); 3].map(|()| rig.stream());
        let mut x = rig.buffer();
        rig.add(&one, &mut x)?;
        rig.order(&one, &middle)?;
        last.wait_stream(&middle)?;
        rig.add(&last, &mut x)?;
        rig.finish(&[&one, &middle, &last])
    }),
    ("one of two readers is waited for", |rig| {
        let [load, one, other] = [(); 3].map(|()| rig.stream());
        let [mut x, mut y, mut z] = [(); 3].map(|()| rig.buffer());
        rig.add(&load, &mut x)?;
        one.wait_stream(&load)?;
        other.wait_stream(&load)?;
        rig.axpy(&one, &x, &mut y)?;
        rig.axpy(&other, &x, &mut z)?;
        load.wait_stream(&one)?;
        rig.order(&other, &load)?;
        rig.add(&load, &mut x)?;
        rig.finish(&[&load, &one, &other])
    }),
    ("the host waits for an event recorded too early", |rig| {
        let (one, other, event, mut x) = (rig.stream(), rig.stream(), rig.event(), rig.buffer());
        one.record(&event)?;
        rig.add(&one, &mut x)?;
        if rig.correct {
            one.record(&event)?;
        }
        event.synchronize()?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("the host waits for another stream", |rig| {
        let (one, other, mut x) = (rig.stream(), rig.stream(), rig.buffer());
        rig.add(&one, &mut x)?;
        if rig.correct { &one } else { &other }.synchronize()?;
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other])
    }),
    ("the null stream is taken to order all", |rig| {
        let blocking = |rig: &Rig<'_>| rig.look(Stream::blocking(rig.device).expect("a stream"));
        let one = if rig.correct { blocking(rig) } else { rig.stream() };
        let (null, mut x) = (rig.look(Stream::null(rig.device)?), rig.buffer());
        rig.add(&one, &mut x)?;
        rig.add(&null, &mut x)?;
        rig.finish(&[&one, &null])
    }),
    ("two blocking streams are taken to order each other", |rig| {
        let [one, other] = [(); 2].map(|()| rig.look(Stream::blocking(rig.device).expect("a stream")));
        let (null, mut x, mut y) = (rig.look(Stream::null(rig.device)?), rig.buffer(), rig.buffer());
        rig.add(&one, &mut x)?;
        if rig.correct {
            rig.add(&null, &mut y)?;
        }
        rig.add(&other, &mut x)?;
        rig.finish(&[&one, &other, &null])
    }),
    ("a graph and an operation of another stream", |rig| {
        let (one, other, mut x) = (rig.stream(), rig.stream(), rig.buffer());
        let graph = one.capture(|one| rig.add(one, &mut x))?;
        graph.launch(&one)?;
        rig.order(&one, &other)?;
        other.fill(&mut x, 1.0)?;
        rig.finish(&[&one, &other])
    }),
    ("two graphs on two streams", |rig| {
        let (one, other, mut x) = (rig.stream(), rig.stream(), rig.buffer());
        let first = one.capture(|one| rig.add(one, &mut x))?;
        let second = one.capture(|one| rig.add(one, &mut x))?;
        first.launch(&one)?;
        rig.order(&one, &other)?;
        second.launch(&other)?;
        rig.finish(&[&one, &other])
    }),
    ("a graph whose branches meet", |rig| {
        let (one, other, mut x) = (rig.stream(), rig.stream(), rig.buffer());
        let graph = one.capture(|one| {
            other.wait_stream(one)?;
            rig.add(one, &mut x)?;
            rig.order(one, &other)?;
            rig.add(&other, &mut x)?;
            one.wait_stream(&other)
        })?;
        graph.launch(&one)?;
        rig.finish(&[&one])
    }),
];

/// Whether the error is a race.
#[track_caller]
fn races(outcome: &Result<()>) -> bool {
    match outcome {
        Ok(()) => false,
        Err(error) => {
            let kind = match error.detail() {
                Detail::Schedule { cause, .. } => cause,
                kind => kind,
            };
            let Detail::Race { earlier, later, .. } = kind else { panic!("{error}") };
            for touch in [earlier, later] {
                let site = touch.place.site.expect("both lines are known");
                assert!(site.file.ends_with("planted.rs") && site.line > 1, "{error}");
            }
            true
        }
    }
}

#[test]
fn every_mistake_is_found_by_streams_and_by_the_device() {
    let (mut refused, mut caught, mut passed) = (0, 0, 0);
    for (name, program) in PROGRAMS {
        let device = Device::simulated(Simulation::h200());
        let rig = |checked, correct| Rig { device: &device, checked, correct };
        refused += usize::from(races(&program(&rig(true, false))));
        assert!(
            program(&rig(true, true)).is_ok(),
            "{name}, corrected: {}",
            program(&rig(true, true)).unwrap_err()
        );
        let explored = |correct| {
            explore(7, ORDERS, |device| program(&Rig { device, checked: false, correct })).map(drop)
        };
        caught += usize::from(races(&explored(false)));
        assert!(!races(&explored(true)), "{name}, corrected");
        passed += 1;
        // The order of time is tried too.
        assert!(races(&program(&rig(false, false))), "{name}");
    }
    let planted = PROGRAMS.len();
    say!(
        "by hand: {planted} races planted, {refused} refused by streams, {caught} caught by the device, {passed} corrected \
         programs pass ({ORDERS} orders each)"
    );
    assert_eq!((refused, caught, passed), (planted, planted, planted));
}

/// The steps of a random program: on which stream, with which buffers or events. It does not ask how far
/// streams are: operations that are then known to be over need no wait, and they are not the same in every
/// order.
#[derive(Debug, Clone, Copy)]
enum Step {
    Axpy(usize, usize, usize),
    Add(usize, usize),
    Fill(usize, usize, usize),
    Upload(usize, usize, usize),
    Download(usize, usize, usize),
    Record(usize, usize),
    Wait(usize, usize),
    Synchronize(usize),
    HostWait(usize),
    Look(usize),
}

const STREAMS: usize = 4;
const BUFFERS: usize = 3;
const EVENTS: usize = 3;

fn step(random: &mut Random) -> Step {
    let stream = random.below(STREAMS as u64) as usize;
    let buffer = random.below(BUFFERS as u64) as usize;
    let (other, event) = (random.below(BUFFERS as u64) as usize, random.below(EVENTS as u64) as usize);
    match random.below(16) {
        0..=2 if other != buffer => Step::Axpy(stream, buffer, other),
        0..=3 => Step::Add(stream, buffer),
        4 => Step::Fill(stream, buffer, random.below(N as u64) as usize),
        5 => Step::Upload(stream, other, buffer),
        6 => Step::Download(stream, buffer, other),
        7..=9 => Step::Record(stream, event),
        10..=12 => Step::Wait(stream, event),
        13 => Step::Synchronize(stream),
        14 => Step::HostWait(event),
        _ => Step::Look(other),
    }
}

struct State {
    streams: Vec<Stream>,
    buffers: Vec<DeviceBuf<f32>>,
    hosts: Vec<PinnedBuf<f32>>,
    events: Vec<Event>,
    add: add_to,
    axpy: axpy_each,
}

impl State {
    fn new(device: &Device, checked: bool) -> Self {
        let rig = Rig { device, checked, correct: true };
        // One of them waits for the null stream, which is another stream.
        let mut streams = vec![
            rig.look(Stream::blocking(device).expect("a stream")),
            rig.look(Stream::null(device).expect("a stream")),
        ];
        streams.resize_with(STREAMS, || rig.stream());
        Self {
            streams,
            buffers: (0..BUFFERS).map(|_| rig.buffer()).collect(),
            hosts: (0..BUFFERS).map(|_| rig.pinned()).collect(),
            events: (0..EVENTS).map(|_| rig.event()).collect(),
            add: add_to::load(device).expect("a kernel"),
            axpy: axpy_each::load(device).expect("a kernel"),
        }
    }

    fn run(&mut self, step: Step) -> Result<()> {
        let Self { streams, buffers, hosts, events, add, axpy } = self;
        match step {
            Step::Axpy(stream, x, y) => {
                let [x, y] = buffers.get_disjoint_mut([x, y]).expect("they differ");
                axpy.launch(streams[stream].config(2, 32, 0), N as u32, 1.0, &*x, y)
            }
            Step::Add(stream, x) => {
                add.launch(streams[stream].config(2, 32, 0), N as u32, 1.0, &mut buffers[x])
            }
            Step::Fill(stream, x, from) => streams[stream].fill(buffers[x].slice_mut(from..)?, 1.0),
            Step::Upload(stream, host, x) => streams[stream].upload(&hosts[host], &mut buffers[x]),
            Step::Download(stream, x, host) => streams[stream].download(&buffers[x], &mut hosts[host]),
            Step::Record(stream, event) => streams[stream].record(&events[event]),
            Step::Wait(stream, event) => streams[stream].wait(&events[event]),
            Step::Synchronize(stream) => streams[stream].synchronize(),
            Step::HostWait(event) => events[event].synchronize(),
            Step::Look(host) => {
                std::hint::black_box(hosts[host][0]);
                Ok(())
            }
        }
    }
}

/// Two checks that share no code: the device finds exactly the programs that streams refuse.
#[test]
fn streams_and_the_device_agree_about_random_programs() {
    const PROGRAMS: u64 = 3000;
    let (mut refused, mut accepted, mut racy) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        let mut random = Random::new(seed);
        let steps: Vec<Step> = (0..4 + random.below(20)).map(|_| step(&mut random)).collect();
        let device = Device::simulated(Simulation::h200());
        let mut checked = State::new(&device, true);
        // The program runs up to the first refused operation: what comes then would depend on it.
        let first = steps.iter().position(|&step| {
            let outcome = checked.run(step);
            races_here(&outcome)
        });
        let good = first.unwrap_or(steps.len());
        accepted += good;
        device.synchronize().expect("the device");
        for stream in &checked.streams {
            stream.synchronize().unwrap_or_else(|error| panic!("{seed}: {steps:?}: {error}"));
        }
        // The device finds nothing in the accepted programs, in any order.
        let explored = Explore::new(seed, 8).run(|device| {
            let mut state = State::new(device, false);
            for &step in &steps[..good] {
                state.run(step)?;
            }
            state.streams.iter().try_for_each(Stream::synchronize)
        });
        explored.unwrap_or_else(|error| panic!("{seed}: {:?}: {error}", &steps[..good]));
        // It finds the same in the refused ones.
        if let Some(first) = first {
            refused += 1;
            let mut state = State::new(&device, false);
            let found = Cell::new(false);
            for &step in &steps[..=first] {
                found.set(found.get() | races_here(&state.run(step)));
            }
            for stream in &state.streams {
                found.set(found.get() | races_here(&stream.synchronize()));
            }
            assert!(found.get(), "{seed}: {:?} is no race to the device", &steps[..=first]);
            racy += 1;
        }
    }
    say!(
        "by hand, random: {PROGRAMS} programs, {accepted} operations accepted, {refused} races refused, {racy} found by the device"
    );
    assert!(refused > 1000 && accepted > 10_000, "the programs are of both kinds");
}

#[track_caller]
fn races_here(outcome: &Result<()>) -> bool {
    outcome.as_ref().is_err_and(|error| {
        assert!(matches!(error.detail(), Detail::Race { .. }), "{error}");
        true
    })
}
