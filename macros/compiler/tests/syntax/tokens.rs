//! `stream_pipeline!` on arbitrary tokens: it never panics, its expansion is Rust, and every mistake is an
//! error in the project's style.

use crate::emitted;

use std::str::FromStr;

use proc_macro2::TokenStream;
use proptest::prelude::*;
use thalweg_compiler::stream_pipeline;

/// The language's words and punctuation, pieces of sound code, and tokens that belong nowhere.
const WORDS: &[&str] = &[
    "pipeline",
    "P",
    "param",
    "input",
    "output",
    "inout",
    "device",
    "chunk",
    "depth",
    "stream",
    "sync",
    "stage",
    "on",
    "auto",
    "copy",
    "out",
    "per",
    "slot",
    "per slot",
    "high",
    "low",
    "priority",
    "priority(-3)",
    "a",
    "x",
    "y",
    "dx",
    "c",
    "s",
    "saxpy",
    "r#type",
    "type",
    "self",
    "Self",
    "crate",
    "pub",
    "mut",
    "return",
    "break",
    "_",
    ";",
    ":",
    "::",
    ",",
    ".",
    "..",
    "=",
    "=>",
    "->",
    "-",
    "&",
    "&mut",
    "&&",
    "?",
    "!",
    "#",
    "$",
    "<",
    "<<",
    "<<<",
    ">",
    ">>",
    ">>>",
    "<<<1, 256>>>",
    "<<<>>>",
    "()",
    "(&dx, &mut dy)",
    "[]",
    "[f32]",
    "[f32; 3]",
    "[f32; 0]",
    "{}",
    "{ copy x -> dx; }",
    "{ copy dx -> y }",
    "f32",
    "0",
    "1",
    "2048",
    "340282366920938463463374607431768211456",
    "1.5",
    "\"text\"",
    "'a",
    "c.len",
    "/// docs\n",
    "#[cfg(test)]",
    "#![crate = ::thalweg]",
    "copy x -> dx;",
    "copy dx -> y;",
    "saxpy<<<1, 256>>>(a, &dx, &mut dy);",
    "uniform",
    "all_reduce",
    "sum",
    "to 0",
    "from",
    "rank",
    "world.size",
    "world.rank",
    "halo",
    "periodic",
    "dx[..2]",
    "all_reduce sum dx;",
    "broadcast dx from 0;",
    "all_gather dx -> all;",
    "pass dx -> dy to (rank + 1) % world.size;",
    "exchange dx: halo 1;",
    "if c.len > 1 { barrier; }",
    "stage load on s { copy x -> dx; }",
    "stage store { copy dx -> y; }",
    "input x: [f32];",
    "output y: [f32];",
    "param a: f32;",
    "stream s;",
    "chunk c = auto;",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.join(" "))
}

/// The expansion of a pipeline.
struct Expansion {
    errors: Vec<String>,
    /// Definitions of `P`.
    definitions: usize,
}

/// Expands and checks what holds for any tokens. None if the text does not lex.
fn expand(pipeline: &str) -> Option<Expansion> {
    let tokens = TokenStream::from_str(pipeline).ok()?;
    let expanded = stream_pipeline(tokens);
    let errors: Vec<_> = emitted::errors(expanded.clone()).into_iter().map(|error| error.text).collect();
    errors.iter().for_each(|error| emitted::in_style(error));
    let text = expanded.to_string();
    let file = syn::parse2::<syn::File>(expanded).unwrap_or_else(|error| panic!("{error} in {text}"));
    let named = |item: &&syn::Item| match item {
        syn::Item::Struct(item) => item.ident == "P",
        syn::Item::Type(item) => item.ident == "P",
        _ => false,
    };
    Some(Expansion { errors, definitions: file.items.iter().filter(named).count() })
}

/// A pipeline whose header is right defines its type once, whatever is in it.
fn expand_body(body: &str) -> Option<Expansion> {
    let expansion = expand(&format!("pipeline P {{ {body} }}"))?;
    assert_eq!(expansion.definitions, 1, "{body}");
    Some(expansion)
}

const SOUND: &str = "param a : f32 ; input x : [ f32 ] ; inout y : [ f32 ] ; chunk c = auto ; depth = 3 ; stream up : high ; \
    stream math ; stage load on up { copy x -> dx ; copy y -> dy ; } stage axpy on math \
    { saxpy < < < blocks ( c . len , 256 ) , 256 > > > ( c . len as u32 , a , & dx , & mut dy ) ; } \
    stage store on up { copy dy -> y ; }";

#[test]
fn the_sound_pipeline_is_sound() {
    let expansion = expand_body(SOUND).expect("it lexes");
    assert_eq!(expansion.errors, <[String; 0]>::default());
}

