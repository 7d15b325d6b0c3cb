//! The shared memory that a kernel in blocks declares.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{ItemConst, ItemFn, ItemUse, Type};

use super::codegen::conditions;

/// The assertion that a block's shared memory has room for the kernel's arrays.
pub(super) fn fits(item: &ItemFn, arrays: &[Type], kernel: &str) -> TokenStream {
    let [first, ..] = arrays else { return TokenStream::new() };
    // Lengths may be constants of the body.
    let mut found = Constants::default();
    found.visit_block(&item.block);
    let (Constants { constants, imports }, conditions) = (found, conditions(item));
    let said = format!("the shared arrays of kernel `{kernel}` need more than the 48 KiB of a block");
    quote_spanned! {first.span().resolved_at(Span::mixed_site())=>
        #(#conditions)*
        #[allow(dead_code, unused_imports, clippy::all, reason = "it is a copy, of which not everything is a length")]
        const _: () = {
            #(#imports)*
            #(#constants)*
            // Each begins at a multiple of 16 bytes.
            ::core::assert!(0 #(+ ::core::mem::size_of::<#arrays>().next_multiple_of(16))* <= 48 << 10, #said);
        };
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
