//! The declarations of a pipeline.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, Lit, Token};

use super::{
    HostKind, Item, Memory, Priority, Shape, Size, at_end_of, expected, expression, halo, helped, is_word,
    name, per_chunk, recover, semicolon, stage,
};
use crate::diagnostics::{Diagnostics, similar};

/// The words that a line may begin with.
const KEYWORDS: [&str; 16] = [
    "param", "uniform", "input", "output", "inout", "device", "host", "resident", "carry", "chunk", "depth",
    "budget", "stream", "sync", "mode", "stage",
];

/// Where declarations stand.
const WHOLE: &str = "the pipeline";

/// Parses every line; after an error it goes on with the next one.
pub(super) fn parse_all(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> Vec<Item> {
    let mut items = Vec::new();
    while !input.is_empty() {
        match parse(input, diagnostics) {
            Ok(item) => items.push(item),
            Err(error) => {
                diagnostics.syntax(at_end_of(WHOLE, error));
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
    if input.peek(Token![;]) {
        return Err(helped(&at, "remove it: no `;` follows a stage's `}`"));
    }
    let keyword = input.call(Ident::parse_any).map_err(|_| at)?;
    let item = match keyword.to_string().as_str() {
        "param" => param(input, false)?,
        "uniform" => {
            if !is_word(input, "param") {
                return Err(not_uniform(input));
            }
            input.call(Ident::parse_any)?;
            param(input, true)?
        }
        "input" => argument(input, HostKind::Input)?,
        "output" => argument(input, HostKind::Output)?,
        "inout" => argument(input, HostKind::InOut)?,
        word @ ("device" | "host") => {
            let name = name(input, "a buffer's name")?;
            colon(input, "the buffer's shape, `[T]`")?;
            let mut shape = Shape::parse(input, false)?;
            shape.per_chunk = per_chunk(input)?;
            Item::Scratch { name, on_host: word == "host", shape }
        }
        "resident" => {
            let name = name(input, "a name for resident data")?;
            colon(input, "its elements, `[T]`")?;
            let on_device = memory(input, &[("device", true)])?.unwrap_or(false);
            let shape = Shape::parse(input, true)?;
            if let Some(per_item) = &shape.per_item {
                let text =
                    "resident data may have any length, so it takes no number of elements\nhelp: write `[T]`";
                return Err(syn::Error::new_spanned(per_item, text));
            }
            Item::Resident { name, on_device, shape }
        }
        "carry" => {
            let name = name(input, "a name for what is carried from chunk to chunk")?;
            colon(input, "its elements, `[T]` or `[T; k]`")?;
            let on_device = memory(input, &[("device", true)])?.unwrap_or(false);
            let shape = Shape::parse(input, false)?;
            let init = match input.parse::<Option<Token![=]>>()? {
                Some(_) => Some(Box::new(expression(input, "the value to start from")?)),
                None => None,
            };
            let combine = combine(input, &name, init.is_some(), on_device)?;
            Item::Carry { name, on_device, shape, init, combine }
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
        "mode" => {
            equals(input)?;
            let at = expected(input, "`streams` or `graph`");
            let mode = input.call(Ident::parse_any).map_err(|_| at.clone())?;
            if mode != "streams" && mode != "graph" {
                return Err(at);
            }
            Item::Mode { keyword, graph: mode == "graph" }
        }
        "stage" => return stage::parse(input, diagnostics),
        other => {
            let text = format!("expected a declaration or a `stage`, found `{other}`");
            let error = syn::Error::new(keyword.span(), text);
            return Err(meant(other, input).map_or(error.clone(), |help| helped(&error, &help)));
        }
    };
    semicolon(input, WHOLE, begins_declaration, diagnostics)?;
    Ok(item)
}

/// `name: T`, after `param`.
fn param(input: ParseStream<'_>, uniform: bool) -> syn::Result<Item> {
    if is_word(input, "uniform") && input.peek2(Ident::peek_any) {
        return Err(helped(&expected(input, "a parameter's name"), "write `uniform param`"));
    }
    let name = name(input, "a parameter's name")?;
    let is_value = |input: ParseStream<'_>| input.peek(Token![=]) && !input.peek(Token![==]);
    let of_run =
        |error: &syn::Error| helped(error, "a parameter has no value here: it is an argument of `run`");
    if is_value(input) {
        return Err(of_run(&expected(input, "`:` and the parameter's type")));
    }
    colon(input, "the parameter's type")?;
    let ty = input.parse()?;
    if is_value(input) {
        return Err(of_run(&expected(input, "`;`")));
    }
    Ok(Item::Param { name, ty, uniform })
}

/// The error for a word other than `param` after `uniform`.
fn not_uniform(input: ParseStream<'_>) -> syn::Error {
    let error = expected(input, "`param`");
    let fork = input.fork();
    match fork.call(Ident::parse_any) {
        Ok(name) if fork.peek(Token![:]) => helped(&error, &format!("write `uniform param {name}: …`")),
        Ok(word) if KEYWORDS.iter().any(|keyword| word == keyword) => {
            helped(&error, "only a parameter is the same on all ranks: remove `uniform`")
        }
        _ => error,
    }
}

/// The line to write in place of one that begins with `word`.
fn meant(word: &str, behind: ParseStream<'_>) -> Option<String> {
    let fork = behind.fork();
    if fork.parse::<Token![:]>().is_ok() {
        let keyword = fork.call(Ident::parse_any).ok().map(|word| word.to_string());
        let keyword = keyword.filter(|keyword| KEYWORDS.contains(&keyword.as_str()));
        return Some(match keyword.as_deref() {
            Some("uniform") => format!("write `uniform param {word}: …`"),
            Some(keyword) => format!("write `{keyword} {word}: …`"),
            None => format!(
                "say what it is: `param {word}: T`, `input {word}: [T]`, `output {word}: [T]`, `inout {word}: [T]` or \
                 `device {word}: [T]`"
            ),
        });
    }
    let help = match word {
        "let" => "write the value where it is used, or declare a `param`, which `run` takes as an argument",
        "const" | "static" => "declare constants outside of the pipeline, which can name them",
        "async" if is_word(behind, "stage") => "stages run at the same time where they can: remove `async`",
        "fn" | "for" | "while" | "loop" | "kernel" | "copy" => {
            "copies and launches stand in stages: `stage name { … }`"
        }
        _ => return similar(word, KEYWORDS).map(|meant| format!("a similar keyword exists: `{meant}`")),
    };
    Some(help.to_owned())
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

fn argument(input: ParseStream<'_>, kind: HostKind) -> syn::Result<Item> {
    let name = name(input, "the name of host data")?;
    colon(input, "its shape, `[T]` or `[T; k]`")?;
    let words = [("pinned", Memory::Pinned), ("mapped", Memory::Mapped), ("device", Memory::Device)];
    let memory = memory(input, &words)?.unwrap_or(Memory::Host);
    let mut shape = Shape::parse(input, true)?;
    shape.per_chunk = per_chunk(input)?;
    shape.halo = halo(input)?;
    Ok(Item::Argument { kind, name, memory, shape })
}

/// The word before the brackets that says where data are, one of `words`.
fn memory<M: Copy>(input: ParseStream<'_>, words: &[(&str, M)]) -> syn::Result<Option<M>> {
    // Nothing else can stand before the brackets: these words do not name types here.
    let fork = input.fork();
    let word = fork.parse::<Ident>().ok().filter(|_| fork.peek(syn::token::Bracket));
    let found = word.and_then(|word| words.iter().find(|(known, _)| word == known));
    if found.is_some() {
        input.parse::<Ident>()?;
    }
    Ok(found.map(|&(_, memory)| memory))
}

/// `name`, `name: high`, `name: low`, `name: priority(-3)`, `name per slot`, `name = null`
fn stream(input: ParseStream<'_>) -> syn::Result<Item> {
    let name = name(input, "a stream's name")?;
    if input.parse::<Option<Token![=]>>()?.is_some() {
        if !is_word(input, "null") {
            return Err(expected(input, "`null`"));
        }
        input.parse::<Ident>()?;
        return Ok(Item::Stream { name, priority: Priority::Default, per_slot: false, null: true });
    }
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
                let at = at_end_of("the parentheses", expected(&content, "a whole number"));
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
    Ok(Item::Stream { name, priority, per_slot, null: false })
}

/// `per slot`
fn per_slot(input: ParseStream<'_>) -> syn::Result<bool> {
    if !input.peek(Ident::peek_any) || begins_declaration(input) {
        return Ok(false);
    }
    let at = expected(input, "`per slot`, `:`, `=` or `;`");
    let per = input.call(Ident::parse_any)?;
    let slot: Option<Ident> = input.parse()?;
    match slot {
        Some(slot) if per == "per" && slot == "slot" => Ok(true),
        _ => Err(at),
    }
}

/// `combine function`, after the value that a `carry` starts from.
fn combine(
    input: ParseStream<'_>,
    name: &Ident,
    starts: bool,
    on_device: bool,
) -> syn::Result<Option<Box<Expr>>> {
    let Some(keyword) = input.fork().parse::<Ident>().ok().filter(|word| word == "combine") else {
        return Ok(None);
    };
    input.parse::<Ident>()?;
    let refused = if !starts {
        format!(
            "`combine` needs the value that each device's part starts from\nhelp: write `carry {name}: … = start combine function`, where `function(x, start)` and `function(start, x)` are `x`"
        )
    } else if on_device {
        "what several devices combine is given back to the host, so it cannot be on one of them\nhelp: leave out `device`".to_owned()
    } else {
        return Ok(Some(Box::new(expression(input, "a function of two elements")?)));
    };
    Err(syn::Error::new(keyword.span(), refused))
}

impl Size {
    /// The expression, if one is given.
    pub fn given(&self) -> Option<&Expr> {
        match self {
            Self::Auto => None,
            Self::Given(expr) => Some(expr),
        }
    }
}
