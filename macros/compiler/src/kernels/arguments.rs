//! The attribute's arguments, as the user wrote them.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{LitStr, Path, Token};

use super::errors::{Errors, error, syntax_error};
use crate::cuda_source::kind::Kind;
use crate::text::text;

/// `"saxpy.cu", include("include"), options("--use_fast_math"), crate = thalweg`.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) file: Option<LitStr>,
    /// Folders to look for included files in.
    pub(super) include: Vec<LitStr>,
    /// Options for NVRTC.
    pub(super) options: Vec<LitStr>,
    pub(super) krate: Option<Path>,
}

impl Arguments {
    /// The kind of the source. A source whose name does not tell is taken for CUDA C++.
    pub(super) fn kind(&self) -> Kind {
        self.file.as_ref().and_then(|file| Kind::of(&file.value())).unwrap_or(Kind::Cuda)
    }
}

/// Parses what stands in the parentheses of `#[kernels(…)]`.
pub(super) fn parse(attr: TokenStream, errors: &mut Errors) -> Arguments {
    let mut arguments = Arguments::default();
    let parser = |input: ParseStream<'_>| {
        if !input.peek(LitStr) {
            let at = input.cursor().token_tree().map(|(token, _)| token);
            errors.push(error(
                at,
                "TW0407",
                "`#[kernels]` needs the path of a kernel source",
                &["the path is relative to this source file".to_owned()],
                Some("write `#[kernels(\"saxpy.cu\")]`".to_owned()),
            ));
            return input.parse::<TokenStream>().map(drop);
        }
        arguments.file = Some(input.parse()?);
        let mut seen = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            argument(input, &mut arguments, &mut seen, errors)?;
        }
        Ok(())
    };
    if let Err(found) = parser.parse2(attr) {
        syntax_error(found, "write `#[kernels(\"saxpy.cu\")]`", errors);
    }
    arguments
}

/// Parses `include(…)`, `options(…)` or `crate = path`.
fn argument(
    input: ParseStream<'_>,
    arguments: &mut Arguments,
    seen: &mut Vec<String>,
    errors: &mut Errors,
) -> syn::Result<()> {
    const TAKES: &str = "`#[kernels]` takes a path, `include(…)`, `options(…)` and `crate = …`";
    let key = input.cursor().token_tree().map(|(token, _)| token);
    let name = text(&key);
    if !matches!(key, Some(TokenTree::Ident(_))) || !matches!(name.as_str(), "crate" | "include" | "options")
    {
        let what = format!("unknown argument `{name}`");
        let help = "remove it".to_owned();
        errors.push(error(key, "TW0407", &what, &[TAKES.to_owned()], Some(help)));
        return skip_to_comma(input);
    }
    input.parse::<TokenTree>()?;
    let sound = match name.as_str() {
        "crate" => {
            let path = input.parse::<Token![=]>().and_then(|_| input.call(Path::parse_mod_style));
            path.map(Value::Crate)
        }
        _ => strings(input).map(Value::Strings),
    };
    let ends = input.is_empty() || input.peek(Token![,]);
    match sound {
        Ok(_) if seen.contains(&name) => {
            let what = format!("`{name}` is given twice");
            let help = match name.as_str() {
                "crate" => "remove one of them".to_owned(),
                _ => format!("write both in one, `{name}(\"…\", \"…\")`"),
            };
            errors.push(error(key, "TW0407", &what, &[], Some(help)));
            skip_to_comma(input)
        }
        Ok(value) if ends => {
            seen.push(name.clone());
            match value {
                Value::Crate(path) => arguments.krate = Some(path),
                Value::Strings(strings) => {
                    for_nvrtc(&key, &name, strings, arguments, errors);
                }
            }
            Ok(())
        }
        _ => {
            let (what, note, help) = match name.as_str() {
                "crate" => (
                    "`crate` needs a path",
                    "generated code names the runtime by it",
                    "write `crate = ::thalweg`",
                ),
                "include" => (
                    "`include` needs folders",
                    "included files are looked for in them, in order",
                    "write `include(\"include\")`",
                ),
                _ => (
                    "`options` needs options of NVRTC",
                    "each option is a string of its own",
                    "write `options(\"--use_fast_math\")`",
                ),
            };
            errors.push(error(key, "TW0407", what, &[note.to_owned()], Some(help.to_owned())));
            skip_to_comma(input)
        }
    }
}

enum Value {
    Crate(Path),
    Strings(Vec<LitStr>),
}

/// Parses `("a", "b")`.
fn strings(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    let content;
    syn::parenthesized!(content in input);
    let strings = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
    match strings.is_empty() {
        true => Err(content.error("expected a string")),
        false => Ok(strings.into_iter().collect()),
    }
}

/// Takes folders or options, which only CUDA C++ has a use for.
fn for_nvrtc(
    key: &Option<TokenTree>,
    name: &str,
    strings: Vec<LitStr>,
    arguments: &mut Arguments,
    errors: &mut Errors,
) {
    if arguments.kind() != Kind::Cuda {
        let file = arguments.file.as_ref().map(LitStr::value).unwrap_or_default();
        let what = format!("`{name}` does not apply to `{file}`");
        let notes = ["it is compiled already".to_owned()];
        errors.push(error(key, "TW0407", &what, &notes, Some("remove it".to_owned())));
        return;
    }
    if name == "include" {
        arguments.include = strings;
        return;
    }
    for option in &strings {
        if let Some((what, note, help)) = unfit(&option.value()) {
            errors.push(error(option, "TW0407", &what, &[note.to_owned()], Some(help)));
        }
    }
    arguments.options = strings;
}

/// Why a string cannot be given as an option: the fact, why, and the edit.
fn unfit(option: &str) -> Option<(String, &'static str, String)> {
    let key = option.split(['=', ' ']).next().unwrap_or_default();
    if !option.starts_with('-') || option.contains('\0') {
        let what = format!("`{}` is not an option", option.escape_debug());
        return Some((what, "an option begins with `-`", "write `-DTILE=16`, for one".to_owned()));
    }
    if key == "--gpu-architecture" || key.starts_with("-arch") {
        let note = "the source is compiled for the GPU that runs it";
        return Some((format!("`{key}` is given by the runtime"), note, "remove it".to_owned()));
    }
    if key == "--include-path" || key.starts_with("-I") {
        let note = "included files are embedded, so that they need not be where the program runs";
        let folder = option.trim_start_matches(key).trim_start_matches(['=', ' ']);
        let folder = if folder.is_empty() { key.trim_start_matches("-I") } else { folder };
        return Some((
            format!("`{key}` is not an option here"),
            note,
            format!("write `include({folder:?})`"),
        ));
    }
    // `-DMAX(a, b)=a - b` is one option.
    if option.contains(" -") && !option.starts_with("-D") && !option.starts_with("--define-macro") {
        let strings: Vec<_> = option.split_whitespace().map(|option| format!("{option:?}")).collect();
        let help = format!("write `options({})`", strings.join(", "));
        return Some((
            format!("`{option}` holds several options"),
            "each option is a string of its own",
            help,
        ));
    }
    None
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
