//! A [`DeviceModel`] or a [`MachineModel`] as a file. Each of their fields is a line, `name = value`, and each device,
//! port and link of a machine is a table, so the file is TOML too.
//!
//! It uses no crate for JSON or TOML. The common ones add too much for some 30 lines to every program that
//! depends on this one: serde's derive, or that `assert_eq!(list, [])` needs annotations, since `serde_json`'s
//! values compare with numbers.

mod device;
mod fields;
mod machine;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::base::error::counted;
use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;

/// What is kept in a file.
pub(super) trait Model: Sized {
    const KIND: Kind;

    /// The lines after the first one.
    fn to_text(&self) -> String;

    /// What these lines, which are not the first one, say.
    fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, String>;
}

impl Model for DeviceModel {
    const KIND: Kind = Kind {
        name: "calibration",
        other: "calibration of one device",
        reader: "DeviceModel::load",
        begin: "# thalweg calibration ",
        number: 4,
        longest: 1 << 16,
    };

    fn to_text(&self) -> String {
        device::to_text(self)
    }

    fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        device::of_lines(lines)
    }
}

impl Model for MachineModel {
    /// Its number changes with that of a device, too.
    const KIND: Kind = Kind {
        name: "calibration of a machine",
        other: "calibration of a machine",
        reader: "MachineModel::load",
        begin: "# thalweg machine ",
        number: 2,
        longest: 1 << 20,
    };

    fn to_text(&self) -> String {
        machine::to_text(self)
    }

    fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        machine::of_lines(lines)
    }
}

/// A kind of file.
pub(super) struct Kind {
    /// What a file is not, in errors.
    name: &'static str,
    /// What it is, if another kind was expected.
    other: &'static str,
    /// The function that reads it.
    reader: &'static str,
    /// The first line: its beginning, which the number of the format follows.
    begin: &'static str,
    number: u32,
    /// The largest size, in bytes.
    longest: u64,
}

/// The units, which end the first line.
const UNITS: &str = ": bytes, seconds, bytes a second";

impl Kind {
    fn first_line(&self) -> String {
        format!("{}{}{UNITS}", self.begin, self.number)
    }

    /// Checks that this is the first line of a file that can be read.
    fn check_format(&self, line: &str) -> Result<(), String> {
        let first = self.first_line();
        if line == first {
            return Ok(());
        }
        let is_of = |kind: &&Self| kind.begin != self.begin && line.starts_with(kind.begin);
        if let Some(Self { other, reader, .. }) =
            [&DeviceModel::KIND, &MachineModel::KIND].into_iter().find(is_of)
        {
            return Err(format!("it is the {other}, which `{reader}` reads"));
        }
        let number = || line.strip_prefix(self.begin)?.split_once(':')?.0.parse::<u32>().ok();
        match number() {
            Some(its) if its != self.number => {
                Err(format!("its format is {its}, but this version of Thalweg reads {}", self.number))
            }
            _ => Err(format!("it is no {}: its first line must be `{first}`", self.name)),
        }
    }

    fn check_length(&self, bytes: u64) -> Result<(), String> {
        if bytes > self.longest {
            return Err(format!("it is no {}: it has {}", self.name, counted(bytes, "byte")));
        }
        Ok(())
    }
}

/// Writes a file that [`load`] accepts. A model that it would refuse is not written.
pub(super) fn save<M: Model>(model: &M, path: &Path) -> Result<(), String> {
    let text = format!("{}\n{}", M::KIND.first_line(), model.to_text());
    M::KIND.check_length(text.len() as u64)?;
    from_text::<M>(&text)?;
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

pub(super) fn load<M: Model>(path: &Path) -> Result<M, String> {
    let data = fs::metadata(path).map_err(|error| error.to_string())?;
    if !data.is_file() {
        return Err("it is no file".to_owned());
    }
    M::KIND.check_length(data.len())?;
    from_text(&fs::read_to_string(path).map_err(|error| error.to_string())?)
}

fn from_text<M: Model>(text: &str) -> Result<M, String> {
    let mut lines = text.lines();
    M::KIND.check_format(lines.next().unwrap_or_default())?;
    M::of_lines(lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')))
}
