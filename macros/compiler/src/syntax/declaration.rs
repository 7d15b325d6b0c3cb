//! The declarations of a pipeline.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Lit, Token};

use super::{HostKind, Item, Priority, Size, expected, recover, stage};
use crate::diagnostics::{Diagnostics, similar};

/// What a line may begin with.
const KEYWORDS: [&str; 10] =
    ["param", "input", "output", "inout", "device", "chunk", "depth", "stream", "sync", "stage"];

/// Parses every line; after an error it goes on with the next one.
pub(super) fn parse_all(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> Vec<Item> {
    let mut items = Vec::new();
    while !input.is_empty() {
        match parse(input, diagnostics) {
            Ok(item) => items.push(item),
            Err(error) => {
                diagnostics.syntax(error);
                recover(input);
            }
        }
    }
    items
}

fn parse(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Item> {
    // Documentation of a declaration is for the reader of the source.
    input.call(Attribute::parse_outer)?;
    let keyword =
        input.call(Ident::parse_any).map_err(|error| expected(error, "a declaration or a `stage`"))?;
    let item = match keyword.to_string().as_str() {
        "param" => {
            let name = name(input, "a parameter's name")?;
            input.parse::<Token![:]>()?;
            Item::Param { name, ty: input.parse()? }
        }
        "input" => host(input, HostKind::Input)?,
        "output" => host(input, HostKind::Output)?,
        "inout" => host(input, HostKind::InOut)?,
        "device" => {
            let name = name(input, "a buffer's name")?;
            input.parse::<Token![:]>()?;
            Item::Device { name, shape: input.parse()? }
        }
        "chunk" => {
            let name = name(input, "a name for the chunk, `chunk c = auto`")?;
            input.parse::<Token![=]>()?;
            Item::Chunk { keyword, name, size: input.parse()? }
        }
        "depth" => {
            input.parse::<Token![=]>()?;
            Item::Depth { keyword, slots: input.parse()? }
        }
        "stream" => stream(input)?,
        "sync" => {
            input.parse::<Token![=]>()?;
            let mode: Ident = input.parse().map_err(|error| expected(error, "`auto`"))?;
            if mode != "auto" {
                return Err(syn::Error::new(mode.span(), format!("expected `auto`, found `{mode}`")));
            }
            Item::Sync { keyword }
        }
        "stage" => return stage::parse(input, diagnostics),
        other => {
            let mut text = format!("expected a declaration or a `stage`, found `{other}`");
            if let Some(meant) = similar(other, KEYWORDS) {
                text.push_str(&format!("\nhelp: a similar keyword exists: `{meant}`"));
            }
            return Err(syn::Error::new(keyword.span(), text));
        }
    };
    input.parse::<Token![;]>().map_err(|error| expected(error, "`;`"))?;
    Ok(item)
}

fn name(input: ParseStream<'_>, what: &str) -> syn::Result<Ident> {
    input.parse().map_err(|error| expected(error, what))
}

fn host(input: ParseStream<'_>, kind: HostKind) -> syn::Result<Item> {
    let name = name(input, "the name of host data")?;
    input.parse::<Token![:]>()?;
    Ok(Item::Host { kind, name, shape: input.parse()? })
}

/// `name`, `name: high`, `name: low`, `name: priority(-3)`, `name per slot`
fn stream(input: ParseStream<'_>) -> syn::Result<Item> {
    let name = name(input, "a stream's name")?;
    let mut per_slot = per_slot(input)?;
    let mut priority = Priority::Default;
    if input.parse::<Option<Token![:]>>()?.is_some() {
        let word: Ident = input.call(Ident::parse_any)?;
        priority = match word.to_string().as_str() {
            "high" => Priority::High,
            "low" => Priority::Low,
            "priority" => {
                let content;
                syn::parenthesized!(content in input);
                let minus = content.parse::<Option<Token![-]>>()?.is_some();
                let level = match content.parse()? {
                    Lit::Int(number) => number.base10_parse::<i32>()?,
                    other => return Err(syn::Error::new(other.span(), "expected a whole number")),
                };
                if !content.is_empty() {
                    return Err(content.error("expected `)`"));
                }
                Priority::Level(if minus { -level } else { level })
            }
            other => {
                let text = format!("expected `high`, `low` or `priority(n)`, found `{other}`");
                return Err(syn::Error::new(word.span(), text));
            }
        };
        per_slot = per_slot || self::per_slot(input)?;
    }
    Ok(Item::Stream { name, priority, per_slot })
}

/// `per slot`
fn per_slot(input: ParseStream<'_>) -> syn::Result<bool> {
    if !input.peek(Ident::peek_any) {
        return Ok(false);
    }
    let per = input.call(Ident::parse_any)?;
    let slot: Option<Ident> = input.parse()?;
    match slot {
        Some(slot) if per == "per" && slot == "slot" => Ok(true),
        _ => Err(syn::Error::new(per.span(), "expected `per slot`, `:` or `;`")),
    }
}

impl Size {
    /// The expression, if one is given.
    pub fn given(&self) -> Option<&syn::Expr> {
        match self {
            Self::Auto => None,
            Self::Given(expr) => Some(expr),
        }
    }
}