/// Leaves out each token of the sound pipeline in turn. The listed ones are the only ones that are not
/// missed.
#[test]
fn a_missing_token_is_an_error() {
    let words: Vec<&str> = SOUND.split_whitespace().collect();
    let mut spared = Vec::new();
    for missing in 0..words.len() {
        let rest: Vec<_> =
            words.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, word)| *word).collect();
        // Brackets come in pairs: without one there are no tokens.
        let Some(expansion) = expand_body(&rest.join(" ")) else { continue };
        if expansion.errors.is_empty() {
            spared.push(format!("{} {}", words[missing.saturating_sub(1)], words[missing]));
        }
    }
    // A grid of two extents, a `blocks` that rustc finds too short, a read.
    assert_eq!(spared, ["< blocks", ", 256", "& mut"]);
}

/// Each line that is not a declaration is an error, wherever it stands.
#[test]
fn a_foreign_line_is_an_error() {
    let lines: Vec<&str> = SOUND.split(" ; ").collect();
    for foreign in
        ["steam s", "=>", "1.5", "\"text\"", "'a", "x -> y", "let x = 1", "type", "#", "_", "fn f() {}"]
    {
        for at in [0, 1, 5] {
            let mut lines = lines.clone();
            lines.insert(at, foreign);
            let expansion = expand_body(&lines.join(" ; ")).expect("it lexes");
            assert_eq!(expansion.errors.len(), 1, "{foreign} at {at}: {:?}", expansion.errors);
        }
    }
}

/// Expressions may use control flow that stays within them.
#[test]
fn control_flow_within_an_expression_is_none_of_our_business() {
    let with = |expression: &str| {
        let body = format!(
            "inout y: [f32]; stage all {{ copy y -> dy; k<<<{expression}, 256>>>(&mut dy); copy dy -> y; }}"
        );
        expand_body(&body).expect("it lexes").errors
    };
    for expression in [
        "loop { break 4 }",
        "'a: { if n > 3 { break 'a 5 } 6 }",
        "'a: loop { loop { continue 'a } }",
        "(|| return 4)()",
        "{ fn f() -> u32 { return 4 } f() }",
    ] {
        assert_eq!(with(expression), <[String; 0]>::default(), "{expression}");
    }
    for expression in
        ["break", "'a: { break 'b 5 }", "{ 'a: { 3 } break 'a }", "loop { return }", "f()?", "x.await"]
    {
        assert_eq!(with(expression).len(), 1, "{expression}");
    }
}

