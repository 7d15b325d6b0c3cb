use std::collections::BTreeSet;

use super::*;

/// ```text
/// one  [ 0 ][ 1 ]--e
/// two  [ 2 ]        \--[ 3 ]
/// ```
fn order(spec: Simulation) -> Vec<u32> {
    let rig = Rig::with(spec);
    let (one, two, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    rig.launch(one, tag(0, 0), &[], log.note(0)).unwrap();
    rig.launch(one, tag(1, 0), &[], log.note(1)).unwrap();
    rig.record(event, one);
    rig.launch(two, tag(2, 0), &[], log.note(2)).unwrap();
    rig.wait(two, event);
    rig.launch(two, tag(3, 0), &[], log.note(3)).unwrap();
    rig.sync(two).unwrap();
    log.taken()
}

#[test]
fn every_legal_order_comes_up_and_no_other() {
    let orders: BTreeSet<_> = (0..100).map(|seed| order(Simulation::h200().adversarial(seed))).collect();
    let legal = BTreeSet::from([vec![0, 1, 2, 3], vec![0, 2, 1, 3], vec![2, 0, 1, 3]]);
    assert_eq!(orders, legal);
}

#[test]
fn one_seed_is_one_order() {
    for seed in 0..20 {
        let spec = Simulation::h200().adversarial(seed);
        assert_eq!(order(spec.clone()), order(spec));
    }
}

/// Work that takes a second may still come before work that takes a microsecond, and time goes on by both.
#[test]
fn time_does_not_decide() {
    let mut late_first = false;
    for seed in 0..20 {
        let rig = Rig::with(Simulation::h200().adversarial(seed));
        let (long, short, log) = (rig.stream(), rig.stream(), Log::default());
        let at = rig.device(256 << 20);
        rig.launch(short, tag(0, 0), &[], log.note(0)).unwrap();
        rig.sim.host_copied(1 << 30);
        rig.launch(long, tag(1, 0), &[read(at, 256 << 20)], log.note(1)).unwrap();
        rig.sync(long).unwrap();
        rig.sync(short).unwrap();
        late_first |= log.taken() == [1, 0];
    }
    assert!(late_first);
}

#[test]
fn failures_and_races_are_the_same() {
    for seed in 0..20 {
        let rig = Rig::with(Simulation::h200().adversarial(seed));
        let (one, two, event, at) = (rig.stream(), rig.stream(), rig.event(), rig.device(10));
        rig.launch(one, tag(0, 0), &[], || std::panic::resume_unwind(Box::new("no"))).unwrap();
        rig.record(event, one);
        rig.wait(two, event);
        rig.kernel(two, tag(1, 0), &[write(at, 10)]);
        assert_eq!(rig.sync(two).unwrap_err().code, 719);
        assert_eq!(rig.sync(one).unwrap_err().code, 719);
        rig.kernel(one, tag(2, 0), &[write(at, 10)]);
        rig.kernel(two, tag(3, 0), &[write(at, 10)]);
        assert_eq!(rig.sync(two).unwrap_err().name, "RACE");
        rig.sync(one).unwrap();
        rig.free(at).unwrap();
    }
}
