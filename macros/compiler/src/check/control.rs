//! Expressions may not leave the pipeline's body: a skipped operation would be a skipped event.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Expr, Lifetime};

use crate::diagnostics::Diagnostics;
use crate::resolve::{BufferKind, Program, Shape};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    let mut finder = Finder { diagnostics, loops: 0, labels: Vec::new() };
    program.expressions().into_iter().for_each(|expr| finder.visit_expr(expr));
    let shapes = program.hosts.iter().map(|host| &host.shape).chain(program.buffers.iter().map(|b| &b.shape));
    shapes.flat_map(Shape::exprs).for_each(|expr| finder.visit_expr(expr));
    for buffer in &program.buffers {
        if let BufferKind::Carry { init, combine, .. } = &buffer.kind {
            init.iter().chain(combine).for_each(|expr| finder.visit_expr(expr));
        }
    }
    program.chunk.size.given().into_iter().for_each(|expr| finder.visit_expr(expr));
    program.budget.iter().for_each(|expr| finder.visit_expr(expr));
    program.depth.given().into_iter().for_each(|expr| finder.visit_expr(expr));
}

struct Finder<'d> {
    diagnostics: &'d mut Diagnostics,
    /// Loops of the expression itself that enclose the place.
    loops: usize,
    /// Labels of the expression itself that enclose the place.
    labels: Vec<Ident>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        let word = match expr {
            Expr::Return(_) => Some("return"),
            Expr::Try(_) => Some("?"),
            Expr::Await(_) => Some("await"),
            Expr::Yield(_) => Some("yield"),
            Expr::Break(leave) if self.leaves(leave.label.as_ref()) => Some("break"),
            Expr::Continue(next) if self.leaves(next.label.as_ref()) => Some("continue"),
            // Control flow inside these leaves them, not the pipeline.
            Expr::Closure(_) | Expr::Async(_) => return,
            _ => None,
        };
        if let Some(word) = word {
            let at = match expr {
                Expr::Return(leave) => leave.return_token.to_token_stream(),
                Expr::Try(propagate) => propagate.question_token.to_token_stream(),
                Expr::Await(wait) => wait.await_token.to_token_stream(),
                Expr::Break(leave) => leave.break_token.to_token_stream(),
                other => other.to_token_stream(),
            };
            self.diagnostics
                .error("TW0510", at, format!("`{word}` would leave the pipeline in the middle of a chunk"))
                .note("every operation of every chunk is enqueued, so that its events are recorded")
                .help("give a value in every case, or compute it before `run` and pass it as a `param`");
            return;
        }
        let (is_loop, label) = match expr {
            Expr::Loop(inner) => (true, &inner.label),
            Expr::While(inner) => (true, &inner.label),
            Expr::ForLoop(inner) => (true, &inner.label),
            Expr::Block(inner) => (false, &inner.label),
            _ => (false, &None),
        };
        let label = label.as_ref().map(|label| label.name.ident.clone());
        self.loops += usize::from(is_loop);
        self.labels.extend(label.clone());
        visit::visit_expr(self, expr);
        self.loops -= usize::from(is_loop);
        self.labels.truncate(self.labels.len() - label.iter().count());
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

impl Finder<'_> {
    /// Whether a `break` or `continue` with this label leads out of the expression.
    fn leaves(&self, label: Option<&Lifetime>) -> bool {
        match label {
            Some(label) => !self.labels.contains(&label.ident),
            None => self.loops == 0,
        }
    }
}
