//! When a GPU is measured, without a GPU: a stub of CUDA's driver writes down the calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::{DeviceModel, MachineModel};
use thalweg_tests::by_hand::saxpy;
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs =
    Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/calibration-stubs"));

stream_pipeline! {
    pipeline Auto {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage all {
            copy x -> dx;
            copy y -> dy;
            saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy);
            copy dy -> y;
        }
    }
}

/// Does something in a process of its own, and counts its launches of graphs: no run here launches one.
fn measured(test: &str, variables: &[(&str, &str)]) -> usize {
    let calls = STUBS.run_again(test, variables);
    let launches = calls.lines().filter(|line| line.starts_with("cuGraphLaunch")).count();
    assert_eq!(launches > 0, calls.contains(" thalweg_nothing\n"), "{calls}");
    launches
}

fn run(device: &Device, items: usize) {
    let x = PinnedBuf::<f32>::zeroed(device, items).unwrap();
    let mut y = PinnedBuf::<f32>::zeroed(device, items).unwrap();
    Auto::new(device).unwrap().run(2.0, &x, &mut y).unwrap();
}

#[test]
fn a_device_is_measured_once_for_all_processes() {
    let test = "a_device_is_measured_once_for_all_processes";
    if is_child() {
        let device = Device::open().unwrap();
        run(&device, 1 << 20);
        run(&Device::open().unwrap(), 1 << 20);
        assert_eq!(device.calibration().name, "simulated recording stub");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let kept = [("THALWEG_CALIBRATION", ""), ("THALWEG_CACHE", cache.to_str().unwrap())];
    let measured = |variables: &[(&str, &str)]| measured(test, variables);
    let once = measured(&kept);
    assert!(once > 0);
    assert_eq!(measured(&kept), 0);
    // A file that is not a calibration is measured and written anew.
    let file = kept_in(&cache, "calibration");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, &good[..good.len() / 2]).unwrap();
    assert_eq!([measured(&kept), measured(&kept)], [once, 0]);
    // This is another device.
    assert_eq!(measured(&[&kept[..], &[("THALWEG_MEMORY", "2147483648")]].concat()), once);
    // If nothing is kept, each process measures.
    let unkept = [kept[0], ("THALWEG_CACHE", "off")];
    assert_eq!([measured(&unkept), measured(&unkept)], [once, once]);
}

fn kept_in(folder: &Path, kind: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|extension| extension == kind));
    files.next().expect("a file of this kind")
}

#[test]
fn a_run_with_nothing_to_choose_does_not_measure() {
    let test = "a_run_with_nothing_to_choose_does_not_measure";
    if is_child() {
        let device = Device::open().unwrap();
        run(&device, 1000);
        let x = PinnedBuf::<f32>::zeroed(&device, 1 << 20).unwrap();
        let mut y = PinnedBuf::<f32>::zeroed(&device, 1 << 20).unwrap();
        Auto::options(&device).chunk(1 << 18).build().unwrap().run(2.0, &x, &mut y).unwrap();
        return;
    }
    assert_eq!(measured(test, &[("THALWEG_CALIBRATION", "")]), 0);
}

