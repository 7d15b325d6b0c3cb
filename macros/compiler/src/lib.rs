//! The compiler behind thalweg's macros, a plain library: tokens in, tokens out.
//!
//! `stream_pipeline!` goes through six phases, each a module: [`syntax`] parses, [`resolve`] turns names into
//! ids, [`check`] finds what is wrong, [`placement`] chooses streams, [`schedule`] places the events,
//! [`codegen`] writes the code. `#[kernels]` is [`kernels`], which compares its declarations with what
//! [`cuda_source`] reads. Errors collect in [`diagnostics`] within a phase and stop at the barrier after it.

#![allow(
    missing_docs,
    reason = "internal to thalweg-macros: modules are documented, fields say what they are"
)]

pub mod check;
pub mod codegen;
pub mod cuda_source;
pub mod diagnostics;
mod groups;
pub mod kernels;
pub mod lower;
pub mod manual;
pub mod placement;
pub mod resolve;
pub mod rust_kernels;
pub mod schedule;
pub mod syntax;
mod text;

use diagnostics::Diagnostics;
use proc_macro2::TokenStream;

/// Expands `stream_pipeline! { … }`.
///
/// After an error it gives the errors and a stub of the right type, so that no second error follows
/// elsewhere.
pub fn stream_pipeline(input: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let Some(pipeline) = syntax::parse(input, &mut diagnostics) else { return diagnostics.emit() };
    let stub = codegen::Stub::of(&pipeline);
    // An `allow` on the pipeline is about its warnings.
    diagnostics.allow(pipeline.attrs.iter().filter(|attr| attr.path().is_ident("allow")));
    // Resolving a misread pipeline would report names as missing that it declares.
    let misread = diagnostics.has_errors();
    let expanded = if misread { None } else { expand(pipeline, &mut diagnostics) };
    if misread || diagnostics.has(check::NOT_PLAIN_DATA) {
        let (diagnostics, error) = diagnostics.emit_with_expression();
        let code = stub.expand_without_run(error);
        return quote::quote!(#diagnostics #code);
    }
    let code = expanded.unwrap_or_else(|| stub.expand());
    let diagnostics = diagnostics.emit();
    quote::quote!(#diagnostics #code)
}

/// The phases, and the barriers between them.
fn expand(pipeline: syntax::Pipeline, diagnostics: &mut Diagnostics) -> Option<TokenStream> {
    let mut program = resolve::resolve(pipeline, diagnostics)?;
    check::check(&program, diagnostics);
    if diagnostics.has_errors() {
        return None;
    }
    placement::place(&mut program);
    let lowered = lower::lower(&program);
    let schedule = manual::schedule(&program, &lowered, diagnostics);
    if diagnostics.has_errors() {
        return None;
    }
    Some(codegen::codegen(&program, &lowered.raise(schedule)))
}
