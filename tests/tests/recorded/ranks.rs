//! The calls of NCCL and of CUDA's driver that two ranks make, each a thread with a GPU of its own, without a
//! GPU: stubs of the libraries write the calls down, and carry the collectives out.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use thalweg::prelude::*;
use thalweg::{Device, ErrorKind, World};
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-nccl"),
    libraries: &["libcuda", "libnvrtc", "libnccl"],
    flags: &["-DWRITE_VALUE"],
    broken: &[],
};

/// No NCCL is found, not even the machine's own.
const WITHOUT: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-no-nccl"),
    libraries: &["libcuda", "libnvrtc"],
    flags: &[],
    broken: &["libnccl.so", "libnccl.so.2"],
};

/// Adds `by` to each element.
#[kernel]
fn add_to(i: Index, by: f32, x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x += by;
}

stream_pipeline! {
    /// As in a training: what is computed is shared on a stream of its own, while the next is computed.
    pipeline Train {
        input x: [f32];
        output y: [f32];
        chunk c = 4;
        depth = 2;
        stream math;
        stream net;
        stage compute on math {
            copy x -> d;
            add_to<<<1, 4>>>(0.0, &mut d);
        }
        stage share on net { all_reduce mean d; }
        stage store on math { copy d -> y; }
    }
}

/// Adds elements of `z`.
#[kernel]
fn plus(i: Index, z: &[f32], x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x += z[i];
}

stream_pipeline! {
    /// As before, from a source to a sink. The length of `z` is that of the run.
    pipeline Fed {
        input x: [f32];
        input z: [f32];
        output y: [f32];
        chunk c = 4;
        depth = 2;
        stream math;
        stream net;
        stage compute on math {
            copy x -> d;
            copy z -> dz;
            plus<<<1, 4>>>(&dz, &mut d);
        }
        stage share on net { all_reduce mean d; }
        stage store on math { copy d -> y; }
    }
}

stream_pipeline! {
    pipeline Moves {
        input x: [f32; 2];
        output y: [f32; 2];
        output g: [f32; 4];
        output r: [f32; 1];
        device all: [f32; 4];
        device part: [f32; 1];
        device next: [f32; 2];
        chunk c = 1;
        stage load { copy x -> d; }
        stage together {
            all_gather d -> all;
            reduce_scatter sum d -> part;
            reduce max d to 1;
            broadcast d from 1;
            pass d -> next to (rank + 1) % world.size;
            barrier;
        }
        stage store { copy next -> y; copy all -> g; copy part -> r; }
    }
}

/// How long ranks wait for each other.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Runs a program as two ranks, and returns what came of them.
pub(super) fn ranks<R: Send>(limit: Duration, program: impl Fn(&World, &Device) -> R + Sync) -> Vec<R> {
    let worlds = World::options().limit(limit).together(2);
    thread::scope(|scope| {
        let run = |world: World| {
            let program = &program;
            scope.spawn(move || program(&world, &Device::cuda(world.rank()).expect("the stub's device")))
        };
        let threads: Vec<_> = worlds.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("the rank does not panic")).collect()
    })
}

fn train(world: &World, device: &Device, chunks: usize) -> thalweg::Result<Vec<f32>> {
    let mut train = Train::options(device).world(world).build()?;
    let (x, mut y) = (vec![world.rank() as f32; 4 * chunks], vec![0.0; 4 * chunks]);
    train.run(&x, &mut y)?;
    Ok(y)
}

fn run_again(test: &str, variables: &[(&str, &str)]) -> String {
    let all = [&[("THALWEG_GPUS", "2"), ("THALWEG_WHICH", "1")], variables].concat();
    STUBS.run_again(test, &all)
}

/// The collectives of each communicator that are tried out when a device joins.
pub(super) const TRIED: usize = 14;

/// Gives names anew in the order of their appearance, since threads of other ranks take names in between.
#[derive(Default)]
struct Anew<'r>(HashMap<&'r str, String>);

impl<'r> Anew<'r> {
    fn word(&mut self, word: &'r str) -> String {
        let (name, offset) = word.split_at(word.find('+').unwrap_or(word.len()));
        let number = name.strip_prefix(['s', 'd', 'h', 'e']).unwrap_or("");
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return word.to_owned();
        }
        let same = self.0.keys().filter(|known| known[..1] == name[..1]).count();
        let anew = self.0.entry(name).or_insert_with(|| format!("{}{}", &name[..1], same + 1));
        format!("{anew}{offset}")
    }

    fn line(&mut self, line: &'r str) -> String {
        line.split(' ').map(|word| self.word(word)).collect::<Vec<_>>().join(" ")
    }
}

