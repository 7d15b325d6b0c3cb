//! The fields of a [`DeviceModel`].

use super::fields::{Fields, array, lines, number, quoted};
use crate::base::model::DeviceModel;

pub(super) fn to_text(spec: &DeviceModel) -> String {
    let (cc, priorities) = (spec.compute_capability, spec.priorities);
    let sizes = [
        ("name", quoted(&spec.name)),
        ("memory", spec.memory.to_string()),
        ("pinned_memory", spec.pinned_memory.to_string()),
        ("compute_capability", array(&[cc.0, cc.1])),
        ("multiprocessors", spec.multiprocessors.to_string()),
        ("max_shared", spec.max_shared.to_string()),
        ("cache", spec.cache.to_string()),
        ("concurrent_kernels", spec.concurrent_kernels.to_string()),
        ("priorities", array(&[priorities.0, priorities.1])),
    ];
    let rates = [
        ("to_device", spec.to_device),
        ("to_host", spec.to_host),
        ("duplex", spec.duplex),
        ("memory_rate", spec.memory_rate),
        ("host_memcpy", spec.host_memcpy),
        ("thread_memcpy", spec.thread_memcpy),
    ];
    let times = [
        ("copy_latency", spec.copy_latency),
        ("duplex_latency", spec.duplex_latency),
        ("small_copy_latency", spec.small_copy_latency),
        ("launch_latency", spec.launch_latency),
        ("event_latency", spec.event_latency),
        ("host_latency", spec.host_latency),
        ("signal_latency", spec.signal_latency),
        ("host_call", spec.host_call),
        ("launch_call", spec.launch_call),
        ("event_call", spec.event_call),
        ("graph_launch", spec.graph_launch),
        ("graph_update", spec.graph_update),
    ];
    let numbers = rates.into_iter().chain(times.map(|(name, time)| (name, time.as_secs_f64())));
    lines(sizes.into_iter().chain(numbers.map(|(name, value)| (name, number(value)))))
}

pub(super) fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<DeviceModel, String> {
    of_fields(&Fields::new(None, lines)?)
}

pub(super) fn of_fields(fields: &Fields<'_>) -> Result<DeviceModel, String> {
    let spec = DeviceModel {
        name: fields.text("name")?,
        memory: fields.get("memory")?,
        pinned_memory: fields.get("pinned_memory")?,
        compute_capability: fields.pair("compute_capability")?.into(),
        multiprocessors: fields.get("multiprocessors")?,
        max_shared: fields.get("max_shared")?,
        cache: fields.get("cache")?,
        concurrent_kernels: fields.get("concurrent_kernels")?,
        priorities: fields.pair("priorities")?.into(),
        to_device: fields.get("to_device")?,
        to_host: fields.get("to_host")?,
        duplex: fields.get("duplex")?,
        memory_rate: fields.get("memory_rate")?,
        host_memcpy: fields.get("host_memcpy")?,
        thread_memcpy: fields.get("thread_memcpy")?,
        copy_latency: fields.time("copy_latency")?,
        duplex_latency: fields.time("duplex_latency")?,
        small_copy_latency: fields.time("small_copy_latency")?,
        launch_latency: fields.time("launch_latency")?,
        event_latency: fields.time("event_latency")?,
        host_latency: fields.time("host_latency")?,
        signal_latency: fields.time("signal_latency")?,
        host_call: fields.time("host_call")?,
        launch_call: fields.time("launch_call")?,
        event_call: fields.time("event_call")?,
        graph_launch: fields.time("graph_launch")?,
        graph_update: fields.time("graph_update")?,
    };
    fields.check_names(&to_text(&spec))?;
    check_ranges(fields, &spec)?;
    Ok(spec)
}

fn check_ranges(fields: &Fields<'_>, spec: &DeviceModel) -> Result<(), String> {
    let (least, greatest) = spec.priorities;
    let limits = [
        ("duplex", spec.duplex > 0.0 && spec.duplex <= 1.0, "it must be above 0 and at most 1"),
        ("concurrent_kernels", spec.concurrent_kernels > 0, "it must be at least 1"),
        ("priorities", least >= greatest, "the first is the least urgent one, which is not below the second"),
    ];
    let beyond = limits.into_iter().find(|&(_, is_within, _)| !is_within);
    beyond.map_or(Ok(()), |(name, _, why)| Err(fields.refused(name, why)))
}
