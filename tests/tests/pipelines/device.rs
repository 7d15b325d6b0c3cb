//! The device that a program gets. Each case is a process of its own, because the environment decides.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use thalweg::__private::Detail;
use thalweg::Device;
use thalweg_tests::test_name;

/// Prints which device the child gets.
#[test]
#[ignore = "run by the other tests, in a process with another environment"]
fn child() {
    match Device::open() {
        Ok(device) => println!("opened {}", device.name()),
        Err(error) => println!("refused {error}"),
    }
    if let Ok(devices) = Device::all() {
        println!("all {}", devices.iter().map(Device::name).collect::<Vec<_>>().join(", "));
    }
}

/// The names of `Device::all()` if `THALWEG_DEVICE` is `value`.
fn all(value: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test_name(module_path!(), "child"), "--include-ignored", "--nocapture"])
        .env("THALWEG_DEVICE", value)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("all ")).unwrap_or_default().to_owned()
}

#[test]
fn several_devices_are_asked_for() {
    assert_eq!(all("sim:3"), "simulated H200, simulated H200, simulated H200");
    assert_eq!(all("sim"), "simulated H200");
    assert_eq!(all("cpu"), Device::cpu().unwrap().name());
    // The first of them is opened.
    assert_eq!(open(Some(b"sim:3")), "opened simulated H200");
    if !has_gpu() {
        assert_eq!((all("cuda:0,1"), all("cuda:all")), (String::new(), String::new()));
        assert_eq!(all("auto"), Device::cpu().unwrap().name());
        assert!(open(Some(b"cuda:all")).starts_with("refused no CUDA driver"));
    }
}

/// The result of `Device::open()` if `THALWEG_DEVICE` is `value`.
fn open(value: Option<&[u8]>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &test_name(module_path!(), "child"), "--include-ignored", "--nocapture"])
        .env_remove("THALWEG_DEVICE");
    if let Some(value) = value {
        command.env("THALWEG_DEVICE", OsStr::from_bytes(value));
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = text.lines().find(|line| line.contains("opened ") || line.contains("refused "));
    // The test harness may have written its own words before, on the same line.
    let said = said.unwrap_or_else(|| panic!("{text}"));
    said[said.find("opened ").or(said.find("refused ")).unwrap()..].to_owned()
}

fn has_gpu() -> bool {
    Device::cuda(0).is_ok()
}

#[test]
fn the_simulated_device_is_asked_for() {
    assert_eq!(open(Some(b"sim")), "opened simulated H200");
    assert_eq!(open(Some(b" sim ")), "opened simulated H200");
}

#[test]
fn the_cpu_stands_in_for_a_gpu() {
    let cpu = format!("opened {}", Device::cpu().unwrap().name());
    assert_eq!(open(Some(b"cpu")), cpu);
    for value in [None, Some(&b""[..]), Some(b"auto")] {
        assert_eq!(open(value) == cpu, !has_gpu(), "{value:?}");
    }
}

#[test]
fn names_of_no_device_are_refused() {
    for name in [
        "gpu",
        "sim:0",
        "cuda:0;1",
        "cuda:0,",
        "cuda:",
        "cuda:x",
        "cuda:-1",
        "cuda 0",
        "simulated",
        "cuda:99999999999999999999",
    ] {
        assert_eq!(
            open(Some(name.as_bytes())),
            format!(
                "refused `THALWEG_DEVICE={name}` names no device: write `cpu`, `sim`, or `cuda:0` for the first GPU; \
                 for several `sim:4`, `cuda:0,2` or `cuda:all`"
            ),
        );
    }
    assert!(open(Some(b"\xFF")).starts_with("refused `THALWEG_DEVICE=\u{FFFD}` names no device"));
}

/// `cuda:N` never falls back to another device.
#[test]
fn a_gpu_that_is_not_there() {
    let expected =
        if has_gpu() { "refused there is no CUDA device 99" } else { "refused no CUDA driver: none of its" };
    assert!(open(Some(b"cuda:99")).starts_with(expected), "{}", open(Some(b"cuda:99")));
}

#[test]
fn a_missing_driver_is_named() {
    let error = Device::cuda(99).unwrap_err();
    match error.detail() {
        Detail::NoCudaDriver { looked_for, .. } if !has_gpu() => {
            assert!(looked_for.iter().any(|name| name.contains("cuda")), "{looked_for:?}");
            let text = error.to_string();
            assert!(looked_for.iter().all(|name| text.contains(name)), "{text}");
        }
        Detail::NoSuchDevice { index: 99, count, .. } if has_gpu() => assert!(*count > 0),
        _ => panic!("{error:?}"),
    }
}
