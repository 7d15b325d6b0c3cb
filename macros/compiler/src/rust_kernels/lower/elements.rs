//! `Own` and `Out`: what a thread may do with data of which it has some elements alone.

use quote::ToTokens;
use syn::{Expr, ExprIndex, ExprMethodCall};

use super::context::{Level, Meaning, Name};
use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::ir;
use crate::rust_kernels::types::Shape;
use crate::text::text;

impl Lower<'_> {
    /// Refuses to write to what other threads may write too, or read.
    pub(super) fn no_write_elsewhere(&mut self, place: &Expr) -> Lowered<()> {
        let Expr::Index(index) = peel_expr(place) else { return Ok(()) };
        if let Expr::Index(part) = peel_expr(&index.expr)
            && let Expr::Range(range) = &*part.index
        {
            return Err(self.absent(range, "a part to write", "write the elements one by one"));
        }
        let of = self.named(&index.expr).map(|local| self.types.shape(self.locals[local.0].ty));
        match of {
            Some(Shape::Elements { .. }) => Err(self.element_elsewhere(index, true)),
            _ => self.no_write_of_shared(place, &index.expr),
        }
    }

    /// Refuses an element, or a part, of an `Own` or `Out`.
    pub(super) fn element_elsewhere(&mut self, index: &ExprIndex, is_written: bool) -> Reported {
        let done = if is_written { "written" } else { "read" };
        let message = format!("`{}` is {done}, but another thread may write it", text(index));
        let mut help = self.take_own(&index.expr);
        if !is_written {
            help += "; what others write is read from a `&[T]`, in another buffer";
        }
        self.report(index, "TW0904", &message, &[self.its_own()], &help)
    }

    /// Refuses an index of the thread's own element: `y[j]` after `let Some(y) = y.get_mut(i)`.
    pub(super) fn no_index_of_element(&mut self, index: &ExprIndex, base: &ir::Expr) -> Lowered<()> {
        let Shape::Ref(element, true) = *self.types.shape(base.ty) else { return Ok(()) };
        let of = match self.types.shape(element) {
            Shape::Number(number) => number.name(),
            Shape::Bool => "bool",
            _ => return Ok(()),
        };
        let (index_text, name) = (text(index), text(&index.expr));
        let message = format!("`{index_text}` has an index, but `{name}` is one `{of}`");
        let hides = match peel_expr(&index.expr) {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.is_own(name)),
            _ => false,
        };
        let hidden =
            format!("`{name}` is the thread's own element here, and no longer the parameter of this name");
        let has_own =
            self.locals.iter().any(|local| matches!(self.types.shape(local.ty), Shape::Elements { .. }));
        let mut notes = Vec::new();
        notes.extend(hides.then_some(hidden.as_str()));
        notes.extend(has_own.then(|| self.its_own()));
        let mut help = format!("write `*{name}`");
        if has_own {
            help += "; other elements are read from a `&[T]`, in another buffer";
        }
        Err(self.report(index, "TW0904", &message, &notes, &help))
    }

    /// Whether an `Own` or `Out` has the name, whatever hides it.
    fn is_own(&self, name: &syn::Ident) -> bool {
        let name = Name::of(name);
        self.scope.iter().any(|(known, meaning)| match meaning {
            Meaning::Local(local) if *known == name => {
                matches!(self.types.shape(self.locals[local.0].ty), Shape::Elements { .. })
            }
            _ => false,
        })
    }

    /// Refuses `y.get_mut(j)`, where `j` is no `Index`.
    pub(super) fn computed_element(&mut self, call: &ExprMethodCall) -> Reported {
        let message = format!("`{}` may be the element of another thread", text(call));
        let (handle, index) = (text(&call.receiver), self.its_index());
        let help = match self.level {
            Level::Thread => format!("pass the kernel's `Index` as it is: `{handle}.get_mut({index})`"),
            _ => format!("pass the `Index` of the thread as it is: `{handle}.get_mut({index})`"),
        };
        self.report(&call.args[0], "TW0904", &message, &[self.its_own()], &help)
    }

    /// Refuses what else reaches all elements of an `Own` or `Out`: a loop over them, or a method.
    pub(super) fn all_elements(&mut self, handle: &Expr, at: impl ToTokens) -> Reported {
        let message = format!("`{}` has elements of other threads", text(handle));
        let help = self.take_own(handle);
        self.report(at, "TW0904", &message, &[self.its_own()], &help)
    }

    /// What the parameter's type means.
    fn its_own(&self) -> &'static str {
        match self.has_tiles() {
            true => super::tiles::TILES,
            false => "of `Own` and `Out` a thread has the element of its own `Index` alone",
        }
    }

    /// Whether blocks have tiles and rows in place of elements.
    fn has_tiles(&self) -> bool {
        self.level != Level::Thread && self.axes > 1
    }

    fn take_own(&self, handle: &Expr) -> String {
        let (handle, index) = (text(handle), self.its_index());
        match self.level {
            _ if self.has_tiles() => format!(
                "write a tile of the block: `for at in {0}.tiles::<32, 32>({handle}) {{ \
                 {0}.fill(&mut {handle}.tile(at), |[r, c]| …); }}`",
                self.index_name
            ),
            Level::Block => {
                format!("write the block's own element: `{handle}.put({}.index(), …)`", self.index_name)
            }
            _ => format!(
                "take the thread's own element: `let Some(own) = {handle}.get_mut({index}) else {{ return }};`"
            ),
        }
    }

    /// What is written for the `Index` of the thread that runs.
    fn its_index(&self) -> String {
        if self.level == Level::Thread {
            return self.index_name.clone();
        }
        format!("{}.index()", self.thread_name())
    }
}
