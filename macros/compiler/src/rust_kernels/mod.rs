//! `#[kernel] fn`, `#[device] fn` and `#[device] struct`: kernels in Rust.
//!
//! The function stays as it is: rustc compiles it, and the simulated device runs it. Beside it stands the same
//! in CUDA C++, for a GPU. `attribute`, `signature` and `written` read what the user wrote, `lower` resolves
//! names and infers types, `emit` writes the C++, and `codegen` the Rust.

mod atomics;
mod attribute;
mod codegen;
mod definition;
mod device;
mod divided;
mod emit;
mod errors;
mod host;
mod hygiene;
mod instances;
mod instead;
mod ir;
mod lower;
mod methods;
mod named;
mod names;
mod numbers;
mod parts;
mod pins;
mod proved;
mod replays;
mod role;
mod rounds;
mod several;
mod shared_memory;
mod signature;
mod structure;
mod stub;
#[cfg(test)]
mod tests;
mod twin;
mod types;
mod unwritten;
mod within;
mod words;
mod written;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, ItemFn, ItemStruct, Lit, LitFloat, LitInt, Pat, parse_quote_spanned};

use crate::codegen::launches;
use attribute::Arguments;
use device::Calls;
use errors::{Errors, error};
use instances::Instance;
use ir::Mentioned;
use lower::{Suffix, Translated};
use named::Assumed;
use signature::{Parameter, ParameterKind, Signature};
use types::{Shape, Types};

pub use methods::methods_of_numbers;
pub use role::{Build, Role};

