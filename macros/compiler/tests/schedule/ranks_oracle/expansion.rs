//! The loop over the chunks that a pipeline expands to, read from its tokens.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr as Syntax, Stmt};

use super::emitted::{self, Said};
use super::expr::Expr;
use super::host::{Of, Step, Told};
use super::pipeline::{Mark, Pipeline};

/// The methods that begin a collective.
const COLLECTIVES: [&str; 11] = [
    "all_reduce",
    "reduce",
    "broadcast",
    "all_gather",
    "gather",
    "scatter",
    "reduce_scatter",
    "all_to_all",
    "barrier",
    "pass",
    "exchange",
];

pub struct Expansion {
    pub text: String,
    pub errors: Vec<Said>,
    tokens: TokenStream,
}

pub fn expand(pipeline: &Pipeline, marks: Option<&[Mark]>) -> Expansion {
    // Only the places of one source are asked for at a time.
    proc_macro2::extra::invalidate_current_thread_spans();
    let text = pipeline.text(marks);
    let tokens = TokenStream::from_str(&text).expect("what is generated lexes");
    let tokens = thalweg_compiler::stream_pipeline(tokens);
    let errors = emitted::errors(tokens.clone());
    Expansion { text, errors, tokens }
}

/// What is carried out for each chunk.
pub struct Code {
    pub steps: Vec<Step>,
    /// For each stream, whether each slot has one, and whether that is up to the run.
    pub streams: Vec<(bool, bool)>,
}

impl Expansion {
    pub fn code(&self) -> Code {
        let mut found = Found::default();
        found.search(self.tokens.clone());
        let body: syn::Block = syn::parse2(found.body.expect("a loop over the chunks")).expect("it is Rust");
        let mut reader = Reader { streams: &found.streams, locals: BTreeMap::new() };
        let steps = reader.block(&body);
        Code {
            steps,
            streams: found.streams.iter().map(|&(_, per_slot, placed)| (per_slot, placed)).collect(),
        }
    }
}

#[derive(Default)]
struct Found {
    body: Option<TokenStream>,
    /// The name of each stream, whether each slot has one, and whether that is up to the run.
    streams: Vec<(String, bool, bool)>,
}

