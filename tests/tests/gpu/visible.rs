//! `CUDA_VISIBLE_DEVICES` decides which GPUs there are, and in which order.

use std::process::Command;

use cudarc::driver::CudaContext;
use thalweg::Device;
use thalweg_tests::test_name;

/// Set in a process that only says which GPUs it sees.
const CHILD: &str = "THALWEG_VISIBLE_CHILD";

/// Before the identity of each GPU that is seen.
const SEEN: &str = "this process sees ";

/// The identities of the GPUs that a process sees with this value of the variable, or with its own.
fn seen(visible: Option<&str>) -> Vec<String> {
    let mut process = Command::new(std::env::current_exe().expect("the test's own path"));
    process.args(["--exact", &test_name(module_path!(), "one_or_in_another_order")]);
    process.args(["--nocapture", "--ignored"]).env(CHILD, "1").env("THALWEG_DEVICE", "cuda:all");
    process.envs(visible.map(|visible| ("CUDA_VISIBLE_DEVICES", visible)));
    let output = process.output().expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    text.lines().filter_map(|line| line.split_once(SEEN)).map(|(_, gpu)| gpu.to_owned()).collect()
}

fn say_what_is_seen() {
    for (index, device) in Device::all().expect("the GPUs").iter().enumerate() {
        let context = CudaContext::new(index).expect("the same GPU");
        // SAFETY: it is a context of this process, which is kept.
        let same = unsafe { Device::from_raw(context.cu_ctx().cast(), context.clone()) };
        assert!(device.same(&same.expect("a device")));
        println!("\n{SEEN}{:?}", context.uuid().expect("its identity").bytes);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_or_in_another_order() {
    if std::env::var_os(CHILD).is_some() {
        return say_what_is_seen();
    }
    let all = seen(None);
    // The names that the variable has for what this process sees.
    let names: Vec<String> = match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(names) => names.split(',').map(|name| name.trim().to_owned()).collect(),
        Err(_) => (0..all.len()).map(|index| index.to_string()).collect(),
    };
    for (name, gpu) in names.iter().zip(&all) {
        assert_eq!(seen(Some(name)), std::slice::from_ref(gpu));
    }
    if let ([one, other, ..], [first, second, ..]) = (&names[..], &all[..]) {
        assert_ne!(first, second);
        assert_eq!(seen(Some(&format!("{other},{one}"))), [second.clone(), first.clone()]);
    }
}
