//! A [`DeviceModel`] as a file. Each of its fields is a line, `name = value`, so the file is TOML too.
//!
//! It uses no crate for JSON or TOML. The common ones add too much for 26 lines to every program that depends
//! on this one: serde's derive, or that `assert_eq!(list, [])` needs annotations, since `serde_json`'s values
//! compare with numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::base::error::counted;
use crate::base::model::DeviceModel;

/// The first line: its beginning, and all of it.
const KIND: &str = "# thalweg calibration ";
const FORMAT: &str = "# thalweg calibration 3: bytes, seconds, bytes a second";

/// The largest size of a calibration, in bytes.
const LONGEST: u64 = 1 << 16;

/// Writes a file that [`load`] accepts. A model that it would refuse is not written.
pub(super) fn save(spec: &DeviceModel, path: &Path) -> Result<(), String> {
    let text = to_text(spec);
    from_text(&text)?;
    write(&text, path).map_err(|error| error.to_string())
}

/// Writes under another name first, so that no other process reads half of the file.
fn write(text: &str, path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix("unfinished-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

pub(super) fn load(path: &Path) -> Result<DeviceModel, String> {
    let data = fs::metadata(path).map_err(|error| error.to_string())?;
    if !data.is_file() {
        return Err("it is no file".to_owned());
    }
    if data.len() > LONGEST {
        return Err(format!("it is no calibration: it has {}", counted(data.len(), "byte")));
    }
    from_text(&fs::read_to_string(path).map_err(|error| error.to_string())?)
}

fn to_text(spec: &DeviceModel) -> String {
    let pair = |first: &dyn std::fmt::Display, second: &dyn std::fmt::Display| format!("[{first}, {second}]");
    let (cc, priorities) = (spec.compute_capability, spec.priorities);
    let sizes = [
        ("name", quoted(&spec.name)),
        ("memory", spec.memory.to_string()),
        ("pinned_memory", spec.pinned_memory.to_string()),
        ("compute_capability", pair(&cc.0, &cc.1)),
        ("multiprocessors", spec.multiprocessors.to_string()),
        ("max_shared", spec.max_shared.to_string()),
        ("cache", spec.cache.to_string()),
        ("concurrent_kernels", spec.concurrent_kernels.to_string()),
        ("priorities", pair(&priorities.0, &priorities.1)),
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
    let lines = sizes.into_iter().chain(numbers.map(|(name, number)| (name, format!("{number:e}"))));
    lines.fold(format!("{FORMAT}\n"), |mut text, (name, value)| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name} = {value}");
        text
    })
}

fn from_text(text: &str) -> Result<DeviceModel, String> {
    let fields = Fields::new(text)?;
    let spec = DeviceModel {
        name: fields.text("name")?,
        memory: fields.get("memory")?,
        pinned_memory: fields.get("pinned_memory")?,
        compute_capability: fields.pair("compute_capability")?,
        multiprocessors: fields.get("multiprocessors")?,
        max_shared: fields.get("max_shared")?,
        cache: fields.get("cache")?,
        concurrent_kernels: fields.get("concurrent_kernels")?,
        priorities: fields.pair("priorities")?,
        to_device: fields.get("to_device")?,
        to_host: fields.get("to_host")?,
        duplex: fields.get("duplex")?,
        memory_rate: fields.get("memory_rate")?,
        host_memcpy: fields.get("host_memcpy")?,
        thread_memcpy: fields.get("thread_memcpy")?,
        copy_latency: fields.time("copy_latency")?,
        duplex_latency: fields.time("duplex_latency")?,
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
    fields.check(&spec)?;
    Ok(spec)
}

/// The texts of the values, by name.
struct Fields<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Fields<'a> {
    fn new(text: &'a str) -> Result<Self, String> {
        let mut lines = text.lines();
        check_format(lines.next().unwrap_or_default())?;
        let mut fields = BTreeMap::new();
        for line in lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, value) =
                line.split_once('=').ok_or_else(|| format!("`{line}` is no field with a value"))?;
            let (name, value) = (name.trim_end(), value.trim_start());
            if value.parse().is_ok_and(|number: f64| number.is_nan() || number < 0.0) {
                return Err(cannot_be(name, value, "it must be at least 0"));
            }
            if fields.insert(name, value).is_some() {
                return Err(format!("it has `{name}` twice"));
            }
        }
        Ok(Self(fields))
    }

    /// Checks that no other field is there, and that every value is within its range.
    fn check(&self, spec: &DeviceModel) -> Result<(), String> {
        let text = to_text(spec);
        let is_field =
            |name| text.lines().any(|line| line.split_once(" = ").is_some_and(|(field, _)| field == name));
        if let Some(name) = self.0.keys().find(|&&name| !is_field(name)) {
            return Err(format!("it has `{name}`, which is no field of a calibration"));
        }
        let (least, greatest) = spec.priorities;
        let limits = [
            ("duplex", spec.duplex > 0.0 && spec.duplex <= 1.0, "it must be above 0 and at most 1"),
            ("concurrent_kernels", spec.concurrent_kernels > 0, "it must be at least 1"),
            (
                "priorities",
                least >= greatest,
                "the first is the least urgent one, which is not below the second",
            ),
        ];
        let beyond = limits.into_iter().find(|&(_, is_within, _)| !is_within);
        beyond.map_or(Ok(()), |(name, _, why)| Err(cannot_be(name, self.0[name], why)))
    }

    fn read<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, String> {
        let value = self.0.get(name).ok_or_else(|| format!("it has no `{name}`"))?;
        read(value).ok_or_else(|| format!("`{name}` cannot be {value}"))
    }

    fn get<T: FromStr>(&self, name: &str) -> Result<T, String> {
        self.read(name, |value| value.parse().ok())
    }

    fn pair<T: FromStr>(&self, name: &str) -> Result<(T, T), String> {
        self.read(name, |value| {
            let (first, second) = value.strip_prefix('[')?.strip_suffix(']')?.split_once(", ")?;
            Some((first.parse().ok()?, second.parse().ok()?))
        })
    }

    fn time(&self, name: &str) -> Result<Duration, String> {
        self.read(name, |value| {
            let seconds: f64 = value.parse().ok()?;
            // The longest duration, which was rounded up.
            let longest = seconds == Duration::MAX.as_secs_f64();
            if longest { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
        })
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.read(name, unquoted)
    }
}

