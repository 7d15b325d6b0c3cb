//! The code that the runnable examples share.

use std::ffi::OsString;
use std::path::PathBuf;

use thalweg::Device;

/// The arguments of a program, of which `--devices all` may be a part.
#[derive(Debug)]
pub struct Arguments {
    /// The program's own ones, in their order.
    pub own: Vec<OsString>,
    /// Whether the program runs on all devices.
    on_all: bool,
}

impl Arguments {
    /// Takes the arguments that the process was started with.
    ///
    /// # Errors
    /// Something else than `all` stands behind `--devices`.
    pub fn read() -> Result<Self, String> {
        Self::parse(std::env::args_os().skip(1))
    }

    fn parse(given: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let (mut arguments, mut given) = (Self { own: Vec::new(), on_all: false }, given.into_iter());
        while let Some(argument) = given.next() {
            if argument != "--devices" {
                arguments.own.push(argument);
            } else if given.next().is_some_and(|which| which == "all") {
                arguments.on_all = true;
            } else {
                return Err("expected `all` behind `--devices`".to_owned());
            }
        }
        Ok(arguments)
    }

    /// The program's own arguments as paths.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.own.iter().map(PathBuf::from)
    }

    /// The program's own arguments as numbers.
    ///
    /// # Errors
    /// One of them is no number.
    pub fn numbers(&self) -> Result<Vec<usize>, String> {
        let number = |argument: &OsString| {
            let text = argument.to_string_lossy();
            text.parse().map_err(|error| format!("`{text}`: {error}"))
        };
        self.own.iter().map(number).collect()
    }

    /// Opens the device to run on, or all of them with `--devices all`.
    ///
    /// # Errors
    /// Those of [`Device::open`] and [`Device::all`].
    pub fn devices(&self) -> thalweg::Result<Vec<Device>> {
        if self.on_all { Device::all() } else { Device::open().map(|device| vec![device]) }
    }
}

/// Opens the devices of a program that has no other arguments than `--devices all`.
///
/// # Errors
/// There are other arguments, or a device cannot be opened.
pub fn devices() -> Result<Vec<Device>, Box<dyn std::error::Error>> {
    let arguments = Arguments::read()?;
    match arguments.own.first() {
        Some(unknown) => Err(format!("unexpected argument `{}`", unknown.to_string_lossy()).into()),
        None => Ok(arguments.devices()?),
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn parse(given: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(given.iter().map(|argument| argument.into()))
    }

    #[test]
    fn the_devices_stand_anywhere() {
        for given in [&["--devices", "all", "1", "2"][..], &["1", "--devices", "all", "2"]] {
            let arguments = parse(given).expect("arguments");
            assert!(arguments.on_all);
            assert_eq!(arguments.numbers(), Ok(vec![1, 2]));
        }
        assert!(!parse(&["all"]).expect("an argument").on_all);
    }

    #[test]
    fn other_devices_than_all_are_refused() {
        for given in [&["--devices"][..], &["--devices", "two"], &["1", "--devices"]] {
            assert_eq!(parse(given).expect_err("no devices"), "expected `all` behind `--devices`");
        }
    }
}
