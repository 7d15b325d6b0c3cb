//! Runs on several devices that repeat the one before, or only seem to: each device launches its graphs again if what
//! it has of the run is the same. A stub of CUDA's libraries stands in for the GPUs.

use std::sync::atomic::{AtomicU32, Ordering};

use thalweg::Sharded;
use thalweg::prelude::*;
use thalweg_tests::numbers;
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs =
    Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/repeated-on-several-stubs"));

/// Returns another value each time.
fn next() -> f32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) as f32
}

stream_pipeline! {
    /// `x` goes to `y` on the devices and to `w` on the host. Each chunk of `z` gets its number and `value`.
    pipeline Parts {
        param value: f32;
        input x: [f32];
        output y: device [f32];
        output z: device [f32];
        output w: [f32];
        chunk c = 100;
        depth = 2;
        mode = graph;
        stage up { copy x -> dx; copy dx -> y; }
        stage math { fill z = value + c.index as f32; }
        stage down { copy dx -> w; }
    }
}

stream_pipeline! {
    pipeline Asking {
        output z: device [f32];
        chunk c = 100;
        mode = graph;
        stage math { fill z = next(); }
    }
}

stream_pipeline! {
    /// Devices take chunks as they become free.
    pipeline Free {
        input x: [f32];
        output w: [f32];
        chunk c = 100;
        depth = 2;
        mode = graph;
        stage all { copy x -> dx; copy dx -> w; }
        device dx: [f32];
    }
}

/// Runs `body` on so many devices, and returns the record of the calls.
fn recorded(gpus: usize, test: &str, fail: &str, body: fn(&[Device])) -> Option<String> {
    if is_child() {
        body(&Device::all().expect("the stub's devices"));
        return None;
    }
    let gpus = gpus.to_string();
    let variables = [
        ("THALWEG_GPUS", &*gpus),
        ("THALWEG_DEVICE", "cuda:all"),
        ("THALWEG_WHICH", "1"),
        ("THALWEG_FAIL", fail),
    ];
    Some(STUBS.run_again(test, &variables))
}

/// A part of each of these lengths.
fn parts(devices: &[Device], lens: &[usize]) -> Sharded<f32> {
    let part = |(device, len): (&Device, &usize)| DeviceBuf::zeroed(device, *len).expect("memory");
    Sharded::from_parts(devices.iter().zip(lens).map(part).collect()).expect("parts")
}

/// The arguments of a run.
struct Given {
    x: PinnedBuf<f32>,
    y: Sharded<f32>,
    z: Sharded<f32>,
    w: PinnedBuf<f32>,
}

impl Given {
    fn new(devices: &[Device], lens: &[usize]) -> Self {
        let len = lens.iter().sum();
        Self {
            x: PinnedBuf::from_slice(&devices[0], &numbers(len)).expect("memory"),
            y: parts(devices, lens),
            z: parts(devices, lens),
            w: PinnedBuf::zeroed(&devices[0], len).expect("memory"),
        }
    }

    fn clear(&mut self) {
        let zeros = vec![0.0; self.w.len()];
        self.y.copy_from_slice(&zeros).expect("a copy");
        self.z.copy_from_slice(&zeros).expect("a copy");
        self.w.fill(0.0);
    }

    #[track_caller]
    fn check(&self, value: f32) {
        assert!(self.w[..] == self.x[..] && self.y.to_vec().expect("a copy") == self.x[..]);
        let numbered = (0..self.x.len()).map(|item| value + (item / 100) as f32);
        assert_eq!(self.z.to_vec().expect("a copy"), numbered.collect::<Vec<_>>());
    }

