//! Reports of exploring about programs that fail; and a seed stands for one order.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use thalweg::__private::Detail;
use thalweg::explore::{Explore, explore, replay};
use thalweg::prelude::*;
use thalweg_tests::kernels::add_to;

type Log = Arc<Mutex<Vec<(char, usize)>>>;

stream_pipeline! {
    /// Two independent stages, which report when their chunks arrive.
    pipeline Told {
        param log: Log;
        inout y: [f32];
        inout z: [f32];
        chunk c = 4;
        stage one { copy y -> dy; copy dy -> y; then |c| log.lock().unwrap().push(('y', c.index)); }
        stage two { copy z -> dz; copy dz -> z; then |c| log.lock().unwrap().push(('z', c.index)); }
    }
}

/// The order in which the chunks arrive.
fn told(device: &Device) -> thalweg::Result<Vec<(char, usize)>> {
    let log = Log::default();
    let mut told = Told::new(device)?;
    let (mut y, mut z) = (PinnedBuf::zeroed(device, 10)?, PinnedBuf::zeroed(device, 10)?);
    told.run(log.clone(), &mut y, &mut z)?;
    let log = log.lock().unwrap();
    Ok(log.clone())
}

/// The result is wrong if `z` arrives first.
fn relies_on_an_order(device: &Device) -> thalweg::Result<()> {
    let told = told(device)?;
    assert_eq!(told[0], ('y', 0), "in the order {told:?}");
    Ok(())
}

fn schedule_of(error: &Error) -> (u64, u64, &Detail) {
    let Detail::Schedule { number, seed, cause } = error.detail() else { panic!("{error}") };
    (*number, *seed, cause)
}

#[test]
fn a_seed_alone_gives_the_failure_again() {
    let error = explore(3, 100, relies_on_an_order).unwrap_err();
    let (number, seed, Detail::Panicked { message }) = schedule_of(&error) else { panic!("{error}") };
    assert!(message.contains("in the order [('z', 0), "), "{message}");
    for _ in 0..5 {
        let again = replay(seed, relies_on_an_order).unwrap_err();
        let (0, again, Detail::Panicked { message: same }) = schedule_of(&again) else { panic!("{again}") };
        assert_eq!((again, same), (seed, message));
    }
    let text = error.to_string();
    assert!(text.starts_with(&format!("schedule {number} fails: it panicked: ")), "{text}");
    assert!(
        text.ends_with(&format!("help: `explore::replay({seed:#x}, …)` runs the same schedule again")),
        "{text}"
    );
    // All orders before succeeded.
    assert_eq!(explore(3, number, relies_on_an_order).unwrap().schedules, number);
    assert_eq!(schedule_of(&explore(3, number + 1, relies_on_an_order).unwrap_err()).1, seed);
}

#[test]
fn one_seed_is_one_order_and_others_are_others() {
    let of = |seed| {
        let device = Device::simulated(Simulation::default().adversarial(seed));
        [told(&device).unwrap(), told(&device).unwrap()]
    };
    let orders: BTreeSet<_> = (0..50).map(of).collect();
    assert!((0..50).all(|seed| of(seed) == of(seed)));
    // The host waits at the end of a run, and until then the chunks of either pipeline come in their own
    // order.
    assert!(orders.len() > 40, "{} orders", orders.len());
    let explored = explore(0, 50, |device| told(device).map(drop)).unwrap();
    assert_eq!((explored.schedules, explored.orders), (50, explored.orders));
    assert!(explored.orders > 40, "{explored}");
    assert_eq!(explored, explore(0, 50, |device| told(device).map(drop)).unwrap());
    assert_ne!(told(&Device::simulated(Simulation::default())).unwrap(), []);
}

stream_pipeline! {
    pipeline Add {
        inout y: [f32];
        chunk c = 4;
        stage load { copy y -> dy; }
        stage add { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); }
        stage store { copy dy -> y; }
    }
}

#[test]
fn an_error_keeps_its_place() {
    let little = Simulation::default().with_pinned_memory(0);
    let program = |device: &Device| {
        let mut y = [1.0; 10];
        Add::new(device)?.run(&mut y)?;
        assert_eq!(y, [2.0; 10]);
        Ok(())
    };
    assert_eq!(Explore::new(0, 20).run(program).unwrap().schedules, 20);
    let error = Explore::new(0, 20).simulation(little).run(program).unwrap_err();
    assert!(matches!(schedule_of(&error), (0, _, Detail::OutOfPinnedMemory { .. })), "{error}");
    assert_eq!(error.place().pipeline, Some("Add"), "{error}");
}

#[test]
fn nothing_to_explore() {
    let explored = explore(0, 0, |_| unreachable!("no schedule")).unwrap();
    assert_eq!((explored.schedules, explored.orders), (0, 0));
    let explored = explore(0, 7, |_| Ok(())).unwrap();
    assert!(explored.to_string().starts_with("schedules explored: 7 (1 order)\n"), "{explored}");
}
