//! Conditions that say less than they seem to.

use proc_macro2::TokenStream;

use super::accesses;
use crate::rust_kernels::{Role, expand};

const KERNEL: &str = "at: Index<2>, n: usize, m: u32, s: u8, x: &[f32], y: &mut Out<[f32]>";

/// Expects that the elements of `x` are read with a check, or without one.
#[track_caller]
fn assert_is_checked(requires: &str, body: &str, is_checked: bool) {
    let function = format!("#[requires({requires})] fn k({KERNEL}) {{ {body} }}");
    let (checked, unchecked) = accesses(Role::Kernel, &function);
    assert_eq!((checked.is_empty(), unchecked.is_empty()), (!is_checked, is_checked), "{function}");
}

#[test]
fn a_condition_that_is_left_says_nothing_of_what_follows() {
    for (requires, is_checked) in [
        ("(if m == 0 { return true } else { true }) && n < x.len()", true),
        ("{ m == 0 || return true } && n < x.len()", true),
        ("m > 0 && (leave!(m) && n < x.len())", true),
        ("(m > 0 && leave!(m)) && n < x.len()", true),
        // This one was asked before.
        ("n < x.len() && (m == 0 || return true)", false),
        ("n < x.len() && leave!(m) && m > 0", false),
        ("(if m == 0 { false } else { true }) && n < x.len()", false),
    ] {
        assert_is_checked(requires, "x[n];", is_checked);
    }
    let function = format!("#[requires(leave!())] #[requires(n < x.len())] fn k({KERNEL}) {{ x[n]; }}");
    assert_eq!(accesses(Role::Kernel, &function).1, ["x"], "each condition is asked by itself");
}

#[test]
fn literals_that_their_types_do_not_hold_say_nothing() {
    for (requires, body, is_checked) in [
        // rustc may be told that `300_u8` is 44.
        ("s.saturating_add(300) < 200 && x.len() > 0", "x[s as usize];", true),
        // A literal without a type has a trait's methods.
        ("1.saturating_add(n) <= x.len()", "x[n];", true),
        ("2.saturating_mul(n) < x.len()", "x[n];", true),
        ("1_usize.saturating_add(n) <= x.len()", "x[n];", false),
        ("s.saturating_add(100) < 101 && x.len() > 0", "x[s as usize];", false),
        // It may be told that the number after `usize::MAX` and 4 is 4.
        ("y.shape()[1..] == [18446744073709551620] && y.shape()[1] <= x.len()", "x[5];", true),
        ("y.shape()[1..] == [6] && y.shape()[1] <= x.len()", "x[5];", false),
    ] {
        assert_is_checked(requires, body, is_checked);
    }
}

#[test]
fn names_of_types_in_conditions_are_those_of_numbers() {
    let tokens = |text: String| text.parse::<TokenStream>().expect("tokens");
    let function = |requires: &str| {
        let item = tokens(format!("#[requires({requires})] fn k({KERNEL}) {{ y.get_mut(at); }}"));
        expand(Role::Kernel, TokenStream::new(), item).to_string()
    };
    // Without the check a `type u128 = u64;` would let the product wrap.
    let text = function("n as u128 * m as u128 <= x.len() as u128 && (m as u64) < 9");
    for ty in ["u128", "u64"] {
        let check = format!("fn ({ty}) -> :: core :: primitive :: {ty}");
        assert_eq!(text.matches(&check).count(), 1, "{ty}: {text}");
    }
    assert!(!function("n < x.len()").contains("u128"));
}
