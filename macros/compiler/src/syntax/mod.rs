//! Phase 1, parse: tokens -> [`Pipeline`], the declarations as they are written.

mod declaration;
mod launch;
mod stage;

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Expr, ExprPath, Path, Token, Type, Visibility};

use crate::diagnostics::{Diagnostics, similar};

/// A pipeline as it is written.
pub struct Pipeline {
    /// `#![crate = path]`: where the runtime is, if not at `::thalweg`.
    pub runtime: Option<Path>,
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub name: Ident,
    pub items: Vec<Item>,
}

/// One line of a pipeline.
pub enum Item {
    Param {
        name: Ident,
        ty: Type,
    },
    /// `pinned` host data must be page-locked.
    Host {
        kind: HostKind,
        name: Ident,
        pinned: bool,
        shape: Shape,
    },
    Device {
        name: Ident,
        shape: Shape,
    },
    /// `resident name: [T];`
    Resident {
        name: Ident,
        shape: Shape,
    },
    /// `carry name: [T; k];`, with `= init` or not
    Carry {
        name: Ident,
        shape: Shape,
        init: Option<Box<Expr>>,
    },
    Chunk {
        keyword: Ident,
        name: Ident,
        size: Size,
    },
    Depth {
        keyword: Ident,
        slots: Size,
    },
    /// `budget = bytes;`
    Budget {
        keyword: Ident,
        bytes: Box<Expr>,
    },
    Stream {
        name: Ident,
        priority: Priority,
        per_slot: bool,
    },
    /// `sync = auto` or `sync = manual`
    Sync {
        keyword: Ident,
        manual: bool,
    },
    Stage {
        name: Ident,
        stream: Option<Ident>,
        operations: Vec<Operation>,
        /// Kernels of launches that could not be read: the import of one is not unused.
        unread: Vec<ExprPath>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    Input,
    Output,
    InOut,
}

/// `[T]` or `[T; k]`.
#[derive(Clone)]
pub struct Shape {
    pub element: Type,
    pub per_item: Option<Expr>,
}

/// `auto` or an expression.
pub enum Size {
    Auto,
    Given(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Default,
    High,
    Low,
    Level(i32),
}

/// An operation of a stage.
pub enum Operation {
    Copy(Copy),
    Launch(Box<Launch>),
    Fill(Box<Fill>),
    Record(Record),
    Wait(Wait),
}

/// `fill buffer = value;`
pub struct Fill {
    pub keyword: Ident,
    pub buffer: Ident,
    pub value: Expr,
}

/// `record event;`
pub struct Record {
    pub keyword: Ident,
    pub event: Ident,
}

/// `wait event;`, `wait event @ previous;` or `wait event @ reuse;`
pub struct Wait {
    pub keyword: Ident,
    pub event: Ident,
    pub of: WaitOf,
}

/// Which chunk's event a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOf {
    This,
    Previous,
    Reuse,
}

/// `copy from -> to;`
pub struct Copy {
    pub keyword: Ident,
    pub from: Ident,
    pub to: Ident,
}

/// `kernel<<<grid, block, shared, stream>>>(args);`
pub struct Launch {
    pub kernel: ExprPath,
    /// Two to four expressions, if the launch is right.
    pub config: Vec<Expr>,
    pub args: Vec<Argument>,
}

/// A kernel argument.
pub enum Argument {
    /// `&name`
    Read { and: Token![&], name: Ident },
    /// `&mut name`
    ReadWrite { and: Token![&], name: Ident },
    /// `out name`
    Out { out: Ident, name: Ident },
    /// Anything else.
    Scalar(Expr),
}

impl Argument {
    /// The buffer it names.
    pub fn buffer(&self) -> Option<&Ident> {
        match self {
            Self::Read { name, .. } | Self::ReadWrite { name, .. } | Self::Out { name, .. } => Some(name),
            Self::Scalar(_) => None,
        }
    }
}

/// Parses a whole `stream_pipeline! { … }`. Errors go to `diagnostics`; what could be read comes back all the same.
pub fn parse(input: TokenStream, diagnostics: &mut Diagnostics) -> Option<Pipeline> {
    let mut pipeline = None;
    let parser = |input: ParseStream<'_>| {
        let runtime = parse_runtime(input, diagnostics)?;
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let name = header(input, diagnostics)?;
        let mut items = Vec::new();
        if input.peek(syn::token::Brace) {
            let body;
            syn::braced!(body in input);
            items = declaration::parse_all(&body, diagnostics);
            if !input.is_empty() {
                diagnostics.syntax(expected(input, "nothing after the pipeline"));
            }
        } else {
            diagnostics.syntax(expected(input, "`{` and the pipeline's declarations"));
        }
        input.parse::<TokenStream>()?;
        pipeline = Some(Pipeline { runtime, attrs, vis, name, items });
        Ok(())
    };
    if let Err(error) = parser.parse2(input) {
        // syn also reports what is left in a group after an error in it: the same problem again.
        if pipeline.is_none() || !diagnostics.has_errors() {
            diagnostics.syntax(error);
        }
    }
    pipeline
}

