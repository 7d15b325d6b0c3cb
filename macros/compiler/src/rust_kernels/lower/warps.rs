//! Operations of a block's warps.

use syn::{Expr, ExprMethodCall};

use super::{Lower, Lowered};
use crate::rust_kernels::ir::{Kind, Phase};
use crate::rust_kernels::types::{Number, Shape, Ty};

/// The operations, and how they are called.
pub(super) const WARPS: [(&str, &str); 9] = [
    ("shuffle", "shuffle(|t| …, |t| lane)"),
    ("shuffle_up", "shuffle_up(|t| …, by)"),
    ("shuffle_down", "shuffle_down(|t| …, by)"),
    ("shuffle_xor", "shuffle_xor(|t| …, mask)"),
    ("ballot", "ballot(|t| …)"),
    ("warp_any", "warp_any(|t| …)"),
    ("warp_all", "warp_all(|t| …)"),
    ("warp_reduce", "warp_reduce(|t| …, |a, b| …)"),
    ("warp_scan", "warp_scan(|t| …, |a, b| …)"),
];

impl Lower<'_> {
    /// An operation of warps, if the method of a block is one and has its arguments.
    pub(super) fn of_warps(
        &mut self,
        call: &ExprMethodCall,
        arguments: &[&Expr],
    ) -> Lowered<Option<(Kind, Ty)>> {
        let Some(&(name, _)) = WARPS.iter().find(|(name, _)| call.method == name) else { return Ok(None) };
        let thread = self.types.add(Shape::Thread);
        let (closures, by, gives) = match (name, arguments) {
            ("shuffle", [value, lane]) => {
                let (ty, usize) = (self.types.fresh(), self.types.number(Number::Usize));
                let value = self.phase(value, &[thread], ty)?;
                (vec![value, self.phase(lane, &[thread], usize)?], None, ty)
            }
            ("shuffle_up" | "shuffle_down" | "shuffle_xor", [value, by]) => {
                let (ty, usize) = (self.types.fresh(), self.types.number(Number::Usize));
                let value = self.phase(value, &[thread], ty)?;
                let by = self.value(by)?;
                self.types.unify(by.ty, usize);
                (vec![value], Some(by), ty)
            }
            ("ballot" | "warp_any" | "warp_all", [test]) => {
                let bool = self.types.bool();
                let test = self.phase(test, &[thread], bool)?;
                let gives = if name == "ballot" { self.types.number(Number::U32) } else { bool };
                (vec![test], None, gives)
            }
            ("warp_reduce" | "warp_scan", [value, combine]) => {
                let ty = self.types.fresh();
                let (value, combine) = self.values_of_threads(value, combine, ty)?;
                (vec![value, combine], None, ty)
            }
            _ => return Ok(None),
        };
        let own = self.types.add(Shape::Private(gives));
        Ok(Some((Kind::Phase(Box::new(Phase::Warps(name, closures, by))), own)))
    }
}
