//! Reads a kernel source with what it includes.

use proc_macro2::Span;
use syn::LitStr;

use super::arguments::Arguments;
use super::compilable::{self, HostHeader};
use super::declarations::Declarations;
use super::errors::{Errors, error};
use super::files::{Files, Parts, absolute, beside, climb, common, within};
use super::image::Image;
use super::unit::{Include, Unit};
use super::{cubin, ptx, toolkit};

/// What kind of file a source is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Cuda,
    Ptx,
    Cubin,
    Fatbin,
}

impl Kind {
    /// By the ending of a path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        match ending {
            "cu" | "cuh" => Some(Self::Cuda),
            "ptx" => Some(Self::Ptx),
            "cubin" => Some(Self::Cubin),
            "fatbin" => Some(Self::Fatbin),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Cuda => "CUDA C++",
            Self::Ptx => "PTX",
            Self::Cubin => "a cubin",
            Self::Fatbin => "a fatbin",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Cuda => ".cu",
            Self::Ptx => ".ptx",
            Self::Cubin => ".cubin",
            Self::Fatbin => ".fatbin",
        }
    }

    /// By what is in a file; none for bytes that are no text and nothing else that is known.
    fn in_bytes(bytes: &[u8]) -> Option<Self> {
        const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
        if cubin::is_cubin(bytes) {
            Some(Self::Cubin)
        } else if bytes.starts_with(&FATBIN) {
            Some(Self::Fatbin)
        } else if bytes.starts_with(b"\x7fELF") {
            None
        } else {
            let text = std::str::from_utf8(bytes).ok()?;
            // What a program wrote may end in NUL characters, but no text has them.
            match text.trim_end_matches('\0') {
                inside if inside.contains('\0') => None,
                inside if ptx::is_ptx(inside) => Some(Self::Ptx),
                inside => (inside.len() == text.len()).then_some(Self::Cuda),
            }
        }
    }
}

/// A source that was read.
pub(super) enum Source {
    Cuda(Box<Cuda>),
    /// PTX or a cubin.
    Image(Image),
    /// The driver knows what is in it.
    Fatbin,
}

/// CUDA C++ with all files that it includes.
pub(super) struct Cuda {
    pub(super) declarations: Declarations,
    /// How messages name each file, the source itself first.
    pub(super) files: Vec<String>,
    /// What to embed, if there is more than the source.
    pub(super) tree: Option<Tree>,
}