/// The lines of a rank from its first collective on, or from the first after its device has joined.
pub(super) fn of_rank(record: &str, rank: usize, after: usize) -> Vec<String> {
    let [nccl, cuda] = [format!("r{rank} "), format!("{rank}| ")];
    let own = record.lines().filter_map(|line| line.strip_prefix(&nccl).or_else(|| line.strip_prefix(&cuda)));
    let mut collectives = 0;
    let own = own.skip_while(|line| {
        collectives += usize::from(is_collective(line));
        collectives <= after
    });
    let mut anew = Anew::default();
    own.map(|line| anew.line(line)).collect()
}

/// Whether a line is about a collective as a whole.
pub(super) fn is_collective(line: &str) -> bool {
    let of_group = ["ncclGroupStart", "ncclSend", "ncclRecv", "ncclComm"];
    line.starts_with("nccl") && !of_group.iter().any(|call| line.starts_with(call))
}

pub(super) fn of_nccl(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).filter(|line| line.starts_with("nccl")).collect()
}

/// Calls for which the driver may wait until the device is idle.
pub(super) const WAITS: [&str; 7] = [
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHost",
    "cuModule",
    "cuCtxSynchronize",
    "cuStreamCreate",
    "cuEventCreate",
];

/// How a rank leaves: the communicator whose calls wait goes first, then the one that it was split off.
pub(super) const LEFT: [&str; 4] =
    ["ncclCommFinalize", "ncclCommDestroy", "ncclCommFinalize", "ncclCommDestroy"];

/// Nothing between the first and the last collective of a run waits for a device by the way.
fn assert_nothing_waits(lines: &[String]) {
    let last = lines.iter().rposition(|line| is_collective(line)).expect("a collective");
    let between = lines[..last].iter().filter(|line| WAITS.iter().any(|call| line.starts_with(call)));
    assert_eq!(between.count(), 0, "{lines:#?}");
}

#[test]
fn gradients_are_shared_between_computations() {
    if is_child() {
        let all = ranks(LIMIT, |world, device| train(world, device, 3).unwrap());
        assert_eq!(all, [[0.5; 12], [0.5; 12]]);
        return;
    }
    let record = run_again("gradients_are_shared_between_computations", &[]);
    for rank in 0..2 {
        let lines = of_rank(&record, rank, TRIED);
        assert_nothing_waits(&lines);
        // 7 is `f32`, 4 the mean. All are on the stream of their stage, in the two slots of the ring.
        let expected = [
            "ncclAllReduce d1 d1 4 type=7 op=4 s1",
            "ncclAllReduce d1+256 d1+256 4 type=7 op=4 s1",
            "ncclAllReduce d1 d1 4 type=7 op=4 s1",
        ];
        assert_eq!(of_nccl(&lines), [&expected[..], &LEFT].concat(), "{lines:#?}");
        // Each of them is counted by a stream of its own, and the next stage waits for it by an event.
        let [counted, waits, writes, next] =
            [1, 2, 3, 4].map(|line| lines[line].split(' ').collect::<Vec<_>>());
        assert!(counted[0] == "cuEventRecord" && counted[2] == "s1", "{lines:#?}");
        assert_eq!(waits, ["cuStreamWaitEvent", "s2", counted[1]], "{lines:#?}");
        assert_eq!(writes[..3], ["cuStreamWriteValue32", "s2", "h1+4"], "{lines:#?}");
        assert!(next[0] == "cuEventRecord" && next[2] == "s1" && next[1] != counted[1], "{lines:#?}");
    }
}

#[test]
fn each_kind_of_operation_is_carried_out() {
    if is_child() {
        let all = ranks(LIMIT, |world, device| {
            let mut moves = Moves::options(device).world(world).build().unwrap();
            let x = [[1.0, 2.0], [10.0, 20.0]][world.rank()];
            let (mut y, mut g, mut r) = ([0.0; 2], [0.0; 4], [0.0; 1]);
            moves.run(&x, &mut y, &mut g, &mut r).unwrap();
            (y, g, r)
        });
        // What is passed is what rank 1 has reduced, and has given to all.
        let (y, g) = ([10.0, 20.0], [1.0, 2.0, 10.0, 20.0]);
        assert_eq!(all, [(y, g, [11.0]), (y, g, [22.0])]);
        return;
    }
    let record = run_again("each_kind_of_operation_is_carried_out", &[]);
    for rank in 0..2 {
        let lines = of_rank(&record, rank, TRIED);
        assert_nothing_waits(&lines);
        let peer = 1 - rank;
        let expected = [
            "ncclAllGather d1 d2 8 type=1 s1",
            "ncclReduceScatter d1 d3 1 type=7 op=0 s1",
            "ncclReduce d1 d1 2 type=7 op=2 root=1 s1",
            "ncclBroadcast d1 d1 8 type=1 root=1 s1",
            "ncclGroupStart",
            &format!("ncclSend d1 8 type=1 {peer} s1"),
            &format!("ncclRecv d4 8 type=1 {peer} s1"),
            "ncclGroupEnd",
            "ncclAllReduce d5 d5 1 type=1 op=0 s1",
        ];
        assert_eq!(of_nccl(&lines), [&expected[..], &LEFT].concat(), "{lines:#?}");
    }
}

