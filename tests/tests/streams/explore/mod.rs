//! Programs in many orders: the reports of exploring, and random pipelines in a hundred thousand orders.

mod checking;
mod failures;
mod interpreter;
#[path = "../../../../macros/compiler/tests/common/model.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod model;
mod program;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use thalweg::__private::Detail;
use thalweg::Device;
use thalweg::error::Place;
use thalweg::explore::Explore;
use thalweg::sim::{MachineModel, Simulation};
use thalweg_compiler::schedule::{StreamKind, schedule};
use thalweg_tests::random::Random;

use program::{Program, Shape, Storage, What};

/// Says what was tried, past the harness, which keeps what a test that passes prints.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}

const PROGRAMS: u64 = 2_500;
const ORDERS: u64 = 40;

/// The number of programs whose waits are left out one by one.
const MUTATED: u64 = 1_000;

/// Calls `check` with the numbers `0..count`, on as many threads as there are cores.
fn in_parallel(count: u64, check: impl Fn(u64) + Sync) {
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get().min(8));
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    check(number);
                }
            });
        }
    });
}

#[test]
fn random_pipelines_are_loops_in_every_order() {
    let [schedules, orders] = [const { AtomicU64::new(0) }; 2];
    in_parallel(PROGRAMS, |number| {
        let mut random = Random::new(number);
        let program = Program::any(&mut random);
        let shape = Shape::any(&mut random);
        let plan = program.plan(&schedule(&program.to_schedule()));
        let expected = program.expected(shape, 1);
        let explored = Explore::new(number, ORDERS).run(|device| {
            let found = interpreter::run(device, &program, plan, shape, None)?;
            assert_eq!(found, expected);
            Ok(())
        });
        let explored =
            explored.unwrap_or_else(|error| panic!("program {number}: {error}\n{shape:?}\n{program:#?}"));
        schedules.fetch_add(explored.schedules, Ordering::Relaxed);
        orders.fetch_add(explored.orders, Ordering::Relaxed);
    });
    let (schedules, orders) = (schedules.into_inner(), orders.into_inner());
    say!("schedules explored: {schedules} ({PROGRAMS} programs, {orders} different orders)");
    assert_eq!(schedules, 100_000);
    assert!(orders > 50_000, "{orders} orders");
}

#[test]
fn random_pipelines_on_several_devices_are_loops_in_every_order() {
    const SHARED: u64 = 200;
    let [schedules, orders] = [const { AtomicU64::new(0) }; 2];
    in_parallel(SHARED, |number| {
        let mut random = Random::new(2_000_000 + number);
        let program = Program::for_several(&mut random);
        let shape = Shape::any(&mut random);
        let plan = program.plan(&schedule(&program.to_schedule()));
        for devices in 1..=4 {
            let expected = program.expected(shape, devices);
            let run = |devices: &[Device]| {
                let found = interpreter::run_on(devices, &program, plan, shape, None)?;
                assert_eq!(found, expected);
                Ok(())
            };
            run(&Device::simulated_machine(MachineModel::h200(devices))).unwrap_or_else(|error| {
                panic!("program {number} on {devices}: {error}\n{shape:?}\n{program:#?}")
            });
            let explored = Explore::new(number, 8).run_on_machine(MachineModel::h200(devices), run);
            let explored = explored.unwrap_or_else(|error| {
                panic!("program {number} on {devices}: {error}\n{shape:?}\n{program:#?}")
            });
            schedules.fetch_add(explored.schedules, Ordering::Relaxed);
            orders.fetch_add(explored.orders, Ordering::Relaxed);
        }
    });
    let (schedules, orders) = (schedules.into_inner(), orders.into_inner());
    say!("schedules explored on 1 to 4 devices: {schedules} ({SHARED} programs, {orders} different orders)");
    assert_eq!(schedules, 4 * 8 * SHARED);
    assert!(orders > 3_000, "{orders} orders");
}

