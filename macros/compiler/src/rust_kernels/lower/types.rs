//! The types that the user writes.

use syn::{Expr, Type};

use super::{Lower, Reported};
use crate::rust_kernels::instead;
use crate::rust_kernels::types::{Ty, Types};
use crate::rust_kernels::written::ReadsTypes;

impl ReadsTypes for Lower<'_> {
    fn types(&mut self) -> &mut Types {
        &mut self.types
    }

    fn length_of(&mut self, length: &Expr) -> Option<String> {
        self.length(length).ok()
    }
}

impl Lower<'_> {
    /// The type that the user has written.
    pub(super) fn ty(&mut self, ty: &Type) -> Result<Ty, Reported> {
        let before = self.errors.len();
        match self.type_of(ty) {
            Some(found) => Ok(found),
            // The length of an array.
            None if self.errors.len() > before => Err(Reported),
            None => {
                let (part, help) = instead::of_type(ty);
                let message = format!("a kernel cannot use the type `{}`", crate::text::text(part));
                let notes = ["kernels have numbers, `bool`, tuples, arrays, slices and references to them"];
                Err(self.report(part, "TW0902", &message, &notes, &help))
            }
        }
    }
}
