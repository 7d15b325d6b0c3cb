//! Phase 1, parse: tokens -> [`Pipeline`], the declarations as they are written.

mod declaration;
mod launch;
mod stage;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Expr, ExprPath, Path, Token, Type, Visibility};

use crate::diagnostics::Diagnostics;

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
    Host {
        kind: HostKind,
        name: Ident,
        shape: Shape,
    },
    Device {
        name: Ident,
        shape: Shape,
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
    Stream {
        name: Ident,
        priority: Priority,
        per_slot: bool,
    },
    /// `sync = auto`, the only one there is.
    Sync {
        keyword: Ident,
    },
    Stage {
        name: Ident,
        stream: Option<Ident>,
        operations: Vec<Operation>,
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
    Given(Expr),
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
    let parser = |input: ParseStream<'_>| {
        let runtime = parse_runtime(input)?;
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let keyword: Ident = input.parse().map_err(|error| expected(error, "`pipeline Name { … }`"))?;
        if keyword != "pipeline" {
            return Err(syn::Error::new(keyword.span(), format!("expected `pipeline`, found `{keyword}`")));
        }
        let name: Ident = input.parse().map_err(|error| expected(error, "the pipeline's name"))?;
        let body;
        syn::braced!(body in input);
        let items = declaration::parse_all(&body, diagnostics);
        if !input.is_empty() {
            diagnostics.syntax(input.error("unexpected tokens after the pipeline"));
            input.parse::<TokenStream>()?;
        }
        Ok(Pipeline { runtime, attrs, vis, name, items })
    };
    match parser.parse2(input) {
        Ok(pipeline) => Some(pipeline),
        Err(error) => {
            diagnostics.syntax(error);
            None
        }
    }
}

/// `#![crate = path]`
fn parse_runtime(input: ParseStream<'_>) -> syn::Result<Option<Path>> {
    if !(input.peek(Token![#]) && input.peek2(Token![!])) {
        return Ok(None);
    }
    input.parse::<Token![#]>()?;
    input.parse::<Token![!]>()?;
    let attribute;
    syn::bracketed!(attribute in input);
    attribute.parse::<Token![crate]>()?;
    attribute.parse::<Token![=]>()?;
    attribute.call(Path::parse_mod_style).map(Some)
}

/// A syntax error that says what should be there.
fn expected(error: syn::Error, what: &str) -> syn::Error {
    syn::Error::new(error.span(), format!("expected {what}"))
}

/// Skips to after the next `;`, or after the next `{ … }` that no `;` follows: where the next line begins.
fn recover(input: ParseStream<'_>) {
    while let Ok(token) = input.parse::<TokenTree>() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace => {
                // Consumed with the group it belongs to; if it is missing, so be it.
                let _ = input.parse::<Option<Token![;]>>();
                return;
            }
            _ => {}
        }
    }
}

impl Parse for Shape {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(syn::token::Bracket) {
            return Err(input.error("expected `[T]` or `[T; k]`"));
        }
        let content;
        syn::bracketed!(content in input);
        let element = content.parse()?;
        let per_item = if content.is_empty() {
            None
        } else {
            content.parse::<Token![;]>()?;
            Some(content.parse()?)
        };
        if !content.is_empty() {
            return Err(content.error("expected `]`"));
        }
        Ok(Self { element, per_item })
    }
}

impl Parse for Size {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let fork = input.fork();
        if fork.parse::<Ident>().is_ok_and(|ident| ident == "auto") && fork.peek(Token![;]) {
            input.parse::<Ident>()?;
            return Ok(Self::Auto);
        }
        input.parse().map(Self::Given)
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

/// Where the pipeline's name is: errors about the whole point there.
impl Pipeline {
    pub fn span(&self) -> Span {
        self.name.span()
    }
}