/// An operation and its chunk.
fn instance(place: &Place) -> (usize, usize) {
    let operation = place.operation.and_then(|text| text.strip_prefix("operation ")?.parse().ok());
    (operation.expect("an operation"), place.chunk.expect("a chunk") as usize)
}

/// No wait is superfluous: without it there is a depth at which two operations race, and the error names two
/// that do.
#[test]
fn every_wait_that_is_left_out_is_a_race() {
    const DEPTHS: std::ops::RangeInclusive<usize> = 1..=3;
    let [planted, caught, passed] = [const { AtomicU64::new(0) }; 3];
    in_parallel(MUTATED, |number| {
        let mut random = Random::new(1_000_000 + number);
        let program = Program::any(&mut random);
        let described = program.to_schedule();
        let plan = program.plan(&schedule(&described));
        let run = |depth, without| {
            // Operations that nothing orders are found in any order.
            let spec = Simulation::default();
            let spec = if number % 2 == 0 { spec.adversarial(number) } else { spec };
            interpreter::run(&Device::simulated(spec), &program, plan, Shape::bare(depth), without)
        };
        for depth in DEPTHS {
            let expected = program.expected(Shape::bare(depth), 1);
            assert_eq!(run(depth, None).unwrap(), expected, "program {number}: {program:#?}");
            passed.fetch_add(1, Ordering::Relaxed);
        }
        for wait in 0..plan.waits.len() {
            planted.fetch_add(1, Ordering::Relaxed);
            let races = DEPTHS.filter(|&depth| {
                let Err(error) = run(depth, Some(wait)) else { return false };
                let Detail::Race { earlier, later, .. } = error.detail() else {
                    panic!("program {number} without wait {wait}: {error}\n{program:#?}")
                };
                assert_eq!(*error.place(), later.place);
                let [first, second] = [earlier, later].map(|touch| instance(&touch.place));
                let is_one = model::conflict(&described, depth, first, second);
                is_one && (earlier.writes || later.writes)
            });
            if races.count() > 0 {
                caught.fetch_add(1, Ordering::Relaxed);
            } else {
                println!("program {number}: wait {wait} is not missed\n{plan}\n{program:#?}");
            }
        }
    });
    let (planted, caught) = (planted.into_inner(), caught.into_inner());
    say!("waits left out: {planted}, races caught: {caught} ({MUTATED} programs)");
    assert_eq!(planted, caught);
    assert!(planted > 2 * MUTATED, "{planted} waits say too little");
    assert_eq!(passed.into_inner(), 3 * MUTATED);
}

#[test]
fn a_race_names_both_operations() {
    let program = Program {
        streams: vec![StreamKind::Fixed; 2],
        storages: vec![Storage::Ring, Storage::Host],
        ops: vec![(0, What::Upload { from: 1, to: 0 }), (1, What::Call { reads: vec![], writes: vec![0] })],
    };
    let plan = program.plan(&schedule(&program.to_schedule()));
    let device = Device::simulated(Simulation::default());
    // The first wait is the one within a chunk, the second that of the slot.
    let run = |without| interpreter::run(&device, &program, plan, Shape::bare(2), without);
    run(None).unwrap();
    assert_eq!(
        run(Some(0)).unwrap_err().to_string(),
        "a race: `operation 1` of chunk 0 writes memory that `operation 0` of chunk 0 writes, and nothing orders them\n  \
         the earlier one is in stage `stage0`, at random.rs:10:9\n  \
         in pipeline `Random`, stage `stage1`, operation `operation 1`, chunk 0\n  \
         at random.rs:11:9\n  \
         nothing of `host0` has arrived"
    );
    let error = run(Some(1)).unwrap_err();
    let Detail::Race { earlier, later, .. } = error.detail() else { panic!("{error}") };
    assert_eq!([instance(&earlier.place), instance(&later.place)], [(1, 0), (0, 2)]);
    assert_eq!((earlier.place.site.unwrap().line, later.place.site.unwrap().line), (11, 10));
    // The device works as before.
    run(None).unwrap();
}
