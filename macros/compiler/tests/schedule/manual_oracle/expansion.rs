//! The calls and waits of a pipeline's expansion, read from its tokens.

use std::str::FromStr;

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};

use super::device::Call;
use super::emitted::{self, Said};
use super::pipeline::{Of, Pipeline};

pub struct Expansion {
    pub text: String,
    /// For each line of the text, the stage and the line in it.
    origins: Vec<Option<(usize, usize)>>,
    pub errors: Vec<Said>,
    tokens: TokenStream,
}

pub fn expand(pipeline: &Pipeline, manual: bool) -> Expansion {
    // Only the places of one source are asked for at a time.
    proc_macro2::extra::invalidate_current_thread_spans();
    let (text, origins) = pipeline.text(manual);
    let tokens = TokenStream::from_str(&text).expect("what is generated lexes");
    let tokens = thalweg_compiler::stream_pipeline(tokens);
    let errors = emitted::errors(tokens.clone());
    Expansion { text, origins, errors, tokens }
}

impl Expansion {
    /// The stage and the line in it that a line of the source is, counted from 1.
    pub fn origin(&self, line: usize) -> Option<(usize, usize)> {
        self.origins.get(line.checked_sub(1)?).copied().flatten()
    }

    /// Where the warnings of this code are: the stage and the line in it.
    pub fn warnings(&self, code: &str) -> Vec<Option<(usize, usize)>> {
        let all = emitted::warnings(self.tokens.clone()).into_iter();
        let these = all.filter(|(found, _)| found == code);
        these.map(|(_, span)| self.origin(span.start().line)).collect()
    }

    /// The calls of one chunk in the generated loop. Events get the names of their locals.
    pub fn calls(&self, pipeline: &Pipeline) -> Vec<Call> {
        let file: syn::File = syn::parse2(self.tokens.clone()).expect("the expansion is Rust");
        let mut reader = Reader { pipeline, op: 0, stream: 0, calls: Vec::new() };
        reader.visit_file(&file);
        reader.calls
    }
}

/// Reads `let copy_x = run.on(up, 0, c); copy_x.wait_reuse(load_done)?; …`.
struct Reader<'p> {
    pipeline: &'p Pipeline,
    /// The operation whose calls are read, and its stream.
    op: usize,
    stream: usize,
    calls: Vec<Call>,
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_expr_for_loop(&mut self, all: &'ast syn::ExprForLoop) {
        self.visit_block(&all.body);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        visit::visit_expr_method_call(self, call);
        let name = |argument: usize| match &call.args[argument] {
            syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string).expect("a local"),
            _ => panic!("a local is passed"),
        };
        let of = match call.method.to_string().as_str() {
            "on" => {
                let stream = name(0);
                let streams = &self.pipeline.streams;
                let known = streams.iter().position(|declared| declared.name == stream);
                self.stream = known.expect("a stream of the pipeline");
                let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(op), .. }) = &call.args[1] else {
                    panic!("an operation has a number")
                };
                self.op = op.base10_parse().expect("a number");
                return;
            }
            "upload" | "download" | "copy" | "fill" | "launch" | "all_reduce" | "barrier" => {
                self.calls.push(Call::Op { op: self.op, stream: self.stream });
                return;
            }
            "record" => {
                self.calls.push(Call::Record { stream: self.stream, event: name(0) });
                return;
            }
            "wait" => Of::This,
            "wait_previous" => Of::Previous,
            "wait_reuse" => Of::Reuse,
            _ => return,
        };
        self.calls.push(Call::Wait { stream: self.stream, event: name(0), of });
    }
}

/// The waits of the same pipeline with `sync = auto`: from, to and the chunk. They are read from its `PLAN`.
pub fn auto_waits(pipeline: &Pipeline) -> Vec<(usize, usize, Of)> {
    let expansion = expand(pipeline, false);
    if !expansion.errors.is_empty() {
        return Vec::new();
    }
    let file: syn::File = syn::parse2(expansion.tokens).expect("the expansion is Rust");
    let mut plan = Plan::default();
    plan.visit_file(&file);
    assert_eq!(plan.waits.is_empty(), plan.events.is_empty(), "the plan is read in full");
    plan.waits.iter().map(|&(operation, event, of)| (plan.events[event], operation, of)).collect()
}

#[derive(Default)]
struct Plan {
    /// The operation of each event.
    events: Vec<usize>,
    /// The operation, the event and the chunk of each wait.
    waits: Vec<(usize, usize, Of)>,
}

impl<'ast> Visit<'ast> for Plan {
    /// Reads `EventPlan::new(name, operation)` and
    /// `WaitPlan::new(operation, event, Distance::Reuse, hazards)`.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let names = |value: &syn::Expr| match value {
            syn::Expr::Path(path) => {
                path.path.segments.iter().map(|segment| segment.ident.to_string()).collect()
            }
            _ => Vec::new(),
        };
        let number = |index: usize| match &call.args[index] {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
                number.base10_parse::<usize>().expect("a number")
            }
            _ => panic!("a number"),
        };
        let function = names(&call.func);
        match &*function.iter().rev().take(2).map(String::as_str).collect::<Vec<_>>() {
            ["new", "EventPlan"] => self.events.push(number(1)),
            ["new", "WaitPlan"] => {
                let of = match names(&call.args[2]).last().expect("a distance").as_str() {
                    "Same" => Of::This,
                    "Previous" => Of::Previous,
                    "Reuse" => Of::Reuse,
                    other => panic!("a distance, found {other}"),
                };
                self.waits.push((number(0), number(1), of));
            }
            _ => {}
        }
        visit::visit_expr_call(self, call);
    }
}