#[test]
fn everything_is_tried_out_before_a_device_has_joined() {
    if is_child() {
        ranks(LIMIT, |world, device| drop(Train::options(device).world(world).build().unwrap()));
        return;
    }
    // The connection and all that is asked for take their time.
    let record =
        run_again("everything_is_tried_out_before_a_device_has_joined", &[("THALWEG_NCCL_DELAY", "3")]);
    assert_eq!(record.lines().filter(|line| line.starts_with("ncclGetUniqueId")).count(), 1);
    for rank in 0..2 {
        let lines = of_rank(&record, rank, 0);
        let kinds = [
            "ncclAllReduce",
            "ncclReduce",
            "ncclBroadcast",
            "ncclAllGather",
            "ncclReduceScatter",
            "ncclGroupEnd",
            "ncclAllReduce",
        ];
        let names: Vec<_> =
            lines.iter().filter(|line| is_collective(line)).map(|line| line.split(' ').next()).collect();
        assert_eq!(names, [kinds, kinds].concat().iter().map(|kind| Some(*kind)).collect::<Vec<_>>());
        // Then the stream is waited for, and the memory goes.
        let last = lines.iter().rposition(|line| is_collective(line)).expect("a collective");
        let after: Vec<_> =
            lines[last + 1..].iter().take(3).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(after, ["cuStreamQuery", "cuMemFree", "cuStreamDestroy"], "{lines:#?}");
        assert_eq!(of_nccl(&lines[last + 1..]), LEFT);
    }
}

/// The errors of two ranks that build a pipeline.
fn errors_of_building(limit: Duration) -> Vec<Error> {
    ranks(limit, |world, device| {
        Train::options(device).world(world).build().expect_err("there is no way to others")
    })
}

#[test]
fn without_nccl_the_error_says_where_it_was_looked_for() {
    if is_child() {
        for error in errors_of_building(LIMIT) {
            let text = error.to_string();
            assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{text}");
            assert!(text.contains("no NCCL for collectives between GPUs"), "{text}");
            for part in ["libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2", "nvidia-nccl-cu13"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        return;
    }
    WITHOUT.run_again("without_nccl_the_error_says_where_it_was_looked_for", &[("THALWEG_GPUS", "2")]);
}

#[test]
fn an_old_nccl_is_named() {
    if is_child() {
        for error in errors_of_building(LIMIT) {
            let text = error.to_string();
            assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{text}");
            assert!(text.contains("NCCL is too old: this is 2.17.1, and ranks need 2.18"), "{text}");
        }
        return;
    }
    let record = run_again("an_old_nccl_is_named", &[("THALWEG_NCCL_VERSION", "21701")]);
    assert!(!record.contains("nccl"), "nothing was asked of it:\n{record}");
}

#[test]
fn ranks_that_do_not_connect_give_up_after_the_limit() {
    if is_child() {
        let began = Instant::now();
        let texts: Vec<_> =
            errors_of_building(Duration::from_millis(900)).iter().map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.contains("has waited 0.9 s for NCCL to connect")), "{texts:#?}");
        assert!(began.elapsed() < Duration::from_secs(15));
        return;
    }
    let record =
        run_again("ranks_that_do_not_connect_give_up_after_the_limit", &[("THALWEG_NCCL_ALONE", "1")]);
    assert!(!record.contains("ncclAllReduce"), "{record}");
}

