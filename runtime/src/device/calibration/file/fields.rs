//! The lines of a file, or of one of its tables: `name = value`.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::str::FromStr;
use std::time::Duration;

/// The texts of the values, by name.
pub(super) struct Fields<'a> {
    /// The table, such as `device 0`; `None` for the file itself.
    of: Option<String>,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(of: Option<String>, lines: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut fields = Self { of, values: BTreeMap::new() };
        for line in lines {
            let (name, value) =
                line.split_once('=').ok_or_else(|| format!("`{line}` is no field with a value"))?;
            let (name, value) = (name.trim_end(), value.trim_start());
            if value.parse().is_ok_and(|number: f64| number.is_nan() || number < 0.0) {
                return Err(fields.cannot_be(name, value, "it must be at least 0"));
            }
            if fields.values.insert(name, value).is_some() {
                return Err(format!("{} has `{name}` twice", fields.subject()));
            }
        }
        Ok(fields)
    }

    /// Checks that there is no other field than those of this text, which is made of what was read.
    pub(super) fn check_names(&self, text: &str) -> Result<(), String> {
        let is_field =
            |name| text.lines().any(|line| line.split_once(" = ").is_some_and(|(field, _)| field == name));
        match self.values.keys().find(|&&name| !is_field(name)) {
            Some(name) => Err(format!("{} has `{name}`, which is no field of a calibration", self.subject())),
            None => Ok(()),
        }
    }

    /// Why a field that is there, and can be read, has no such value.
    pub(super) fn refused(&self, name: &str, why: &str) -> String {
        self.cannot_be(name, self.values.get(name).copied().unwrap_or_default(), why)
    }

    pub(super) fn get<T: FromStr>(&self, name: &str) -> Result<T, String> {
        self.read(name, |value| value.parse().ok())
    }

    pub(super) fn list<T: FromStr>(&self, name: &str) -> Result<Vec<T>, String> {
        self.read(name, list)
    }

    pub(super) fn pair<T: FromStr>(&self, name: &str) -> Result<[T; 2], String> {
        self.read(name, |value| list(value)?.try_into().ok())
    }

    pub(super) fn time(&self, name: &str) -> Result<Duration, String> {
        self.read(name, |value| {
            let seconds: f64 = value.parse().ok()?;
            // The longest duration, which was rounded up.
            let longest = seconds == Duration::MAX.as_secs_f64();
            if longest { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
        })
    }

    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        self.read(name, unquoted)
    }

    fn read<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, String> {
        let value = self.values.get(name).ok_or_else(|| format!("{} has no `{name}`", self.subject()))?;
        read(value).ok_or_else(|| format!("{} cannot be {value}", self.named(name)))
    }

    fn cannot_be(&self, name: &str, value: &str, why: &str) -> String {
        format!("{} cannot be {value}: {why}", self.named(name))
    }

    fn subject(&self) -> &str {
        self.of.as_deref().unwrap_or("it")
    }

    fn named(&self, name: &str) -> String {
        self.of.as_ref().map_or_else(|| format!("`{name}`"), |of| format!("`{name}` of {of}"))
    }
}

/// Fields as lines.
pub(super) fn lines<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    fields.into_iter().fold(String::new(), |mut text, (name, value)| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name} = {value}");
        text
    })
}

/// A rate or a time as text.
pub(super) fn number(number: f64) -> String {
    format!("{number:e}")
}

/// Values as a TOML array, on one line.
pub(super) fn array<T: Display>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

/// The values of which [`array`] made this text, or somebody by hand.
fn list<T: FromStr>(value: &str) -> Option<Vec<T>> {
    let values = value.strip_prefix('[')?.strip_suffix(']')?.trim();
    if values.is_empty() {
        return Some(Vec::new());
    }
    values.split(',').map(|value| value.trim().parse().ok()).collect()
}

/// The text as a TOML string, on one line.
pub(super) fn quoted(text: &str) -> String {
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
