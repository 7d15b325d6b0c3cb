//! The shared memory that a kernel in blocks declares.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{ItemConst, ItemFn, ItemUse, Type};

use super::atomics;
use super::named;
use super::parts::conditions;
use super::written::{Alone, ReadsTypes};
use crate::groups::peel;

/// The assertion that a block's shared memory has room for the kernel's arrays.
pub(super) fn fits(item: &ItemFn, arrays: &[Type], kernel: &str, private: &TokenStream) -> TokenStream {
    let [first, ..] = arrays else { return TokenStream::new() };
    // Lengths may be constants of the body.
    let mut found = Constants::default();
    found.visit_block(&item.block);
    let (Constants { constants, imports }, conditions) = (found, conditions(item));
    let said = format!("the shared arrays of kernel `{kernel}` need more than the 48 KiB of a block");
    // Under a name of its own, a type may be an array, which has axes that the macro cannot see.
    let named = arrays.iter().map(element).filter(|element| !is_evident(element));
    quote_spanned! {first.span().resolved_at(Span::mixed_site())=>
        #(#conditions)*
        #[allow(dead_code, unused_imports, clippy::all, reason = "it is a copy, of which not everything is a length")]
        const _: () = {
            #(#imports)*
            #(#constants)*
            // Each begins at a multiple of 16 bytes.
            ::core::assert!(0 #(+ ::core::mem::size_of::<#arrays>().next_multiple_of(16))* <= 48 << 10, #said);
            #(#private::sealed::shared_element::<#named>();)*
        };
    }
}

/// The type of the elements, along one axis or two.
fn element(array: &Type) -> &Type {
    fn of_array(array: &Type) -> &Type {
        match peel(array) {
            Type::Array(array) => peel(&array.elem),
            other => other,
        }
    }
    of_array(of_array(array))
}

fn is_evident(element: &Type) -> bool {
    match element {
        Type::Path(path) => Alone::default()
            .type_of(element)
            .is_some_and(|_| !named::is_name(path) || atomics::is_made_of(element)),
        _ => true,
    }
}

/// The constants of a body, and what it imports. Of two constants of one name, in different blocks, the first
/// counts.
#[derive(Default)]
struct Constants<'a> {
    constants: Vec<&'a ItemConst>,
    imports: Vec<&'a ItemUse>,
}

impl<'a> Visit<'a> for Constants<'a> {
    fn visit_item_const(&mut self, item: &'a ItemConst) {
        if self.constants.iter().all(|known| known.ident != item.ident) {
            self.constants.push(item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        self.imports.push(item);
    }
}
