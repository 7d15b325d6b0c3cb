use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tinyjson::JsonValue;

use super::Timeline;
use super::sample::{per_slot, saxpy, span, steady};

/// A value whose fields a test requires to exist with the right type.
#[derive(Debug)]
struct Event(JsonValue);

impl Event {
    fn text(&self, name: &str) -> &str {
        self.0[name].get::<String>().expect("a string")
    }

    fn number(&self, name: &str) -> f64 {
        *self.0[name].get::<f64>().expect("a number")
    }

    fn id(&self, name: &str) -> u64 {
        let number = self.number(name);
        assert!(number >= 0.0 && number.fract() == 0.0, "{number}");
        number as u64
    }

    fn args(&self) -> Event {
        assert!(self.0["args"].is_object());
        Event(self.0["args"].clone())
    }
}

/// The events of a trace, each checked against the format's requirements for its phase.
fn events(timeline: &Timeline) -> Vec<Event> {
    let trace: JsonValue = timeline.trace().parse().expect("a trace is JSON");
    let trace = Event(trace);
    assert_eq!(trace.text("displayTimeUnit"), "ns");
    let events: Vec<JsonValue> = trace.0["traceEvents"].get::<Vec<_>>().expect("an array of events").clone();
    let events: Vec<_> = events.into_iter().map(Event).collect();
    let mut processes = BTreeSet::new();
    let mut threads = BTreeMap::new();
    let mut slices: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, Vec<(String, String, f64)>> = BTreeMap::new();
    let mut counted: BTreeMap<(u64, String), f64> = BTreeMap::new();
    let mut last: BTreeMap<u64, f64> = BTreeMap::new();
    for event in &events {
        let (phase, name) = (event.text("ph"), event.text("name").to_owned());
        let (pid, tid) = (event.id("pid"), event.id("tid"));
        if phase == "M" {
            let args = event.args();
            match name.as_str() {
                "process_name" => {
                    assert!(!args.text("name").is_empty());
                    assert!(processes.insert(pid), "named twice");
                }
                "process_sort_index" | "thread_sort_index" => assert!(args.id("sort_index") > 0),
                "thread_name" => {
                    let before = threads.insert(tid, args.text("name").to_owned());
                    assert_eq!(before, None, "named twice");
                }
                other => panic!("no name of metadata: {other}"),
            }
            continue;
        }
        assert!(processes.contains(&pid));
        let ts = event.number("ts");
        assert!(ts >= 0.0);
        match phase {
            "X" => {
                let dur = event.number("dur");
                assert!(dur >= 0.0 && !event.text("cat").is_empty());
                assert!(event.args().number("chunk") >= 0.0);
                assert!(threads.contains_key(&tid) && last.insert(pid, ts).is_none_or(|last| ts >= last));
                slices.entry(tid).or_default().push((ts, ts + dur));
            }
            "s" | "f" => {
                assert!(phase == "s" || event.text("bp") == "e");
                assert_eq!(event.text("cat"), "wait");
                let on = &slices[&tid];
                assert!(on.iter().any(|&(from, to)| from <= ts && (ts < to || from == to)), "in no slice");
                flows.entry(event.id("id")).or_default().push((phase.to_owned(), name, ts));
            }
            "C" => {
                event.args().id("operations");
                let before = counted.insert((pid, name), ts);
                assert!(before.is_none_or(|before| before < ts), "in order of time");
            }
            other => panic!("no phase: {other}"),
        }
    }
    let names: BTreeSet<_> = threads.values().collect();
    assert_eq!(names.len(), threads.len(), "a name each");
    assert!(processes.iter().all(|process| !threads.contains_key(process)));
    for on in slices.values() {
        // Slices follow one another: a viewer would nest overlapping ones.
        assert!(on.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-6), "{on:?}");
    }
    for flow in flows.values() {
        let [(start, name, from), (finish, same, to)] = &flow[..] else { panic!("{flow:?}") };
        assert_eq!((start.as_str(), finish.as_str(), name), ("s", "f", same));
        assert!(from <= to);
    }
    events
}

fn of<'e>(events: &'e [Event], phase: &str) -> Vec<&'e Event> {
    events.iter().filter(|event| event.text("ph") == phase).collect()
}