#[test]
fn a_given_calibration_is_taken() {
    let test = "a_given_calibration_is_taken";
    if is_child() {
        let device = Device::open().unwrap();
        run(&device, 1 << 20);
        let expected = std::env::var("EXPECTED").unwrap();
        assert_eq!(device.calibration().name, expected);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spec");
    DeviceModel::t4().save(&file).unwrap();
    let named =
        |path: &str, expected: &str| measured(test, &[("THALWEG_CALIBRATION", path), ("EXPECTED", expected)]);
    assert_eq!(named(file.to_str().unwrap(), "simulated T4"), 0);
    assert_eq!(named("off", "simulated H200"), 0);
}

/// A named file is used. A simulated device is what its spec says, whatever file the variable names.
#[test]
fn a_calibration_that_cannot_be_used_is_an_error_when_a_gpu_is_opened() {
    let test = "a_calibration_that_cannot_be_used_is_an_error_when_a_gpu_is_opened";
    if is_child() {
        let expected = std::env::var("EXPECTED").unwrap();
        let errors = [Device::open().unwrap_err(), Device::cuda(0).unwrap_err(), Device::all().unwrap_err()];
        for error in errors {
            assert!(matches!(error.detail(), Detail::Calibration { .. }), "{error}");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(*Device::simulated(Simulation::t4()).calibration(), DeviceModel::t4());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spec");
    DeviceModel::t4().save(&file).unwrap();
    let good = fs::read_to_string(&file).unwrap();
    let no_duplex: Vec<_> = good.lines().filter(|line| !line.starts_with("duplex")).collect();
    fs::write(&file, no_duplex.join("\n")).unwrap();
    let refused = |path: &str, why: &str| {
        let expected = format!(
            "`{path}` cannot be used as a calibration: {why}\n  \
             help: `THALWEG_CALIBRATION` names it: name a file that `DeviceModel::save` has written, or `off`"
        );
        measured(test, &[("THALWEG_CALIBRATION", path), ("EXPECTED", &expected)])
    };
    assert_eq!(refused(file.to_str().unwrap(), "it has no `duplex`"), 0);
    assert_eq!(refused("/none", "No such file or directory (os error 2)"), 0);
}

const TWO: [(&str, &str); 4] = [
    ("THALWEG_GPUS", "2"),
    ("THALWEG_DEVICE", "cuda:all"),
    // What is measured is copied in earnest, so it has little memory for that.
    ("THALWEG_MEMORY", "12582912"),
    ("THALWEG_CALIBRATION", ""),
];

/// Does something with two GPUs in a process of its own, and counts its copies from one of them to the other: no
/// run here makes one.
fn peer_copies(test: &str, variables: &[(&str, &str)]) -> usize {
    let calls = STUBS.run_again(test, &[&TWO[..], variables].concat());
    calls.lines().filter(|line| line.starts_with("cuMemcpyPeerAsync")).count()
}

/// Predicts a run on two GPUs. The names of the machine's devices are those that the variable says, if it is known.
fn predicts_as_expected() {
    let devices = Device::all().unwrap();
    let x = PinnedBuf::<f32>::zeroed(&devices[0], 1000).unwrap();
    let mut y = PinnedBuf::<f32>::zeroed(&devices[0], 1000).unwrap();
    let mut pipeline = Auto::options(&devices).chunk(100).build().unwrap();
    let machine = pipeline.predict(2.0, &x, &mut y).unwrap().machine;
    // A run measures nothing. It knows what the process knows.
    pipeline.run(2.0, &x, &mut y).unwrap();
    assert_eq!(pipeline.predict(2.0, &x, &mut y).unwrap().machine, machine);
    let models: Vec<_> = devices.iter().map(|device| device.calibration().clone()).collect();
    let names = machine.map(|machine| {
        assert_eq!(machine.devices, models);
        assert_eq!(machine.links.len(), 1);
        models.iter().map(|model| &*model.name).collect::<Vec<_>>().join(", ")
    });
    assert_eq!(names.unwrap_or_default(), std::env::var("EXPECTED").unwrap());
}

const MEASURED: (&str, &str) = ("EXPECTED", "simulated recording stub, simulated recording stub");

#[test]
fn a_machine_is_measured_once_for_all_processes() {
    let test = "a_machine_is_measured_once_for_all_processes";
    if is_child() {
        return predicts_as_expected();
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let kept = [("THALWEG_CACHE", cache.to_str().unwrap()), MEASURED];
    let copies = |variables: &[(&str, &str)]| peer_copies(test, variables);
    let once = copies(&kept);
    assert!(once > 0);
    assert_eq!(copies(&kept), 0);
    let file = kept_in(&cache, "machine");
    assert_eq!(MachineModel::load(&file).unwrap().devices.len(), 2);
    // A file that is cut off, one of another version, and one of other devices are measured and written anew.
    let good = fs::read_to_string(&file).unwrap();
    MachineModel::h200(3).save(&file).unwrap();
    let of_three = fs::read_to_string(&file).unwrap();
    let of_another_version = good.replace("# thalweg machine 2:", "# thalweg machine 0:");
    for content in [&good[..good.len() / 2], &of_another_version, &of_three] {
        assert_ne!(content, good);
        fs::write(&file, content).unwrap();
        assert_eq!([copies(&kept), copies(&kept)], [once, 0]);
    }
    // These are other devices.
    let one_more = ("THALWEG_MEMORY", "13631488");
    assert_eq!([copies(&[kept[0], kept[1], one_more]), copies(&[kept[0], kept[1], one_more])], [once, 0]);
    // If nothing is kept, or cannot be, each process measures.
    for unkept in ["off", "/proc/thalweg"] {
        let unkept = [("THALWEG_CACHE", unkept), MEASURED];
        assert_eq!([copies(&unkept), copies(&unkept)], [once, once]);
    }
}

/// What devices share does not follow from the file of one of them.
#[test]
fn a_given_calibration_is_that_of_each_device_of_a_machine() {
    let test = "a_given_calibration_is_that_of_each_device_of_a_machine";
    if is_child() {
        return predicts_as_expected();
    }
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("spec"));
    DeviceModel::t4().save(&file).unwrap();
    let cache = ("THALWEG_CACHE", cache.to_str().unwrap());
    let given = ("THALWEG_CALIBRATION", file.to_str().unwrap());
    let of_file = [cache, given, ("EXPECTED", "simulated T4, simulated T4")];
    assert!(peer_copies(test, &of_file) > 0);
    assert_eq!(peer_copies(test, &of_file), 0);
    // Another process knows what they share, and what each of them is by itself.
    assert_eq!(peer_copies(test, &[cache, MEASURED]), 0);
    // With `off` nothing is measured, and nothing read.
    let nothing = ("EXPECTED", "");
    assert_eq!(peer_copies(test, &[cache, ("THALWEG_CALIBRATION", "off"), nothing]), 0);
    let empty = [("THALWEG_CACHE", folder.path().to_str().unwrap()), nothing];
    assert_eq!(peer_copies(test, &[&empty[..], &[("THALWEG_CALIBRATION", "off")]].concat()), 0);
    // Where each operation is waited for, nothing is measured. What was kept is read.
    let waits = ("THALWEG_SYNC", "1");
    assert_eq!(peer_copies(test, &[&empty[..], &[waits]].concat()), 0);
    assert_eq!(peer_copies(test, &[cache, waits, MEASURED]), 0);
}

/// It measures whatever the variables say, as `Device::calibrate` does. What it measures of devices that are waited
/// for is of no use to others.
#[test]
fn calibrating_a_machine_measures_and_keeps() {
    let test = "calibrating_a_machine_measures_and_keeps";
    if is_child() {
        // What is known of devices is forgotten with them.
        let devices = Device::all().unwrap();
        assert_eq!(MachineModel::calibrate(&devices).unwrap().links.len(), 1);
        return predicts_as_expected();
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = ("THALWEG_CACHE", folder.path().to_str().unwrap());
    let machines = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "machine")).count()
    };
    let assumed = ("EXPECTED", "simulated H200, simulated H200");
    assert!(peer_copies(test, &[cache, ("THALWEG_SYNC", "1"), assumed]) > 0);
    assert_eq!(machines(), 0);
    assert!(peer_copies(test, &[cache, ("THALWEG_CALIBRATION", "off"), assumed]) > 0);
    assert_eq!(machines(), 1);
    assert!(peer_copies(test, &[cache, MEASURED]) > 0);
    assert_eq!(machines(), 1);
}

/// Wherever measuring fails, the run goes on with other figures, and no memory is freed that may be in use.
#[test]
fn a_run_goes_on_where_measuring_fails() {
    let test = "a_run_goes_on_where_measuring_fails";
    if is_child() {
        let device = Device::open().unwrap();
        assert_eq!(device.calibration().name, "simulated H200");
        return;
    }
    let frees = |fault: &str| {
        let calls = STUBS.run_again(test, &[("THALWEG_CALIBRATION", ""), ("THALWEG_FAIL", fault)]);
        let count =
            |call: &str| calls.lines().filter(|line| line.starts_with(call) && !line.contains("->")).count();
        let [allocated, freed] = ["cuMemAlloc", "cuMemFree "].map(count);
        let [locked, unlocked] = ["cuMemHostAlloc", "cuMemFreeHost"].map(count);
        ((allocated, locked), (freed, unlocked))
    };
    let calls =
        ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuEventRecord", "cuStreamWaitEvent"];
    let graphs = ["cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuLaunchHostFunc", "cuEventCreate"];
    for call in calls.into_iter().chain(graphs) {
        let (taken, given_back) = frees(&format!("{call}:1:1"));
        assert_eq!(taken, given_back, "{call}");
    }
    // Out of memory, it measures with less, until there is none.
    assert_eq!(frees("cuMemAlloc:2:2+"), ((1, 0), (1, 0)));
    // A wait that fails once has waited. One that goes on failing has not, and everything is left to the
    // device.
    let (taken, given_back) = frees("cuStreamSynchronize:700:3");
    assert_eq!(taken, given_back);
    let (taken, given_back) = frees("cuStreamSynchronize:700:3+");
    assert_eq!((taken, given_back), ((2, 2), (0, 0)));
}

static DEVICE: LazyLock<Device> = LazyLock::new(|| Device::open().unwrap());
static FOUND: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn asks(_: &mut [f32]) {
    let measured = DEVICE.calibrate().unwrap_err().to_string();
    FOUND.lock().unwrap().extend([DEVICE.calibration().name.clone(), measured]);
}

stream_pipeline! {
    pipeline Asked {
        input x: [f32];
        host h: [f32];
        chunk c = 10;
        stage all { copy x -> dx; copy dx -> h; host asks(&mut h); }
    }
}

/// The device waits for the function meanwhile. Its figures are not those that the process uses from then on.
#[test]
fn a_host_function_does_not_measure() {
    let test = "a_host_function_does_not_measure";
    if is_child() {
        Asked::new(&DEVICE).unwrap().run(&[0.0; 10]).unwrap();
        let found = FOUND.lock().unwrap();
        assert_eq!(found[0], "simulated H200");
        assert!(found[1].contains("CUDA_ERROR_NOT_PERMITTED"), "{}", found[1]);
        assert_eq!(DEVICE.calibration().name, "simulated recording stub");
        return;
    }
    assert!(measured(test, &[("THALWEG_CALIBRATION", "")]) > 0);
}