/// Checks that this is the first line of a file that can be read.
fn check_format(line: &str) -> Result<(), String> {
    if line == FORMAT {
        return Ok(());
    }
    let number = |line: &str| line.strip_prefix(KIND)?.split_once(':')?.0.parse::<u32>().ok();
    match (number(line), number(FORMAT)) {
        (Some(its), Some(own)) if its != own => {
            Err(format!("its format is {its}, but this version of Thalweg reads {own}"))
        }
        _ => Err(format!("it is no calibration: its first line must be `{FORMAT}`")),
    }
}

fn cannot_be(name: &str, value: &str, why: &str) -> String {
    format!("`{name}` cannot be {value}: {why}")
}

/// The text as a TOML string, on one line.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|letter| match letter {
            '"' | '\\' => format!("\\{letter}"),
            _ if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
            _ => letter.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// The text from which [`quoted`] made this string; `None` for any other string.
fn unquoted(value: &str) -> Option<String> {
    let mut rest = value.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let (letter, after) = match escape.strip_prefix('u') {
            Some(code) => {
                let (code, after) = code.split_at_checked(4)?;
                (char::from_u32(u32::from_str_radix(code, 16).ok()?)?, after)
            }
            None => {
                let letter = escape.chars().next().filter(|letter| ['"', '\\'].contains(letter))?;
                (letter, &escape[1..])
            }
        };
        text.push(letter);
        rest = after;
    }
    Some(text + rest)
}
