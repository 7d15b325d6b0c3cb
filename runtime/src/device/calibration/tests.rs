use std::time::Duration;

use super::*;
use crate::base::error::ErrorKind;
use crate::sim::{LinkModel, MachineModel, PortModel, Simulation};

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
            let device = [
                s.copy_latency,
                s.small_copy_latency,
                s.launch_latency,
                s.event_latency,
                s.signal_latency,
                s.host_latency,
            ];
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
fn those_that_measure_take_turns() {
    let turn = Turn::take(None);
    let second = std::thread::spawn(|| Device::simulated(DeviceModel::h200()).calibrate().map(drop));
    std::thread::sleep(Duration::from_millis(100));
    // On a slow machine it has not even begun by now, which is as well.
    assert!(!second.is_finished());
    drop(turn);
    second.join().unwrap().unwrap();
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
    let no_first_line = "it is no calibration: its first line must be `# thalweg calibration 4: bytes, seconds, bytes a second`";
    assert!(refused("").ends_with(no_first_line), "{}", refused(""));
    assert!(refused("# thalweg calibration 4").ends_with(no_first_line));
    assert!(refused("# thalweg calibration: 4").ends_with(no_first_line));
    DeviceModel::h200().save(&path).unwrap();
    let good = std::fs::read_to_string(&path).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        refused(&good.replace(from, to))
    };
    assert!(changed("name = ", "game = ").ends_with("it has no `name`"));
    let another = changed("calibration 4:", "calibration 12:");
    assert!(another.ends_with("its format is 12, but this version of Thalweg reads 4"), "{another}");
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

/// A machine in which nothing is like anything else.
fn mixed() -> MachineModel {
    let mut machine = MachineModel::unequal();
    machine.devices.push(DeviceModel { name: "[[links]]\nrate = 1".to_owned(), ..DeviceModel::l40s() });
    machine.ports = vec![PortModel::new(vec![2, 0], 25e9, 26e9), PortModel::new(Vec::new(), 0.0, 1e300)];
    machine.links = vec![
        LinkModel::new([1, 0], 396e9, Duration::from_nanos(2_400)),
        LinkModel::new([1, 2], f64::INFINITY, Duration::MAX),
    ];
    machine
}

#[test]
fn a_saved_machine_is_loaded_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/machine.toml");
    let presets =
        [MachineModel::h200(1), MachineModel::h200(8), MachineModel::l40s(), MachineModel::unequal()];
    let part = MachineModel::l40s().part(&[2]);
    assert_eq!(part.ports.len(), 2);
    for machine in presets.into_iter().chain([mixed(), part, vec![DeviceModel::t4(); 2].into()]) {
        machine.save(&path).unwrap();
        assert_eq!(MachineModel::load(&path).unwrap(), machine);
        // The simulated machine is one that can be saved, too.
        let of_devices = MachineModel::calibrate(&Device::simulated_machine(machine.clone())).unwrap();
        assert_eq!(of_devices, machine);
    }
    assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
}

#[test]
fn a_machine_is_a_file_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine");
    mixed().save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = "# thalweg machine 2: bytes, seconds, bytes a second\nhost_memory = 8e10\n\n[[devices]]\nname = \"simulated A100\"\nmemory = 85899345920\n";
    assert!(text.starts_with(begin), "{text}");
    let end = "
[[ports]]
devices = [2, 0]
to_device = 2.5e10
to_host = 2.6e10

[[ports]]
devices = []
to_device = 0e0
to_host = 1e300

[[links]]
devices = [1, 0]
rate = 3.96e11
latency = 2.4e-6

