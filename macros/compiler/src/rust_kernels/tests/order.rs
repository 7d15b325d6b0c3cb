//! The order in which C++ evaluates what Rust has in order.

use super::*;

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
fn what_is_indexed_is_no_copy() {
    let text = body("fn f(b: bool) { let mut p = [1_u32, 2]; p[match b { true => 1, false => 0 }] += 1; }");
    assert!(text.contains("p.at(value, line(1)) += 1u;") && !text.contains("kept"), "{text}");
    let text = body("fn f(b: bool) -> u32 { let mut p = [1_u32, 2]; p[{ p[0] = 5; 0 }] }");
    assert!(text.ends_with("return p.a[0];") || text.contains("return p.at("), "{text}");
    assert!(!text.contains("kept"), "{text}");
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
fn a_part_of_an_assignment_may_be_dropped() {
    let text = body("fn f(a: u64, b: [u64; 2]) { let mut c = a; (c, [_, _]) = (a, b); _ = g(a); }");
    assert!(text.contains("c = whole._0;") && text.ends_with("(void)(g(a));"), "{text}");
}

#[test]
fn operands_that_fail_at_different_lines_come_in_rusts_order() {
    assert_eq!(
        body("fn f(x: &[u32]) -> u32 { x[0] << x[1] }"),
        "return tw::shl(x.at(0ull, line(1)), x.at(1ull, line(1)));"
    );
    assert_eq!(
        body("fn f(x: &[u32]) -> u32 {\n x[0]\n << x[1] }"),
        "const auto kept = x.at(0ull, line(2));\nreturn tw::shl(kept, x.at(1ull, line(3)));"
    );
    // What a function gives fails where the function does.
    assert_eq!(
        body("fn f(x: &[u32]) -> u32 { g(x) + x[0] + 1 }"),
        "const auto kept = g(x);\nreturn kept + x.at(0ull, line(1)) + 1u;"
    );
    assert_eq!(body("fn f(x: &[u32]) -> u32 { g(x) + 1 }"), "return g(x) + 1u;");
    // The value that is assigned comes before the place, but for operators of traits.
    assert_eq!(
        body("fn f(x: &[u32]) { let mut a = [0; 2]; a[x[0] as usize] +=\n x[1]; }")
            .lines()
            .skip(1)
            .collect::<Vec<_>>(),
        ["const auto kept = x.at(1ull, line(2));", "a.at(usize(x.at(0ull, line(1))), line(1)) += kept;"]
    );
    assert_eq!(
        body("fn f(x: &[u32]) { let mut a = [0; 2]; a[x[0] as usize] +=\n &x[1]; }")
            .lines()
            .skip(1)
            .collect::<Vec<_>>(),
        ["auto& place = a.at(usize(x.at(0ull, line(1))), line(1));", "place += x.at(1ull, line(2));"]
    );
}

#[test]
fn a_base_that_fails_comes_before_its_indices() {
    let text = body("fn f(x: &[[f32; 4]], y: &[usize], i: usize) -> f32 { x[i]\n[y[0]\n + y[1]] }");
    let lines = [
        "auto& place = x.at(i, line(1));",
        "const auto kept = y.at(0ull, line(2));",
        "return place.at(kept + y.at(1ull, line(3)), line(1));",
    ];
    assert_eq!(text, lines.join("\n"));
    let text = body("fn f(x: &[[f32; 4]], y: &[usize], i: usize) -> f32 { x[i][y[0]\n + y[1]] }");
    assert!(text.starts_with("auto& place = x.at(i, line(1));"), "{text}");
}

#[test]
fn what_an_element_is_taken_from_is_no_copy() {
    let text = body(
        "fn f(x: &[[AtomicU32; 4]], i: usize) { if let Some(c) = x[i].get(g(i)) { c.fetch_add(1, Relaxed); } }",
    );
    assert!(!text.contains("const auto kept"), "{text}");
}

#[test]
fn a_length_is_as_stable_as_what_has_it() {
    let text = body("fn f(x: &[u64]) { let mut s: &[u64] = x; for j in 0..s.len() { s = &s[1..]; } }");
    assert!(text.contains("const usize end = s.len();") && text.contains("j < end;"), "{text}");
    let text = body("fn f(x: &[u32], y: &[u32], n: usize) -> usize { x[n..].len()\n << y[0] }");
    assert!(text.starts_with("const auto kept = x.from(n, line(1)).len();"), "{text}");
    let text = body("fn f(x: &[u64]) { for j in 0..x.len() { g(j); } }");
    assert!(text.contains("j < x.len();"), "{text}");
}

#[test]
fn the_first_number_of_a_loop_comes_before_its_step() {
    let text = body("fn f(x: &[usize], s: usize) { for k in (x[0]..9)\n.step_by(s) { g(k); } }");
    let first = text.find("x.at(0ull, line(1))").expect("the first number");
    assert!(first < text.find("tw::fault(").expect("the check"), "{text}");
}
