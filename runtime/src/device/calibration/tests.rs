use super::*;
use crate::sim::Simulation;

/// The difference of two numbers, as a share of the second.
fn off(measured: f64, is: f64) -> f64 {
    (measured - is).abs() / is
}

/// The model that measuring a simulated device gives.
fn measured(spec: &DeviceModel) -> DeviceModel {
    measure::measure(&Device::simulated(spec.clone())).expect("measures")
}

#[test]
fn a_simulated_device_is_measured_to_be_what_its_spec_says() {
    for spec in [DeviceModel::h200(), DeviceModel::a100(), DeviceModel::rtx4090(), DeviceModel::t4()] {
        let found = measured(&spec);
        let rates = |s: &DeviceModel| [s.to_device, s.to_host, s.memory_rate, s.host_memcpy];
        for (found, is) in rates(&found).into_iter().zip(rates(&spec)) {
            assert!(off(found, is) < 0.01, "{}: {found:e} for {is:e}", spec.name);
        }
        assert!(off(found.duplex, spec.duplex) < 0.03, "{}: {} for {}", spec.name, found.duplex, spec.duplex);
        let times = |s: &DeviceModel| {
            let device =
                [s.copy_latency, s.launch_latency, s.event_latency, s.signal_latency, s.host_latency];
            let host = [s.host_call, s.launch_call, s.event_call, s.graph_launch, s.graph_update];
            [&device[..], &host].concat()
        };
        for (index, (found, is)) in times(&found).into_iter().zip(times(&spec)).enumerate() {
            assert!(found.abs_diff(is).as_nanos() <= 25, "{}, {index}: {found:?} for {is:?}", spec.name);
        }
        // Both directions are measured at once, and one may be done before the other.
        let latency = |s: &DeviceModel| s.duplex_latency.as_secs_f64();
        assert!(off(latency(&found), latency(&spec)) < 0.05, "{}: {:?}", spec.name, found.duplex_latency);
        let sizes = |s: &DeviceModel| {
            (s.memory, s.compute_capability, s.multiprocessors, s.max_shared, s.cache, s.priorities)
        };
        assert_eq!((sizes(&found), &found.name), (sizes(&spec), &spec.name));
    }
}

#[test]
fn with_little_memory_less_is_copied() {
    let small = Simulation::h200().with_memory(5 << 20).with_pinned_memory(5 << 20).model;
    assert!(off(measured(&small).to_device, small.to_device) < 0.05);
    let none = Device::simulated(Simulation::h200().with_memory(1 << 20));
    assert!(none.calibrate().unwrap_err().to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"));
}

#[test]
fn nothing_is_left_behind() {
    let device = Device::simulated(DeviceModel::h200());
    let free = device.free_memory().unwrap();
    device.calibrate().unwrap();
    assert_eq!(device.free_memory().unwrap(), free);
}

#[test]
fn a_simulated_devices_calibration_is_its_spec() {
    let spec = Simulation::rtx4090().with_memory(1 << 30).model;
    assert_eq!(*Device::simulated(spec.clone()).calibration(), spec);
}

#[test]
fn a_saved_spec_is_loaded_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b.json");
    let mut named = DeviceModel::h200();
    named.name = "\"a\" = \\b\n\u{7f}\u{200b} é\nmemory = 5\n".to_owned();
    for spec in [DeviceModel::h200(), DeviceModel::t4(), measured(&DeviceModel::a100()), named] {
        spec.save(&path).unwrap();
        assert_eq!(DeviceModel::load(&path).unwrap(), spec);
    }
    // The file is the only one left.
    assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
}

