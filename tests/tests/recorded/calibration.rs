//! When a GPU is measured, without a GPU: a stub of CUDA's driver writes down the calls.

use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::DeviceModel;
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
    assert_eq!(launches > 0, calls.contains("cuMemset"), "{calls}");
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
    let file = calibration_in(&cache);
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, &good[..good.len() / 2]).unwrap();
    assert_eq!([measured(&kept), measured(&kept)], [once, 0]);
    // This is another device.
    assert_eq!(measured(&[&kept[..], &[("THALWEG_MEMORY", "2147483648")]].concat()), once);
    // If nothing is kept, each process measures.
    let unkept = [kept[0], ("THALWEG_CACHE", "off")];
    assert_eq!([measured(&unkept), measured(&unkept)], [once, once]);
}

fn calibration_in(folder: &Path) -> std::path::PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|extension| extension == "calibration"));
    files.next().expect("a calibration")
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
