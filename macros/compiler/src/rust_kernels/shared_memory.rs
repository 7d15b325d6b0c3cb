//! The shared memory that a kernel in blocks declares.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{ItemConst, ItemFn, ItemUse, Type};

use super::atomics;
use super::ir::Function;
use super::named::{self, Held};
use super::parts::{conditions, type_beside};
use super::written::{Alone, ReadsTypes};
use crate::groups::peel;

/// The assertion that a block's shared memory has room for the kernel's arrays, and for what its reductions and scans
/// need beside them.
pub(super) fn fits(item: &ItemFn, body: &Function, kernel: &str, private: &TokenStream) -> TokenStream {
    let arrays = &body.shared;
    let [first, ..] = &arrays[..] else { return TokenStream::new() };
    let at = Span::mixed_site();
    let scratch = body.scratch.iter().map(|(values, held)| {
        let values = Literal::u64_unsuffixed(*values);
        let bytes = match held {
            Held::Bytes(bytes) => Literal::u64_unsuffixed(*bytes).into_token_stream(),
            Held::Named(named) => {
                let (of, part) =
                    (type_beside(&body.named[named.item].0), named.read(&quote_spanned!(at=> (*of))));
                quote_spanned!(at=> #private::size_of_part(&|of: &#of| #part))
            }
        };
        quote_spanned!(at=> #values * #bytes)
    });
    let scratch: Vec<_> = scratch.collect();
    // Lengths may be constants of the body.
    let mut found = Constants::default();
    found.visit_block(&item.block);
    let (Constants { constants, imports }, conditions) = (found, conditions(item));
    let what = if scratch.is_empty() { "shared arrays" } else { "shared arrays, reductions and scans" };
    let said = format!("the {what} of kernel `{kernel}` need more than the 48 KiB of a block");
    // Under a name of its own, a type may be an array, which has axes that the macro cannot see.
    let named = arrays.iter().map(element).filter(|element| !is_evident(element));
    quote_spanned! {first.span().resolved_at(Span::mixed_site())=>
        #(#conditions)*
        #[allow(dead_code, unused_imports, clippy::all, reason = "it is a copy, of which not everything is a length")]
        const _: () = {
            #(#imports)*
            #(#constants)*
            // Each begins at a multiple of 16 bytes.
            ::core::assert!(
                0 #(+ ::core::mem::size_of::<#arrays>().next_multiple_of(16))* #(+ #scratch)* <= 48 << 10,
                #said
            );
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
