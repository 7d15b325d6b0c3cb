//! Reads a kernel source with what it includes.

use syn::LitStr;

use super::arguments::Arguments;
use super::compilable;
use super::errors::{Errors, error};
use super::files::Files;
use crate::cuda_source::cuda::{Cuda, Folder, Lost, Search};
use crate::cuda_source::image::Image;
use crate::cuda_source::kind::{Kind, not_utf8};
use crate::cuda_source::paths::absolute;
use crate::cuda_source::{cubin, cuda, ptx};

/// A source that was read.
pub(super) enum Source {
    Cuda(Box<Cuda>),
    /// PTX or a cubin.
    Image(Image),
    /// The driver knows what is in it.
    Fatbin,
}

/// Reads the source that a block names, with the kernels of these names; none where that is an error.
pub(super) fn read(
    arguments: &Arguments,
    kernels: &[String],
    files: &dyn Files,
    errors: &mut Errors,
) -> Option<Source> {
    let file = arguments.file.as_ref()?;
    let path = file.value();
    let Some(kind) = Kind::of(&path) else {
        let what = format!("`{path}` does not have the ending of a kernel source");
        let notes = ["sources are `.cu`, `.ptx`, `.cubin` and `.fatbin` files".to_owned()];
        let help = "give the file the ending of its kind".to_owned();
        errors.push(error(file, "TW0414", &what, &notes, Some(help)));
        return None;
    };
    let before = errors.len();
    for folder in arguments.include.iter().filter(|folder| !files.is_folder(folder)) {
        let what = format!("cannot find the folder `{}`", folder.value());
        let help = "give its path relative to this source file".to_owned();
        errors.push(error(folder, "TW0401", &what, &[], Some(help)));
    }
    let bytes = match files.read(file) {
        Ok(bytes) => bytes,
        Err(reason) => {
            let what = format!("cannot read `{path}`");
            let help = "give its path relative to this source file".to_owned();
            errors.push(error(file, "TW0401", &what, &[reason], Some(help)));
            return None;
        }
    };
    let found = Kind::in_bytes(&bytes);
    if kind == Kind::Cuda
        && let Some(line) = not_utf8(&bytes)
    {
        let what = format!("`{path}` is not UTF-8");
        let help = "save it as UTF-8".to_owned();
        errors.push(error(file, "TW0414", &what, &[format!("{path}:{line}")], Some(help)));
        return None;
    }
    if found != Some(kind) {
        errors.push(of_another_kind(file, kind, found, bytes.is_empty()));
        return None;
    }
    let text = || String::from_utf8_lossy(&bytes);
    let source = match kind {
        Kind::Cuda => Source::Cuda(Box::new(of_cuda(arguments, kernels, file, &text(), files, errors))),
        Kind::Ptx => Source::Image(ptx::read(&text())),
        Kind::Fatbin => Source::Fatbin,
        Kind::Cubin => match cubin::read(&bytes) {
            Some(image) => Source::Image(image),
            None => {
                errors.push(of_another_kind(file, kind, Some(kind), false));
                return None;
            }
        },
    };
    (errors.len() == before).then_some(source)
}

fn of_another_kind(file: &LitStr, kind: Kind, found: Option<Kind>, is_empty: bool) -> syn::Error {
    let path = file.value();
    let what = format!("`{path}` is not {}", words(kind));
    let note = match (kind, found) {
        _ if is_empty => "it is empty".to_owned(),
        (Kind::Ptx, Some(Kind::Cuda)) => "it does not begin with `.version`".to_owned(),
        (Kind::Cubin | Kind::Fatbin, Some(Kind::Cuda)) => "it is text".to_owned(),
        (Kind::Cubin, None | Some(Kind::Cubin)) => {
            "it is cut short, or an ELF file of another kind".to_owned()
        }
        (_, Some(found)) => format!("it is {}", words(found)),
        (Kind::Cuda | Kind::Ptx, None) => "it is not text".to_owned(),
        (_, None) => "it does not begin like one".to_owned(),
    };
    let renamed =
        |found: Kind| format!("`{}{}`", path.rsplit_once('.').map_or("", |(stem, _)| stem), found.ending());
    let help = match found {
        _ if is_empty => "make it again".to_owned(),
        Some(Kind::Cuda) => format!("rename it to {} if it is CUDA C++", renamed(Kind::Cuda)),
        Some(found) if found != kind => format!("rename it to {}", renamed(found)),
        _ => "make it again".to_owned(),
    };
    error(file, "TW0414", &what, &[note], Some(help))
}

/// How messages call a kind of source.
fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Cuda => "CUDA C++",
        Kind::Ptx => "PTX",
        Kind::Cubin => "a cubin",
        Kind::Fatbin => "a fatbin",
    }
}

/// Reads CUDA C++, and reports what NVRTC is sure to refuse.
fn of_cuda(
    arguments: &Arguments,
    kernels: &[String],
    file: &LitStr,
    text: &str,
    files: &dyn Files,
    errors: &mut Errors,
) -> Cuda {
    let options: Vec<_> = arguments.options.iter().map(LitStr::value).collect();
    let folder = |given: &LitStr| Folder {
        path: given.value(),
        parts: absolute(&files.folder(given), &given.value()),
    };
    let include: Vec<_> = arguments.include.iter().map(folder).collect();
    let search = Search {
        path: file.value(),
        home: &files.folder(file),
        include: &include,
        file: &|path| files.read(&LitStr::new(path, file.span())).ok(),
        options: &options,
    };
    let reading = cuda::read(text, &search);
    errors.extend(reading.lost.iter().map(|lost| not_read(file, lost, &include)));
    compilable::check(file, &reading, kernels, errors);
    reading.cuda
}

/// A file that is included could not be read.
fn not_read(file: &LitStr, lost: &Lost, folders: &[Folder]) -> syn::Error {
    match lost {
        Lost::NotUtf8 { path, from } => {
            let what = format!("`{path}` is not UTF-8");
            let notes = [format!("{from} includes it")];
            error(file, "TW0401", &what, &notes, Some("save it as UTF-8".to_owned()))
        }
        Lost::Nowhere { path, from, line, tried } => {
            let what = format!("cannot find `{path}`, which {from} includes");
            let given: String = folders.iter().map(|folder| format!(", `{}`", folder.path)).collect();
            let searched = format!("searched the folder of {from}{given}: there is no {}", tried.join(", "));
            let notes = [format!("{from}:{line}"), searched];
            let help = format!(
                "give its folder, `include(\"…\")`, or write `#include <{path}>` if it comes with CUDA"
            );
            error(file, "TW0421", &what, &notes, Some(help))
        }
    }
}
