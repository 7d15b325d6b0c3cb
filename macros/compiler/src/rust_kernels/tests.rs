//! The C++ of functions, as far as it differs from what one would write at once.

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
    assert_eq!(body("fn f(w: u32) { let v = h(w) % g(w); }"), "const auto v = tw::rem(h(w), g(w), line(1));");
    assert_eq!(body("fn f(w: u32) { let v = !h(w); }"), "const auto v = tw::not_(h(w));");
    assert_eq!(body("fn f(w: u32) { let v = h(w) ^ g(w); }"), "const auto v = tw::bit_xor(h(w), g(w));");
    assert_eq!(body("fn f(a: bool, b: bool) -> bool { !a ^ b }"), "return bool(!a ^ b);");
    assert_eq!(body("fn f(w: u32) -> u32 { h(w) << 40_u64 }"), "return tw::shl(h(w), tw::cast<u32>(40ull));");
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
    let text = body("fn f(n: u32) { let v = match n { 0 => { let m = n + 1; h(m, 2) } _ => h(n, 0.5) }; }");
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
    assert!(text.contains("const u64 v = all.data[at];") && text.contains("const usize j = at;"), "{text}");
}

#[test]
fn methods_refer_to_parts_by_themselves() {
    assert_eq!(body("fn f(x: &[f32]) -> usize { x[2..].len() }"), "return x.from(2ull, line(1)).len();");
    let text = body("fn f(x: &[f32]) { for v in x[1..4].iter() { let w = *v; } }");
    assert!(text.contains("all = x.part(1ull, 4ull, line(1));"), "{text}");
}

#[test]
fn what_is_indexed_is_no_copy() {
    let text = body("fn f(b: bool) { let mut p = [1_u32, 2]; p[match b { true => 1, false => 0 }] += 1; }");
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
    assert!(text.contains("if (p < 7ll) {"), "{text}");
}

#[test]
fn the_last_arm_is_what_is_left() {
    let text = body("fn f(p: P) -> u8 { match p.x != 2 { true => 1, false => 2 } }");
    assert!(!text.contains("== false") && text.contains("} else {"), "{text}");
    let text = body("fn f(n: u8) -> u8 { match n { 0..=127 => 1, 128..=255 => 2 } }");
    assert!(!text.contains("n >= 128"), "{text}");
    // A guard behind all values is never asked.
    let text = body("fn f(b: bool, c: bool) -> u8 { match b { true => 1, false => 2, _ if c => 3 } }");
    assert!(!text.contains('3') && !text.contains("!b"), "{text}");
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

#[test]
fn a_kernel_with_a_list_is_generic_by_it_alone() {
    let item = quote!(
        fn k<const N: usize>(i: Index, weights: [f32; N], y: &mut Out<[f32]>) {}
    );
    let text = expand(Role::Kernel, quote!(N in [3, 5]), item).to_string();
    let said =
        "kernel `k` has generic parameters beside those of `#[kernel(…)]`\nhelp: remove them here: `fn k(…)`";
    assert!(text.contains(&said.replace('\n', "\\n")), "{text}");
    assert_eq!(text.matches("compile_error").count(), 1, "{text}");
}