/// One unknown name is one error, as is one that an error leaves without a shape.
#[test]
fn one_name_is_one_error() {
    for stage in ["copy u -> t; copy t -> v; copy v -> y;", "k<<<1, 1>>>(&t, &t, &mut t); copy t -> y;"] {
        let body = format!("inout y: [f32]; stage all {{ copy y -> dy; {stage} }}");
        let errors = expand_body(&body).expect("it lexes").errors;
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
}

/// A token missing before a `)` or `>>>` is reported there, not somewhere in the macro's call.
#[test]
fn what_is_missing_in_a_launch_is_missing_at_its_end() {
    for (launch, end) in [("k<<<1, 1>>>(&);", ")"), ("k<<<1, 1>>>(&<dy);", ")"), ("k<<<1, 2 +>>>(&dy);", ">")]
    {
        let text =
            format!("pipeline P {{ inout y: [f32]; stage all {{ copy y -> dy; {launch} copy dy -> y; }} }}");
        let errors = emitted::errors(stream_pipeline(TokenStream::from_str(&text).expect("it lexes")));
        let [error] = &errors[..] else { panic!("one error is expected of {launch}") };
        let bytes = error.bytes.clone().unwrap_or_default();
        assert_eq!(&text[bytes], end, "{}", error.text);
    }
}

/// An error at an end says what ends, the innermost thing.
#[test]
fn an_end_is_named() {
    for (body, end) in [
        ("inout y: [f32]; stage all { copy y -> dy; copy dy -> y }", "stage `all`"),
        ("inout y: [f32]; stage all { copy y -> dy; copy dy -> }", "stage `all`"),
        (
            "inout y: [f32]; stage all { copy y -> dy; repeat 2 { fill dy = 0.0 } copy dy -> y; }",
            "the `repeat`",
        ),
        ("inout y: [f32]; stage all { copy y -> dy; if true { fill dy = } copy dy -> y; }", "the `if`"),
        ("inout y: [f32]; stage all { if true { } else { wait } }", "the `else`"),
        ("inout y: [f32]; stage all { copy y -> dy; copy dy -> y; } depth = 2", "the pipeline"),
        ("inout y: [f32]; stage all { copy y -> dy; copy dy -> y; } stage", "the pipeline"),
        ("inout y: [f32;]; stage all { copy y -> dy; copy dy -> y; }", "the brackets"),
        (
            "stream s: priority(); inout y: [f32]; stage all on s { copy y -> dy; copy dy -> y; }",
            "the parentheses",
        ),
    ] {
        let errors = expand_body(body).expect("it lexes").errors;
        let first = errors[0].lines().next().unwrap_or_default();
        assert!(first.ends_with(&format!("found the end of {end}")), "{body}: {first}");
    }
    let header = expand("pipeline P").expect("it lexes").errors;
    assert!(header[0].contains("found the end of the macro's input"), "{header:?}");
}

/// An output without a writer most likely misses the copy to an undeclared name, if there is one such copy,
/// or one whose destination has a similar name.
#[test]
fn a_copy_to_a_new_buffer_is_named() {
    for (body, help) in [
        ("input x: [f32]; output y: [f32]; stage all { copy x -> dx; copy dx -> z; }", "copy dx -> y"),
        (
            "input x: [f32]; output result: [f32]; stage all { copy x -> dx; copy dx -> a; copy a -> resutl; copy dx -> b; }",
            "copy a -> result",
        ),
        // A destination that is declared, or read, is not a slip.
        (
            "input x: [f32]; output y: [f32]; device z: [f32]; stage all { copy x -> dx; copy dx -> z; }",
            "copy z -> y",
        ),
        (
            "input x: [f32]; output y: [f32]; stage all { copy x -> dx; copy dx -> z; copy z -> dx; }",
            "copy result -> y",
        ),
    ] {
        let errors = expand_body(body).expect("it lexes").errors;
        let unwritten = errors.iter().find(|error| error.starts_with("[TW0203]"));
        let lines: Vec<_> = unwritten.expect("the output is unwritten").lines().collect();
        let found =
            lines.iter().any(|line| line.starts_with("help: ") && line.contains(&format!("`{help};`")));
        assert!(found, "{body}: {lines:?}");
    }
}

/// Errors come in the order of the source, whichever part of a phase found them.
#[test]
fn errors_are_in_the_order_of_the_source() {
    let body =
        "inout y: [f32]; output z: [f32]; chunk c = 0; stage all { copy y -> dy; copy dy -> y; } depth = 0;";
    let errors = expand_body(body).expect("it lexes").errors;
    let codes: Vec<_> = errors.iter().map(|error| &error[..8]).collect();
    assert_eq!(codes, ["[TW0203]", "[TW0701]", "[TW0702]"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything(text in soup()) {
        if let Some(expansion) = expand(&text) {
            // An expansion that defines no pipeline says why.
            prop_assert!(expansion.definitions > 0 || !expansion.errors.is_empty(), "{text}");
        }
    }

    #[test]
    fn headers(before in soup(), after in soup()) {
        expand(&format!("{before} pipeline P {{ input x: [f32]; }} {after}"));
        let expansion = expand(&format!("{before} P {{ {after} }}"));
        prop_assert!(expansion.is_none_or(|expansion| !expansion.errors.is_empty() || before.contains("pipeline")));
    }

    #[test]
    fn bodies(body in soup()) {
        expand_body(&body);
    }

    #[test]
    fn stages(before in soup(), inside in soup()) {
        expand_body(&format!("param a: f32; input x: [f32]; output y: [f32]; {before} stage all {{ {inside} }}"));
    }

    #[test]
    fn launches(config in soup(), arguments in soup()) {
        expand_body(&format!(
            "inout y: [f32]; chunk c = auto; stage all {{ copy y -> dx; k<<<{config}>>>({arguments}); copy dx -> y; }}"
        ));
    }

    #[test]
    fn expressions(expression in soup()) {
        expand_body(&format!(
            "inout y: [f32; {expression}]; chunk c = {expression}; depth = {expression};
             stage all {{ copy y -> dx; copy dx -> y; }}"
        ));
    }

    #[test]
    fn any_text(text in any::<String>()) {
        expand(&text);
        if TokenStream::from_str(&text).is_ok() {
            expand_body(&text);
        }
    }

    /// A sound pipeline with a few of its tokens dropped, doubled, replaced or swapped.
    #[test]
    fn edits(edits in prop::collection::vec((0usize..100, 0usize..4, prop::sample::select(WORDS)), 1..5)) {
        let mut words: Vec<&str> = SOUND.split_whitespace().collect();
        for (at, edit, word) in edits {
            let at = at % words.len();
            match edit {
                0 if words.len() > 1 => drop(words.remove(at)),
                1 => words.insert(at, words[at]),
                2 => {
                    let other = (at + 1) % words.len();
                    words.swap(at, other);
                }
                _ => words[at] = word,
            }
        }
        expand_body(&words.join(" "));
    }
}
