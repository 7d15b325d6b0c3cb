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
mod twin;
mod types;
mod written;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{ItemFn, ItemStruct, Lit, LitFloat, LitInt, parse_quote_spanned};

use crate::codegen::launches;
use attribute::Arguments;
use device::Calls;
use errors::{Errors, error};
use instances::Instance;
use ir::Mentioned;
use lower::{Suffix, Translated};

use types::{Shape, Types};

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
    if !errors.is_empty() {
        return Err(Mentioned::default());
    }
    let Translated { function: mut body, types, suffixes, numbers, assumed, bare, names, mut pins } = lowered;
    proved::prove(&mut body, &types, &signature, &attribute::conditions(&function));
    let name = role.in_cpp(&function, instance);
    let texts = [Build::Debug, Build::Release]
        .map(|build| emit::emit(&name, role, &signature, &body, &types, names.clone(), build));
    write_suffixes(&mut function, &types, &suffixes);
    pins.visit_block_mut(&mut function.block);
    if body.unchecked.elements {
        twin::check_elements(&mut function, &launches::private(arguments.krate.as_ref()));
    }
    let checks = [
        numbers::checks(arguments, &body, &types, &numbers),
        numbers::assumptions(arguments, &assumed),
        numbers::bare(arguments, &bare),
    ];
    let checks = checks.into_iter().collect();
    let whole = codegen::function(role, arguments, &function, instance, &signature, &body, &texts, &checks);
    let callees = body.callees.into_iter().map(|(path, _)| path).collect();
    let calls = Calls { callees, is_ordered: body.is_ordered };
    Ok((whole, calls))
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
    match lower::lower(function, &signature, &mut errors) {
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
            if let Some(name) = call.path.get_ident() {
                let span = name.span();
                call.path = parse_quote_spanned!(span=> ::core::#name);
            }
            visit_mut::visit_macro_mut(self, call);
        }
    }
    Write(types, suffixes).visit_block_mut(&mut function.block);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C++ of a function in a release build, or the first error.
    fn cpp(role: Role, function: &str) -> String {
        let function: ItemFn = syn::parse_str(function).expect("a function");
        match translate(role, &function, Build::Release) {
            Ok(text) => text,
            Err(errors) => errors[0].to_string(),
        }
    }

    /// The statements of a function's C++ in a release build.
    fn body(function: &str) -> String {
        let text = cpp(Role::Device, function);
        let lines: Vec<_> = text.lines().collect();
        let body = lines.get(2..lines.len().saturating_sub(1)).unwrap_or(&lines);
        body.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn operators_on_types_that_rustc_alone_knows_are_functions() {
        assert_eq!(body("fn f() { let k = N + M; }"), "const auto k = tw::add(N, M);");
        assert_eq!(body("fn f() -> u32 { N + M }"), "return N + M;");
        assert_eq!(
            body("fn f(w: u32) { let v = h(w) % g(w); }"),
            "const auto v = tw::rem(h(w), g(w), line(1));"
        );
        assert_eq!(body("fn f(w: u32) { let v = !h(w); }"), "const auto v = tw::not_(h(w));");
        assert_eq!(body("fn f(w: u32) { let v = h(w) ^ g(w); }"), "const auto v = tw::bit_xor(h(w), g(w));");
        assert_eq!(body("fn f(a: bool, b: bool) -> bool { !a ^ b }"), "return bool(!a ^ b);");
        assert_eq!(
            body("fn f(w: u32) -> u32 { h(w) << 40_u64 }"),
            "return tw::shl(h(w), tw::cast<u32>(40ull));"
        );
    }

    #[test]
    fn literals_have_the_types_of_what_methods_of_fields_give() {
        let text = body("fn f(p: P) -> bool { 9 == !p.x.abs_diff(p.y) }");
        assert!(text.contains("tw::AsUnsigned<decltype(P::x)>(9ull)"), "{text}");
        let text = body("fn f(p: P) -> u32 { match p.x.to_bits() { ..=48 => 1, _ => 2 } }");
        assert!(text.contains("tw::Bits<decltype(P::x)>(48ull)"), "{text}");
    }

    #[test]
    fn variables_have_the_types_of_what_rustc_alone_knows() {
        let text =
            body("fn f(n: u32) { let v = match n { 0 => { let m = n + 1; h(m, 2) } _ => h(n, 0.5) }; }");
        assert!(text.contains("tw::Plain<decltype(h(tw::value_of<u32>(), 0))> v;"), "{text}");
        let text = body("fn f(n: u32) { let v; if n > 3 { v = N; } else { v = M; } }");
        assert!(text.contains("tw::Plain<decltype(N)> v;"), "{text}");
        let text = body("fn f(n: u32) { let v = loop { if n > 3 { break (T[1], S.x); } }; }");
        let (element, field) =
            ("tw::Element<tw::Plain<decltype(T)>>", "tw::value_of<tw::Plain<decltype(S)>>().x");
        assert!(text.contains(&format!("tw::Tuple<{element}, tw::Plain<decltype({field})>> v;")), "{text}");
    }

    #[test]
    fn constants_that_are_made_of_statements_are_none_for_cpp() {
        let text = body(
            "fn f() { const A: P = P { x: 1 }; const B: u32 = A.x; const C: [u32; 2] = [B, 3]; const D: u32 = 4; }",
        );
        let lines = [
            "P made;",
            "made.x = decltype(P::x)(1ull);",
            "const P A = made;",
            "const u32 B = A.x;",
            "const tw::Array<u32, 2> C = tw::Array<u32, 2>{{B, 3u}};",
            "constexpr u32 D = 4u;",
        ];
        assert_eq!(text, lines.join("\n"));
    }

    #[test]
    fn arrays_have_options_of_their_elements() {
        let text = body(
            "fn f(x: [u32; 3], s: &P, i: usize) -> u32 { if let Some(v) = x.get(i) && let Some(w) = s.y.get(1) { *v + *w } else { 0 } }",
        );
        assert!(text.contains("= x.all().get(i))") && text.contains("= s->y.all().get(1ull))"), "{text}");
    }

    #[test]
    fn parts_of_types_that_rustc_alone_knows_are_put_together() {
        assert_eq!(body("fn f() { let v = (N, 1); }"), "const auto v = tw::tuple_of(N, 1);");
        assert_eq!(body("fn f() { let v = [N, M]; }"), "const auto v = tw::array_of(N, M);");
    }

    #[test]
    fn an_exchange_is_matched_by_its_two_outcomes() {
        let call = "a.compare_exchange(0, 1, Relaxed, Relaxed)";
        let text =
            body(&format!("fn f(a: &AtomicU32) -> u32 {{ match {call} {{ Ok(_) => 7, Err(now) => now }} }}"));
        let lines = [
            "const auto exchanged = a->compare_exchange(0u, 1u, tw::Relaxed(), tw::Relaxed());",
            "const u32 unused = exchanged.found;",
            "if (exchanged.ok) {",
            "return 7u;",
            "} else {",
            "const u32 now = unused;",
            "return now;",
            "}",
        ];
        assert_eq!(text, lines.join("\n"));
        for arms in ["Ok(n) if n > 3 => {} Ok(_) => {} Err(_) => {}", "Ok(_) => {}", "n => {}"] {
            let said = cpp(Role::Device, &format!("fn f(a: &AtomicU32) {{ match {call} {{ {arms} }} }}"));
            assert!(said.contains("a `match` of a `Result` with a guard"), "{said}");
        }
    }

    #[test]
    fn a_method_gets_a_line_for_each_reason_to_fault() {
        let function: ItemFn =
            syn::parse_str("fn f(a: u32) -> u32 { a.next_multiple_of(3) }").expect("a function");
        let [debug, release] = [Build::Debug, Build::Release]
            .map(|build| translate(Role::Device, &function, build).expect("its text"));
        assert!(debug.contains("tw::next_multiple_of(a, 3u, line(1), line(1))"), "{debug}");
        assert!(release.contains("tw::next_multiple_of(a, 3u, line(1))"), "{release}");
    }

    #[test]
    fn a_literal_whose_type_rustc_alone_knows_must_be_written_with_it() {
        for function in ["fn f(w: u32) { let v = h(w).min(5); }", "fn f(w: u32) { let v = h(w) + 5; }"] {
            assert!(cpp(Role::Device, function).contains("[TW0903]"), "{function}");
        }
    }

    #[test]
    fn patterns_may_be_negative_and_take_references_apart() {
        let text = body("fn f(n: i32) -> u8 { match n { -2 => 1, -5..=-3 => 2, _ => 3 } }");
        assert!(text.contains("if (n == -2)") && text.contains("n >= -5 && n <= -3"), "{text}");
        let text = body("fn f(x: &[u64]) { for &v in x { let w = v; } }");
        assert!(text.contains("const u64 v = all.data[at];"), "{text}");
        let text = body("fn f(x: &[u64]) { for (j, &v) in x.iter().enumerate() { let w = v; } }");
        assert!(
            text.contains("const u64 v = all.data[at];") && text.contains("const usize j = at;"),
            "{text}"
        );
    }

    #[test]
    fn methods_refer_to_parts_by_themselves() {
        assert_eq!(body("fn f(x: &[f32]) -> usize { x[2..].len() }"), "return x.from(2ull, line(1)).len();");
        let text = body("fn f(x: &[f32]) { for v in x[1..4].iter() { let w = *v; } }");
        assert!(text.contains("all = x.part(1ull, 4ull, line(1));"), "{text}");
    }

    #[test]
    fn what_is_indexed_is_no_copy() {
        let text =
            body("fn f(b: bool) { let mut p = [1_u32, 2]; p[match b { true => 1, false => 0 }] += 1; }");
        assert!(text.contains("p.at(value, line(1)) += 1u;") && !text.contains("kept"), "{text}");
        let text = body("fn f(b: bool) -> u32 { let mut p = [1_u32, 2]; p[{ p[0] = 5; 0 }] }");
        assert!(text.ends_with("return p.a[0];") || text.contains("return p.at("), "{text}");
        assert!(!text.contains("kept"), "{text}");
    }

    #[test]
    fn a_value_that_is_matched_keeps_its_parentheses() {
        let text = body("fn f(p: i64) -> u8 { match p & 7 { ..2 => 1, _ => 2 } }");
        assert!(text.contains("if ((p & 7ll) < 2ll)"), "{text}");
        let text = body("fn f(p: i64) -> u8 { match p < 7 { true => 1, false => 2 } }");
        assert!(text.contains("if ((p < 7ll) == true)"), "{text}");
    }

    #[test]
    fn operators_that_gcc_warns_of_have_parentheses() {
        let text = body("fn f(a: u32, b: u32) -> bool { (a == b) & (a < b) }");
        assert_eq!(text, "return bool((a == b) & (a < b));");
        assert_eq!(body("fn f(a: u32, b: u32) -> u32 { a ^ (b + 1) }"), "return a ^ (b + 1u);");
        assert_eq!(body("fn f(p: bool, a: u32) -> bool { p == (a < 3) }"), "return p == (a < 3u);");
    }

    #[test]
    fn texts_of_failures_are_constant() {
        assert_eq!(body("fn f() { assert!(true, \"always\"); }"), "if (!true) {\ntw::fault(line(1));\n}");
        for function in [
            "fn f(n: u32) { assert!(n > 1, \"{n}\"); }",
            "fn f(n: u32) { assert!(n > 1, \"n: {}\", n); }",
            "fn f(n: u32) { panic!(\"{}\", n) }",
        ] {
            let said = cpp(Role::Device, function);
            assert!(said.contains("a text with values is not in the language"), "{said}");
        }
    }

    #[test]
    fn accesses_to_atomics_come_in_rusts_order() {
        let text = body(
            "fn f(a: &AtomicU32, b: &[AtomicU32]) -> u32 { a.load(Relaxed) + b[1].fetch_add(a.swap(1, AcqRel), SeqCst) }",
        );
        let lines = [
            "const auto kept = a->load(tw::Relaxed());",
            "const auto place = &b.at(1ull, line(1));",
            "const auto kept_2 = a->swap(1u, tw::AcqRel());",
            "const auto kept_3 = place->fetch_add(kept_2, tw::SeqCst());",
            "return kept + kept_3;",
        ];
        assert_eq!(text, lines.join("\n"));
    }

    #[test]
    fn a_loop_whose_turns_are_all_the_same_would_wait() {
        for waits in [
            "while a[0].load(Acquire) == 0 {}",
            "while a[0].compare_exchange(0, 1, Acquire, Relaxed).is_err() {}",
            "loop { let now = a[n].load(Acquire); if now == 3 { break; } }",
            "while a[0].swap(1, Relaxed) == 1 { for i in 0..n { let other = a[i].load(Relaxed); } }",
            "while let Err(now) = a[0].compare_exchange(0, 1, Acquire, Relaxed) {}",
        ] {
            let said = cpp(Role::Device, &format!("fn f(a: &[AtomicU32], n: usize) {{ {waits} }}"));
            assert!(said.contains("[TW0912]: this loop waits for another thread"), "{waits}: {said}");
        }
        for goes_on in [
            "let mut at = n; while a[at].load(Relaxed) as usize != at { at = a[at].load(Relaxed) as usize; }",
            "let mut old = 0; while let Err(now) = a[0].compare_exchange(old, old + 1, Relaxed, Relaxed) { old = now; }",
            "loop { if a[0].fetch_add(1, Relaxed) >= 9 { break; } }",
            "while a[0].load(Relaxed) > 3 { a[0].fetch_sub(1, Relaxed); }",
            "while a[0].load(Relaxed) > 3 { advance(a); }",
            "for i in 0..n { let now = a[i].load(Relaxed); }",
            "while n > 9 {} loop { break; }",
        ] {
            let said = cpp(Role::Device, &format!("fn f(a: &[AtomicU32], n: usize) {{ {goes_on} }}"));
            assert!(!said.contains("[TW"), "{goes_on}: {said}");
        }
    }

    #[test]
    fn a_literal_under_a_cast_has_its_type() {
        assert_eq!(body("fn f() { let a = 3_000_000_000 as u64; }"), "const u64 a = u64(3000000000ull);");
        assert_eq!(body("fn f() { let a = -(5) as i64; }"), "const i64 a = i64(-5ll);");
        assert_eq!(body("fn f() { let a = 0.1 as f32; }"), "const f32 a = f32(0.1f);");
        assert_eq!(body("fn f() { let a = 3 as f32; }"), "const f32 a = f32(3);");
    }

    #[test]
    fn tuples_have_as_many_parts_as_the_header_has() {
        let tuple = |parts: usize| format!("fn f(a: u8) {{ let t = ({}); }}", "a, ".repeat(parts));
        assert!(body(&tuple(12)).starts_with("const tw::Tuple<u8, "), "{}", body(&tuple(12)));
        let said = cpp(Role::Device, &tuple(13));
        assert!(said.contains("a tuple of more than 12 parts is not in the language of kernels"), "{said}");
    }

    #[test]
    fn lengths_of_what_rustc_alone_knows_are_those_of_cpp() {
        assert_eq!(body("fn f() -> usize { TABLE.len() }"), "return TABLE.len();");
    }

    #[test]
    fn a_part_of_an_assignment_may_be_dropped() {
        let text = body("fn f(a: u64, b: [u64; 2]) { let mut c = a; (c, [_, _]) = (a, b); _ = g(a); }");
        assert!(text.contains("c = whole._0;") && text.ends_with("(void)(g(a));"), "{text}");
    }

    #[test]
    fn tuples_and_arrays_are_not_compared() {
        for function in
            ["fn f(a: (u32, u32)) -> bool { a == (1, 2) }", "fn f(a: [u32; 2]) -> bool { a < [1, 2] }"]
        {
            let said = cpp(Role::Device, function);
            assert!(said.contains("a comparison of tuples or arrays is not in the language"), "{said}");
        }
    }
}