/// `pipeline Name`: gives the name, if there is one, whatever stands before it.
fn header(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Ident> {
    let form = "`pipeline Name { … }`";
    let is_named = |input: ParseStream<'_>| input.peek(Ident::peek_any) && input.peek2(Ident::peek_any);
    if !input.peek(Ident::peek_any) {
        return Err(expected(input, form));
    }
    let word = input.fork().call(Ident::parse_any)?.to_string();
    if word == "pipeline" {
        input.call(Ident::parse_any)?;
        return name(input, "the pipeline's name");
    }
    let mut error = expected(input, form);
    if similar(&word, ["pipeline"]).is_some() {
        error = syn::Error::new(error.span(), format!("{error}\nhelp: a similar keyword exists: `pipeline`"));
    }
    diagnostics.syntax(error);
    if is_named(input) {
        input.call(Ident::parse_any)?;
    }
    input.parse()
}

/// `#![crate = path]`
fn parse_runtime(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Option<Path>> {
    if !(input.peek(Token![#]) && input.peek2(Token![!]) && input.peek3(syn::token::Bracket)) {
        return Ok(None);
    }
    input.parse::<Token![#]>()?;
    input.parse::<Token![!]>()?;
    let attribute;
    syn::bracketed!(attribute in input);
    let path = |attribute: ParseStream<'_>| {
        if !attribute.peek(Token![crate]) {
            return Err(expected(attribute, "`crate = path`, the only attribute with `!` that there is"));
        }
        attribute.parse::<Token![crate]>()?;
        attribute.parse::<Token![=]>().map_err(|_| expected(attribute, "`=`"))?;
        let path = attribute
            .call(Path::parse_mod_style)
            .map_err(|_| expected(attribute, "the path of the `thalweg` crate"))?;
        if attribute.is_empty() { Ok(path) } else { Err(expected(attribute, "`]`")) }
    };
    let path = path(&attribute);
    path.map(Some).or_else(|error| {
        diagnostics.syntax(error);
        Ok(None)
    })
}

/// A syntax error that says what should be at the next token, and what is.
fn expected(input: ParseStream<'_>, what: &str) -> syn::Error {
    let text = match input.cursor().token_tree() {
        Some((TokenTree::Group(group), _)) => match group.delimiter() {
            Delimiter::Parenthesis => format!("expected {what}, found `(`"),
            Delimiter::Brace => format!("expected {what}, found `{{`"),
            Delimiter::Bracket => format!("expected {what}, found `[`"),
            Delimiter::None => format!("expected {what}, found `{}`", group.stream()),
        },
        Some((TokenTree::Punct(first), mut rest)) => {
            // An operator whole.
            let (mut found, mut spacing) = (first.to_string(), first.spacing());
            while let (Spacing::Joint, Some((TokenTree::Punct(next), after))) = (spacing, rest.token_tree()) {
                found.push(next.as_char());
                (spacing, rest) = (next.spacing(), after);
            }
            format!("expected {what}, found `{found}`")
        }
        Some((token, _)) => format!("expected {what}, found `{token}`"),
        None => format!("expected {what}, found the end"),
    };
    syn::Error::new(input.span(), text)
}

/// A name that the user gives to something.
fn name(input: ParseStream<'_>, what: &str) -> syn::Result<Ident> {
    let error = expected(input, what);
    input.parse().map_err(|_| match input.call(Ident::parse_any) {
        Ok(keyword) if keyword != "_" => {
            let raw = ["self", "Self", "super", "crate"].iter().all(|word| keyword != word);
            let help = if raw {
                format!("write `r#{keyword}`, or choose another name")
            } else {
                "choose another name".to_owned()
            };
            let text = format!("expected {what}, found the keyword `{keyword}`\nhelp: {help}");
            syn::Error::new(keyword.span(), text)
        }
        _ => error,
    })
}

/// The `;` after a declaration or an operation. Where it is missing but `begins_next`, what follows is read all the same.
fn semicolon(
    input: ParseStream<'_>,
    begins_next: impl FnOnce(ParseStream<'_>) -> bool,
    diagnostics: &mut Diagnostics,
) -> syn::Result<()> {
    if input.peek(Token![;]) {
        return input.parse::<Token![;]>().map(drop);
    }
    let error = expected(input, "`;`");
    if input.is_empty() || begins_next(input) {
        diagnostics.syntax(error);
        return Ok(());
    }
    Err(error)
}

/// Skips to after the next `;`, or after the next `{ … }` that no `;` follows: where the next line begins.
fn recover(input: ParseStream<'_>) {
    while let Ok(token) = input.parse::<TokenTree>() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                // Consumed with the group it belongs to; if it is missing, so be it.
                let _ = input.parse::<Option<Token![;]>>();
                return;
            }
            _ => {}
        }
    }
}

/// An expression; where there is none, `what` should be there.
fn expression(input: ParseStream<'_>, what: &str) -> syn::Result<Expr> {
    if input.is_empty() || input.peek(Token![;]) || input.peek(Token![,]) {
        return Err(expected(input, what));
    }
    input.parse().map(crate::groups::kept)
}

impl Parse for Shape {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(syn::token::Bracket) {
            let mut error = expected(input, "`[T]` or `[T; k]`");
            if let Ok(element) = input.fork().parse::<Type>() {
                let element = innermost(&element).to_token_stream();
                let text = format!(
                    "{error}\nhelp: write `[{element}]`; `run` takes slices, `Vec`s and `PinnedBuf`s of it"
                );
                error = syn::Error::new(error.span(), text);
            }
            return Err(error);
        }
        let content;
        syn::bracketed!(content in input);
        let element = content.parse()?;
        let per_item = if content.is_empty() {
            None
        } else {
            content.parse::<Token![;]>().map_err(|_| expected(&content, "`]` or `; k]`"))?;
            Some(expression(&content, "the number of elements an item")?)
        };
        if !content.is_empty() {
            return Err(expected(&content, "`]`"));
        }
        Ok(Self { element, per_item })
    }
}

/// The elements of a container: `f32` of `Vec<f32>`, `&[f32]` or `f32`.
fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::Reference(reference) => innermost(&reference.elem),
        Type::Slice(slice) => innermost(&slice.elem),
        Type::Path(path) => {
            let arguments = path.path.segments.last().map(|segment| &segment.arguments);
            match arguments {
                Some(syn::PathArguments::AngleBracketed(angle)) if angle.args.len() == 1 => {
                    match &angle.args[0] {
                        syn::GenericArgument::Type(element) => innermost(element),
                        _ => ty,
                    }
                }
                _ => ty,
            }
        }
        _ => ty,
    }
}

impl Parse for Size {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let fork = input.fork();
        if fork.parse::<Ident>().is_ok_and(|ident| ident == "auto") && fork.peek(Token![;]) {
            input.parse::<Ident>()?;
            return Ok(Self::Auto);
        }
        expression(input, "`auto` or an expression").map(|expr| Self::Given(Box::new(expr)))
    }
}

impl ToTokens for Shape {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.element.to_tokens(tokens);
        if let Some(per_item) = &self.per_item {
            per_item.to_tokens(tokens);
        }
    }
}

impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Read { and, name } | Self::ReadWrite { and, name } => {
                and.to_tokens(tokens);
                name.to_tokens(tokens);
            }
            Self::Out { out, name } => {
                out.to_tokens(tokens);
                name.to_tokens(tokens);
            }
            Self::Scalar(expr) => expr.to_tokens(tokens),
        }
    }
}
