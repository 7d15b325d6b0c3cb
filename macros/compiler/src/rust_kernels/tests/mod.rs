//! The C++ of functions, as far as it differs from what one would write at once.

mod order;
mod refused;
mod unwritten;

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
    assert_eq!(body("fn f(w: u32) { let v = h(w) % N; }"), "const auto v = tw::rem(h(w), N, line(1));");
    assert_eq!(body("fn f(w: u32) { let v = !h(w); }"), "const auto v = tw::not_(h(w));");
    assert_eq!(body("fn f(w: u32) { let v = h(w) ^ N; }"), "const auto v = tw::bit_xor(h(w), N);");
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
fn a_literal_under_a_cast_has_its_type() {
    assert_eq!(body("fn f() { let a = 3_000_000_000 as u64; }"), "const u64 a = u64(3000000000ull);");
    assert_eq!(body("fn f() { let a = -(5) as i64; }"), "const i64 a = i64(-5ll);");
    assert_eq!(body("fn f() { let a = 0.1 as f32; }"), "const f32 a = f32(0.1f);");
    assert_eq!(body("fn f() { let a = 3 as f32; }"), "const f32 a = f32(3);");
}

#[test]
fn lengths_of_what_rustc_alone_knows_are_those_of_cpp() {
    assert_eq!(body("fn f() -> usize { TABLE.len() }"), "return TABLE.len();");
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
