//! Errors for code that NVRTC is sure to refuse, so that they show without a GPU and without NVRTC.

use syn::LitStr;

use super::errors::{Errors, error};
use crate::cuda_source::brackets::{Bracket, Unbalanced, closing};
use crate::cuda_source::cuda::{HostHeader, Reading, Refused};
use crate::cuda_source::host::{HostCode, What};
use crate::cuda_source::toolkit::stands_in;

/// How many places an error names.
const PLACES: usize = 4;

// Note 48: a miss is better than a false rejection.
/// Reports code that NVRTC is sure to refuse. Errors of the functions in `kernels` are reported elsewhere.
pub(super) fn check(file: &LitStr, reading: &Reading, kernels: &[String], errors: &mut Errors) {
    let Refused { unbalanced, host, headers } = &reading.refused;
    let messages = Messages { file, paths: &reading.cuda.files };
    errors.extend(unbalanced.map(|wrong| messages.unbalanced(wrong)));
    let is_elsewhere = |found: &HostCode| {
        kernels.iter().any(|kernel| *kernel == found.what.name()) && !found.what.is_launch()
    };
    let host: Vec<_> = host.iter().filter(|found| !is_elsewhere(found)).collect();
    if !host.is_empty() {
        errors.push(messages.for_the_host(&host));
    }
    if !headers.is_empty() {
        errors.push(messages.lacking(headers));
    }
}

/// The errors of one source.
struct Messages<'a> {
    /// Where it is named.
    file: &'a LitStr,
    /// Its path, and those of the files that it includes.
    paths: &'a [String],
}

impl Messages<'_> {
    fn place(&self, file: usize, line: usize) -> String {
        format!("{}:{line}", self.paths.get(file).map_or("", String::as_str))
    }

    fn for_the_host(&self, found: &[&HostCode]) -> syn::Error {
        let what = format!("`{}` has code for the host, which NVRTC does not compile", self.file.value());
        let notes = found.iter().map(|found| {
            let place = self.place(found.file, found.line);
            match &found.what {
                What::Unmarked(name) => format!("{place}: `{name}` is neither `__device__` nor `__global__`"),
                What::Host(name) => format!("{place}: `{name}` is `__host__` alone"),
                What::Launch(name) => {
                    format!("{place}: `{name}<<<…>>>` is a launch, which is code for the host")
                }
            }
        });
        let notes = shortened(notes.collect());
        let may_be_marked = |found: &HostCode| matches!(&found.what, What::Unmarked(name) if name != "main");
        let mark = if found.iter().copied().all(may_be_marked) {
            "mark the functions that kernels call `__device__`, and "
        } else {
            ""
        };
        error(self.file, "TW0423", &what, &notes, Some(format!("{mark}{}", elsewhere("code"))))
    }

    fn lacking(&self, headers: &[HostHeader]) -> syn::Error {
        let what =
            format!("`{}` includes headers that NVRTC does not have, or cannot compile", self.file.value());
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
