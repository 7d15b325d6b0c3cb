//! The types that the user writes.

use syn::{Expr, ExprPath, PathArguments, Type, TypePath};

use super::{Lower, Reported};
use crate::rust_kernels::instead;
use crate::rust_kernels::ir::Item;
use crate::rust_kernels::named::{Assumed, Named};
use crate::rust_kernels::types::{Number, Shape, Ty, Types};
use crate::rust_kernels::written::ReadsTypes;

impl ReadsTypes for Lower<'_> {
    fn types(&mut self) -> &mut Types {
        &mut self.types
    }

    fn length_of(&mut self, length: &Expr) -> Option<String> {
        self.length(length).ok()
    }

    fn note(&mut self, path: &TypePath, means: &dyn Fn(ExprPath) -> Assumed) {
        let path = ExprPath { attrs: Vec::new(), qself: None, path: path.path.clone() };
        let outside = self.outside(&path);
        let names: Vec<_> = outside.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A `use` of the module `std::f32` does not change what the type `f32` is.
        let is_module = matches!(&names[..], [std, name]
            if matches!(std.as_str(), "std" | "core") && Number::named(name).is_some());
        self.assume(means(if is_module { path } else { outside }));
    }

    fn type_named(&mut self, path: &TypePath) -> Ty {
        let mut path = ExprPath { attrs: Vec::new(), qself: None, path: path.path.clone() };
        // `Complex::<f32>` is `Complex<f32>`.
        for segment in &mut path.path.segments {
            if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                arguments.colon2_token = None;
            }
        }
        let path = self.outside(&path);
        let Item(item) = Self::item(&mut self.named, &mut self.names, path);
        let name = self.named[item].1.clone();
        self.types.add(Shape::Named(Named { item, name, parts: Vec::new() }))
    }
}

impl Lower<'_> {
    /// Notes what a name seems to mean: rustc sees to it.
    pub(super) fn assume(&mut self, assumed: Assumed) {
        if !self.assumed.contains(&assumed) {
            self.assumed.push(assumed);
        }
    }

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
                let notes =
                    ["kernels have numbers, `bool`, structs, tuples, arrays, slices and references to them"];
                Err(self.report(part, "TW0902", &message, &notes, &help))
            }
        }
    }
}
