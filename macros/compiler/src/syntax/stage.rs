//! Stages and their operations.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, ExprLet, ExprPath, Token};

use super::{
    Copy, Fill, If, Invocation, Item, Operation, Record, Repeat, Then, Wait, WaitOf, at_end_of, collective,
    expected, expression, helped, launch, name, recover, semicolon,
};
use crate::diagnostics::{Diagnostics, similar};
use crate::groups::kept;

/// `name [on stream] { … }`, after the keyword.
pub(super) fn parse(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Item> {
    let stage_name = name(input, "the stage's name")?;
    let mut stream = None;
    if input.peek(Ident::peek_any) {
        let at = expected(input, "`on` or `{`");
        if input.call(Ident::parse_any)? != "on" {
            return Err(at);
        }
        stream = Some(name(input, "the name of a stream")?);
    }
    if !input.peek(syn::token::Brace) {
        let error = expected(input, "`{` and the stage's operations");
        return Err(match colon(input, &stage_name, stream.as_ref()) {
            Some(help) => syn::Error::new(error.span(), format!("{error}\nhelp: {help}")),
            None => error,
        });
    }
    let mut unread = Vec::new();
    let whole = format!("stage `{stage_name}`");
    let operations = block(input, &whole, &mut unread, diagnostics)?;
    Ok(Item::Stage { name: stage_name, stream, operations, unread })
}

/// The help for a stage that has a colon, like the one before a stream's priority.
fn colon(input: ParseStream<'_>, stage: &Ident, stream: Option<&Ident>) -> Option<String> {
    let fork = input.fork();
    fork.parse::<Token![:]>().ok()?;
    match (stream, fork.call(Ident::parse_any)) {
        (None, Ok(stream)) => Some(format!("write `stage {stage} on {stream} {{ … }}`")),
        _ => Some("remove the `:`".to_owned()),
    }
}

/// The `{ … }` of `whole`. Kernels of launches that cannot be read go to `unread`.
fn block(
    input: ParseStream<'_>,
    whole: &str,
    unread: &mut Vec<ExprPath>,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Vec<Operation>> {
    let body;
    syn::braced!(body in input);
    let mut operations = Vec::new();
    while !body.is_empty() {
        if body.peek(Token![unsafe]) && body.peek2(syn::token::Brace) {
            operations.extend(launches(&body, unread, diagnostics)?);
            continue;
        }
        let fork = body.fork();
        match operation(&body, whole, unread, diagnostics) {
            Ok(operation) => operations.push(operation),
            Err(error) => {
                diagnostics.syntax(at_end_of(whole, error));
                // Whatever is wrong with the launch, its kernel is used.
                let _ = fork.call(Attribute::parse_outer);
                let kernel = fork.parse::<ExprPath>().ok();
                let kernel =
                    kernel.filter(|kernel| fork.peek(Token![<]) && launch::keyword(kernel).is_none());
                unread.extend(kernel);
                recover(&body);
            }
        }
    }
    Ok(operations)
}

/// `unsafe { kernel<<<…>>>(…); }`: launches of kernels that are `unsafe` functions.
fn launches(
    input: ParseStream<'_>,
    unread: &mut Vec<ExprPath>,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Vec<Operation>> {
    let word: Token![unsafe] = input.parse()?;
    let mut operations = block(input, "the `unsafe` block", unread, diagnostics)?;
    for operation in &mut operations {
        let Operation::Launch(launch) = operation else {
            let text =
                "expected launches alone in this block\nhelp: write the other operations outside of it";
            diagnostics.syntax(syn::Error::new(word.span, text));
            break;
        };
        launch.unsafety = Some(word);
    }
    Ok(operations)
}

fn operation(
    input: ParseStream<'_>,
    whole: &str,
    unread: &mut Vec<ExprPath>,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Operation> {
    let operation = if is_copy(input) {
        let keyword = input.call(Ident::parse_any)?;
        let from = copied(input)?;
        if !input.peek(Token![->]) {
            return Err(arrow(input, &from));
        }
        input.parse::<Token![->]>()?;
        let to = buffer(input, "the name of the copy's destination")?;
        Operation::Copy(Copy { keyword, from, to })
    } else if is_followed_by_name(input, "fill") {
        let keyword = input.call(Ident::parse_any)?;
        let buffer = name(input, "the name of a device buffer")?;
        if !input.peek(Token![=]) {
            let error = expected(input, "`=`");
            let fork = input.fork();
            let value = fork.parse::<Token![,]>().and_then(|_| fork.parse::<Expr>());
            return Err(value.map_or(error.clone(), |value| helped(&error, &filled(&buffer, &value))));
        }
        input.parse::<Token![=]>()?;
        let value = expression(input, "the value of every element")?;
        Operation::Fill(Box::new(Fill { keyword, buffer, value }))
    } else if is_followed_by_name(input, "record") {
        let keyword = input.call(Ident::parse_any)?;
        Operation::Record(Record { keyword, event: name(input, "the name of an event")? })
    } else if is_followed_by_name(input, "wait") {
        let keyword = input.call(Ident::parse_any)?;
        let event = name(input, "the name of an event")?;
        Operation::Wait(Wait { keyword, event, of: wait_of(input)? })
    } else if is_followed_by_name(input, "call") {
        Operation::Call(Box::new(invocation(input, "the path of a routine")?))
    } else if is_followed_by_name(input, "host") {
        Operation::Host(Box::new(invocation(input, "the path of a function")?))
    } else if let Some(kind) = collective::begins(input) {
        Operation::Collective(Box::new(collective::parse(input, kind)?))
    } else if is_then(input) {
        Operation::Then(Box::new(then(input)?))
    } else if is_repeat(input) {
        let keyword = input.call(Ident::parse_any)?;
        let times = before_block(input, "how many times")?;
        return Ok(Operation::Repeat(Box::new(Repeat {
            keyword,
            times,
            body: block(input, "the `repeat`", unread, diagnostics)?,
        })));
    } else if input.peek(Token![if]) {
        return conditional(input, unread, diagnostics)
            .map(|conditional| Operation::If(Box::new(conditional)));
    } else if let Some(error) = no_operation(input) {
        return Err(error);
    } else {
        Operation::Launch(Box::new(launch::parse(input)?))
    };
    let begins = |input: ParseStream<'_>| is_copy(input) || collective::begins(input).is_some();
    semicolon(input, whole, begins, diagnostics)?;
    Ok(operation)
}

/// The words that an operation of one rank may begin with, except the name of a kernel.
const KEYWORDS: [&str; 9] = ["copy", "fill", "call", "host", "then", "repeat", "if", "record", "wait"];

/// The error for a word that begins neither an operation nor a launch, since no chevrons come after it.
fn no_operation(input: ParseStream<'_>) -> Option<syn::Error> {
    let fork = input.fork();
    let word = fork.call(Ident::parse_any).ok()?;
    if fork.peek(Token![<]) || fork.peek(Token![::]) {
        return None;
    }
    let text = word.to_string();
    let no_operation = |help: String| {
        syn::Error::new(word.span(), format!("expected an operation, found `{text}`\nhelp: {help}"))
    };
    if text == "unsafe" {
        let help = "write `unsafe { kernel<<<…>>>(…); }`, if the kernel is an `unsafe fn`; else remove it";
        return Some(no_operation(help.to_owned()));
    }
    if let Some(help) = collective::meant(&text, &fork).or_else(|| meant(&word, &fork)) {
        return Some(no_operation(help));
    }
    let missing = match text.as_str() {
        "call" => "the path of a routine",
        "host" => "the path of a function",
        "then" => "`|c|` and an expression",
        "fill" => "the name of a device buffer",
        "record" | "wait" => "the name of an event",
        _ => "",
    };
    if !missing.is_empty() {
        let error = expected(&fork, missing);
        let help = fill_call(&fork).filter(|_| text == "fill");
        return Some(help.map_or(error.clone(), |help| helped(&error, &help)));
    }
    let help = match text.as_str() {
        "for" | "while" | "loop" => "operations are repeated with `repeat n { … }`".to_owned(),
        "let" => {
            "write the value where it is used, as an argument of a launch; a value for the whole run is a `param`"
                .to_owned()
        }
        "match" => "operations are chosen with `if condition { … } else { … }`".to_owned(),
        _ => format!("a similar keyword exists: `{}`", similar(&text, KEYWORDS)?),
    };
    Some(no_operation(help))
}

/// The line to write in place of `memcpy x -> y`, `y = x` or `launch kernel<<<…>>>`, whose first word was
/// read.
fn meant(word: &Ident, behind: ParseStream<'_>) -> Option<String> {
    let fork = behind.fork();
    if fork.parse::<Token![=]>().is_ok() {
        let from: Ident = fork.parse().ok()?;
        return fork.peek(Token![;]).then(|| format!("write `copy {from} -> {word}`"));
    }
    let from: Ident = fork.parse().ok()?;
    if fork.peek(Token![->]) {
        fork.parse::<Token![->]>().ok()?;
        let to: Ident = fork.parse().ok()?;
        return Some(format!("write `copy {from} -> {to}`"));
    }
    let is_launch = fork.peek(Token![<]) && fork.peek2(Token![<]) && fork.peek3(Token![<]);
    let is_word = !KEYWORDS.iter().any(|keyword| word == keyword);
    (is_launch && is_word).then(|| format!("remove `{word}`: a launch begins with the kernel's name"))
}

/// The name of a buffer, which has no `&` here.
fn buffer(input: ParseStream<'_>, what: &str) -> syn::Result<Ident> {
    if !input.peek(Token![&]) {
        return name(input, what);
    }
    let error = expected(input, what);
    let fork = input.fork();
    fork.parse::<Token![&]>()?;
    let mutable = if fork.peek(Token![mut]) { "mut" } else { "" };
    Err(helped(&error, &format!("remove `&{mutable}`")))
}

/// `fill(buffer, value)` as it is in the language.
fn fill_call(input: ParseStream<'_>) -> Option<String> {
    let fork = input.fork();
    let parse = |input: ParseStream<'_>| -> syn::Result<String> {
        let content;
        syn::parenthesized!(content in input);
        let buffer = content.parse()?;
        content.parse::<Token![,]>()?;
        let value = content.parse()?;
        Ok(filled(&buffer, &value))
    };
    parse(&fork).ok()
}

fn filled(buffer: &Ident, value: &Expr) -> String {
    format!("write `fill {buffer} = {}`", value.to_token_stream())
}

/// The source of a copy. If the copy is written as a call, the error says how the language writes it.
fn copied(input: ParseStream<'_>) -> syn::Result<Ident> {
    let error = expected(input, "the name of the copy's source");
    if !input.peek(syn::token::Paren) {
        return buffer(input, "the name of the copy's source");
    }
    let content;
    syn::parenthesized!(content in input);
    let both = |content: ParseStream<'_>| -> syn::Result<(Ident, Ident)> {
        let from = content.parse()?;
        if content.parse::<Option<Token![,]>>()?.is_none() {
            content.parse::<Token![->]>()?;
        }
        Ok((from, content.parse()?))
    };
    let found = both(&content);
    content.parse::<proc_macro2::TokenStream>()?;
    Err(found
        .map_or_else(|_| error.clone(), |(from, to)| helped(&error, &format!("write `copy {from} -> {to}`"))))
}

/// The error if something else stands where the arrow of a copy should be.
fn arrow(input: ParseStream<'_>, from: &Ident) -> syn::Error {
    let error = expected(input, "`->`");
    let fork = input.fork();
    let is_reversed = fork.peek(Token![<-]);
    let is_one = fork.parse::<Token![<-]>().is_ok()
        || fork.parse::<Token![=>]>().is_ok()
        || fork.parse::<Token![,]>().is_ok()
        || fork.parse::<Ident>().is_ok_and(|word| word == "to" || word == "into");
    match fork.parse::<Ident>() {
        Ok(to) if is_one && is_reversed => helped(&error, &format!("write `copy {to} -> {from}`")),
        Ok(to) if is_one => helped(&error, &format!("write `copy {from} -> {to}`")),
        _ => error,
    }
}

/// `if condition { … } else { … }`
fn conditional(
    input: ParseStream<'_>,
    unread: &mut Vec<ExprPath>,
    diagnostics: &mut Diagnostics,
) -> syn::Result<If> {
    let keyword: Token![if] = input.parse()?;
    let condition = before_block(input, "a condition")?;
    if let Some(binding) = binding(&condition) {
        let text =
            "expected a condition, found `let`\nhelp: decide before `run`, and pass a `param` of type `bool`";
        return Err(syn::Error::new_spanned(binding.let_token, text));
    }
    let body = block(input, "the `if`", unread, diagnostics)?;
    let mut otherwise = Vec::new();
    if input.parse::<Option<Token![else]>>()?.is_some() {
        if input.peek(Token![if]) {
            otherwise.push(Operation::If(Box::new(conditional(input, unread, diagnostics)?)));
        } else if input.peek(syn::token::Brace) {
            otherwise = block(input, "the `else`", unread, diagnostics)?;
        } else {
            return Err(expected(input, "`{` or `if`"));
        }
    }
    Ok(If { keyword, condition, body, otherwise })
}

/// The `let` in a condition, if there is one.
fn binding(condition: &Expr) -> Option<&ExprLet> {
    match condition {
        Expr::Let(binding) => Some(binding),
        Expr::Binary(both) => binding(&both.left).or_else(|| binding(&both.right)),
        _ => None,
    }
}

/// An expression that a block follows.
fn before_block(input: ParseStream<'_>, what: &str) -> syn::Result<Expr> {
    if input.is_empty()
        || (input.peek(syn::token::Brace) && !begins_with_block(input))
        || input.peek(Token![;])
    {
        return Err(expected(input, what));
    }
    let expr = input.call(Expr::parse_without_eager_brace).map(kept)?;
    if input.peek(syn::token::Brace) { Ok(expr) } else { Err(expected(input, "`{` and operations")) }
}

/// `{ … } {` and `{ … } % 2 {`: the braces are not yet the operations'.
fn begins_with_block(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    let block = fork.parse::<proc_macro2::Group>();
    let operator =
        fork.cursor().punct().is_some_and(|(punct, _)| !matches!(punct.as_char(), ';' | ':' | '<'));
    block.is_ok() && (operator || fork.peek(syn::token::Brace))
}

/// `keyword path(args)`
fn invocation(input: ParseStream<'_>, what: &str) -> syn::Result<Invocation> {
    let keyword = input.call(Ident::parse_any)?;
    let path = launch::path(input, what)?;
    if let Some(last) = launch::keyword(&path) {
        let text = format!("expected {what}, found the keyword `{last}`");
        return Err(syn::Error::new(last.span(), text));
    }
    if !input.peek(syn::token::Paren) {
        return Err(expected(input, "`(` and its arguments"));
    }
    let content;
    syn::parenthesized!(content in input);
    let args = launch::arguments(&content).map_err(|error| at_end_of("the parentheses", error))?;
    Ok(Invocation { keyword, path, args })
}

/// `then |c| expr`
fn then(input: ParseStream<'_>) -> syn::Result<Then> {
    let keyword = input.call(Ident::parse_any)?;
    let at = expected(input, "`|c|` and an expression");
    // A `macro_rules` passes a closure on in a group.
    let mut expr = expression(input, "`|c|` and an expression")?;
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    match expr {
        Expr::Closure(closure)
            if closure.inputs.len() == 1 && closure.asyncness.is_none() && closure.constness.is_none() =>
        {
            Ok(Then { keyword, closure })
        }
        _ => Err(at),
    }
}

/// `@ previous`, `@ reuse` or nothing
fn wait_of(input: ParseStream<'_>) -> syn::Result<WaitOf> {
    if input.parse::<Option<Token![@]>>()?.is_none() {
        return Ok(WaitOf::This);
    }
    let at = expected(input, "`previous` or `reuse`");
    match input.parse::<Ident>() {
        Ok(word) if word == "previous" => Ok(WaitOf::Previous),
        Ok(word) if word == "reuse" => Ok(WaitOf::Reuse),
        _ => Err(at),
    }
}

/// `fill name`, `call path` and so on: kernels may have such a name too, but then a `<` or `:` follows.
fn is_followed_by_name(input: ParseStream<'_>, keyword: &str) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == keyword) && fork.peek(Ident::peek_any)
}

/// `then |c| …`, or with something else in place of the closure
fn is_then(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "then")
        && !fork.peek(Token![<])
        && !fork.peek(Token![::])
}

/// `repeat n { … }`
fn is_repeat(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "repeat")
        && !fork.peek(Token![<])
        && !fork.peek(Token![::])
}

/// `copy name …`: a kernel may be called `copy` too, but then a `<` or `:` follows.
fn is_copy(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "copy")
        && !fork.peek(Token![<])
        && !fork.peek(Token![::])
}
