//! The names that expressions may use. Stages may not name buffers as values, the depth and the budget may
//! not name parameters, and shapes, the chunk size and the depth may not name the chunk.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    Arm, Block, Expr, ExprBinary, ExprCast, ExprClosure, ExprField, ExprIf, ExprIndex, ExprMethodCall,
    ExprPath, ExprReference, ExprUnary, Macro, Member,
};

use crate::diagnostics::Diagnostics;
use crate::resolve::{Program, named};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    let Program { params, hosts, buffers, chunk, depth, budget, .. } = program;
    if chunk.name.is_none() {
        nameless_chunk(program, diagnostics);
    }
    data(program, diagnostics);
    let mut reported: Vec<String> = Vec::new();
    if let (Some(name), shapes) = (&chunk.name, hosts.iter().map(|host| (&host.name, &host.shape))) {
        for (of, shape) in shapes.chain(buffers.iter().map(|buffer| (&buffer.name, &buffer.shape))) {
            let Some(at) = shape.exprs().find_map(|expr| find(expr, name)) else { continue };
            // A buffer that a copy declares shares its source's expression.
            let place = format!("{:?}", (at.span().start(), at.span().end()));
            if !reported.contains(&place) {
                reported.push(place);
                if shape.halo.as_ref().is_some_and(|halo| find(&halo.items, name).is_some()) {
                    diagnostics
                        .error("TW0705", at, format!("the halo of `{of}` depends on the chunk"))
                        .note("it is the same for every chunk")
                        .help("write a number, a constant or an expression of parameters");
                    continue;
                }
                diagnostics
                    .error("TW0705", at, format!("the shape of `{of}` depends on the chunk"))
                    .note("the number counts the elements of one item, the same in every chunk")
                    .help(format!(
                        "write `[{}]` for one element an item: a chunk has `{name}.len` items",
                        shape.element.to_token_stream()
                    ));
            }
        }
        for (what, size) in [("chunk size", &chunk.size), ("depth", depth)] {
            if let Some(at) = size.given().and_then(|expr| find(expr, name)) {
                diagnostics
                    .error("TW0705", at, format!("the {what} depends on the chunk"))
                    .note("it is the same for every chunk")
                    .help("write a number, a constant or `auto`");
            }
        }
    }
    for (what, expr) in [("depth", depth.given()), ("budget", budget.as_deref())] {
        let world = expr.and_then(|expr| named(expr, "world").into_iter().next());
        if let Some(world) = world.filter(|_| !program.declares_world()) {
            diagnostics
                .error("TW0706", world.name, format!("the {what} depends on the world"))
                .note("the ring is built by `new`, before a run knows its world")
                .help(format!(
                    "write a number or a constant here, and `options(&device).{what}(n).build()` for another"
                ));
        }
        let named = |name: &Ident| expr.and_then(|expr| find(expr, name));
        if let Some(at) = params.iter().find_map(|param| named(&param.name)) {
            let name = at.to_string();
            diagnostics
                .error("TW0706", at, format!("the {what} depends on the parameter `{name}`"))
                .note("the ring is built by `new`, before `run` has its parameters")
                .help(format!(
                    "write a number or a constant here, and `options(&device).{what}(n).build()` for another"
                ));
        }
    }
}

/// `c.len` where no chunk is declared: rustc would only say that there is no `c`.
fn nameless_chunk(program: &Program, diagnostics: &mut Diagnostics) {
    let params = &program.params;
    let mut reported: Vec<String> = Vec::new();
    let look = |expr: &Expr| {
        let mut fields = Fields::default();
        fields.visit_expr(expr);
        for name in fields.found {
            let is_known = params.iter().any(|param| param.name == name) || is_data(program, &name);
            if is_known || reported.contains(&name.to_string()) {
                continue;
            }
            reported.push(name.to_string());
            diagnostics
                .error("TW0305", &name, format!("`{name}` is used as the chunk, but no chunk is declared"))
                .note("without a declaration the chunk is `auto`, and has no name")
                .help(format!("declare it: `chunk {name} = auto;`"));
        }
    };
    program.expressions().into_iter().for_each(look);
}

