//! Scans of a block.

use syn::{Expr, ExprMethodCall};

use super::{Lower, Lowered};
use crate::rust_kernels::ir::{Kind, Phase};
use crate::rust_kernels::types::{Shape, Ty};

/// The scans, and how they are called.
pub(super) const SCANS: [(&str, &str); 2] =
    [("scan", "scan(|t| …, |a, b| …)"), ("scan_exclusive", "scan_exclusive(start, |t| …, |a, b| …)")];

impl Lower<'_> {
    /// A scan, if the method of a block is one and has its arguments.
    pub(super) fn scan(&mut self, call: &ExprMethodCall, arguments: &[&Expr]) -> Lowered<Option<(Kind, Ty)>> {
        let (start, value, combine) = match (call.method.to_string().as_str(), arguments) {
            ("scan", [value, combine]) => (None, value, combine),
            ("scan_exclusive", [start, value, combine]) => (Some(self.value(start)?), value, combine),
            _ => return Ok(None),
        };
        let ty = match &start {
            Some(start) => start.ty,
            None => self.types.fresh(),
        };
        let (value, combine) = self.values_of_threads(value, combine, ty)?;
        // One of each warp.
        self.scratch.push((ty, 32));
        let own = self.types.add(Shape::Private(ty));
        let gives = match start {
            Some(_) => self.types.add(Shape::Tuple(vec![own, ty])),
            None => own,
        };
        Ok(Some((Kind::Phase(Box::new(Phase::Scan(start, value, combine))), gives)))
    }

    /// The closures that give each thread's value and combine two of them.
    pub(super) fn values_of_threads(
        &mut self,
        value: &Expr,
        combine: &Expr,
        ty: Ty,
    ) -> Lowered<(usize, usize)> {
        let thread = self.types.add(Shape::Thread);
        let value = self.phase(value, &[thread], ty)?;
        self.combines = true;
        let combine = self.phase(combine, &[ty, ty], ty);
        self.combines = false;
        Ok((value, combine?))
    }
}
