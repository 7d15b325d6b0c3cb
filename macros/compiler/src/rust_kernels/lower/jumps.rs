//! Loops and blocks with labels, and what leaves them.

use syn::{ExprBreak, ExprContinue, ExprLoop, ExprWhile, Ident, Label};

use super::context::Around;
use super::{Lower, Lowered};
use crate::rust_kernels::hygiene::is_same_name;
use crate::rust_kernels::ir::{Kind, Loop, LoopId};
use crate::rust_kernels::types::{Shape, Ty};

impl Lower<'_> {
    /// Enters a loop, or a block with a label.
    pub(super) fn enter(&mut self, label: Option<&Label>, is_block: bool) -> LoopId {
        let label = label.map(|label| label.name.ident.clone());
        let name = label.as_ref().map(Ident::to_string).unwrap_or_default();
        self.loops.push(Loop { label: name, is_continued: false });
        let (id, value) = (LoopId(self.loops.len() - 1), self.types.fresh());
        self.around.push(Around { id, label, is_block, value, is_left: false, has_value: false });
        id
    }

    /// Leaves it: the type of the values that it was left with, if something has left it.
    pub(super) fn leave(&mut self) -> Option<Ty> {
        let around = self.around.pop().filter(|around| around.is_left)?;
        Some(if around.has_value { around.value } else { self.types.unit() })
    }

    /// `loop`, which has a value if something leaves it.
    pub(super) fn endless(&mut self, of: &ExprLoop) -> Lowered<(Kind, Ty)> {
        let turns = self.turns;
        let id = self.enter(of.label.as_ref(), false);
        let body = self.block(&of.body);
        let ty = self.leave();
        let ty = ty.unwrap_or_else(|| self.types.add(Shape::Never));
        let body = body?;
        self.no_waiting(of.loop_token, turns)?;
        Ok((Kind::Loop(id, body), ty))
    }

    pub(super) fn while_loop(&mut self, of: &ExprWhile) -> Lowered<Kind> {
        let (outside, turns) = (self.scope.len(), self.turns);
        let id = self.enter(of.label.as_ref(), false);
        let condition = self.condition(&of.cond);
        let body = self.block(&of.body);
        self.leave();
        self.scope.truncate(outside);
        let (condition, body) = (condition?, body?);
        self.no_waiting(of.while_token, turns)?;
        Ok(Kind::While(id, Box::new(condition), body))
    }

    /// `'a: { … }`
    pub(super) fn labelled(&mut self, label: &Label, block: &syn::Block) -> Lowered<(Kind, Ty)> {
        let id = self.enter(Some(label), true);
        let block = self.block(block);
        let left = self.leave();
        let block = block?;
        let own = self.type_of_block(&block);
        let ty = match left {
            Some(left) => {
                self.types.unify(own, left);
                left
            }
            None => own,
        };
        Ok((Kind::Labelled(id, block), ty))
    }

    pub(super) fn break_of(&mut self, found: &ExprBreak) -> Lowered<Kind> {
        let value = match &found.expr {
            Some(value) => Some(self.value(value)?),
            None => None,
        };
        let Some(place) = self.target(found.label.as_ref().map(|label| &label.ident)) else {
            return Ok(Kind::Unit);
        };
        let around = &mut self.around[place];
        around.is_left = true;
        around.has_value |= value.is_some();
        let (id, ty) = (around.id, around.value);
        if let Some(value) = &value {
            self.types.unify(ty, value.ty);
        }
        Ok(Kind::Break(id, value.map(Box::new)))
    }

    pub(super) fn continue_of(&mut self, found: &ExprContinue) -> Kind {
        let Some(place) = self.target(found.label.as_ref().map(|label| &label.ident)) else {
            return Kind::Unit;
        };
        let id = self.around[place].id;
        let inside = &self.around[place + 1..];
        self.loops[id.0].is_continued |= inside.iter().any(|around| !around.is_block);
        Kind::Continue(id)
    }

    /// What is left: that of the label, or the innermost loop. rustc reports where there is none.
    fn target(&self, label: Option<&Ident>) -> Option<usize> {
        let Some(label) = label else { return self.around.iter().rposition(|around| !around.is_block) };
        let is = |same: fn(&Ident, &Ident) -> bool| {
            self.around
                .iter()
                .rposition(|around| around.label.as_ref().is_some_and(|known| same(known, label)))
        };
        is(is_same_name).or_else(|| is(|a, b| a == b))
    }
}
