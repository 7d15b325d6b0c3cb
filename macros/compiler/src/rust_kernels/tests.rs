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
    let text = body("fn f() -> bool { let taps: usize = TAPS; taps % 2 == 0 }");
    assert!(text.contains("taps % 2ull == 0ull"), "{text}");
}

#[test]
fn parts_of_what_rustc_alone_knows_are_as_unknown_as_the_whole() {
    for function in [
        "fn f(w: u32) -> i32 { let (a, b) = h(w); (a * 8.0) as i32 }",
        "fn f(w: u32) { let (mut a, b) = h(w); a *= 2.0; }",
        "fn f(w: u32) { let (a, b) = h(w); let c = a.max(0.5) as i32; }",
        "fn f(w: u32) { let (a, b) = h(w); if b > 3 {} }",
        "fn f(w: u32) { let (a, mut b) = h(w); while b > 0 { b = g(b); } }",
        "fn f(w: u32) { let (a, b) = h(w); let c = match b { 0 => 1_u32, _ => 2 }; }",
        "fn f(w: u32) { let (a, b) = h(w); let c = b & 31; }",
        "fn f(w: u32) { let (a, b) = h(w); let mut s = 0; s += b; }",
        "fn f(w: u32) { let [a, _] = h(w); let c = a + 1.0; }",
        "fn f(w: u32) { let v = h(w); let (a, b) = v; let c = b % 4; }",
        "fn f(w: u32) { let a; let b; (a, b) = h(w); let c = b % 4; }",
        "fn f(w: u32) { let [a, _, _] = TABLE; let c = a + 1; }",
        "fn f(w: u32) { let (_, (a, b)) = h(w); let c = b % 4; }",
        "fn f(w: u32) { let split = |x: u32| (g(x), x); let (a, b) = split(w); let c = a % 4; }",
    ] {
        assert!(cpp(Role::Device, function).contains("[TW0903]"), "{function}");
    }
    for function in [
        "fn f(w: u32) { let (a, b): (f32, u32) = h(w); let c = b % 4; }",
        "fn f(w: u32) { let split = |x: u32| (g(x), x); let (a, b) = split(w); let c = b % 4; }",
        "fn f(w: u32) { let (a, b) = h(w); let c: u32 = b; let d = b % 4; }",
    ] {
        assert!(!cpp(Role::Device, function).contains("TW0"), "{function}");
    }
}

/// What a kernel says that does this with the element `y` of an `Out`.
fn of_out(element: &str, statements: &str) -> String {
    let start = "let Some(y) = y.get_mut(i) else { return };";
    cpp(
        Role::Kernel,
        &format!("fn f(i: Index, n: u32, x: &[f32], y: &mut Out<[{element}]>) {{ {start} {statements} }}"),
    )
}

#[test]
fn an_element_to_write_is_not_read_before() {
    for (element, statements) in [
        ("f32", "*y += x[i];"),
        ("f32", "let v = *y; *y = v;"),
        ("f32", "*y = 1.0 + *y;"),
        ("f32", "*y = y.abs();"),
        ("f32", "if n > 1 { *y = 1.0; } *y += 2.0;"),
        ("f32", "if n > 1 { *y = 1.0; } else { *y -= 1.0; }"),
        ("f32", "match n { 0 => *y = 1.0, 1 => {} _ => return } let v = *y;"),
        ("f32", "for k in 0..n { *y += x[k as usize]; }"),
        ("f32", "loop { if n > 3 { break; } *y = 1.0; } let v = *y;"),
        ("f32", "'a: { if n > 3 { break 'a; } *y = 1.0; } let v = *y;"),
        ("f32", "let v = &*y; *y = *v;"),
        ("[f32; 2]", "let v = y[0];"),
        ("[f32; 2]", "y[n as usize] *= 2.0;"),
        ("P", "y.a = y.b;"),
        ("P", "let P { a, b } = *y;"),
        ("f32", "if let Some(v) = x.get(*y as usize) { *y = *v; }"),
    ] {
        let said = of_out(element, statements);
        assert!(said.contains("[TW0913]: `y` is read before it is written"), "{statements}: {said}");
    }
    let said = cpp(
        Role::Kernel,
        "fn f(i: Index, y: &mut Out<[u32]>) { if let Some(y) = y.get_mut(i) && *y > 2 { *y = 1; } }",
    );
    assert!(said.contains("[TW0913]"), "{said}");
    let said = cpp(
        Role::Kernel,
        "fn f(block: Block, y: &mut Out<[u32]>) {
             block.each(|t| { let Some(own) = y.get_mut(t.index()) else { return }; *own += 1; });
         }",
    );
    assert!(said.contains("[TW0913]: `own` is"), "{said}");
}