/// `w.len()` of a buffer: rustc would only say that there is no `w`.
fn data(program: &Program, diagnostics: &mut Diagnostics) {
    let mut used = Used::default();
    program.expressions().into_iter().for_each(|expr| used.visit_expr(expr));
    let mut reported: Vec<&Ident> = Vec::new();
    for (name, asked) in used.found.iter().filter(|(name, _)| is_data(program, name)) {
        if reported.contains(&name) {
            continue;
        }
        reported.push(name);
        let is_shared = program.buffers.iter().any(|buffer| buffer.name == *name && buffer.is_shared());
        let help = match (asked, &program.chunk.name) {
            (Asked::Element, _) => {
                format!("pass `&{name}` to a kernel, or declare a `param`, and give `run` the value")
            }
            (Asked::Value, _) => {
                format!("write `&{name}`, `&mut {name}` or `out {name}` alone to pass the buffer")
            }
            (Asked::Length, _) if is_shared => {
                format!("declare `param {name}_len: usize;`, and give `run` its length")
            }
            (Asked::Length, Some(chunk)) => format!("write `{chunk}.len`: the items in this chunk"),
            (Asked::Length, None) => {
                "declare `chunk c = auto;`, and write `c.len`: the items in this chunk".to_owned()
            }
        };
        diagnostics
            .error("TW0306", name, format!("the expression names `{name}`, which is not a value"))
            .note(if *asked == Asked::Element {
                "it is evaluated on the CPU when the stage is enqueued, where no elements of buffers can be read"
            } else {
                "it is evaluated on the CPU when the stage is enqueued, and can name parameters and the chunk"
            })
            .help(help);
    }
}

/// Whether a buffer or host data has this name.
fn is_data(program: &Program, name: &Ident) -> bool {
    let hosts = program.hosts.iter().map(|host| &host.name);
    program.buffers.iter().map(|buffer| &buffer.name).chain(hosts).any(|data| data == name)
}

/// Names that are used as values: `w.len()`, `w.x`, `w[0]`, `*w` or `w + 1`.
#[derive(Default)]
struct Used {
    found: Vec<(Ident, Asked)>,
}

/// The value that an expression takes a buffer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Length,
    Element,
    /// A value itself: `*w`, `w + 1`.
    Value,
}

impl Used {
    fn operand(&mut self, operand: &Expr) {
        self.note(operand, Asked::Value);
    }

    fn note(&mut self, expr: &Expr, asked: Asked) {
        if let Expr::Path(path) = expr {
            self.found.extend(path.path.get_ident().map(|name| (name.clone(), asked)));
        }
    }
}

/// Whether a condition binds names with `let`.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Used {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let of_length = call.method == "len" || call.method == "is_empty";
        self.note(&call.receiver, if of_length { Asked::Length } else { Asked::Element });
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_field(&mut self, field: &'ast ExprField) {
        let of_length = matches!(&field.member, Member::Named(name) if name == "len");
        self.note(&field.base, if of_length { Asked::Length } else { Asked::Element });
        visit::visit_expr_field(self, field);
    }

    fn visit_expr_index(&mut self, index: &'ast ExprIndex) {
        self.note(&index.expr, Asked::Element);
        visit::visit_expr_index(self, index);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        self.operand(&unary.expr);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_cast(&mut self, cast: &'ast ExprCast) {
        self.operand(&cast.expr);
        visit::visit_expr_cast(self, cast);
    }

    fn visit_expr_reference(&mut self, reference: &'ast ExprReference) {
        self.operand(&reference.expr);
        visit::visit_expr_reference(self, reference);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        self.operand(&binary.left);
        self.operand(&binary.right);
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_if(&mut self, conditional: &'ast ExprIf) {
        if !binds(&conditional.cond) {
            visit::visit_expr_if(self, conditional);
        }
    }

    /// A closure has names of its own.
    fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

    fn visit_block(&mut self, _: &'ast Block) {}

    fn visit_arm(&mut self, _: &'ast Arm) {}
}

/// Names of one letter with a field of a chunk, such as `c.len`. (A longer name is more likely a value of the
/// program's own.)
#[derive(Default)]
struct Fields {
    found: Vec<Ident>,
}

impl<'ast> Visit<'ast> for Fields {
    fn visit_expr_field(&mut self, field: &'ast ExprField) {
        let of_chunk = matches!(&field.member, Member::Named(name) if ["len", "start", "index"].iter().any(|known| name == known));
        if let Expr::Path(path) = &*field.base
            && let Some(name) = path.path.get_ident().filter(|name| name.to_string().len() == 1)
            && of_chunk
        {
            self.found.push(name.clone());
        }
        visit::visit_expr_field(self, field);
    }

    /// A closure has names of its own.
    fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

    fn visit_block(&mut self, _: &'ast Block) {}
}

/// The first place where an expression names `name`, if it does.
fn find(expr: &Expr, name: &Ident) -> Option<Ident> {
    let mut finder = Finder { name, found: None };
    finder.visit_expr(expr);
    finder.found
}

struct Finder<'n> {
    name: &'n Ident,
    found: Option<Ident>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        if let Some(ident) = path.path.get_ident().filter(|ident| *ident == self.name) {
            self.found.get_or_insert_with(|| ident.clone());
        }
    }

    /// It is unknown what a macro does with its tokens; a name among them is most likely used.
    fn visit_macro(&mut self, call: &'ast Macro) {
        if self.found.is_none() {
            self.found = among(call.tokens.clone(), self.name);
        }
    }
}

fn among(tokens: TokenStream, name: &Ident) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == *name => Some(ident),
        TokenTree::Group(group) => among(group.stream(), name),
        _ => None,
    })
}