#[test]
fn the_text_of_a_small_trace() {
    let spans = vec![span(1, 0, 0, 1..3), span(2, 0, 1, 3..4)];
    assert_eq!(
        saxpy(5, spans).trace(),
        r#"{"displayTimeUnit":"ns","otherData":{"run":"Saxpy on NVIDIA H200, measured, 5.0 us, 1 chunk of 250000 items, depth 3"},"traceEvents":[
{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"Saxpy on NVIDIA H200, measured"}},
{"ph":"M","pid":1,"tid":1,"name":"process_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":5,"tid":5,"name":"process_name","args":{"name":"engines"}},
{"ph":"M","pid":5,"tid":5,"name":"process_sort_index","args":{"sort_index":5}},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"up"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_sort_index","args":{"sort_index":2}},
{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"math"}},
{"ph":"M","pid":1,"tid":3,"name":"thread_sort_index","args":{"sort_index":3}},
{"ph":"M","pid":1,"tid":4,"name":"thread_name","args":{"name":"down"}},
{"ph":"M","pid":1,"tid":4,"name":"thread_sort_index","args":{"sort_index":4}},
{"ph":"X","pid":1,"tid":2,"ts":1.0001,"dur":2.000,"name":"copy y -> dy","cat":"load","args":{"stage":"load","chunk":0,"engine":"link up","enqueued (us)":0.000,"site":"src/main.rs:32:9","bytes":1000000,"GB/s":500.00}},
{"ph":"X","pid":1,"tid":3,"ts":3.0001,"dur":1.000,"name":"saxpy<<<..>>>","cat":"axpy","args":{"stage":"axpy","chunk":0,"engine":"compute","enqueued (us)":0.000,"site":"src/main.rs:33:9","bytes":3000000,"GB/s":3000.00,"blocks":1024}},
{"ph":"s","pid":1,"tid":2,"ts":2.9991,"id":1,"name":"load_done","cat":"wait"},
{"ph":"f","bp":"e","pid":1,"tid":3,"ts":3.0001,"id":1,"name":"load_done","cat":"wait"},
{"ph":"C","pid":5,"tid":5,"ts":1.000,"name":"link up","args":{"operations":1}},
{"ph":"C","pid":5,"tid":5,"ts":3.000,"name":"link up","args":{"operations":0}},
{"ph":"C","pid":5,"tid":5,"ts":3.000,"name":"compute","args":{"operations":1}},
{"ph":"C","pid":5,"tid":5,"ts":4.000,"name":"compute","args":{"operations":0}}
]}"#
    );
}

#[test]
fn arrows_are_the_waits_of_the_plan() {
    let events = events(&steady(5));
    let arrows = |name: &str, tid: u64| {
        let to = of(&events, "f").into_iter();
        to.filter(|event| event.text("name") == name && event.id("tid") == tid).count()
    };
    // Five within the chunks, and two for the chunks whose slot, in a ring of three, another chunk had
    // before.
    assert_eq!((arrows("load_done", 3), arrows("axpy_done", 4)), (5, 5));
    assert_eq!((arrows("axpy_done", 2), arrows("store_done", 2)), (2, 2));
    assert_eq!(of(&events, "s").len(), 14);
    // The arrow begins at the end of the last copy up of chunk 0.
    let first =
        of(&events, "s").into_iter().find(|event| event.text("name") == "load_done").expect("an arrow");
    assert_eq!((first.number("ts"), first.id("tid")), (39.9991, 2));
}

#[test]
fn counters_say_what_the_engines_were_at() {
    let spans =
        vec![span(2, 0, 1, 10..30), span(2, 1, 0, 20..30), span(2, 2, 1, 30..40), span(2, 3, 1, 50..50)];
    let events = events(&saxpy(100, spans));
    let counters = of(&events, "C");
    assert!(counters.iter().all(|event| event.text("name") == "compute"));
    let counted: Vec<_> =
        counters.iter().map(|event| (event.number("ts"), event.args().id("operations"))).collect();
    assert_eq!(counted, [(10.0, 1), (20.0, 2), (30.0, 1), (40.0, 0)]);
}