[[links]]
devices = [1, 2]
rate = inf
latency = 1.8446744073709552e19
";
    assert!(text.ends_with(end), "{text}");
    // The tables may be in any order, and their lines as somebody writes them.
    let (devices, others) = text.split_at(text.find("[[ports]]").unwrap());
    let (first, devices) = devices.split_at(devices.find("[[devices]]").unwrap());
    let by_hand = format!("{first}{others}\n # three\n{devices}")
        .replace("[[ports]]\ndevices = [2, 0]", " [[ ports ]]\r\n\tdevices=[ 2,0 ]");
    assert_ne!(by_hand, text);
    std::fs::write(&path, by_hand).unwrap();
    assert_eq!(MachineModel::load(&path).unwrap(), mixed());
}

#[test]
fn what_is_no_calibration_of_a_machine_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine");
    let refused = |content: &str| {
        std::fs::write(&path, content).unwrap();
        let error = MachineModel::load(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{error}");
        error.to_string()
    };
    let no_first_line = "it is no calibration of a machine: its first line must be `# thalweg machine 2: bytes, seconds, bytes a second`";
    assert!(refused("").ends_with(no_first_line), "{}", refused(""));
    assert!(refused("# thalweg machine 2").ends_with(no_first_line));
    mixed().save(&path).unwrap();
    let good = std::fs::read_to_string(&path).unwrap();
    let path_of_one = folder.path().join("spec");
    DeviceModel::t4().save(&path_of_one).unwrap();
    let of_one = std::fs::read_to_string(&path_of_one).unwrap();
    assert!(
        refused(&of_one).ends_with("it is the calibration of one device, which `DeviceModel::load` reads")
    );
    std::fs::write(&path_of_one, &good).unwrap();
    let error = DeviceModel::load(&path_of_one).unwrap_err().to_string();
    assert!(
        error.ends_with("it is the calibration of a machine, which `MachineModel::load` reads"),
        "{error}"
    );
    let cases = [
        ("machine 2:", "machine 12:", "its format is 12, but this version of Thalweg reads 2"),
        ("host_memory = 8e10\n", "", "it has no `host_memory`"),
        ("host_memory = 8e10", "host_memory = -8e10", "`host_memory` cannot be -8e10: it must be at least 0"),
        ("host_memory = 8e10", "host_memory = fast", "`host_memory` cannot be fast"),
        (
            "host_memory = 8e10\n",
            "host_memory = 8e10\nduplex = 1\n",
            "it has `duplex`, which is no field of a calibration",
        ),
        ("host_memory = 8e10\n", "host_memory = 8e10\nhost_memory = 8e10\n", "it has `host_memory` twice"),
        ("host_memory = 8e10\n", "host_memory = 8e10\n[port]\n", "`[port]` is no field with a value"),
        (
            "[[ports]]\ndevices = []",
            "[[port]]\ndevices = []",
            "it has `[[port]]`, which is no table of a calibration",
        ),
        ("name = \"simulated T4\"\n", "", "device 1 has no `name`"),
        ("name = \"simulated T4\"", "name = simulated", "`name` of device 1 cannot be simulated"),
        ("name = \"simulated T4\"\n", "name = \"simulated T4\"\nduplex = 2\n", "device 1 has `duplex` twice"),
        (
            "name = \"simulated T4\"\n",
            "name = \"simulated T4\"\nhost_memory = 1\n",
            "device 1 has `host_memory`, which is no field of a calibration",
        ),
        (
            "multiprocessors = 108",
            "multiprocessors = -1",
            "`multiprocessors` of device 0 cannot be -1: it must be at least 0",
        ),
        (
            "duplex = 8.5e-1\nmemory_rate = 1.75e12",
            "duplex = 1.5\nmemory_rate = 1.75e12",
            "`duplex` of device 0 cannot be 1.5: it must be above 0 and at most 1",
        ),
        ("to_device = 2.5e10\nto_host = 2.6e10\n\n", "to_device = 2.5e10\n\n", "port 0 has no `to_host`"),
        (
            "to_host = 1e300\n",
            "to_host = 1e300\nrate = 1\n",
            "port 1 has `rate`, which is no field of a calibration",
        ),
        ("devices = []", "devices = 0", "`devices` of port 1 cannot be 0"),
        ("devices = []", "devices = [-1]", "`devices` of port 1 cannot be [-1]"),
        (
            "devices = []",
            "devices = [1, 3]",
            "`devices` of port 1 cannot be [1, 3]: there are devices 0 to 2",
        ),
        (
            "devices = []",
            "devices = [1, 1]",
            "`devices` of port 1 cannot be [1, 1]: each device is named once",
        ),
        ("rate = 3.96e11\n", "", "link 0 has no `rate`"),
        ("rate = 3.96e11", "rate = NaN", "`rate` of link 0 cannot be NaN: it must be at least 0"),
        ("\nlatency = 2.4e-6", "\nlatency = 1e20", "`latency` of link 0 cannot be 1e20"),
        ("\nlatency = 2.4e-6", "\nlatency = 1\nlatency = 1", "link 0 has `latency` twice"),
        ("devices = [1, 2]", "devices = [1]", "`devices` of link 1 cannot be [1]"),
        ("devices = [1, 2]", "devices = [1, 2, 0]", "`devices` of link 1 cannot be [1, 2, 0]"),
        (
            "devices = [1, 2]",
            "devices = [1, 7]",
            "`devices` of link 1 cannot be [1, 7]: there are devices 0 to 2",
        ),
        (
            "devices = [1, 2]",
            "devices = [2, 2]",
            "`devices` of link 1 cannot be [2, 2]: each device is named once",
        ),
        ("devices = [1, 2]", "devices = [0, 1]", "link 1 is between the devices of link 0"),
    ];
    for (from, to, why) in cases {
        assert_eq!(good.matches(from).count(), 1, "{from} in {good}");
        let said = refused(&good.replace(from, to));
        assert_eq!(said, format!("`{}` cannot be used as a calibration: {why}", path.display()));
    }
    let (top, _) = good.split_at(good.find("[[devices]]").unwrap());
    assert!(refused(top).ends_with("it has no `[[devices]]`"));
    let (_, links) = good.split_at(good.find("\n[[links]]").unwrap());
    assert!(refused(&format!("{top}{links}")).ends_with("it has no `[[devices]]`"));
    MachineModel::h200(1).save(&path).unwrap();
    let one = std::fs::read_to_string(&path).unwrap();
    let port = "[[ports]]\ndevices = [1]\nto_device = 1\nto_host = 1\n";
    assert!(refused(&(one + port)).ends_with("`devices` of port 0 cannot be [1]: there is only device 0"));
    assert!(
        refused(&" ".repeat(1 << 21)).ends_with("it is no calibration of a machine: it has 2097152 bytes")
    );
    assert!(MachineModel::load(folder.path()).unwrap_err().to_string().ends_with("it is no file"));
    let none = MachineModel::load(folder.path().join("none")).unwrap_err().to_string();
    assert!(none.contains("No such file"), "{none}");
}

#[test]
fn a_machine_that_could_not_be_loaded_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine");
    let changed = |change: fn(&mut MachineModel)| {
        let mut machine = mixed();
        change(&mut machine);
        let error = machine.save(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{error}");
        assert!(!path.exists());
        error.to_string()
    };
    assert!(changed(|it| it.devices.clear()).ends_with("it has no `[[devices]]`"));
    let rate = changed(|it| it.host_memory = f64::NAN);
    assert!(rate.ends_with("`host_memory` cannot be NaN: it must be at least 0"), "{rate}");
    let device = changed(|it| it.devices[1].concurrent_kernels = 0);
    assert!(
        device.ends_with("`concurrent_kernels` of device 1 cannot be 0: it must be at least 1"),
        "{device}"
    );
    let fewer = changed(|it| it.devices.truncate(2));
    assert!(fewer.ends_with("`devices` of port 0 cannot be [2, 0]: there are devices 0 to 1"), "{fewer}");
    let many = changed(|it| it.devices = vec![DeviceModel::h200(); 2000]);
    assert!(many.contains("it is no calibration of a machine: it has 1"), "{many}");
}
