//! The spans and events of `tracing`: names, nesting and fields, as a subscriber gets them.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg::prelude::*;
use thalweg::sim::{Effect, Fault};
use thalweg_kernels::saxpy;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Panics {
        param at: usize;
        input x: [f32];
        inout y: [f32];
        chunk c = 10;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<1, 256>>>(factor(1.0, c.index == at), &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn factor(factor: f32, panics: bool) -> f32 {
    assert!(!panics, "the user's");
    factor
}

/// The fields of a span or an event, by name.
type Fields = BTreeMap<&'static str, String>;

/// The record: lines, indented by depth, and the fields of each span.
#[derive(Default)]
struct Seen {
    spans: Vec<(&'static str, Fields)>,
    entered: Vec<usize>,
    lines: Vec<String>,
}

impl Seen {
    fn line(&mut self, text: String) {
        let depth = self.entered.len();
        self.lines.push(format!("{:1$}{text}", "", 2 * depth));
    }
}

/// Records the spans and events of this target and at most of this level.
#[derive(Clone)]
struct Collector(Arc<Mutex<Seen>>, Level);

struct Collect<'a>(&'a mut Fields);

impl Visit for Collect<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "thalweg" && *metadata.level() <= self.1
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        span.record(&mut Collect(&mut fields));
        let mut seen = self.0.lock().unwrap();
        seen.spans.push((span.metadata().name(), fields));
        Id::from_u64(seen.spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        values.record(&mut Collect(&mut self.0.lock().unwrap().spans[id.into_u64() as usize - 1].1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Collect(&mut fields));
        let mut text = format!("{}: {}", event.metadata().level(), fields.remove("message").unwrap());
        for (name, value) in fields {
            write!(text, "; {name}={value}").unwrap();
        }
        self.0.lock().unwrap().line(text);
    }

    fn enter(&self, id: &Id) {
        let mut seen = self.0.lock().unwrap();
        let span = id.into_u64() as usize - 1;
        let (name, fields) = &seen.spans[span];
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let text = match *name {
            "run" => format!("run {}", field("pipeline")),
            "operation" => {
                format!("{} {}: {}", field("stage"), field("chunk"), field("operation"))
            }
            other => panic!("a span `{other}`"),
        };
        seen.line(text);
        seen.entered.push(span);
    }

    fn exit(&self, id: &Id) {
        let entered = self.0.lock().unwrap().entered.pop();
        assert_eq!(entered, Some(id.into_u64() as usize - 1), "spans nest");
    }
}

/// What a subscriber sees up to a level. Every span is exited again. Only one test runs at a time: whether a
/// callsite is enabled is decided for all threads together, when it is first reached and whenever a collector
/// comes or goes.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seen(level: Level, body: impl FnOnce()) -> Seen {
    let collector = Collector(Arc::default(), level);
    tracing::subscriber::with_default(collector.clone(), body);
    let seen = std::mem::take(&mut *collector.0.lock().unwrap());
    assert!(seen.entered.is_empty(), "{:?}", seen.lines);
    seen
}

fn pipeline() -> Saxpy {
    Saxpy::options(&Device::simulated(Simulation::default())).chunk(1000).build().unwrap()
}

fn run(pipeline: &mut Saxpy, items: usize) -> thalweg::Result<Report> {
    pipeline.run(3.0, &vec![1.0; items], &mut vec![2.0; items])
}

#[test]
fn a_run_is_a_span_of_its_operations() {
    let _alone = alone();
    let mut pipeline = pipeline();
    let mut report = None;
    let seen = seen(Level::TRACE, || report = Some(run(&mut pipeline, 1500).unwrap()));
    let report = report.unwrap();
    // All of the ring existed since the pipeline was built.
    assert_eq!(
        seen.lines,
        [
            "run Saxpy",
            "  DEBUG: memory allocated; bytes=4000; on_device=false; what=copy x -> dx",
            "  DEBUG: memory allocated; bytes=4000; on_device=false; what=copy x -> dx",
            "  DEBUG: memory allocated; bytes=4000; on_device=false; what=copy y -> dy",
            "  DEBUG: memory allocated; bytes=4000; on_device=false; what=copy y -> dy",
            "  DEBUG: memory allocated; bytes=4000; on_device=false; what=copy dy -> y",
            "  DEBUG: memory allocated; bytes=4000; on_device=false; what=copy dy -> y",
            "  load 0: copy x -> dx",
            "  load 0: copy y -> dy",
            "  axpy 0: saxpy<<<..>>>",
            "  store 0: copy dy -> y",
            "  load 1: copy x -> dx",
            "  load 1: copy y -> dy",
            "  axpy 1: saxpy<<<..>>>",
            "  store 1: copy dy -> y",
        ]
    );
    let (name, fields) = &seen.spans[0];
    assert_eq!(*name, "run");
    let expected = [
        ("bytes_to_device", "12000".to_owned()),
        ("bytes_to_host", "6000".to_owned()),
        ("chunks", "2".to_owned()),
        ("depth", "2".to_owned()),
        ("device", "simulated H200".to_owned()),
        ("items", "1500".to_owned()),
        ("nanoseconds", report.time.as_nanos().to_string()),
        ("pipeline", "Saxpy".to_owned()),
    ];
    assert_eq!(*fields, Fields::from(expected));
    assert!(report.time.as_nanos() > 0);
    assert!(
        seen.spans[1..].iter().all(|(name, fields)| *name == "operation" && fields["pipeline"] == "Saxpy")
    );
}

/// Operations have a lower level.
#[test]
fn who_listens_to_runs_sees_no_operations() {
    let _alone = alone();
    let mut pipeline = pipeline();
    run(&mut pipeline, 1500).unwrap();
    let seen_lines = |level| seen(level, || drop(run(&mut self::pipeline(), 0))).lines;
    assert!(seen_lines(Level::INFO).is_empty());
    let seen = seen(Level::DEBUG, || drop(run(&mut pipeline, 1500)));
    assert_eq!(seen.lines, ["run Saxpy"]);
    assert_eq!(seen.spans[0].1["bytes_to_host"], "6000");
}

#[test]
fn a_prediction_is_no_run_and_a_profile_is_one() {
    let _alone = alone();
    let mut pipeline = pipeline();
    let (x, mut y) = (vec![1.0; 1500], vec![2.0; 1500]);
    run(&mut pipeline, 1500).unwrap();
    let predicted = seen(Level::TRACE, || drop(pipeline.predict(3.0, &x, &mut y).unwrap()));
    assert!(predicted.lines.is_empty(), "{:?}", predicted.lines);
    let profiled = seen(Level::TRACE, || drop(pipeline.profile(3.0, &x, &mut y).unwrap()));
    assert_eq!(profiled.lines[..2], ["run Saxpy", "  load 0: copy x -> dx"]);
}

#[test]
fn an_error_is_an_event_with_its_place() {
    let _alone = alone();
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Saxpy::options(&device).chunk(1000).build().unwrap();
    device.inject(Fault::at(&Saxpy::PLAN, "axpy", 1, Effect::Fails).unwrap()).unwrap();
    let mut outcome = Ok(());
    let seen = seen(Level::ERROR, || outcome = run(&mut pipeline, 3000).map(drop));
    let error = outcome.unwrap_err();
    let site = error.place().site.unwrap();
    let [line] = &seen.lines[..] else { panic!("{:?}", seen.lines) };
    assert_eq!(
        *line,
        format!(
            "ERROR: {}; chunk=1; operation=saxpy<<<..>>>; pipeline=Saxpy; site={site}; stage=axpy",
            error.kind()
        )
    );
    assert!(site.file.ends_with("tracing.rs"), "{site}");
}

/// The same if a pipeline cannot be built; no run is around it.
#[test]
fn an_error_of_building_is_one() {
    let _alone = alone();
    let device = Device::simulated(Simulation::default());
    let seen = seen(Level::TRACE, || drop(Saxpy::options(&device).depth(0).build()));
    let [line] = &seen.lines[..] else { panic!("{:?}", seen.lines) };
    assert!(line.starts_with("ERROR: ") && line.contains("; pipeline=Saxpy; site="), "{line}");
}

/// Every span that was entered is exited, in order.
#[test]
fn spans_end_where_an_expression_panics() {
    let _alone = alone();
    let mut pipeline = Panics::new(&Device::simulated(Simulation::default())).unwrap();
    let seen = seen(Level::TRACE, || {
        let run = std::panic::AssertUnwindSafe(|| pipeline.run(1, &[1.0; 30], &mut [0.0; 30]));
        std::panic::catch_unwind(run).expect_err("it panics");
    });
    assert_eq!(seen.lines.last().map(String::as_str), Some("  load 1: copy y -> dy"), "{:?}", seen.lines);
    assert!(!seen.spans[0].1.contains_key("nanoseconds"));
}

/// An event names the source that keeps a run waiting, whatever becomes of the run.
#[test]
fn a_source_that_is_waited_for_is_an_event() {
    stream_pipeline! {
        pipeline Through {
            input x: [u8];
            output z: [u8];
            chunk c = 10;
            stage there { copy x -> dx; }
            stage back { copy dx -> z; }
        }
    }
    let _alone = alone();
    let (sender, batches) = std::sync::mpsc::channel::<Vec<u8>>();
    let late = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(5500));
        drop(sender);
    });
    let mut through = Through::new(&Device::simulated(Simulation::default())).unwrap();
    let seen = seen(Level::WARN, || {
        let report = through.run(source::channel(batches), sink::extend(&mut Vec::new())).unwrap();
        assert_eq!(report.items, 0);
    });
    late.join().unwrap();
    assert_eq!(
        seen.lines,
        [
            "WARN: `Through` has waited 5 s for source `x`, which has neither filled chunk 0 nor ended (a channel ends when its last sender is dropped); chunk=0; host=x; is_sink=false; pipeline=Through; seconds=5"
        ]
    );
}