/// The files of a source in one tree of folders.
pub(super) struct Tree {
    /// The source's place.
    pub(super) path: String,
    /// The places of the files that are included, and their paths from the Rust file.
    pub(super) headers: Vec<(String, LitStr)>,
    /// The places of the folders to search.
    pub(super) include: Vec<String>,
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
        let what = format!("`{path}` is not named as a kernel source is");
        let notes = ["sources are `.cu`, `.ptx`, `.cubin` and `.fatbin` files".to_owned()];
        let help = "give the file the ending of what is in it".to_owned();
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
        Kind::Cuda => Source::Cuda(Box::new(cuda(arguments, kernels, file, &text(), files, errors))),
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

/// The line, from 1, where a text in another encoding is not UTF-8.
fn not_utf8(bytes: &[u8]) -> Option<usize> {
    let utf16 = [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| bytes.starts_with(*mark));
    let is_text = utf16 || !(bytes.contains(&0) || cubin::is_cubin(bytes));
    let valid = std::str::from_utf8(bytes).err().filter(|_| is_text)?.valid_up_to();
    Some(1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count())
}

fn of_another_kind(file: &LitStr, kind: Kind, found: Option<Kind>, is_empty: bool) -> syn::Error {
    let path = file.value();
    let what = format!("`{path}` is not {}", kind.words());
    let note = match (kind, found) {
        _ if is_empty => "it is empty".to_owned(),
        (Kind::Ptx, Some(Kind::Cuda)) => "it does not begin with `.version`".to_owned(),
        (Kind::Cubin | Kind::Fatbin, Some(Kind::Cuda)) => "it is a text".to_owned(),
        (Kind::Cubin, None | Some(Kind::Cubin)) => {
            "it is cut short, or an ELF file of another kind".to_owned()
        }
        (_, Some(found)) => format!("it is {}", found.words()),
        (Kind::Cuda | Kind::Ptx, None) => "it is no text".to_owned(),
        (_, None) => "it does not begin as one does".to_owned(),
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

/// A file that was found: how it is written from the Rust file, and where it is.
struct Found {
    path: String,
    parts: Parts,
    /// How deep the highest folder is that `..` leads through on the way to it.
    highest: usize,
}

fn cuda(
    arguments: &Arguments,
    kernels: &[String],
    file: &LitStr,
    text: &str,
    files: &dyn Files,
    errors: &mut Errors,
) -> Cuda {
    let at = file.span();
    let folder = files.folder(file);
    let place = |path: String| Found { parts: absolute(&folder, &path), path, highest: usize::MAX };
    let mut found = vec![place(file.value())];
    let options: Vec<_> = arguments.options.iter().map(LitStr::value).collect();
    let mut missing = Vec::new();
    let (mut is_whole, mut hides_macros) = (true, options.iter().any(|option| includes(option)));
    let mut headers: Vec<HostHeader> = Vec::new();
    let mut find = |include: &Include<'_>| {
        let &Include { from, path, quoted, .. } = include;
        let own = quoted.then(|| {
            let from = &found[from];
            (beside(&from.path, path), from.parts.len().saturating_sub(1))
        });
        let others = arguments.include.iter().map(|given| {
            let depth = absolute(&folder, &given.value()).len();
            (within(&format!("{}/", given.value()), path), depth)
        });
        let mut tried = Vec::new();
        for (written, depth) in own.into_iter().chain(others) {
            let place = Found { highest: depth.saturating_sub(climb(path)), ..place(written) };
            if let Some(known) = found.iter_mut().find(|known| known.parts == place.parts) {
                known.highest = known.highest.min(place.highest);
                return None;
            }
            let Ok(bytes) = files.read(&LitStr::new(&place.path, at)) else {
                if !tried.contains(&place.path) {
                    tried.push(place.path);
                }
                continue;
            };
            match String::from_utf8(bytes) {
                Ok(text) => {
                    found.push(place);
                    return Some((found.len() - 1, text));
                }
                Err(_) => {
                    let what = format!("`{}` is not UTF-8", place.path);
                    let notes = [format!("{} includes it", found[from].path)];
                    let help = "save it as UTF-8".to_owned();
                    errors.push(error(file, "TW0401", &what, &notes, Some(help)));
                    found.push(place);
                    return None;
                }
            }
        }
        is_whole &= toolkit::may_have(path);
        let is_for_the_host = compilable::is_for_the_host(path, &options);
        hides_macros |= !toolkit::may_have(path) && !is_for_the_host;
        if include.needed && is_for_the_host {
            let header = HostHeader { path: path.to_owned(), file: from, line: include.line };
            headers.push(header);
            return None;
        }
        let is_lost = include.needed && quoted && !toolkit::may_have(path);
        if is_lost && !missing.iter().any(|other| other == path) {
            missing.push(path.to_owned());
            errors.push(nowhere(file, include, &found[from].path, &arguments.include, &tried));
        }
        None
    };
    let unit = Unit::read(text, &options, &mut find);
    let paths: Vec<_> = found.iter().map(|found| found.path.as_str()).collect();
    compilable::Sources { file, paths, options: &options, hides_macros }
        .check(&unit, kernels, &headers, errors);
    let folders = arguments.include.iter().map(|folder| absolute(&files.folder(folder), &folder.value()));
    let tree = tree(&found, folders.collect(), at);
    let files = found.into_iter().map(|found| found.path).collect();
    let mut declarations = Declarations::of(unit);
    declarations.is_whole &= is_whole && !options.iter().any(|option| includes(option));
    Cuda { declarations, files, tree }
}

/// Whether an option of NVRTC's names a file that comes before the source.
fn includes(option: &str) -> bool {
    let option = option.trim_start().trim_start_matches('-');
    option.starts_with("include") || option.starts_with("pre-include")
}

/// A file that is included is in no folder that is looked in.
fn nowhere(
    file: &LitStr,
    include: &Include<'_>,
    from: &str,
    folders: &[LitStr],
    tried: &[String],
) -> syn::Error {
    let path = include.path;
    let what = format!("cannot find `{path}`, which {from} includes");
    let given: String = folders.iter().map(|folder| format!(", `{}`", folder.value())).collect();
    let searched = format!("searched the folder of {from}{given}: there is no {}", tried.join(", "));
    let notes = [format!("{from}:{}", include.line), searched];
    let help =
        format!("give its folder, `include(\"…\")`, or write `#include <{path}>` if it comes with CUDA");
    error(file, "TW0421", &what, &notes, Some(help))
}

/// The tree, whose root is the innermost folder that holds everything, also what `..` leads through.
fn tree(found: &[Found], include: Vec<Parts>, at: Span) -> Option<Tree> {
    let (source, headers) = found.split_first()?;
    if headers.is_empty() {
        return None;
    }
    let folders = found.iter().map(|found| &found.parts[..found.parts.len().saturating_sub(1)]);
    let root = common(folders.chain(include.iter().map(Vec::as_slice)));
    let root = found.iter().map(|found| found.highest).fold(root, usize::min);
    let inside = |parts: &Parts| parts[root..].join("/");
    Some(Tree {
        path: inside(&source.parts),
        headers: headers.iter().map(|found| (inside(&found.parts), LitStr::new(&found.path, at))).collect(),
        include: include.iter().map(inside).collect(),
    })
}