#[test]
fn what_is_no_calibration_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec");
    let refused = |content: &str| {
        std::fs::write(&path, content).unwrap();
        DeviceModel::load(&path).unwrap_err().to_string()
    };
    let no_first_line = "it is no calibration: its first line must be `# thalweg calibration 3: bytes, seconds, bytes a second`";
    assert!(refused("").ends_with(no_first_line), "{}", refused(""));
    assert!(refused("# thalweg calibration 3").ends_with(no_first_line));
    assert!(refused("# thalweg calibration: 3").ends_with(no_first_line));
    DeviceModel::h200().save(&path).unwrap();
    let good = std::fs::read_to_string(&path).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        refused(&good.replace(from, to))
    };
    assert!(changed("name = ", "game = ").ends_with("it has no `name`"));
    let another = changed("calibration 3:", "calibration 12:");
    assert!(another.ends_with("its format is 12, but this version of Thalweg reads 3"), "{another}");
    let cases = [
        ("multiprocessors = 132", "multiprocessors = 5000000000", "`multiprocessors` cannot be 5000000000"),
        ("duplex = 9.203e-1", "duplex = true", "`duplex` cannot be true"),
        ("duplex = 9.203e-1", "duplex = 1.5", "`duplex` cannot be 1.5: it must be above 0 and at most 1"),
        ("duplex = 9.203e-1", "duplex = 0", "`duplex` cannot be 0: it must be above 0 and at most 1"),
        ("to_host = 5.53e10", "to_host = -5.53e10", "`to_host` cannot be -5.53e10: it must be at least 0"),
        ("memory_rate = 4.2e12", "memory_rate = NaN", "`memory_rate` cannot be NaN: it must be at least 0"),
        ("host_call = 1.8e-6", "host_call = -1", "`host_call` cannot be -1: it must be at least 0"),
        (
            "concurrent_kernels = 128",
            "concurrent_kernels = 0",
            "`concurrent_kernels` cannot be 0: it must be at least 1",
        ),
        (
            "priorities = [0, -5]",
            "priorities = [-5, 0]",
            "`priorities` cannot be [-5, 0]: the first is the least urgent one, which is not below the second",
        ),
        (
            "cache = 62914560\n",
            "cache = 62914560\ncaches = 2\n",
            "it has `caches`, which is no field of a calibration",
        ),
        ("cache = 62914560\n", "cache = 62914560\ncache = 2\n", "it has `cache` twice"),
        ("cache = 62914560\n", "cache = 62914560\nof 2\n", "`of 2` is no field with a value"),
        ("\"simulated H200\"", r#""a\x""#, r#"`name` cannot be "a\x""#),
        ("\"simulated H200\"", r#""a\u00e""#, r#"`name` cannot be "a\u00e""#),
        ("\"simulated H200\"", r#""a\""#, r#"`name` cannot be "a\""#),
        ("priorities = [0, -5]", "priorities = [0]", "`priorities` cannot be [0]"),
    ];
    for (from, to, why) in cases {
        assert!(changed(from, to).ends_with(why), "{}", changed(from, to));
    }
    assert!(refused(&" ".repeat(1 << 17)).ends_with("it is no calibration: it has 131072 bytes"));
    assert!(DeviceModel::load(folder.path()).unwrap_err().to_string().ends_with("it is no file"));
    assert!(DeviceModel::load(folder.path().join("none")).unwrap_err().to_string().contains("No such file"));
}

#[test]
fn threads_that_copy_follow_from_the_link() {
    let threads = |to_device: f64, to_host: f64, duplex: f64, thread_memcpy: f64| {
        DeviceModel { to_device, to_host, duplex, thread_memcpy, ..DeviceModel::h200() }.copy_threads()
    };
    assert_eq!(threads(50e9, 50e9, 1.0, 10e9), 11);
    assert_eq!(threads(50e9, 50e9, 0.5, 10e9), 6);
    assert_eq!(threads(12e9, 13e9, 1.0, 10e9), 4);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!([threads(50e9, 50e9, 1.0, rate), threads(rate, rate, 1.0, 10e9)], [2, 2], "{rate}");
    }
    assert_eq!(threads(1e15, 1e15, 1.0, 1.0), MOST_THREADS);
}

#[test]
fn what_is_written_by_hand_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec");
    DeviceModel::h200().save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let by_hand = text.replace("duplex = 9.203e-1\n", "\n# both ways\n  duplex=0.5  \r\n");
    assert_ne!(by_hand, text);
    std::fs::write(&path, by_hand).unwrap();
    assert_eq!(DeviceModel::load(&path).unwrap().duplex, 0.5);
}

#[test]
fn what_could_not_be_loaded_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec");
    let mut spec = DeviceModel::h200();
    spec.duplex = 2.0;
    let error = spec.save(&path).unwrap_err().to_string();
    assert!(error.ends_with("`duplex` cannot be 2e0: it must be above 0 and at most 1"), "{error}");
    assert!(!path.exists());
    // A rate of 0 means that the work takes no time.
    (spec.duplex, spec.memory_rate) = (1.0, 0.0);
    spec.save(&path).unwrap();
    assert_eq!(DeviceModel::load(&path).unwrap(), spec);
}