#[test]
fn a_call_that_waits_for_a_rank_whose_call_has_failed_ends() {
    if is_child() {
        let began = Instant::now();
        let texts: Vec<_> =
            errors_of_building(Duration::from_millis(900)).iter().map(ToString::to_string).collect();
        let failed = "`ncclAllReduce` failed: ncclSystemError (2)";
        assert!(texts.iter().any(|text| text.starts_with(failed)), "{texts:#?}");
        let told =
            |text: &String| text.starts_with("rank ") && text.contains(&format!("has failed: {failed}"));
        assert!(texts.iter().any(told), "{texts:#?}");
        assert!(began.elapsed() < Duration::from_secs(15));
        return;
    }
    // Every kind of collective takes place once before a device has joined. Of the first one, the second rank's fails, and
    // the first rank's waits for it.
    let variables = [("THALWEG_FAIL", "ncclAllReduce:2:2")];
    let record = run_again("a_call_that_waits_for_a_rank_whose_call_has_failed_ends", &variables);
    assert!(record.contains("ncclAllReduce") && record.contains("-> 2"), "{record}");
    assert!(!record.contains("ncclCommAbort ->"), "none is in a call when it is aborted: {record}");
}

#[test]
fn a_gpu_and_a_processor_do_not_meet() {
    if is_child() {
        let errors = ranks(LIMIT, |world, device| {
            let device =
                if world.rank() == 0 { device.clone() } else { Device::cpu().expect("it needs nothing") };
            Train::options(&device).world(world).build().expect_err("there is no way between them")
        });
        for error in errors {
            let expected = "the ranks do not agree: rank 0 brings a GPU, and rank 1 none";
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        return;
    }
    let record = run_again("a_gpu_and_a_processor_do_not_meet", &[]);
    assert!(!record.contains("nccl"), "nothing was asked of it:\n{record}");
}

#[test]
fn a_rank_of_a_split_world_keeps_its_gpu() {
    if is_child() {
        let worlds = World::options().limit(LIMIT).together(4);
        thread::scope(|scope| {
            for world in worlds {
                scope.spawn(move || {
                    let own = Device::cuda(world.rank()).expect("the stub's device");
                    // Two halves, and a world of one in the place of the last rank.
                    for colour in [world.rank() as u64 / 2, world.rank() as u64 / 3] {
                        let part = world.split(Some(colour)).unwrap().expect("it has a colour");
                        assert!(part.device().unwrap().same(&own), "rank {}", world.rank());
                        let again = part.split(Some(part.rank() as u64)).unwrap().expect("it has a colour");
                        assert!(again.size() == 1 && again.device().unwrap().same(&own));
                    }
                });
            }
        });
        return;
    }
    let variables = [("THALWEG_GPUS", "4"), ("THALWEG_DEVICE", "cuda:all")];
    STUBS.run_again("a_rank_of_a_split_world_keeps_its_gpu", &variables);
}

/// Runs three chunks as two ranks. After the first chunk the source of rank 1 fails, if it is to.
fn errors_of_running(source_fails: bool) -> Vec<Error> {
    ranks(LIMIT, |world, device| {
        let mut fed = Fed::options(device).world(world).build().unwrap();
        let (has, first) = std::sync::mpsc::channel();
        let fails = source_fails && world.rank() == 1;
        let x = source::from_fn(move |c, slot: &mut [f32]| {
            if fails && c.index == 1 {
                first.recv().map_err(std::io::Error::other)?;
                return Err(std::io::Error::other("the disk is on fire"));
            }
            slot.fill(1.0);
            Ok(slot.len().min(12 - c.start))
        });
        let y = sink::for_each(move |_, _: &[f32]| {
            // Nobody listens any more.
            let _ = has.send(());
            Ok(())
        });
        fed.run(x, &[0.0; 12], y).expect_err("the run fails")
    })
}

/// The error of a rank whose `all_reduce` of one of these chunks does not take place.
fn assert_names_the_collective(error: &Error, chunks: &[u64]) {
    let (text, place) = (error.to_string(), error.place());
    assert!(matches!(error.kind(), ErrorKind::Ranks(_)), "{error:?}");
    assert_eq!((place.stage, place.operation), (Some("share"), Some("all_reduce mean d")), "{text}");
    assert!(place.chunk.is_some_and(|chunk| chunks.contains(&chunk)), "{text}");
}

#[test]
fn a_rank_that_fails_ends_a_collective_that_waits_for_it() {
    if is_child() {
        let began = Instant::now();
        let errors = errors_of_running(true);
        // This rank need not have noticed yet that the first is over. If it was late, it heard of the failure before it
        // had enqueued the second, and there is none to name.
        match errors[0].place().operation {
            Some(_) => assert_names_the_collective(&errors[0], &[0, 1]),
            None => assert!(matches!(errors[0].kind(), ErrorKind::Ranks(_)), "{:?}", errors[0]),
        }
        let text = errors[0].to_string();
        assert!(text.contains("rank 1") && text.contains("the disk is on fire"), "{text}");
        assert!(errors[1].to_string().contains("the disk is on fire"), "{}", errors[1]);
        assert!(began.elapsed() < Duration::from_secs(15));
        return;
    }
    // On rank 0 the kernel of the second chunk's collective is at work until the communicator is aborted, and
    // without that not even enqueued.
    let hangs = (TRIED + 2).to_string();
    for variables in [&[("THALWEG_NCCL_HANG", hangs.as_str())][..], &[]] {
        let record = run_again("a_rank_that_fails_ends_a_collective_that_waits_for_it", variables);
        let aborted = record.lines().filter(|line| line.ends_with("ncclCommAbort")).count();
        assert_eq!(aborted, 4, "both communicators of both ranks: {record}");
        assert!(!record.contains("ncclCommAbort ->"), "none is in a call when it is aborted: {record}");
        assert!(!record.contains("ncclCommDestroy"), "{record}");
    }
}

#[test]
fn an_asynchronous_error_ends_the_run() {
    if is_child() {
        let began = Instant::now();
        let errors = errors_of_running(false);
        // The rank that hears of it from the other one need not have noticed yet that the first is over.
        assert!(errors.iter().any(|error| error.place().chunk == Some(1)), "{errors:?}");
        for (rank, error) in errors.iter().enumerate() {
            // If it was late, it heard of that before it had enqueued the second, and there is none to name.
            match error.place().operation {
                Some(_) => assert_names_the_collective(error, &[0, 1]),
                None => assert!(matches!(error.kind(), ErrorKind::Ranks(_)), "{error:?}"),
            }
            let text = error.to_string();
            assert!(
                text.contains("NCCL has failed on rank ") && text.contains("ncclRemoteError"),
                "{rank}: {text}"
            );
        }
        assert!(began.elapsed() < Duration::from_secs(15));
        return;
    }
    let hangs = (TRIED + 2).to_string();
    let variables = [("THALWEG_NCCL_HANG", hangs.as_str()), ("THALWEG_NCCL_ERROR", "6")];
    let record = run_again("an_asynchronous_error_ends_the_run", &variables);
    let aborted = record.lines().filter(|line| line.ends_with("ncclCommAbort")).count();
    assert_eq!(aborted, 4, "both communicators of both ranks: {record}");
}

stream_pipeline! {
    /// A function on the CPU is between the copy and the collective, on the stream.
    pipeline Late {
        input x: [f32];
        output y: [f32];
        host h: [f32];
        chunk c = 4;
        stage compute {
            copy x -> d;
            copy d -> h;
            host be_late(&mut h);
            copy h -> d;
        }
        stage share { all_reduce mean d; }
        stage store { copy d -> y; }
    }
}

/// How long ranks wait where somebody is later than that.
const SHORT: Duration = Duration::from_millis(600);

fn be_late(_: &mut [f32]) {
    thread::sleep(2 * SHORT);
}

#[test]
fn a_collective_that_stands_still_ends_after_the_limit() {
    if is_child() {
        let began = Instant::now();
        let errors = ranks(SHORT, |world, device| train(world, device, 3).expect_err("the run fails"));
        let (waited, texts) = (began.elapsed(), [0, 1].map(|rank| errors[rank].to_string()));
        errors.iter().for_each(|error| assert!(matches!(error.kind(), ErrorKind::Ranks(_)), "{error:?}"));
        let first =
            texts.iter().position(|text| text.contains("has waited 0.6 s for other ranks")).expect("a text");
        assert_names_the_collective(&errors[first], &[1]);
        assert!(waited > SHORT && waited < Duration::from_secs(15), "{waited:?}: {texts:?}");
        return;
    }
    let hangs = (TRIED + 2).to_string();
    run_again("a_collective_that_stands_still_ends_after_the_limit", &[("THALWEG_NCCL_HANG", &hangs)]);
}

/// The collective has not begun on the device, so nothing waits for other ranks.
#[test]
fn a_device_that_is_busy_for_longer_than_the_limit_is_no_failure() {
    if is_child() {
        let all = ranks(SHORT, |world, device| {
            let (x, mut y) = ([world.rank() as f32; 4], [0.0; 4]);
            Late::options(device).world(world).build()?.run(&x, &mut y)?;
            Ok::<_, Error>(y)
        });
        assert_eq!(all.into_iter().collect::<Result<Vec<_>, _>>().expect("nothing fails"), [[0.5; 4]; 2]);
        return;
    }
    run_again("a_device_that_is_busy_for_longer_than_the_limit_is_no_failure", &[]);
}