    /// Runs the pipeline, checks what it has done, and returns which devices have repeated their run before.
    #[track_caller]
    fn run(&mut self, pipeline: &mut Parts, value: f32) -> Vec<bool> {
        self.clear();
        let report = pipeline.run(value, &self.x, &mut self.y, &mut self.z, &mut self.w).expect("a run");
        self.check(value);
        let parts = || report.parts.iter();
        assert_eq!(
            parts().map(|part| part.items).collect::<Vec<_>>(),
            self.y.parts().iter().map(DeviceBuf::len).collect::<Vec<_>>()
        );
        assert!(parts().all(|part| part.chunks == part.items.div_ceil(100)), "{report}");
        assert!(parts().all(|part| part.bytes_to_device == 4 * part.items as u64), "{report}");
        assert!(parts().all(|part| part.bytes_to_host == 4 * part.items as u64), "{report}");
        assert_eq!((report.items, report.chunks), (self.x.len(), self.x.len().div_ceil(100)));
        assert_eq!(report.repeated, parts().all(|part| part.repeated));
        parts().map(|part| part.repeated).collect()
    }
}

#[test]
fn each_device_launches_its_graph_and_records_nothing() {
    for gpus in [2, 3] {
        let record = recorded(gpus, "each_device_launches_its_graph_and_records_nothing", "", |devices| {
            let mut given = Given::new(devices, &[300, 200, 50][..devices.len()]);
            let mut pipeline = Parts::new(devices).expect("a pipeline");
            for repeated in [false, true, true] {
                assert_eq!(given.run(&mut pipeline, 1.0), vec![repeated; devices.len()]);
            }
        });
        let Some(record) = record else { return };
        for device in 0..gpus {
            let own = || record.lines().filter_map(|line| line.strip_prefix(&format!("{device}| ")));
            let graphs: Vec<_> = own().filter(|line| line.starts_with("cuGraph")).collect();
            let count = |call: &str| graphs.iter().filter(|line| line.starts_with(call)).count();
            assert_eq!((count("cuGraphCreate"), count("cuGraphLaunch")), (1, 3), "{record}");
            assert_eq!(count("cuGraphExec") - count("cuGraphExecDestroy"), 0, "{record}");
            let first = graphs.iter().position(|line| line.starts_with("cuGraphLaunch")).expect("a launch");
            let after = graphs[first..].iter().filter(|line| !line.starts_with("cuGraphLaunch"));
            assert!(after.clone().all(|line| line.contains("Destroy")), "{:?}", after.collect::<Vec<_>>());
        }
    }
}

/// A device may have the same memory, but other chunks of the run.
#[test]
fn borders_that_have_moved_are_another_run() {
    recorded(3, "borders_that_have_moved_are_another_run", "", |devices| {
        let mut given = Given::new(devices, &[300, 600, 0]);
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        assert_eq!(given.run(&mut pipeline, 1.0), [false; 3]);
        assert_eq!(given.run(&mut pipeline, 1.0), [true; 3], "one of them without a chunk");
        // The second device's buffers are the same, and their length is, but the first three chunks of the run come
        // behind them instead of before.
        let moved = |of: Sharded<f32>, lens: [usize; 2]| {
            let [_, middle, _] = <[_; 3]>::try_from(of.into_parts()).expect("three");
            let [first, last] = [(0, lens[0]), (2, lens[1])]
                .map(|(device, len)| DeviceBuf::zeroed(&devices[device], len).expect("memory"));
            Sharded::from_parts(vec![first, middle, last]).expect("parts")
        };
        let Given { x, y, z, w } = given;
        let mut given = Given { x, y: moved(y, [0, 300]), z: moved(z, [0, 300]), w };
        assert_eq!(given.run(&mut pipeline, 1.0), [false; 3]);
        assert_eq!(given.run(&mut pipeline, 1.0), [true; 3]);
    });
}

/// The border between two devices does not matter to the third.
#[test]
fn a_device_whose_part_is_the_same_repeats_its_own() {
    recorded(3, "a_device_whose_part_is_the_same_repeats_its_own", "", |devices| {
        let mut given = Given::new(devices, &[300, 300, 250]);
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        assert_eq!(given.run(&mut pipeline, 1.0), [false; 3]);
        let moved = |of: Sharded<f32>| {
            let last = of.into_parts().pop().expect("three");
            let [first, second] = [(0, 200), (1, 400)]
                .map(|(device, len)| DeviceBuf::zeroed(&devices[device], len).expect("memory"));
            Sharded::from_parts(vec![first, second, last]).expect("parts")
        };
        let Given { x, y, z, w } = given;
        let mut given = Given { x, y: moved(y), z: moved(z), w };
        assert_eq!(given.run(&mut pipeline, 1.0), [false, false, true]);
        assert_eq!(given.run(&mut pipeline, 1.0), [true; 3]);
    });
}

