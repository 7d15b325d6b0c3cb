//! The calls of copies between two GPUs, and what a link does that cannot be trusted.

use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, ErrorKind};
use thalweg_tests::numbers;
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/peer-stubs"));

fn two() -> [Device; 2] {
    let devices = Device::all().expect("the stub's devices");
    devices.try_into().expect("two devices")
}

/// The lines of the record that have to do with peers.
fn of_peers(test: &str, variable: (&str, &str)) -> Vec<String> {
    let variables = [("THALWEG_GPUS", "2"), ("THALWEG_DEVICE", "cuda:all"), variable];
    let record = STUBS.run_again(test, &variables);
    record.lines().filter(|line| line.contains("Peer")).map(str::to_owned).collect()
}

/// The bytes of a trial.
const TRIAL: &str = "262144";

fn is_trial(line: &str) -> bool {
    line.starts_with("cuMemcpyPeerAsync ") && line.contains(&format!(" {TRIAL} "))
}

#[test]
fn the_first_copy_enables_the_way_and_tries_it() {
    if is_child() {
        let [one, other] = two();
        let (here, there) = (Stream::new(&one).unwrap(), Stream::new(&other).unwrap());
        let (x, mut y) = (
            DeviceBuf::from_slice(&one, &numbers(1000)).unwrap(),
            DeviceBuf::<f32>::zeroed(&other, 1000).unwrap(),
        );
        here.copy(&x, &mut y).unwrap();
        there.wait_stream(&here).unwrap();
        there.copy(x.slice(..10).unwrap(), y.slice_mut(10..20).unwrap()).unwrap();
        x.copy_to(&mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), numbers(1000));
        assert!(one.can_access_peer(&other).unwrap() && other.can_access_peer(&one).unwrap());
        return;
    }
    let lines = of_peers("the_first_copy_enables_the_way_and_tries_it", ("THALWEG_FAIL", ""));
    let (enable, rest) = lines.split_at(2);
    assert_eq!(enable, ["cuCtxEnablePeerAccess 0 1", "cuCtxEnablePeerAccess 1 0"]);
    let (trials, rest) = rest.split_at(2);
    assert!(trials.iter().all(|line| is_trial(line)), "{lines:#?}");
    let [first, second, third] = rest else { panic!("{lines:#?}") };
    assert_eq!(
        [first, second].map(String::as_str),
        ["cuMemcpyPeerAsync d2 d1 4000 s1", "cuMemcpyPeerAsync d2+40 d1 40 s2"]
    );
    assert!(third.starts_with("cuMemcpyPeerAsync d2 d1 4000 "), "{third}");
}

#[test]
fn without_a_link_the_driver_copies_through_the_host() {
    if is_child() {
        let [one, other] = two();
        let x = DeviceBuf::from_slice(&one, &numbers(1000)).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(&other, 1000).unwrap();
        x.copy_to(&mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), numbers(1000));
        assert!(!one.can_access_peer(&other).unwrap());
        return;
    }
    let lines = of_peers("without_a_link_the_driver_copies_through_the_host", ("THALWEG_NO_PEERS", "1"));
    assert!(lines.iter().all(|line| line.starts_with("cuMemcpyPeerAsync ")), "{lines:#?}");
    assert_eq!(lines.len(), 3, "two trials, and the copy: {lines:#?}");
}

/// The link is said to work, and changes what it copies.
#[test]
fn a_link_that_copies_wrongly_is_not_used() {
    if is_child() {
        let [one, other] = two();
        let x = DeviceBuf::from_slice(&one, &numbers(1000)).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(&other, 1000).unwrap();
        let stream = Stream::new(&one).unwrap();
        stream.copy(&x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), numbers(1000));
        assert!(!one.can_access_peer(&other).unwrap() && !other.can_access_peer(&one).unwrap());
        return;
    }
    let lines = of_peers("a_link_that_copies_wrongly_is_not_used", ("THALWEG_WRONG_PEERS", "1"));
    let calls: Vec<_> = lines.iter().map(|line| line.split_once(' ').expect("arguments").0).collect();
    let [enable, disable, copy] = ["cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess", "cuMemcpyPeerAsync"];
    // The first trial fails. Then both directions are tried through the host's memory.
    assert_eq!(calls, [enable, enable, copy, disable, disable, copy, copy, copy], "{lines:#?}");
}

#[test]
fn a_machine_that_copies_wrongly_is_an_error_that_names_the_devices() {
    if is_child() {
        let [one, other] = two();
        let x = DeviceBuf::from_slice(&one, &numbers(1000)).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(&other, 1000).unwrap();
        let stream = Stream::new(&other).unwrap();
        for error in [stream.copy(&x, &mut y), x.copy_to(&mut y), one.can_access_peer(&other).map(drop)] {
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{error:?}");
            let text = error.to_string();
            assert!(
                text.contains("`cuda:0`") && text.contains("`cuda:1`") && text.contains("peers.rs:"),
                "{text}"
            );
        }
        assert_eq!(y.to_vec().unwrap(), [0.0; 1000], "nothing was copied");
        return;
    }
    let lines = of_peers(
        "a_machine_that_copies_wrongly_is_an_error_that_names_the_devices",
        ("THALWEG_WRONG_PEERS", "2"),
    );
    assert!(
        lines.iter().filter(|line| line.starts_with("cuMemcpy")).all(|line| is_trial(line)),
        "{lines:#?}"
    );
}

/// A driver that refuses an access that it said it had: data go through the host's memory.
#[test]
fn an_access_that_is_refused_is_not_used() {
    if is_child() {
        let [one, other] = two();
        assert!(!one.can_access_peer(&other).unwrap());
        let x = DeviceBuf::from_slice(&one, &numbers(10)).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(&other, 10).unwrap();
        x.copy_to(&mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), numbers(10));
        return;
    }
    let lines =
        of_peers("an_access_that_is_refused_is_not_used", ("THALWEG_FAIL", "cuCtxEnablePeerAccess:711:2"));
    assert!(lines[1].starts_with("cuCtxEnablePeerAccess 1 0 -> 711"), "{lines:#?}");
    // Only what was enabled here is disabled.
    assert!(lines[2].starts_with("cuCtxDisablePeerAccess 0 1"), "{lines:#?}");
    assert!(lines[3].starts_with("cuMemcpyPeerAsync "), "{lines:#?}");
}
