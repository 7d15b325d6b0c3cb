//! The names of a function, and what they mean.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, ExprPath, Ident, ItemUse, Path, UseTree};

use super::context::{Meaning, Name};
use super::{Lower, Reported};
use crate::diagnostics::similar;
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{Local, LocalId};
use crate::rust_kernels::types::Ty;

impl Lower<'_> {
    /// Adds a name to the scope.
    pub(super) fn declare(&mut self, name: &Ident, ty: Ty, mutable: bool) -> LocalId {
        let (name_text, span) = (name.to_string(), name.span());
        let cpp = self.names.unique(&name_text);
        self.locals.push(Local { name: name_text, cpp, ty, mutable, span });
        let id = LocalId(self.locals.len() - 1);
        self.scope.push((Name::of(name), Meaning::Local(id)));
        id
    }

    /// The local of this name.
    pub(super) fn find(&self, name: &Ident) -> Option<LocalId> {
        match self.meaning(name)? {
            Meaning::Local(id) => Some(*id),
            Meaning::Item(_) => None,
        }
    }

    /// The local of which the expression is the name.
    pub(super) fn named(&self, expr: &Expr) -> Option<LocalId> {
        match peel_expr(expr) {
            Expr::Path(path) => self.find(path.path.get_ident()?),
            _ => None,
        }
    }

    pub(super) fn meaning(&self, name: &Ident) -> Option<&Meaning> {
        let name = Name::of(name);
        let known = || self.scope.iter().rev();
        // Marks that rustc sees through, such as those of other procedural macros, differ here.
        let found = known().find(|(known, _)| *known == name);
        found.or_else(|| known().find(|(known, _)| known.text == name.text)).map(|(_, meaning)| meaning)
    }

    /// Reports a name that nothing has, if a local's is near. Else it is a constant, or rustc reports it.
    pub(super) fn no_misspelt_local(&mut self, name: &Ident) -> Result<(), Reported> {
        let text = name.unraw().to_string();
        if text.starts_with(char::is_uppercase) {
            return Ok(());
        }
        let locals = self.scope.iter().filter(|(_, meaning)| matches!(meaning, Meaning::Local(_)));
        let Some(meant) = similar(&text, locals.map(|(known, _)| known.text.as_str())) else { return Ok(()) };
        let message = format!("cannot find `{name}` in this function");
        let help = format!("a variable with a similar name exists: `{meant}`");
        Err(self.report(name, "TW0301", &message, &[], &help))
    }

    /// Resolves the names that imports of a block begin with, from this place in the scope on, if others of them are
    /// meant: `use dev as d; use d::f;`.
    pub(super) fn resolve_imports(&mut self, first: usize) {
        // As many steps as there are imports lead through all of them.
        for _ in first..self.scope.len() {
            for at in first..self.scope.len() {
                let Meaning::Item(path) = &self.scope[at].1 else { continue };
                let Some(segment) = path.segments.first() else { continue };
                let itself = Name::of(&segment.ident) == self.scope[at].0;
                if itself || path.leading_colon.is_some() {
                    continue;
                }
                if let Some(Meaning::Item(before)) = self.meaning(&segment.ident) {
                    let mut whole = before.clone();
                    whole.segments.extend(path.segments.iter().skip(1).cloned());
                    self.scope[at].1 = Meaning::Item(whole);
                }
            }
        }
    }

    /// Adds the names of a `use` in the function to the scope.
    pub(super) fn import(&mut self, item: &ItemUse) -> Result<(), Reported> {
        let mut start =
            Path { leading_colon: item.leading_colon, segments: syn::punctuated::Punctuated::new() };
        self.import_tree(&item.tree, &mut start)
    }

    fn import_tree(&mut self, tree: &UseTree, before: &mut Path) -> Result<(), Reported> {
        match tree {
            UseTree::Path(path) => {
                before.segments.push(path.ident.clone().into());
                self.import_tree(&path.tree, before)?;
                before.segments.pop();
            }
            UseTree::Name(name) => self.import_name(&name.ident, &name.ident, before),
            UseTree::Rename(renamed) => self.import_name(&renamed.ident, &renamed.rename, before),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import_tree(tree, before)?;
                }
            }
            UseTree::Glob(_) => {
                let help = "name what the kernel uses, or write it above the kernel";
                return Err(self.absent(tree, "a `use` of everything", help));
            }
        }
        Ok(())
    }

    fn import_name(&mut self, name: &Ident, alias: &Ident, before: &Path) {
        let mut path = before.clone();
        if name != "self" {
            path.segments.push(name.clone().into());
        }
        let alias = if alias == "self" {
            path.segments.last().map(|last| last.ident.clone())
        } else {
            Some(alias.clone())
        };
        if let Some(alias) = alias {
            self.scope.push((Name::of(&alias), Meaning::Item(path)));
        }
    }

    /// The path of an item as it is outside of the function, where no `use` of its body is in force.
    pub(super) fn outside(&self, path: &ExprPath) -> ExprPath {
        let mut outside = path.clone();
        if path.qself.is_none()
            && path.path.leading_colon.is_none()
            && let Some(first) = path.path.segments.first()
            && let Some(Meaning::Item(imported)) = self.meaning(&first.ident)
        {
            let mut whole = imported.clone();
            whole.segments.extend(path.path.segments.iter().skip(1).cloned());
            if let Some(last) = whole.segments.last_mut() {
                // Errors point at where the name is used.
                last.ident.set_span(path.path.segments.last().map_or(path.span(), |last| last.ident.span()));
            }
            outside.path = whole;
        }
        outside
    }
}
