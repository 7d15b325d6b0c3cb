//! Errors for code that NVRTC is sure to refuse, so that they show without a GPU and without NVRTC.

use syn::LitStr;

use super::brackets::{Bracket, Unbalanced, closing};
use super::error;
use super::host::{HostCode, Takes, What, host_code};
use super::syntax::Errors;
use super::toolkit::{NOT_FOR_DEVICES, stands_in};
use super::unit::Unit;

/// A header that NVRTC does not have, or cannot compile.
pub(super) struct HostHeader {
    pub(super) path: String,
    /// The index of the file in the unit that includes it.
    pub(super) file: usize,
    /// The line, from 1.
    pub(super) line: usize,
}

/// How many places an error names.
const PLACES: usize = 4;

/// The texts about a source for messages.
pub(super) struct Sources<'a> {
    /// Where it is named.
    pub(super) file: &'a LitStr,
    /// Its path, and those of the files that it includes.
    pub(super) paths: Vec<&'a str>,
    /// NVRTC's options.
    pub(super) options: &'a [String],
    /// Whether a header that only NVRTC finds may define macros.
    pub(super) hides_macros: bool,
}

impl Sources<'_> {
    fn place(&self, file: usize, line: usize) -> String {
        format!("{}:{line}", self.paths.get(file).copied().unwrap_or_default())
    }

    // Note 48: a miss is better than a false rejection.
    /// Reports code that NVRTC is sure to refuse. Errors of the functions in `kernels` are reported
    /// elsewhere.
    pub(super) fn check(&self, unit: &Unit, kernels: &[String], headers: &[HostHeader], errors: &mut Errors) {
        if let Some(wrong) = unit.brackets.end().filter(|_| !self.hides_macros) {
            errors.push(self.unbalanced(wrong));
            return;
        }
        let takes = Takes {
            unmarked: self.hides_macros || is_default_device(self.options),
            launches: is_relocatable(self.options),
        };
        let mut found = host_code(unit, takes);
        found.retain(|found| {
            !kernels.iter().any(|kernel| *kernel == found.what.name()) || found.what.is_launch()
        });
        if !found.is_empty() {
            errors.push(self.for_the_host(&found));
        }
        if !headers.is_empty() {
            errors.push(self.lacking(headers));
        }
    }

    fn for_the_host(&self, found: &[HostCode]) -> syn::Error {
        let what = format!("`{}` has code for the host, which NVRTC does not compile", self.file.value());
        let notes = found.iter().map(|found| {
            let place = self.place(found.file, found.line);
            match &found.what {
                What::Unmarked(name) => format!("{place}: `{name}` is neither `__device__` nor `__global__`"),
                What::Host(name) => format!("{place}: `{name}` is `__host__` alone"),
                What::Launch(name) => format!("{place}: `{name}<<<…>>>` is a launch, which is the host's"),
            }
        });
        let notes = shortened(notes.collect());
        let may_be_marked = |found: &HostCode| matches!(&found.what, What::Unmarked(name) if name != "main");
        let mark =
            if found.iter().all(may_be_marked) { "mark what kernels call `__device__`, and " } else { "" };
        error(self.file, "TW0423", &what, &notes, Some(format!("{mark}{}", elsewhere("code"))))
    }

    fn lacking(&self, headers: &[HostHeader]) -> syn::Error {
        let what = format!("`{}` includes what NVRTC does not have, or cannot compile", self.file.value());
        let notes = headers.iter().map(|header| {
            let instead = match stands_in(&header.path) {
                Some(instead) => format!("; `<{instead}>` has its parts for kernels"),
                None => String::new(),
            };
            format!("{}: `{}`{instead}", self.place(header.file, header.line), header.path)
        });
        let notes = shortened(notes.collect());
        let help = format!("leave it out where no kernel needs it, or {}", elsewhere("include"));
        error(self.file, "TW0424", &what, &notes, Some(help))
    }

    fn unbalanced(&self, wrong: Unbalanced) -> syn::Error {
        let name = self.file.value();
        let place = |bracket: Bracket| self.place(bracket.file, bracket.line);
        let (what, notes, help) = match wrong {
            Unbalanced::Open(open) => (
                format!("a `{}` of `{name}` is never closed", open.mark),
                vec![format!("{}: it opens here", place(open))],
                format!("write the `{}` that is missing", closing(open.mark)),
            ),
            Unbalanced::Close(close) => (
                format!("a `{}` of `{name}` closes nothing", close.mark),
                vec![format!("{}: it stands here", place(close))],
                "remove it, or write what it closes".to_owned(),
            ),
            Unbalanced::Crossed(open, close) => (
                format!("a `{}` of `{name}` is closed by a `{}`", open.mark, close.mark),
                vec![
                    format!("{}: the `{}` opens here", place(open), open.mark),
                    format!("{}: the `{}` stands here", place(close), close.mark),
                ],
                format!("write the `{}` that is missing, or remove the `{}`", closing(open.mark), open.mark),
            ),
        };
        error(self.file, "TW0422", &what, &notes, Some(help))
    }
}

/// The help for code that is not for the device.
fn elsewhere(what: &str) -> String {
    format!(
        "put the host's {what} between `#ifndef __CUDACC_RTC__` and `#endif`, take the kernels into a file of their \
         own, or give the PTX that `nvcc --ptx` makes"
    )
}

/// The first few notes, and how many there are besides.
fn shortened(mut notes: Vec<String>) -> Vec<String> {
    let more = notes.len().saturating_sub(PLACES);
    notes.truncate(PLACES);
    if more > 0 {
        notes.push(format!("and {more} more"));
    }
    notes
}

/// Whether the options make functions without a mark the device's.
fn is_default_device(options: &[String]) -> bool {
    let is_it = |option: &str| matches!(option, "-default-device" | "--device-as-default-execution-space");
    options.iter().any(|option| is_it(option.trim()))
}

/// Whether the options leave something to be linked: what launches kernels of a kernel's.
fn is_relocatable(options: &[String]) -> bool {
    let is_it = |option: &str| match option.split_once('=') {
        Some((name, value)) => matches!(name, "-rdc" | "--relocatable-device-code") && value == "true",
        None => matches!(option, "-dc" | "--device-c"),
    };
    options.iter().any(|option| is_it(option.trim()))
}

/// Whether a header cannot be compiled with these options.
pub(super) fn is_for_the_host(path: &str, options: &[String]) -> bool {
    let compiles_if_marked = matches!(path, "cuda.h" | "cudaTypedefs.h" | "nvrtc.h");
    NOT_FOR_DEVICES.iter().any(|list| list.contains(&path))
        && !(compiles_if_marked && is_default_device(options))
        || path.starts_with("sys/")
}