#[test]
fn each_difference_is_recorded() {
    recorded(2, "each_difference_is_recorded", "", |devices| {
        let mut given = Given::new(devices, &[300, 250]);
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        for value in [1.0, 2.0, 1.0, -0.0, 0.0] {
            assert_eq!(given.run(&mut pipeline, value), [false; 2], "{value}");
        }
        std::mem::swap(&mut given.y, &mut given.z);
        assert_eq!(given.run(&mut pipeline, 0.0), [false; 2], "the arguments in parts have changed places");
        given.x = PinnedBuf::from_slice(&devices[0], &numbers(550)).expect("memory");
        assert_eq!(given.run(&mut pipeline, 0.0), [false; 2], "another input");
        assert_eq!(given.run(&mut pipeline, 0.0), [true; 2]);
        let mut shorter = Given::new(devices, &[300, 200]);
        assert_eq!(shorter.run(&mut pipeline, 0.0), [false; 2], "another length");
        assert_eq!(given.run(&mut pipeline, 0.0), [false; 2]);
        std::thread::scope(|scope| {
            let elsewhere = || assert_eq!(given.run(&mut pipeline, 0.0), [true; 2], "another thread");
            scope.spawn(elsewhere).join().expect("a thread");
        });
        let mut pageable = vec![0.0; 550];
        let Given { x, y, z, .. } = &mut given;
        let staged = pipeline.run(0.0, &*x, y, z, &mut pageable).expect("a staged run");
        assert!(!staged.repeated && pageable == x[..]);
        assert_eq!(given.run(&mut pipeline, 0.0), [false; 2], "after a staged run");
    });
}

/// The buffer that comes in its place may have its address.
#[test]
fn a_part_that_was_freed_is_another_one() {
    recorded(2, "a_part_that_was_freed_is_another_one", "", |devices| {
        let mut given = Given::new(devices, &[300, 250]);
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        given.run(&mut pipeline, 1.0);
        for _ in 0..3 {
            assert_eq!(given.run(&mut pipeline, 1.0), [true; 2]);
            let mut parts = given.y.into_parts();
            drop(parts.pop());
            parts.push(DeviceBuf::zeroed(&devices[1], 250).expect("memory"));
            given.y = Sharded::from_parts(parts).expect("parts");
            assert_eq!(given.run(&mut pipeline, 1.0), [true, false], "the first device has its own still");
        }
    });
}

#[test]
fn a_function_of_the_users_is_asked_in_every_run() {
    recorded(2, "a_function_of_the_users_is_asked_in_every_run", "", |devices| {
        let mut z = parts(devices, &[100, 100]);
        let mut asking = Asking::new(devices).expect("a pipeline");
        for run in 0..3 {
            let report = asking.run(&mut z).expect("a run");
            assert!(!report.repeated && report.parts.iter().all(|part| !part.repeated));
            let z = z.to_vec().expect("a copy");
            let mut asked = [z[0], z[100]];
            asked.sort_by(f32::total_cmp);
            assert_eq!(asked, [1.0, 2.0].map(|value| value + 2.0 * run as f32));
        }
    });
}

#[test]
fn devices_that_take_chunks_as_they_become_free_record_each_run() {
    recorded(2, "devices_that_take_chunks_as_they_become_free_record_each_run", "", |devices| {
        let x = PinnedBuf::from_slice(&devices[0], &numbers(1000)).expect("memory");
        let mut w = PinnedBuf::zeroed(&devices[0], 1000).expect("memory");
        let mut free = Free::new(devices).expect("a pipeline");
        for _ in 0..3 {
            w.fill(0.0);
            let report = free.run(&x, &mut w).expect("a run");
            assert!(report.graph && !report.repeated && w[..] == x[..]);
        }
    });
}

