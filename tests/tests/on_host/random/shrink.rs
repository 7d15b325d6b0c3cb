//! Makes a kernel that differs as small as possible: statements, arms and operators are left out as long as rustc
//! compiles the rest and the difference stays.

use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprMatch};

use super::module::Module;

/// The smallest module found that is still `wrong`.
pub fn shrunk(module: &Module, mut wrong: impl FnMut(&Module) -> bool) -> Module {
    let mut best = module.clone();
    let mut tries = 0;
    loop {
        let before = best.text.clone();
        for chunk in [32, 8, 3, 1] {
            let mut at = 0;
            while let Some(smaller) = edited(&best, |file| without_statements(file, at, chunk)) {
                tries += 1;
                match wrong(&smaller) {
                    true => best = smaller,
                    false => at += chunk,
                }
            }
        }
        for part in 0..3 {
            let mut at = 0;
            while let Some(smaller) = edited(&best, |file| with_a_part(file, at, part)) {
                tries += 1;
                match smaller.text.len() < best.text.len() && wrong(&smaller) {
                    true => best = smaller,
                    false => at += 1,
                }
            }
        }
        if best.text == before || tries > 3000 {
            return best;
        }
    }
}

/// The module after an edit; `None` if there was nothing left to edit.
fn edited(module: &Module, edit: impl FnOnce(&mut syn::File) -> bool) -> Option<Module> {
    let mut file = syn::parse_file(&module.text).ok()?;
    edit(&mut file).then(|| Module { text: prettyplease::unparse(&file), ..module.clone() })
}

/// Removes statements by their number in the file.
fn without_statements(file: &mut syn::File, first: usize, count: usize) -> bool {
    struct Remove {
        first: usize,
        count: usize,
        seen: usize,
    }
    impl VisitMut for Remove {
        fn visit_block_mut(&mut self, block: &mut Block) {
            let mut kept = Vec::new();
            for mut statement in std::mem::take(&mut block.stmts) {
                let number = self.seen;
                self.seen += 1;
                if (self.first..self.first + self.count).contains(&number) && !counts(&statement) {
                    continue;
                }
                visit_mut::visit_stmt_mut(self, &mut statement);
                kept.push(statement);
            }
            block.stmts = kept;
        }

        fn visit_expr_match_mut(&mut self, choice: &mut ExprMatch) {
            visit_mut::visit_expr_match_mut(self, choice);
            let mut kept = Vec::new();
            for arm in std::mem::take(&mut choice.arms) {
                let number = self.seen;
                self.seen += 1;
                if !(self.first..self.first + self.count).contains(&number) {
                    kept.push(arm);
                }
            }
            choice.arms = kept;
        }
    }
    let mut remove = Remove { first, count, seen: 0 };
    remove.visit_file_mut(file);
    first < remove.seen
}

/// Whether a loop ends by this statement: `c_own1 += 1;`, `if c_own1 >= 3 { break; }`.
fn counts(statement: &syn::Stmt) -> bool {
    let text = quote::ToTokens::to_token_stream(statement).to_string();
    text.starts_with("c_own") || text.starts_with("if c_own")
}

/// Puts a part of an expression into its place.
fn with_a_part(file: &mut syn::File, target: usize, part: usize) -> bool {
    struct Replace {
        target: usize,
        part: usize,
        seen: usize,
    }
    impl VisitMut for Replace {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            let number = self.seen;
            self.seen += 1;
            if number == self.target
                && let Some(part) = parts(expr).into_iter().nth(self.part)
            {
                *expr = part;
                return;
            }
            visit_mut::visit_expr_mut(self, expr);
        }

        // What ends a loop stays.
        fn visit_expr_while_mut(&mut self, of: &mut syn::ExprWhile) {
            self.visit_block_mut(&mut of.body);
        }

        fn visit_expr_for_loop_mut(&mut self, of: &mut syn::ExprForLoop) {
            self.visit_block_mut(&mut of.body);
        }

        fn visit_stmt_mut(&mut self, statement: &mut syn::Stmt) {
            if !counts(statement) {
                visit_mut::visit_stmt_mut(self, statement);
            }
        }
    }
    let mut replace = Replace { target, part, seen: 0 };
    replace.visit_file_mut(file);
    target < replace.seen
}

fn parts(expr: &Expr) -> Vec<Expr> {
    let block =
        |block: &Block| Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: block.clone() });
    match expr {
        Expr::Binary(of) => vec![(*of.left).clone(), (*of.right).clone()],
        Expr::Unary(of) => vec![(*of.expr).clone()],
        Expr::Paren(of) => vec![(*of.expr).clone()],
        Expr::Cast(of) => vec![(*of.expr).clone()],
        Expr::MethodCall(of) => {
            let mut parts = vec![(*of.receiver).clone()];
            parts.extend(of.args.iter().cloned());
            parts
        }
        Expr::Call(of) => of.args.iter().cloned().collect(),
        Expr::If(of) => {
            let mut parts = vec![block(&of.then_branch)];
            parts.extend(of.else_branch.iter().map(|(_, otherwise)| (**otherwise).clone()));
            parts
        }
        Expr::Match(of) => of.arms.iter().map(|arm| (*arm.body).clone()).collect(),
        Expr::Block(of) => match &of.block.stmts[..] {
            [syn::Stmt::Expr(value, None)] => vec![value.clone()],
            _ => Vec::new(),
        },
        Expr::ForLoop(of) => vec![block(&of.body)],
        Expr::While(of) => vec![block(&of.body)],
        Expr::Index(of) => vec![(*of.index).clone()],
        _ => Vec::new(),
    }
}
