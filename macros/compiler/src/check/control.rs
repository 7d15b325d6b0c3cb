//! Expressions may not leave the pipeline's body: a skipped operation would be a skipped event.

use syn::Expr;
use syn::visit::{self, Visit};

use crate::diagnostics::Diagnostics;
use crate::resolve::{LaunchArgument, OperationKind, Program};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    let mut finder = Finder { diagnostics, loops: 0 };
    for operation in &program.operations {
        let OperationKind::Launch(launch) = &operation.kind else { continue };
        finder.visit_expr(&launch.grid);
        finder.visit_expr(&launch.block);
        launch.shared.iter().for_each(|shared| finder.visit_expr(shared));
        for arg in &launch.args {
            if let LaunchArgument::Scalar(expr) = arg {
                finder.visit_expr(expr);
            }
        }
    }
    let shapes = program.hosts.iter().map(|host| &host.shape).chain(program.buffers.iter().map(|b| &b.shape));
    shapes.filter_map(|shape| shape.per_item.as_ref()).for_each(|expr| finder.visit_expr(expr));
    program.chunk.size.given().into_iter().for_each(|expr| finder.visit_expr(expr));
    program.depth.given().into_iter().for_each(|expr| finder.visit_expr(expr));
}

struct Finder<'d> {
    diagnostics: &'d mut Diagnostics,
    /// Loops of the expression itself that enclose the place.
    loops: usize,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        let word = match expr {
            Expr::Return(_) => Some("return"),
            Expr::Try(_) => Some("?"),
            Expr::Await(_) => Some("await"),
            Expr::Yield(_) => Some("yield"),
            Expr::Break(leave) if self.loops == 0 || leave.label.is_some() => Some("break"),
            Expr::Continue(next) if self.loops == 0 || next.label.is_some() => Some("continue"),
            // What is inside these leaves them, not the pipeline.
            Expr::Closure(_) | Expr::Async(_) => return,
            _ => None,
        };
        if let Some(word) = word {
            self.diagnostics
                .error("TW0510", expr, format!("`{word}` would leave the pipeline in the middle of a chunk"))
                .note("every operation of every chunk is enqueued, so that its events are recorded")
                .help("compute the value before `run`, and pass it as a `param`");
            return;
        }
        let is_loop = matches!(expr, Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_));
        self.loops += usize::from(is_loop);
        visit::visit_expr(self, expr);
        self.loops -= usize::from(is_loop);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