/// Any order of runs does what each of them is to do.
#[test]
fn runs_in_any_order_do_what_they_are_to_do() {
    recorded(3, "runs_in_any_order_do_what_they_are_to_do", "", |devices| {
        let mut all: Vec<_> =
            [[300, 600, 0], [0, 600, 300], [300, 600, 0], [300, 300, 250], [200, 0, 0], [0; 3]]
                .map(|lens| Given::new(devices, &lens))
                .into_iter()
                .collect();
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        let mut numbers = 1_u32;
        let mut below = |n: u32| {
            numbers = numbers.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (numbers >> 16) % n
        };
        let (mut before, mut repeated) = (None, 0);
        for _ in 0..300 {
            let (which, value) = (below(6) as usize, [1.0, 2.0][below(2) as usize]);
            let given = &mut all[which];
            if below(4) == 0 {
                std::mem::swap(&mut given.y, &mut given.z);
                before = None;
            }
            let said = given.run(&mut pipeline, value);
            let this = Some((which, value.to_bits()));
            let same = before == this;
            assert!(!same || said == [true; 3], "{which} {value}: {said:?}");
            repeated += usize::from(same);
            // After a run of nothing the next one is recorded.
            before = this.filter(|_| which < 5);
        }
        assert!(repeated > 10, "{repeated}");
    });
}

/// The device whose launch has failed records its next run, and the other one repeats its own.
#[test]
fn a_graph_that_cannot_be_launched_is_gone_on_its_device_alone() {
    let test = "a_graph_that_cannot_be_launched_is_gone_on_its_device_alone";
    recorded(2, test, "cuGraphLaunch:700:3", |devices| {
        let mut given = Given::new(devices, &[300, 250]);
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        given.run(&mut pipeline, 1.0);
        let Given { x, y, z, w } = &mut given;
        let error = pipeline.run(1.0, &*x, y, z, w).expect_err("a launch fails");
        let failed = error.device().expect("a device");
        assert!(error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
        let repeated = given.run(&mut pipeline, 1.0);
        assert_eq!((repeated[failed], repeated[1 - failed]), (false, true), "device {failed} had failed");
        assert_eq!(given.run(&mut pipeline, 1.0), [true; 2]);
    });
}

/// A device that stops because another has failed has recorded only a part of what it was to do.
#[test]
fn a_device_that_has_stopped_does_not_repeat_a_part_of_its_run() {
    let test = "a_device_that_has_stopped_does_not_repeat_a_part_of_its_run";
    recorded(2, test, "cuGraphLaunch:700:1", |devices| {
        // The second device has many chunks more, and the first one launches its graph long before.
        let mut given = Given::new(devices, &[100, 50_000]);
        let mut pipeline = Parts::new(devices).expect("a pipeline");
        let Given { x, y, z, w } = &mut given;
        pipeline.run(1.0, &*x, y, z, w).expect_err("a launch fails");
        assert_eq!(given.run(&mut pipeline, 1.0), [false; 2]);
        assert_eq!(given.run(&mut pipeline, 1.0), [true; 2]);
    });
}

/// The second device has two graphs. Whichever launch of the repeated run fails, nothing is said to be complete that has
/// not arrived.
#[test]
fn what_a_repeated_run_on_several_has_not_launched_is_not_complete() {
    let test = "what_a_repeated_run_on_several_has_not_launched_is_not_complete";
    for nth in ["4", "5", "6"] {
        let record = recorded(2, test, &format!("cuGraphLaunch:700:{nth}"), |devices| {
            let mut given = Given::new(devices, &[100, 60_000]);
            let mut pipeline = Parts::new(devices).expect("a pipeline");
            assert_eq!(given.run(&mut pipeline, 1.0), [false; 2]);
            given.clear();
            let Given { x, y, z, w } = &mut given;
            let error = pipeline.run(1.0, &*x, y, z, &mut *w).expect_err("a launch fails");
            let [complete] = error.complete() else { panic!("{error:?}") };
            let arrived = w.iter().zip(&x[..]).take_while(|(w, x)| w == x).count();
            assert_eq!((complete.host, complete.items), ("w", arrived), "{error}");
            let failed = error.device().expect("a device");
            let repeated = given.run(&mut pipeline, 1.0);
            assert_eq!((repeated[failed], repeated[1 - failed]), (false, true));
        });
        if record.is_none() {
            return;
        }
    }
}
