use std::thread::sleep;

use super::*;

#[test]
fn events_tell_real_times() {
    let rig = Rig::new();
    let (stream, [a, b, c]) = (rig.stream(), [(); 3].map(|()| rig.event()));
    let before = rig.cpu.clock();
    rig.record(a, stream);
    rig.launch(stream, tag(0, 0), &[], || sleep(Duration::from_millis(20))).unwrap();
    rig.record(b, stream);
    rig.launch(stream, tag(1, 0), &[], || sleep(Duration::from_millis(5))).unwrap();
    rig.record(c, stream);
    // SAFETY: see `Rig`.
    let elapsed = |from, to| unsafe { rig.cpu.elapsed(from, to) };
    assert_eq!(elapsed(a, b).unwrap_err().code, 600);
    rig.sync(stream).unwrap();
    let (first, second) = (elapsed(a, b).unwrap(), elapsed(b, c).unwrap());
    assert!(first >= 20e6 && second >= 5e6, "{first} {second}");
    assert_eq!(elapsed(b, a).unwrap(), -first);
    assert!(rig.cpu.clock() - before >= Duration::from_millis(25));
    let plain = rig.cpu.create_event().unwrap();
    assert_eq!(elapsed(a, plain).unwrap_err().code, 400, "it was never recorded");
    rig.record(plain, stream);
    assert_eq!(elapsed(a, plain).unwrap_err().code, 400, "it tells no time");
}

#[test]
fn the_device_is_that_machine() {
    let rig = Rig::with(CpuOptions::default().threads(2));
    let device = crate::device::Device::with_driver(rig.cpu.clone());
    let name = device.name().to_owned();
    assert_eq!(device.to_string(), format!("CPU: {name} (2 threads)"));
    assert!(device.is_cpu() && !device.is_simulated() && device.memory() > 0);
    assert!(rig.cpu.model().is_none() && !rig.cpu.polls());
    assert!(rig.cpu.identity().is_some_and(|identity| identity.contains(&name)));
}

#[test]
fn it_can_be_measured() {
    let device = crate::device::Device::with_driver(Rig::new().cpu);
    let model = device.calibrate().unwrap();
    assert!(model.to_device > 1e7 && model.to_host > 1e7 && model.memory_rate > 1e7, "{model:?}");
    assert!(model.host_memcpy > 1e7 && model.launch_latency < Duration::from_millis(50), "{model:?}");
    assert_eq!(model.multiprocessors, 1);
}
