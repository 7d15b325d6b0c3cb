//! What `unsafe` permits: any element of what threads share, and elements without a check.
//!
//! rustc says where `unsafe` is missing, since the methods are `unsafe` in the function that it compiles.

use syn::spanned::Spanned;
use syn::{ExprMethodCall, ExprPath};

use super::context::{Level, Owner};
use super::{Lower, Lowered, Reported};
use crate::rust_kernels::atomics::Order;
use crate::rust_kernels::ir::{self, Kind};
use crate::rust_kernels::methods::Method;
use crate::rust_kernels::types::{Length, Number, Shape, Ty};
use crate::text::text;

impl Lower<'_> {
    /// `y.any(i)`, `y.any_mut(i)`
    pub(super) fn any_element(
        &mut self,
        call: &ExprMethodCall,
        receiver: ir::Expr,
        arguments: Vec<ir::Expr>,
        of: Ty,
        is_out: bool,
    ) -> Lowered<(Kind, Ty)> {
        let is_mutable = call.method == "any_mut";
        if is_out && !is_mutable {
            let message = format!("`{}` reads what the kernel promises not to read", text(call));
            let notes = ["of an `Out` a kernel writes all elements, and reads none"];
            let help = "take it as `&mut Own<[T]>`, and launch with `&mut`";
            return Err(self.report(call, "TW0904", &message, &notes, help));
        }
        self.any_in_thread(call)?;
        self.turns.elements += 1;
        self.owned(call, &receiver, Owner::Thread)?;
        match receiver.kind {
            Kind::Local(local) if local.0 < self.parameters => {
                if !self.unchecked.scattered.contains(&local) {
                    self.unchecked.scattered.push(local);
                }
            }
            _ => {
                let what = "any element is taken of an `Own` or `Out` that has another name";
                return Err(self.report(
                    &call.receiver,
                    "TW0904",
                    what,
                    &[],
                    "write the name of the parameter",
                ));
            }
        }
        let usize = self.types.number(Number::Usize);
        self.types.unify(arguments[0].ty, usize);
        let reference = self.types.add(Shape::Ref(of, is_mutable));
        Ok((Kind::Method(Method::Any, Box::new(receiver), arguments), reference))
    }

    /// `tile.any(i)`, `tile.any_mut([r, c])`, if the receiver is a shared array.
    pub(super) fn any_of_shared(&mut self, call: &ExprMethodCall) -> Lowered<Option<(Kind, Ty)>> {
        let is_mutable = match call.method.to_string().as_str() {
            "any" => false,
            "any_mut" => true,
            _ => return Ok(None),
        };
        let Some(local) = self.named(&call.receiver) else { return Ok(None) };
        let Shape::Shared(array) = *self.types.shape(self.locals[local.0].ty) else { return Ok(None) };
        let Some(at) = call.args.first().filter(|_| call.args.len() == 1) else { return Ok(None) };
        self.any_in_thread(call)?;
        self.turns.elements += 1;
        self.no_whole_padded(&call.receiver)?;
        let at = self.value(at)?;
        let usize = self.types.number(Number::Usize);
        let (Shape::Array(row, _) | Shape::Slice(row)) = *self.types.shape(array) else {
            return Err(Reported);
        };
        let (place, element) = match *self.types.shape(row) {
            Shape::Array(element, _) => {
                (self.types.add(Shape::Array(usize, Length("2".to_owned()))), element)
            }
            _ => (usize, row),
        };
        self.types.unify(at.ty, place);
        self.unchecked.of_shared = true;
        let receiver = self.expr(Kind::Local(local), array, call.receiver.span());
        let reference = self.types.add(Shape::Ref(element, is_mutable));
        Ok(Some((Kind::Method(Method::Any, Box::new(receiver), vec![at]), reference)))
    }

    /// Elements of other threads are taken by a thread, whose line an error can say.
    fn any_in_thread(&mut self, call: &ExprMethodCall) -> Lowered<()> {
        match self.level {
            Level::Thread | Level::Phase(_) if !self.combines => Ok(()),
            Level::Thread | Level::Phase(_) => {
                let what =
                    format!("`{}` is where two values are combined, which any thread may do", text(call));
                Err(self.in_block(call, &what, "take the element where the thread gives its value"))
            }
            Level::Block | Level::Closure(_) => {
                let what = format!("`{}` is outside of a phase, where all threads would take it", text(call));
                Err(self.in_block(call, &what, "take it in a phase"))
            }
        }
    }

    /// `x.get_unchecked(i)`, `x.get_unchecked_mut(i)`
    pub(super) fn unchecked_element(
        &mut self,
        call: &ExprMethodCall,
        receiver: ir::Expr,
        mut arguments: Vec<ir::Expr>,
    ) -> Lowered<(Kind, Ty)> {
        let is_mutable = call.method == "get_unchecked_mut";
        if is_mutable {
            if self.level == Level::Block {
                let what = format!("`{}` is taken outside of a phase", text(call));
                return Err(self.in_block(call, &what, "write the element by its index, which is checked"));
            }
            self.no_write_of_shared(&call.receiver, &call.receiver)?;
            self.no_change_of_block(&receiver, &call.receiver)?;
        }
        let usize = self.types.number(Number::Usize);
        let Some(at) = arguments.pop() else { return Err(Reported) };
        self.types.unify(at.ty, usize);
        let Some(of) = self.types.element(receiver.ty) else { return Err(Reported) };
        self.unchecked.elements = true;
        let element = Kind::Element(Box::new(receiver), Box::new(at));
        let element = self.expr(element, of, call.method.span());
        Ok((Kind::Ref(Box::new(element)), self.types.add(Shape::Ref(of, is_mutable))))
    }

    /// The first order that is not `Relaxed`.
    pub(super) fn first_order(&self) -> Option<&ExprPath> {
        let is_relaxed = |path: &&ExprPath| {
            path.path.segments.last().is_some_and(|last| last.ident == Order::Relaxed.name())
        };
        self.orders.iter().find(|path| !is_relaxed(path))
    }

    /// Of what orders threads, the watch of accesses follows the ends of phases alone. It would say that threads
    /// race which an atomic orders, so that atomics of such a kernel are relaxed.
    pub(super) fn unfollowed_orders(&mut self) {
        if !self.unchecked.may_race() {
            return;
        }
        let Some(order) = self.first_order().cloned() else { return };
        let message = format!("the order `{}` in a kernel that takes any element in `unsafe`", text(&order));
        let notes =
            ["the simulated device finds the races of such a kernel, and does not follow what atomics order"];
        let help = "write `Relaxed`, and order the accesses by phases, or by two launches";
        let _ = self.report(&order, "TW0912", &message, &notes, help);
    }
}
