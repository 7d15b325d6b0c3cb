//! What is written into the user's function so that its names mean the same to rustc and in C++.
//!
//! A name may stand for one function and for the type beside another one, and a trait of the user's may add
//! methods that come before those of slices and numbers. Where C++ knows what is meant, rustc is told.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Macro, parse_quote_spanned};

use super::device::path_by_type;
use super::types::Number;
use crate::groups::peel_expr;

/// A place in a function, which is the address of what stands there in the syntax tree. Nothing in it moves between
/// its visit and its mend.
#[derive(Debug)]
pub(super) struct Pin {
    address: usize,
    means: Means,
}

#[derive(Debug)]
enum Means {
    /// A call of the function beside the type of this name.
    Function,
    /// A call of a function of this number's type.
    OfNumber(Number),
    /// A method of a slice, and not of the array.
    OfSlice,
    /// A method of the type behind the reference, and not of the reference or of the value: `(&*y).len()`.
    OfReferred,
    /// The same of a value: `(&option).is_some()`.
    OfValue,
    /// A `clone` of what lies behind so many references, which is a copy.
    Copy(usize),
    /// A `cloned`, which copies.
    Copied,
    /// A macro, whose arguments were read apart.
    Arguments(TokenStream),
}

/// What is to be written into a function.
#[derive(Debug, Default)]
pub(super) struct Pins(Vec<Pin>);

impl Pins {
    /// The call, whose function is named.
    pub(super) fn function(&mut self, call: &syn::ExprCall) {
        self.add(call, Means::Function);
    }

    /// The call of `f32::max`.
    pub(super) fn of_number(&mut self, call: &syn::ExprCall, number: Number) {
        self.add(call, Means::OfNumber(number));
    }

    pub(super) fn of_slice(&mut self, call: &syn::ExprMethodCall) {
        self.add(call, Means::OfSlice);
    }

    pub(super) fn of_referred(&mut self, call: &syn::ExprMethodCall) {
        self.add(call, Means::OfReferred);
    }

    pub(super) fn of_value(&mut self, call: &syn::ExprMethodCall) {
        self.add(call, Means::OfValue);
    }

    /// The `cloned` of an option.
    pub(super) fn copied(&mut self, call: &syn::ExprMethodCall) {
        self.add(call, Means::Copied);
    }

    pub(super) fn copy(&mut self, call: &syn::ExprMethodCall, references: usize) {
        self.add(call, Means::Copy(references));
    }

    /// The macro, whose arguments become these.
    pub(super) fn arguments(&mut self, call: &Macro, arguments: TokenStream) {
        self.add(call, Means::Arguments(arguments));
    }

    fn add<T>(&mut self, place: &T, means: Means) {
        self.0.push(Pin { address: std::ptr::from_ref(place).addr(), means });
    }

    /// Writes those from this one on, and forgets them.
    pub(super) fn write_from(&mut self, first: usize, expr: &mut Expr) {
        let mut later = Self(self.0.split_off(first));
        later.visit_expr_mut(expr);
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    fn at<T>(&self, place: &T) -> Option<&Means> {
        let address = std::ptr::from_ref(place).addr();
        self.0.iter().find(|pin| pin.address == address).map(|pin| &pin.means)
    }
}

impl VisitMut for Pins {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        match expr {
            Expr::Call(call) => {
                let Expr::Path(path) = peel_expr(&call.func) else { return };
                match self.at(&*call) {
                    Some(Means::Function) => *call.func = Expr::Path(path_by_type(path)),
                    Some(Means::OfNumber(number)) => {
                        let Some(last) = path.path.segments.last() else { return };
                        let at = last.ident.span();
                        let number = Ident::new(number.name(), at);
                        *call.func = syn::parse_quote_spanned!(at=> <::core::primitive::#number>::#last);
                    }
                    _ => {}
                }
            }
            Expr::MethodCall(call) => match self.at(&*call) {
                Some(Means::OfSlice) => {
                    let receiver = &call.receiver;
                    *call.receiver = syn::parse_quote!(#receiver[..]);
                }
                Some(Means::OfReferred) => {
                    let receiver = &call.receiver;
                    *call.receiver = parse_quote_spanned!(Span::mixed_site()=> (&*#receiver));
                }
                Some(Means::OfValue) => {
                    let receiver = &call.receiver;
                    *call.receiver = parse_quote_spanned!(Span::mixed_site()=> (&#receiver));
                }
                Some(Means::Copied) => call.method = Ident::new("copied", call.method.span()),
                Some(&Means::Copy(references)) => {
                    let value = &call.receiver;
                    let stars = (0..references).map(|_| quote!(*));
                    *expr = syn::parse_quote!((#(#stars)* #value));
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        if let Some(Means::Arguments(arguments)) = self.at(&*call) {
            call.tokens = arguments.clone();
        }
    }
}
