//! Blocks and their statements.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Item, ItemConst, Local, Pat, Stmt};

use super::{Lower, Lowered};
use crate::codegen::mentions;
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{self, Block, Condition, Kind, Statement};
use crate::rust_kernels::types::{Shape, Ty};

impl Lower<'_> {
    /// A block with a scope of its own. A statement with an error does not hide those of the others.
    pub(super) fn block(&mut self, block: &syn::Block) -> Lowered<Block> {
        let outside = self.scope.len();
        let items = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(item @ (Item::Const(_) | Item::Use(_))) => Some(item.to_token_stream()),
            _ => None,
        });
        self.items.push(items.collect());
        let lowered = self.statements(block);
        self.items.pop();
        self.scope.truncate(outside);
        lowered
    }

    fn statements(&mut self, block: &syn::Block) -> Lowered<Block> {
        let mut lowered = Block::default();
        let mut failed = None;
        let outside = self.scope.len();
        for statement in &block.stmts {
            if let Stmt::Item(Item::Use(item)) = statement
                && let Err(reported) = self.import(item)
            {
                failed = Some(reported);
            }
        }
        self.resolve_imports(outside);
        // Constants are known in all of the block, as imports are.
        for (at, statement) in block.stmts.iter().enumerate() {
            let Stmt::Item(Item::Const(item)) = statement else { continue };
            match self.constant_inside(item, &block.stmts[at + 1..]) {
                Ok(constant) => lowered.statements.push(constant),
                Err(reported) => {
                    let ty = self.types.add(Shape::Reported);
                    self.declare(&item.ident, ty, false);
                    failed = Some(reported);
                }
            }
        }
        let last = block.stmts.len().saturating_sub(1);
        for (at, statement) in block.stmts.iter().enumerate() {
            let outcome = match statement {
                Stmt::Item(Item::Const(_)) => continue,
                Stmt::Expr(value, None) if at == last => {
                    self.value(value).map(|value| lowered.value = Some(Box::new(value)))
                }
                other => self.statement(other).map(|statement| lowered.statements.extend(statement)),
            };
            if let Err(reported) = outcome {
                // What it would have declared has a type that nobody knows, and is no second error.
                if let Stmt::Local(local) = statement {
                    self.declare_unknown(&local.pat);
                }
                failed = Some(reported);
            }
        }
        match failed {
            Some(reported) => Err(reported),
            None => Ok(lowered),
        }
    }

    fn statement(&mut self, statement: &Stmt) -> Lowered<Option<Statement>> {
        match statement {
            Stmt::Local(local) => self.local(local).map(Some),
            Stmt::Expr(expr, _) => Ok(Some(Statement::Expr(self.value(expr)?))),
            // Their names were added to the scope.
            Stmt::Item(Item::Use(_) | Item::Const(_)) => Ok(None),
            Stmt::Item(Item::Fn(item)) => {
                let help = "write it outside of the kernel, with `#[device]`, or as a closure";
                Err(self.absent(&item.sig.ident, "a function inside of another", help))
            }
            Stmt::Item(item) => {
                let first = item.to_token_stream().into_iter().next();
                let what = match &first {
                    Some(first) => format!("a `{first}` inside of a function"),
                    None => "this item".to_owned(),
                };
                Err(self.absent(first, &what, "write it outside of the function; a `const` is possible"))
            }
            Stmt::Macro(call) => {
                let expr = self.macro_call(&call.mac, call.span())?;
                Ok(Some(Statement::Expr(expr)))
            }
        }
    }

    /// A `const` of a block, before what `follows` it.
    fn constant_inside(&mut self, item: &ItemConst, follows: &[Stmt]) -> Lowered<Statement> {
        let ty = self.ty(&item.ty)?;
        for statement in follows {
            if let Stmt::Item(Item::Const(later)) = statement
                && mentions(&item.expr, &later.ident)
            {
                let what = format!("`{}` before its definition", later.ident);
                let help = format!("write `const {}` above `const {}`", later.ident, item.ident);
                return Err(self.absent(&item.ident, &what, &help));
            }
        }
        let value = self.value(&item.expr)?;
        self.types.unify(ty, value.ty);
        let local = self.declare(&item.ident, ty, false);
        self.constant_locals.push(local);
        Ok(Statement::Const(local, value))
    }

    fn local(&mut self, local: &Local) -> Lowered<Statement> {
        let (pattern, written) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(self.ty(&typed.ty)?)),
            pattern => (pattern, None),
        };
        let Some(init) = &local.init else {
            let Pat::Ident(name) = pattern else {
                return Err(self.absent(pattern, "a pattern without a value", "write a name for each part"));
            };
            let ty = written.unwrap_or_else(|| self.types.fresh());
            return Ok(Statement::Declare(self.declare(&name.ident, ty, true)));
        };
        let mut value = match (pattern, &init.diverge, peel_expr(&init.expr)) {
            (Pat::Ident(_), None, syn::Expr::MethodCall(call)) if self.is_shared(call) => {
                match call.args.first() {
                    Some(length) => self.shared_slice(call, length)?,
                    None => self.shared(call)?,
                }
            }
            _ => self.value(&init.expr)?,
        };
        if let Some(written) = written {
            self.types.unify(written, value.ty);
            // rustc makes slices of the arrays in it, if these are written.
            if let Kind::If(..)
            | Kind::Match(..)
            | Kind::Block(_)
            | Kind::Labelled(..)
            | Kind::Loop(..)
            | Kind::Tuple(_)
            | Kind::Array(_)
            | Kind::Repeat(..) = value.kind
            {
                value.ty = written;
            }
        }
        if let Some((_, otherwise)) = &init.diverge {
            let syn::Expr::Block(otherwise) = &**otherwise else {
                return Err(self.absent(otherwise, "this `else`", "write a block"));
            };
            let otherwise = self.block(&otherwise.block)?;
            let (variant, name) = self.variant(pattern, value.ty)?;
            return Ok(Statement::LetElse(variant, name, value, otherwise));
        }
        let ty = written.unwrap_or(value.ty);
        let pattern = self.pattern(pattern, ty)?;
        if let (ir::Pattern::Name(name), Kind::NewShared(Some(_))) = (&pattern, &value.kind) {
            self.padded.push(*name);
        }
        Ok(Statement::Let(pattern, value))
    }

    /// A condition, which may declare names for the block that follows.
    pub(super) fn condition(&mut self, condition: &syn::Expr) -> Lowered<Condition> {
        let mut parts = Vec::new();
        parts_of(condition, &mut parts);
        if parts.iter().all(|part| !matches!(part, syn::Expr::Let(_))) {
            return self.one_condition(condition);
        }
        let mut lowered: Vec<Condition> = Vec::new();
        let mut failed = None;
        for part in parts {
            match (self.one_condition(part), lowered.last_mut()) {
                (Ok(Condition::Is(next)), Some(Condition::Is(before))) => {
                    let bool = self.types.bool();
                    let both = |before, next| Kind::And(Box::new(before), Box::new(next));
                    let (line, span) = (before.line, before.span);
                    let first =
                        std::mem::replace(before, ir::Expr { kind: Kind::Unit, ty: bool, line, span });
                    before.kind = both(first, next);
                }
                (Ok(part), _) => lowered.push(part),
                (Err(reported), _) => failed = Some(reported),
            }
        }
        match (failed, lowered.len()) {
            (Some(reported), _) => Err(reported),
            (None, 1) => Ok(lowered.remove(0)),
            (None, _) => Ok(Condition::All(lowered)),
        }
    }

    fn one_condition(&mut self, condition: &syn::Expr) -> Lowered<Condition> {
        if let syn::Expr::Let(bound) = condition {
            let value = self.value(&bound.expr).inspect_err(|_| self.declare_unknown(&bound.pat))?;
            let (variant, name) = self.variant(&bound.pat, value.ty)?;
            return Ok(Condition::Bound(variant, name, value));
        }
        let condition = self.value(condition)?;
        let bool = self.types.bool();
        self.types.unify(condition.ty, bool);
        Ok(Condition::Is(condition))
    }

    /// The type of a block: that of its value, or none if it ends before.
    pub(super) fn type_of_block(&mut self, block: &Block) -> Ty {
        if let Some(value) = &block.value {
            return value.ty;
        }
        let diverges = block.statements.iter().any(|statement| match statement {
            Statement::Expr(expr) => {
                matches!(self.types.shape(expr.ty), Shape::Never)
                    || matches!(expr.kind, Kind::Return(_) | Kind::Break(..) | Kind::Continue(_))
            }
            _ => false,
        });
        if diverges { self.types.add(Shape::Never) } else { self.types.unit() }
    }
}

/// The conditions between `&&`.
fn parts_of<'x>(condition: &'x syn::Expr, parts: &mut Vec<&'x syn::Expr>) {
    match condition {
        syn::Expr::Binary(syn::ExprBinary { left, op: syn::BinOp::And(_), right, .. }) => {
            parts_of(left, parts);
            parts_of(right, parts);
        }
        one => parts.push(one),
    }
}