#[test]
fn an_element_that_is_written_is_read() {
    for (element, statements) in [
        ("f32", "*y = x[i]; *y += 1.0;"),
        ("f32", "if n > 1 { *y = 1.0; } else { *y = 2.0; } *y += 2.0;"),
        ("f32", "if n > 1 { *y = 1.0; } else { return; } *y += 2.0;"),
        ("f32", "match n { 0 => *y = 1.0, 1 => return, _ => *y = 2.0 } let v = *y;"),
        ("f32", "*y = 0.0; for k in 0..n { *y += x[k as usize]; }"),
        ("f32", "for k in 0..n { *y = 1.0; } *y += 1.0;"),
        ("f32", "while n > 3 { if n > 9 { *y = 2.0; break; } *y = 1.0; } *y += 1.0;"),
        ("f32", "loop { *y = 1.0; if n > 3 { break; } } let v = *y;"),
        ("f32", "loop { *y = 1.0; if n > 3 { continue; } break; } let v = *y;"),
        ("f32", "set(y); *y += 1.0;"),
        ("f32", "set(&mut *y); *y += 1.0;"),
        ("f32", "(*y, _) = (1.0, n); *y += 1.0;"),
        ("f32", "let v = match n { 0 => { *y = 1.0; 2_u32 } _ => { *y = 3.0; 4 } }; *y += v as f32;"),
        ("f32", "let v: f32 = 'a: { if n > 3 { *y = 2.0; break 'a 1.0; } *y = 1.0; 2.0 }; *y += v;"),
        ("f32", "if n > 7 { panic!(\"no\"); } else { *y = 1.0; } *y += 1.0;"),
        ("[f32; 2]", "y[0] = 1.0; y[1] = y[0]; y[1] += y[0];"),
        ("[f32; 2]", "for k in 0..y.len() { y[k] = 1.0; } y[1] += y[0];"),
        ("P", "*y = P { a: 1.0, b: 2.0 }; y.a += y.b;"),
        ("P", "y.a = 1.0; y.b = y.a;"),
    ] {
        let said = of_out(element, statements);
        assert!(!said.contains("TW0"), "{statements}: {said}");
        // Of an `Own` it may be read before, too.
        let of_own = "fn f(i: Index, y: &mut Own<[u32]>) { if let Some(y) = y.get_mut(i) { *y += 1; } }";
        assert!(!cpp(Role::Kernel, of_own).contains("TW0"));
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

/// What is said of a kernel in blocks with such a body.
fn said_in_blocks(statements: &str) -> String {
    cpp(Role::Kernel, &format!("fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {{ {statements} }}"))
}

#[test]
fn what_is_between_a_phase_and_its_block_is_said_with_what_works() {
    for (statements, what, help) in [
        (
            "let mut a = block.shared::<[f32; 32]>(); y.put(block.index(), a[0]);",
            "`a` is read outside of a phase",
            "read it in a phase; by this one all threads get the same value: \
             `let first = block.reduce(|_| a[0], |first, _| first);`",
        ),
        (
            "let mut a = block.shared::<[[f32; 4]; 8]>(); y.put(block.index(), a[1][2]);",
            "`a` is read outside of a phase",
            "read it in a phase; by this one all threads get the same value: \
             `let first = block.reduce(|_| a[0][0], |first, _| first);`",
        ),
        (
            "let mut a = block.shared::<[AtomicU32; 32]>(); let n = a[0].load(Relaxed);",
            "`a` is read outside of a phase",
            "read it in a phase; by this one all threads get the same value: \
             `let first = block.reduce(|_| a[0].load(Relaxed), |first, _| first);`",
        ),
        (
            "block.each(|t| y.put(block.index(), x[0]));",
            "is in a phase, where each thread would write it",
            "write it after the phase; what threads have computed comes there by a `reduce`: \
             `let sum = block.reduce(|t| …, |a, b| a + b);`",
        ),
        (
            "let mut s = block.private(0.0); block.each(|t| s += x[0]);",
            "`s` is changed in a phase, but belongs to the block",
            "write the thread's own: `s[t]`",
        ),
        (
            "let mut a = [0.0; 32]; block.each(|u| a[u.rank()] = x[0]);",
            "`a[u.rank()]` is changed in a phase, but belongs to the block",
            "declare it in the phase, with `block.private(…)`, of which each thread has its own, or with \
             `block.shared::<[f32; 32]>()`, which `block.fill` writes for all threads",
        ),
        (
            "let mut s = 0.0; block.each(|t| s += x[0]);",
            "`s` is changed in a phase, but belongs to the block",
            "declare it in the phase, or with `block.private(…)`, of which each thread has its own",
        ),
    ] {
        let said = said_in_blocks(statements);
        assert!(
            said.starts_with("[TW0911]: ") && said.contains(&format!("{what}\n")),
            "{statements}: {said}"
        );
        assert!(said.contains(&format!("\nhelp: {help}\n")), "{statements}: {said}");
    }
}

#[test]
fn all_threads_get_an_element_of_shared_memory() {
    let text = said_in_blocks(
        "let mut a = block.shared::<[f32; 32]>(); block.fill(&mut a, |i| x[i]); \
         let first = block.reduce(|_| a[0], |first, _| first); y.put(block.index(), first);",
    );
    assert!(!text.contains("[TW"), "{text}");
}

#[test]
fn statics_are_the_hosts() {
    for (statements, what) in [
        ("COUNT.fetch_add(1, Relaxed);", "the atomic `COUNT` outside of the kernel"),
        (
            "let n = COUNTS[2].load(std::sync::atomic::Ordering::Acquire);",
            "the atomic `COUNTS[2]` outside of the kernel",
        ),
        ("unsafe { COUNT += 1; }", "a change of `COUNT`, which is outside of the kernel,"),
        ("unsafe { COUNT = 1; }", "a change of `COUNT`, which is outside of the kernel,"),
        ("unsafe { POINTS[1].x = 2.0; }", "a change of `POINTS[1].x`, which is outside of the kernel,"),
    ] {
        let said = cpp(Role::Device, &format!("fn f() {{ {statements} }}"));
        assert!(said.starts_with(&format!("[TW0901]: {what} is not in the language of kernels\n")), "{said}");
        assert!(
            said.contains("a `static` is in the host's memory") && said.contains("&[AtomicU32]`"),
            "{said}"
        );
    }
    // A constant may have a method of such a name.
    assert_eq!(body("fn f() -> u32 { N.max(3_u32) }"), "return tw::max(N, 3u);");
}

#[test]
fn a_loop_over_a_constant_is_one_over_its_indices() {
    let said = cpp(Role::Device, "fn f() { for v in TABLE {} }");
    assert!(
        said.starts_with("[TW0901]: a loop over a constant is not in the language of kernels\n"),
        "{said}"
    );
    assert!(
        said.contains("\nhelp: go over its indices: `for j in 0..TABLE.len() { … TABLE[j] … }`\n"),
        "{said}"
    );
    let text =
        body("fn f() -> f32 { let mut sum = 0.0_f32; for j in 0..TABLE.len() { sum += TABLE[j]; } sum }");
    assert!(text.contains("TABLE.len()") && !text.contains("[TW"), "{text}");
}

#[test]
fn parts_that_a_pattern_leaves_out_are_named_one_by_one() {
    for (function, help) in [
        ("fn f(x: [u32; 5]) { let [a, _, c, ..] = x; }", "write `_` for each: `[a, _, c, _, _]`"),
        ("fn f(x: [u32; 5]) { let [.., last] = x; }", "write `_` for each: `[_, _, _, _, last]`"),
        ("fn f(x: [u32; 2]) { let [a, .., b] = x; }", "write `_` for each: `[a, b]`"),
        ("fn f(x: [u32; 99]) { let [a, ..] = x; }", "take the elements by their indices: `let a = x[0];`"),
        ("fn f() { let [a, ..] = g(); }", "take the elements by their indices: `let a = x[0];`"),
        ("fn f(x: (u32, u32, u32)) { let (a, ..) = x; }", "write `_` for each: `(a, _, _)`"),
        ("fn f() { let (a, ..) = g(); }", "write `_` for each part that is left out"),
    ] {
        let said = cpp(Role::Device, function);
        assert!(said.starts_with("[TW0901]: `..` in a pattern of parts is not in the language"), "{said}");
        assert!(said.contains(&format!("\nhelp: {help}\n")), "{function}: {said}");
    }
}

#[test]
fn a_method_of_a_struct_is_a_function() {
    let said = cpp(Role::Device, "fn f(p: Pair) -> f32 { p.sum() }");
    assert!(
        said.contains("\nhelp: if it is the struct's own, write it as a function with `#[device]`"),
        "{said}"
    );
    let said = cpp(Role::Device, "fn f(p: Pair) -> f32 { p.total() }");
    assert!(
        said.contains("\nhelp: write it as a function with `#[device]`, outside of any `impl`\n"),
        "{said}"
    );
}

#[test]
fn what_a_block_does_is_written_in_the_kernel() {
    let said = cpp(Role::Device, "fn f(block: Block, x: &[f32]) -> f32 { x[0] }");
    assert!(
        said.contains("\nhelp: write the phases in the kernel, and pass the function what it needs"),
        "{said}"
    );
    let said = cpp(Role::Kernel, "fn k(block: Block<4>, y: &mut Out<[f32]>) {}");
    assert!(
        said.contains("\nhelp: write `Block`, `Block<2>` or `Block<3>`: a grid has up to three axes\n"),
        "{said}"
    );
    let alone = "let mut tile = shared::<[f32; 32]>();";
    let said = cpp(Role::Kernel, &format!("fn k(i: Index, y: &mut Own<[f32]>) {{ {alone} }}"));
    assert!(said.starts_with("[TW0908]: `shared` is a method of a `Block`\n"), "{said}");
    assert!(said.contains("in place of `i`, and write `block.shared::<[f32; 32]>()`\n"), "{said}");
    assert!(said_in_blocks(alone).contains("\nhelp: write `block.shared::<[f32; 32]>()`\n"));
    let said = cpp(Role::Device, &format!("fn f() {{ {alone} }}"));
    assert!(said.contains("\nhelp: write it in the kernel, and pass the function what it needs\n"), "{said}");
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