#[test]
fn what_overlaps_is_on_threads_of_its_own() {
    let spans = (0..4).map(|chunk| span(3, chunk, 2, 10 * chunk as u64..25 + 10 * chunk as u64)).collect();
    let events = events(&saxpy(100, spans));
    let threads: BTreeSet<_> = of(&events, "X").iter().map(|event| event.id("tid")).collect();
    assert_eq!(threads.len(), 3);
}

#[test]
fn a_wait_that_seems_to_end_early_points_to_no_earlier_time() {
    // Measured ends are rounded, so an operation that waits may seem to have begun a little early.
    let timeline = saxpy(100, vec![span(1, 0, 0, 0..30), span(2, 0, 1, 29..40), span(3, 0, 2, 40..41)]);
    assert_eq!(of(&events(&timeline), "s").iter().map(|event| event.number("ts")).next(), Some(29.0001));
}

#[test]
fn next_to_nothing_and_much() {
    let slices = |timeline: &Timeline| of(&events(timeline), "X").len();
    assert_eq!(slices(&saxpy(0, vec![])), 0);
    assert_eq!(slices(&saxpy(0, vec![span(0, 0, 0, 0..0)])), 1);
    assert_eq!(slices(&Timeline { rows: vec![], ..steady(2) }), 0);
    assert_eq!(slices(&per_slot(500, 4)), 2000);
    let mut odd = steady(1);
    odd.rows[0].name = "\"\\\n\u{1}".to_owned();
    odd.rows[1].name = "größe".to_owned();
    odd.report.device = "\"}]".to_owned();
    let events = events(&odd);
    let names: Vec<_> = of(&events, "M")
        .into_iter()
        .filter(|event| event.text("name").ends_with("_name"))
        .map(|event| event.args().text("name").to_owned())
        .collect();
    assert_eq!(names, ["Saxpy on \"}], measured", "engines", "\"\\\n\u{1}", "größe", "down"]);
}

/// Converts times as Perfetto does: times a thousand, rounded down.
#[test]
fn slices_that_touch_do_not_overlap_after_rounding() {
    let mut timeline = saxpy(100, (0..999).map(|chunk| span(2, chunk, 1, 0..0)).collect());
    for (index, span) in timeline.spans.iter_mut().enumerate() {
        (span.start, span.end) =
            (Duration::from_nanos(index as u64 * 7), Duration::from_nanos(index as u64 * 7 + 7));
    }
    let events = events(&timeline);
    let read = |event: &Event, name| (event.number(name) * 1000.0) as u64;
    let slices: Vec<_> =
        of(&events, "X").into_iter().map(|event| (read(event, "ts"), read(event, "dur"))).collect();
    for (index, &(start, time)) in slices.iter().enumerate() {
        assert_eq!(start, index as u64 * 7);
        assert!(time == 7 || time == 6);
    }
}

/// A writer's error comes back.
#[test]
fn a_full_disk() {
    let mut room = [0; 100];
    assert!(steady(1).write_trace(&mut room[..]).is_err());
}

#[test]
fn each_rank_is_a_process() {
    let all = Timeline::of_ranks(vec![steady(3), saxpy(9, vec![]), steady(3)]).expect("there are ranks");
    let events = events(&all);
    let names = of(&events, "M").into_iter().filter(|event| event.text("name") == "process_name");
    let names: Vec<_> = names.map(|event| (event.id("pid"), event.args().text("name").to_owned())).collect();
    let named = |rank: usize| format!("rank {rank}: Saxpy on NVIDIA H200, measured");
    assert_eq!(names, [(1, named(0)), (2, named(1)), (3, named(2))]);
    let ranks = [1, 3].map(|process| {
        let of_rank = events.iter().filter(|event| event.id("pid") == process);
        let of_phase = |phase| of_rank.clone().filter(|event| event.text("ph") == phase).count();
        ["X", "s", "f", "C"].map(of_phase)
    });
    assert_eq!(ranks[0], ranks[1]);
    assert_eq!(ranks[0][0], 12);
    let arrows: BTreeSet<_> = of(&events, "s").into_iter().map(|event| event.id("id")).collect();
    assert_eq!(arrows.len(), 2 * ranks[0][1], "each has a number of its own");
}