/// Expands `#[kernel(attr)] item` or `#[device(attr)] item`.
///
/// If something is wrong, the result holds every error, the function without its body, and a stub of the
/// kernel's type.
pub fn expand(role: Role, attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let arguments = attribute::parse(attr, role, &mut errors);
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(found) => {
            if let (Role::Device, Ok(item)) = (role, syn::parse2(item.clone())) {
                return structure::expand(&arguments, item, errors);
            }
            errors.push(no_function(&item, role, &found));
            let errors = errors.iter().map(syn::Error::to_compile_error);
            return quote!(#(#errors)* #item);
        }
    };
    crate::groups::keep_in_block(&mut function.block);
    attribute::others(&mut function, role, &mut errors);
    if role == Role::Kernel {
        attribute::no_generics(&mut function, &arguments, &mut errors);
    }
    let (of_types, instances) = match role {
        Role::Kernel => (function.clone(), Instance::all(&arguments.parameters)),
        // What does not go together has no instances.
        Role::Device if several::is_wrong(&arguments, &function, &mut errors) => {
            (function.clone(), Vec::new())
        }
        Role::Device => (several::without_types(&arguments, &function), Instance::all(&arguments.parameters)),
    };
    let mut named = Mentioned::default();
    let mut calls = Calls::default();
    let mut written = TokenStream::new();
    for instance in instances {
        match translated(role, &arguments, &of_types, &instance, &mut errors) {
            Ok((tokens, of_instance)) => {
                written.extend(tokens);
                calls.callees.extend(of_instance.callees);
                calls.is_ordered |= of_instance.is_ordered;
            }
            // The others have the same errors, or more that follow from these.
            Err(names) => {
                named = names;
                break;
            }
        }
    }
    if errors.is_empty() {
        let definition = match role {
            Role::Kernel => definition::definition(&arguments, &function),
            Role::Device if arguments.parameters.is_empty() => TokenStream::new(),
            Role::Device => several::definition(&arguments, &function, &calls),
        };
        return quote!(#definition #written);
    }
    let errors = errors.iter().map(syn::Error::to_compile_error);
    // The parameters of a kernel are no types by themselves.
    let first = Instance::all(&arguments.parameters).into_iter().next().filter(|_| role == Role::Kernel);
    let of_first = first.and_then(|instance| instance.of(&function).ok());
    let stub = stub::stub(role, &arguments, &of_first.unwrap_or(function), &named);
    quote!(#(#errors)* #stub)
}

/// What is written of one instance, and the functions that it calls; the constants and functions that it names if it
/// has errors.
fn translated(
    role: Role,
    arguments: &Arguments,
    function: &ItemFn,
    instance: &Instance,
    errors: &mut Errors,
) -> Result<(TokenStream, Calls), Mentioned> {
    let mut function = instance.of(function).map_err(|found| {
        errors.push(found);
        Mentioned::default()
    })?;
    let mut signature = signature::signature(&function, role, errors).ok_or_else(Mentioned::default)?;
    signature.threads = arguments.threads;
    let lowered = lower::lower(&function, &signature, errors)?;
    unwritten::check(&lowered.function, &lowered.types, errors);
    if !errors.is_empty() {
        return Err(Mentioned::default());
    }
    let Translated {
        function: mut body,
        types,
        suffixes,
        numbers,
        arrays,
        mut assumed,
        bare,
        names,
        mut pins,
    } = lowered;
    let conditions = attribute::conditions(&function);
    proved::prove(&mut body, &types, &signature, &conditions);
    for of_condition in Assumed::of_casts(&conditions) {
        if !assumed.contains(&of_condition) {
            assumed.push(of_condition);
        }
    }
    let name = role.in_cpp(&function, instance);
    let texts = [Build::Debug, Build::Release]
        .map(|build| emit::emit(&name, role, &signature, &body, &types, names.clone(), build));
    write_suffixes(&mut function, &types, &suffixes);
    pins.visit_block_mut(&mut function.block);
    lend_block(&mut function, &signature);
    if body.unchecked.elements {
        twin::check_elements(&mut function, &launches::private(arguments.krate.as_ref()));
    }
    let checks = [
        numbers::checks(arguments, &body, &types, &numbers, "number"),
        numbers::checks(arguments, &body, &types, &arrays, "array"),
        numbers::fields(&body, &types),
        numbers::assumptions(arguments, &assumed),
        numbers::bare(arguments, &bare),
    ];
    let checks = checks.into_iter().collect();
    let whole = codegen::function(role, arguments, &function, instance, &signature, &body, &texts, &checks);
    let callees = body.callees.into_iter().map(|(path, _)| path).collect();
    let calls = Calls { callees, is_ordered: body.is_ordered };
    Ok((whole, calls))
}

/// Gives the kernel a reference to its block. Note 83: a method of a reference is the runtime's.
fn lend_block(function: &mut ItemFn, signature: &Signature) {
    // `_: Block` has no name.
    if let Some(Parameter { name, kind: ParameterKind::Block(_), .. }) = signature.parameters.first()
        && let Some(FnArg::Typed(block)) = function.sig.inputs.first()
        && let Pat::Ident(_) = *block.pat
    {
        let at = proc_macro2::Span::mixed_site();
        function.block.stmts.insert(0, parse_quote_spanned!(at=> let #name = &#name;));
    }
}

/// The item and the error of a `#[requires(…)]` that no `#[kernel]` has read.
pub fn misplaced_requirement(condition: TokenStream, item: TokenStream) -> TokenStream {
    let is_kernel = |attribute: &syn::Attribute| {
        attribute.path().segments.last().is_some_and(|last| last.ident == Role::Kernel.attribute())
    };
    let is_above = syn::parse2::<ItemFn>(item.clone()).is_ok_and(|of| of.attrs.iter().any(is_kernel));
    let (what, help) = match is_above {
        true => ("`#[requires(…)]` stands above `#[kernel]`", "put it below `#[kernel]`"),
        false => ("`#[requires(…)]` is on what is no kernel", "put it on a kernel, below `#[kernel]`"),
    };
    let notes = ["conditions are checked at each launch".to_owned()];
    // Without a condition it is the place of the whole attribute.
    let error = error(condition, "TW0910", what, &notes, Some(help.to_owned())).to_compile_error();
    quote!(#error #item)
}

/// The error of an attribute on what cannot be read as a function.
fn no_function(item: &TokenStream, role: Role, found: &syn::Error) -> syn::Error {
    let attribute = role.attribute();
    let (what, notes, help) = match syn::parse2::<syn::TraitItemFn>(item.clone()) {
        Ok(_) => (format!("`#[{attribute}]` is on a function without a body"), vec![], "write a body"),
        Err(_)
            if syn::parse2::<syn::Item>(item.clone())
                .is_ok_and(|item| !matches!(item, syn::Item::Verbatim(_))) =>
        {
            match role {
                Role::Kernel => (
                    format!("`#[{attribute}]` is on an item that is not a function"),
                    vec![],
                    "put it on a `fn`",
                ),
                Role::Device => (
                    format!("`#[{attribute}]` is on an item that is no function and no struct"),
                    vec![],
                    "put it on a `fn` or a `struct`",
                ),
            }
        }
        Err(_) => (
            format!("`#[{attribute}]` cannot read this function"),
            vec![found.to_string()],
            "write it in other words",
        ),
    };
    error(first(item), "TW0910", &what, &notes, Some(help.to_owned()))
}

/// The C++ of a function in a build, as `expand` writes it, for tests.
///
/// # Errors
/// Those that `expand` writes, in the order in which they were found.
pub fn translate(role: Role, function: &ItemFn, build: Build) -> Result<String, Vec<syn::Error>> {
    let mut errors = Vec::new();
    let Some(signature) = signature::signature(function, role, &mut errors) else { return Err(errors) };
    let lowered = lower::lower(function, &signature, &mut errors);
    lowered.iter().for_each(|lowered| unwritten::check(&lowered.function, &lowered.types, &mut errors));
    match lowered {
        _ if !errors.is_empty() => Err(errors),
        Ok(Translated { function: mut body, types, names, .. }) => {
            proved::prove(&mut body, &types, &signature, &attribute::conditions(function));
            let name = names::in_cpp(&function.sig.ident.to_string());
            let text = emit::emit(&name, role, &signature, &body, &types, names, build);
            Ok(text.lines.iter().map(|line| format!("{}\n", line.text)).collect())
        }
        Err(_) => Err(errors),
    }
}

/// The definition of a struct in C++, as `expand` writes it, for tests.
///
/// # Errors
/// Those of its fields, in the order in which they were found.
pub fn definition(item: &ItemStruct) -> Result<String, Vec<syn::Error>> {
    let mut errors = Vec::new();
    structure::definition(item, &mut errors).ok_or(errors)
}

/// The first token that is no attribute's.
fn first(tokens: &TokenStream) -> TokenStream {
    let mut tokens = tokens.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => drop(tokens.next()),
            _ => return token.into(),
        }
    }
    TokenStream::new()
}

/// Writes what was inferred for literals into the function, so that rustc judges it, and takes off the attributes
/// that it does not know.
fn write_suffixes(function: &mut ItemFn, types: &Types, suffixes: &[Suffix]) {
    struct Write<'a>(&'a Types, &'a [Suffix]);
    impl VisitMut for Write<'_> {
        fn visit_lit_mut(&mut self, literal: &mut Lit) {
            let address = std::ptr::from_ref::<Lit>(literal).addr();
            let Some(suffix) = self.1.iter().find(|suffix| suffix.address == address) else { return };
            let Shape::Number(number) = *self.0.shape(suffix.ty) else { return };
            // These have no literals, as rustc says.
            if number.is_half() {
                return;
            }
            match literal {
                Lit::Int(int) if !number.is_float() => {
                    *int = LitInt::new(&format!("{}{number}", int.base10_digits()), int.span());
                }
                Lit::Float(float) if number.is_float() => {
                    // `1.f32` would be a field of 1.
                    let digits = float.base10_digits();
                    let zero = if digits.ends_with('.') { "0" } else { "" };
                    *float = LitFloat::new(&format!("{digits}{zero}{number}"), float.span());
                }
                // rustc reports it.
                _ => {}
            }
        }

        fn visit_expr_for_loop_mut(&mut self, of: &mut syn::ExprForLoop) {
            // rustc does not know it.
            of.attrs.retain(|attribute| !attribute.path().is_ident("unroll"));
            visit_mut::visit_expr_for_loop_mut(self, of);
        }

        fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
            // The kernel's own meaning of `assert!`, whatever else has that name.
            if let Some(last) = call.path.segments.last() {
                let (name, span) = (&last.ident, last.ident.span());
                call.path = parse_quote_spanned!(span=> ::core::#name);
            }
            visit_mut::visit_macro_mut(self, call);
        }
    }
    Write(types, suffixes).visit_block_mut(&mut function.block);
}
