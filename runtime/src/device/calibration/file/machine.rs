//! The fields of a [`MachineModel`], and its tables: `[[devices]]`, `[[ports]]` and `[[links]]`, each in the order of the
//! model's list.

use std::collections::BTreeMap;

use super::device;
use super::fields::{Fields, array, lines, number};
use crate::base::machine::{LinkModel, MachineModel, PortModel};

pub(super) fn to_text(machine: &MachineModel) -> String {
    let devices = machine.devices.iter().map(|spec| ("devices", device::to_text(spec)));
    let ports = machine.ports.iter().map(|port| ("ports", port_to_text(port)));
    let links = machine.links.iter().map(|link| ("links", link_to_text(link)));
    let tables = devices.chain(ports).chain(links).map(|(name, text)| format!("\n[[{name}]]\n{text}"));
    shared_to_text(machine.host_memory) + &tables.collect::<String>()
}

/// The field that is in no table.
fn shared_to_text(host_memory: f64) -> String {
    lines([("host_memory", number(host_memory))])
}

fn port_to_text(port: &PortModel) -> String {
    lines([
        ("devices", array(&port.devices)),
        ("to_device", number(port.to_device)),
        ("to_host", number(port.to_host)),
    ])
}

fn link_to_text(link: &LinkModel) -> String {
    lines([
        ("devices", array(&link.devices)),
        ("rate", number(link.rate)),
        ("latency", number(link.latency.as_secs_f64())),
    ])
}

pub(super) fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<MachineModel, String> {
    let mut tables = Tables::default();
    let mut at = &mut tables.machine;
    for line in lines {
        let Some(name) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) else {
            at.push(line);
            continue;
        };
        let of_name = match name.trim() {
            "devices" => &mut tables.devices,
            "ports" => &mut tables.ports,
            "links" => &mut tables.links,
            _ => return Err(format!("it has `{line}`, which is no table of a calibration")),
        };
        let index = of_name.len();
        of_name.push(Vec::new());
        at = &mut of_name[index];
    }
    tables.read()
}

/// The lines of each table.
#[derive(Default)]
struct Tables<'a> {
    /// Those in no table.
    machine: Vec<&'a str>,
    devices: Vec<Vec<&'a str>>,
    ports: Vec<Vec<&'a str>>,
    links: Vec<Vec<&'a str>>,
}

impl Tables<'_> {
    fn read(self) -> Result<MachineModel, String> {
        let fields = Fields::new(None, self.machine)?;
        let host_memory = fields.get("host_memory")?;
        fields.check_names(&shared_to_text(host_memory))?;
        let count = self.devices.len();
        if count == 0 {
            return Err("it has no `[[devices]]`".to_owned());
        }
        let devices = each("device", self.devices, device::of_fields)?;
        let ports = each("port", self.ports, |fields| port(fields, count))?;
        let links = each("link", self.links, |fields| link(fields, count))?;
        check_links(&links)?;
        Ok(MachineModel { host_memory, ports, links, ..devices.into() })
    }
}

/// Checks that no two devices have several links.
fn check_links(links: &[LinkModel]) -> Result<(), String> {
    let mut first: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for (index, LinkModel { devices: [one, other], .. }) in links.iter().enumerate() {
        let pair = [*one.min(other), *one.max(other)];
        if let Some(before) = first.insert(pair, index) {
            return Err(format!("link {index} is between the devices of link {before}"));
        }
    }
    Ok(())
}

/// Reads each table of a name.
fn each<T>(
    of: &str,
    tables: Vec<Vec<&str>>,
    read: impl Fn(&Fields<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let one = |(index, lines)| read(&Fields::new(Some(format!("{of} {index}")), lines)?);
    tables.into_iter().enumerate().map(one).collect()
}

/// Reads a port of a machine with so many devices.
fn port(fields: &Fields<'_>, count: usize) -> Result<PortModel, String> {
    let port = PortModel::new(fields.list("devices")?, fields.get("to_device")?, fields.get("to_host")?);
    fields.check_names(&port_to_text(&port))?;
    check_devices(fields, &port.devices, count)?;
    Ok(port)
}

/// Reads a link of a machine with so many devices.
fn link(fields: &Fields<'_>, count: usize) -> Result<LinkModel, String> {
    let link = LinkModel::new(fields.pair("devices")?, fields.get("rate")?, fields.time("latency")?);
    fields.check_names(&link_to_text(&link))?;
    check_devices(fields, &link.devices, count)?;
    Ok(link)
}

/// Checks that each of these devices is there, and is named once.
fn check_devices(fields: &Fields<'_>, devices: &[usize], count: usize) -> Result<(), String> {
    let numbers =
        if count == 1 { "is only device 0".to_owned() } else { format!("are devices 0 to {}", count - 1) };
    if devices.iter().any(|device| *device >= count) {
        return Err(fields.refused("devices", &format!("there {numbers}")));
    }
    if (1..devices.len()).any(|index| devices[..index].contains(&devices[index])) {
        return Err(fields.refused("devices", "each device is named once"));
    }
    Ok(())
}
