//! The declarations of a pipeline.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Lit, Token};

use super::{HostKind, Item, Priority, Shape, Size, expected, expression, name, recover, semicolon, stage};
use crate::diagnostics::{Diagnostics, similar};

/// What a line may begin with.
const KEYWORDS: [&str; 13] = [
    "param", "input", "output", "inout", "device", "resident", "carry", "chunk", "depth", "budget", "stream",
    "sync", "stage",
];

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
    let at = expected(input, "a declaration or a `stage`");
    let keyword = input.call(Ident::parse_any).map_err(|_| at)?;
    let item = match keyword.to_string().as_str() {
        "param" => {
            let name = name(input, "a parameter's name")?;
            colon(input, "the parameter's type")?;
            Item::Param { name, ty: input.parse()? }
        }
        "input" => host(input, HostKind::Input)?,
        "output" => host(input, HostKind::Output)?,
        "inout" => host(input, HostKind::InOut)?,
        "device" => {
            let name = name(input, "a buffer's name")?;
            colon(input, "the buffer's shape, `[T]`")?;
            Item::Device { name, shape: input.parse()? }
        }
        "resident" => {
            let name = name(input, "a name for resident data")?;
            colon(input, "its elements, `[T]`")?;
            let shape: Shape = input.parse()?;
            if let Some(per_item) = &shape.per_item {
                let text =
                    "resident data has any length: a number of elements says nothing\nhelp: write `[T]`";
                return Err(syn::Error::new_spanned(per_item, text));
            }
            Item::Resident { name, shape }
        }
        "carry" => {
            let name = name(input, "a name for what is carried from chunk to chunk")?;
            colon(input, "its elements, `[T]` or `[T; k]`")?;
            let shape = input.parse()?;
            let init = match input.parse::<Option<Token![=]>>()? {
                Some(_) => Some(Box::new(expression(input, "the value to start from")?)),
                None => None,
            };
            Item::Carry { name, shape, init }
        }
        "chunk" => {
            let name = name(input, "a name for the chunk, `chunk c = auto`")?;
            equals(input)?;
            Item::Chunk { keyword, name, size: input.parse()? }
        }
        "depth" => {
            equals(input)?;
            Item::Depth { keyword, slots: input.parse()? }
        }
        "budget" => {
            equals(input)?;
            Item::Budget { keyword, bytes: Box::new(expression(input, "a number of bytes")?) }
        }
        "stream" => stream(input)?,
        "sync" => {
            equals(input)?;
            let at = expected(input, "`auto` or `manual`");
            let mode = input.call(Ident::parse_any).map_err(|_| at.clone())?;
            if mode != "auto" && mode != "manual" {
                return Err(at);
            }
            Item::Sync { keyword, manual: mode == "manual" }
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
    semicolon(input, begins_declaration, diagnostics)?;
    Ok(item)
}

/// Whether the next tokens are a keyword and what may follow it.
fn begins_declaration(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.call(Ident::parse_any).is_ok_and(|word| KEYWORDS.iter().any(|keyword| word == keyword))
        && (fork.peek(Ident::peek_any) || fork.peek(Token![=]))
}

fn colon(input: ParseStream<'_>, before: &str) -> syn::Result<()> {
    input.parse::<Token![:]>().map(drop).map_err(|_| expected(input, &format!("`:` and {before}")))
}

fn equals(input: ParseStream<'_>) -> syn::Result<()> {
    input.parse::<Token![=]>().map(drop).map_err(|_| expected(input, "`=`"))
}

fn host(input: ParseStream<'_>, kind: HostKind) -> syn::Result<Item> {
    let name = name(input, "the name of host data")?;
    colon(input, "its shape, `[T]` or `[T; k]`")?;
    // Before the brackets nothing else can stand: `pinned` is not the name of a type here.
    let fork = input.fork();
    let pinned = fork.parse::<Ident>().is_ok_and(|word| word == "pinned") && fork.peek(syn::token::Bracket);
    if pinned {
        input.parse::<Ident>()?;
    }
    Ok(Item::Host { kind, name, pinned, shape: input.parse()? })
}

/// `name`, `name: high`, `name: low`, `name: priority(-3)`, `name per slot`
fn stream(input: ParseStream<'_>) -> syn::Result<Item> {
    let name = name(input, "a stream's name")?;
    let mut per_slot = per_slot(input)?;
    let mut priority = Priority::Default;
    if input.parse::<Option<Token![:]>>()?.is_some() {
        let at = expected(input, "`high`, `low` or `priority(n)`");
        let word: Ident = input.call(Ident::parse_any).map_err(|_| at.clone())?;
        priority = match word.to_string().as_str() {
            "high" => Priority::High,
            "low" => Priority::Low,
            "priority" => {
                let content;
                if !input.peek(syn::token::Paren) {
                    return Err(expected(input, "`(` and a whole number, `priority(-3)`"));
                }
                syn::parenthesized!(content in input);
                let minus = content.parse::<Option<Token![-]>>()?.is_some();
                let at = expected(&content, "a whole number");
                let level = match content.parse() {
                    Ok(Lit::Int(number)) => number.base10_parse::<i32>()?,
                    _ => return Err(at),
                };
                if !content.is_empty() {
                    return Err(expected(&content, "`)`"));
                }
                Priority::Level(if minus { -level } else { level })
            }
            other => {
                let help = similar(other, ["high", "low", "priority"])
                    .map(|meant| format!("\nhelp: a similar priority exists: `{meant}`"));
                return Err(syn::Error::new(at.span(), format!("{at}{}", help.unwrap_or_default())));
            }
        };
        per_slot = per_slot || self::per_slot(input)?;
    }
    Ok(Item::Stream { name, priority, per_slot })
}

/// `per slot`
fn per_slot(input: ParseStream<'_>) -> syn::Result<bool> {
    if !input.peek(Ident::peek_any) || begins_declaration(input) {
        return Ok(false);
    }
    let at = expected(input, "`per slot`, `:` or `;`");
    let per = input.call(Ident::parse_any)?;
    let slot: Option<Ident> = input.parse()?;
    match slot {
        Some(slot) if per == "per" && slot == "slot" => Ok(true),
        _ => Err(at),
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
