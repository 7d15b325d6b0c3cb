//! The names that the expressions of a stage may use.

use crate::page;
use std::str::FromStr;

use page::without_page;
use proc_macro2::TokenStream;

/// The errors of a pipeline whose launch has `value` as an argument.
fn errors(chunk: &str, value: &str) -> Vec<String> {
    let pipeline = format!(
        "pipeline P {{
            param p: u32;
            inout x: [f32];
            resident w: [f32];
            {chunk}
            stage all {{ copy x -> dx; saxpy<<<1, 256>>>({value}, &w, &mut dx); copy dx -> x; }}
        }}"
    );
    let expanded = thalweg_compiler::stream_pipeline(TokenStream::from_str(&pipeline).expect("it lexes"));
    let file: syn::File = syn::parse2(expanded).expect("the expansion is Rust");
    let texts = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Macro(item) => {
            let text = item.mac.parse_body::<syn::LitStr>().ok()?.value();
            Some(without_page(&text).to_owned())
        }
        _ => None,
    });
    texts.collect()
}

#[test]
fn buffers_are_no_values() {
    let note =
        "note: it is evaluated on the CPU when the stage is enqueued, and can name parameters and the chunk";
    let no_elements = "note: it is evaluated on the CPU when the stage is enqueued, where no elements of buffers can be read";
    let to_a_kernel =
        |name: &str| format!("pass `&{name}` to a kernel, or declare a `param`, and give `run` the value");
    for (value, name) in [("w[0] as u32", "w"), ("dx[0] as u32", "dx"), ("w.iter().count() as u32", "w")] {
        let help = to_a_kernel(name);
        let expected = format!(
            "[TW0306]: the expression names `{name}`, which is not a value\n{no_elements}\nhelp: {help}"
        );
        assert_eq!(errors("chunk c = auto;", value), [expected], "{value}");
    }
    let of_all = "declare `param w_len: usize;`, and give `run` its length";
    let of_chunk = "write `c.len`: the items in this chunk";
    for (value, name, help) in [
        ("w.len() as u32", "w", of_all),
        ("p + 2 * w.len() as u32", "w", of_all),
        ("x.len() as u32", "x", of_chunk),
        ("(dx.len() + dx.len()) as u32", "dx", of_chunk),
        ("if w.is_empty() { 1 } else { 2 }", "w", of_all),
    ] {
        let expected =
            format!("[TW0306]: the expression names `{name}`, which is not a value\n{note}\nhelp: {help}");
        assert_eq!(errors("chunk c = auto;", value), [expected], "{value}");
    }
    let help = "help: declare `chunk c = auto;`, and write `c.len`: the items in this chunk";
    let found = errors("", "x.len as u32");
    assert!(found.len() == 1 && found[0].ends_with(help), "{found:?}");
}

#[test]
fn what_an_expression_binds_is_its_own() {
    for value in [
        "[1_u32].iter().map(|w| w.pow(2)).sum::<u32>()",
        "{ let w = [1]; w.len() as u32 }",
        "match 3_u32 { w => w.pow(2) }",
        "if let Some(w) = Some(2_u32) { w.pow(2) } else { 0 }",
        "w(c.len as u32)",
        "w::W.len() as u32",
        "c.len as u32",
        "p.pow(2)",
    ] {
        assert_eq!(errors("chunk c = auto;", value), [""; 0], "{value}");
    }
}
