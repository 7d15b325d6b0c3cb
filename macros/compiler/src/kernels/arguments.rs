//! The attribute's arguments, as the user wrote them.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Path, Token};

use super::error;
use super::syntax::{Errors, syntax_error};
use super::text::text;

/// `"saxpy.cu", crate = thalweg`.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) file: Option<LitStr>,
    pub(super) krate: Option<Path>,
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
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            option(input, &mut arguments, errors)?;
        }
        Ok(())
    };
    if let Err(found) = parser.parse2(attr) {
        syntax_error(found, "write `#[kernels(\"saxpy.cu\")]`", errors);
    }
    arguments
}

/// Parses `crate = path`.
fn option(input: ParseStream<'_>, arguments: &mut Arguments, errors: &mut Errors) -> syn::Result<()> {
    const TAKES: &str = "`#[kernels]` takes a path and `crate = …`";
    let key = input.cursor().token_tree().map(|(token, _)| token);
    if !input.peek(Token![crate]) {
        let what = format!("unknown argument `{}`", text(&key));
        let help = "remove it".to_owned();
        errors.push(error(key, "TW0407", &what, &[TAKES.to_owned()], Some(help)));
        return skip_to_comma(input);
    }
    input.parse::<Token![crate]>()?;
    let path = input.parse::<Token![=]>().and_then(|_| input.call(Path::parse_mod_style));
    let ends = input.is_empty() || input.peek(Token![,]);
    match path {
        Ok(_) if arguments.krate.is_some() => {
            let help = "remove one of them".to_owned();
            errors.push(error(key, "TW0407", "`crate` is given twice", &[], Some(help)));
            skip_to_comma(input)
        }
        Ok(path) if ends => {
            arguments.krate = Some(path);
            Ok(())
        }
        _ => {
            errors.push(error(
                key,
                "TW0407",
                "`crate` needs a path",
                &["generated code names the runtime by it".to_owned()],
                Some("write `crate = ::thalweg`".to_owned()),
            ));
            skip_to_comma(input)
        }
    }
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