impl Found {
    /// Looks for `for c in run.chunks() { … }` and `StreamPlan::new("up", …, per_slot, null, placed)`.
    fn search(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.search(group.stream()),
                TokenTree::Ident(word) if word == "chunks" => {
                    if let Some(body) = tokens.get(at + 2).filter(|body| is_block(body)) {
                        self.body = Some(TokenStream::from(body.clone()));
                    }
                }
                TokenTree::Ident(word) if word == "StreamPlan" => {
                    if let Some(TokenTree::Group(group)) = tokens.get(at + 4) {
                        self.streams.push(stream(group.stream()));
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn stream(tokens: TokenStream) -> (String, bool, bool) {
    let text: Vec<_> = tokens.into_iter().map(|token| token.to_string()).collect();
    let truths: Vec<bool> = text.iter().filter_map(|word| word.parse().ok()).collect();
    let [per_slot, _, placed] = truths[..] else { panic!("three facts of a stream: {text:?}") };
    (text[0].trim_matches('"').to_owned(), per_slot, placed)
}

struct Reader<'f> {
    streams: &'f [(String, bool, bool)],
    /// The operation and the stream of each local.
    locals: BTreeMap<String, (usize, usize)>,
}

fn told(expr: &Syntax) -> Told {
    Told { expr: Expr::read(expr), in_pass: false, site: None }
}

fn local(expr: &Syntax) -> Option<String> {
    match expr {
        Syntax::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

impl Reader<'_> {
    fn block(&mut self, block: &syn::Block) -> Vec<Step> {
        block.stmts.iter().flat_map(|statement| self.statement(statement)).collect()
    }

    fn statement(&mut self, statement: &Stmt) -> Vec<Step> {
        match statement {
            Stmt::Local(bound) => self.bound(bound),
            Stmt::Expr(expr, _) => self.expression(expr),
            other => panic!("a statement of the loop: {}", quote::quote!(#other)),
        }
    }

    /// `let copy_x = &run.on(up, 0, c);` or `let taken: bool = …;`
    fn bound(&mut self, bound: &syn::Local) -> Vec<Step> {
        let value = match &*bound.init.as_ref().expect("a value").expr {
            Syntax::Reference(reference) => &*reference.expr,
            value => value,
        };
        match (&bound.pat, value) {
            (syn::Pat::Ident(name), Syntax::MethodCall(call)) if call.method == "on" => {
                let stream = local(&call.args[0]).expect("a stream");
                let known = self.streams.iter().position(|(known, ..)| *known == stream);
                let Expr::Number(op) = Expr::read(&call.args[1]) else { panic!("an operation has a number") };
                let place = (op as usize, known.expect("a stream of the plan"));
                self.locals.insert(name.ident.to_string(), place);
                Vec::new()
            }
            (syn::Pat::Type(typed), value) => {
                let syn::Pat::Ident(name) = &*typed.pat else { panic!("a condition has a name") };
                vec![Step::Let(Rc::from(name.ident.to_string()), told(value))]
            }
            _ => panic!("a local of the loop: {}", quote::quote!(#bound)),
        }
    }

    fn expression(&mut self, expr: &Syntax) -> Vec<Step> {
        match expr {
            Syntax::Block(block) => self.block(&block.block),
            Syntax::Try(call) => self.expression(&call.expr),
            Syntax::If(choice) => self.choice(choice),
            Syntax::ForLoop(turns) => {
                let Syntax::Call(times) = &*turns.expr else { panic!("a number of turns") };
                vec![Step::Repeat(0, told(&times.args[0]), self.block(&turns.body))]
            }
            Syntax::MethodCall(call) => self.call(call).into_iter().collect(),
            other => panic!("an expression of the loop: {}", quote::quote!(#other)),
        }
    }

    fn choice(&mut self, choice: &syn::ExprIf) -> Vec<Step> {
        let mut then = self.block(&choice.then_branch);
        if matches!(&*choice.cond, Syntax::MethodCall(call) if call.method == "is_due") {
            for step in &mut then {
                if let Step::Work { of_items, .. } = step {
                    *of_items = true;
                }
            }
            return then;
        }
        let otherwise = choice.else_branch.as_ref().map(|(_, otherwise)| self.expression(otherwise));
        vec![Step::If(0, told(&choice.cond), then, otherwise.unwrap_or_default())]
    }

    fn call(&mut self, call: &syn::ExprMethodCall) -> Option<Step> {
        let method = call.method.to_string();
        let operation = match method.as_str() {
            // `kernel.launch(launch_kernel.config(…), …)`
            "launch" => match &call.args[0] {
                Syntax::MethodCall(config) => local(&config.receiver),
                _ => None,
            },
            _ => local(&call.receiver),
        };
        let &(op, stream) = self.locals.get(&operation?).expect("an operation of the loop");
        let event = || local(&call.args[0]).expect("an event");
        let wait = |of| Step::Wait { op, stream, event: event(), of };
        Some(match method.as_str() {
            "wait" => wait(Of::This),
            "wait_previous" => wait(Of::Previous),
            "wait_reuse" => wait(Of::Reuse),
            "record" => Step::Record { op, stream, event: event() },
            "upload" | "download" | "copy" | "fill" | "launch" => Step::Work { op, stream, of_items: false },
            known if COLLECTIVES.contains(&known) => {
                Step::Together { op, stream, told: call.args.iter().flat_map(argument).collect() }
            }
            other => panic!("a call of the loop, found `{other}`"),
        })
    }
}

/// What an argument of a collective says that ranks might not agree on.
fn argument(argument: &Syntax) -> Option<Told> {
    match argument {
        Syntax::MethodCall(call) if call.method == "whole" => None,
        Syntax::MethodCall(call) if call.method == "part" => Some(told(&call.args[1])),
        Syntax::Path(path) if path.path.leading_colon.is_some() => None,
        Syntax::Call(call) => match &call.args.first() {
            None => None,
            Some(Syntax::Closure(closure)) => Some(everyone(closure)),
            Some(_) => Some(told(argument)),
        },
        other => Some(told(other)),
    }
}

/// `|rank: usize| …`, or `|_: usize| …` if it names no rank.
fn everyone(closure: &syn::ExprClosure) -> Told {
    let told = Told { in_pass: true, ..told(&closure.body) };
    let input = &closure.inputs[0];
    let binds = quote::quote!(#input).to_string().starts_with("rank");
    assert_eq!(binds, told.expr.names("rank"), "a closure binds what its body names");
    told
}
