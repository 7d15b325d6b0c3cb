//! Both macros on programs of this repository with a few tokens changed: no panic, the expansion is Rust, and
//! each problem is an error in the project's style at a place of the input.
//!
//! `THALWEG_FUZZ=1000000` tries more inputs, `THALWEG_SEED=7` begins with another seed.

use crate::{emitted, random};

mod corpus;
mod mutation;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use random::{Random, setting};
use thalweg_compiler::kernels::LitStr;

const PIPELINES: u64 = 20_000;
const KERNELS: u64 = 8_000;

/// A macro, and what holds for it alone.
struct Target<'c> {
    corpus: &'c [Vec<TokenTree>],
    /// Where pieces come from.
    others: Vec<Vec<TokenTree>>,
    expand: &'c dyn Fn(TokenStream) -> TokenStream,
    /// Whether a sound input defines something.
    defines: bool,
    /// Whether an error may be about the input as a whole, at the macro's call.
    of_the_whole: fn(&str, &TokenStream) -> bool,
}

/// The results for the inputs.
#[derive(Default)]
struct Tally {
    sound: u64,
    refused: u64,
    /// Inputs that gave each code.
    codes: BTreeMap<String, u64>,
    /// Each kind of failure with its first input.
    failures: BTreeMap<String, (u64, String)>,
}

/// Mutates programs of `corpus`, expands them and checks what holds for all.
fn fuzz(count: u64, target: &Target<'_>) -> Tally {
    let Target { corpus, others, expand, .. } = target;
    let first = setting("THALWEG_SEED", 1_000_000);
    let mut tally = Tally::default();
    // The programs as they are come first.
    let mut seed = first;
    let mut unmutated = corpus.iter();
    let mut tried = 0;
    while tried < count {
        let mut random = Random::new(seed);
        let tokens = match unmutated.next() {
            Some(program) => program.clone(),
            None => mutation::mutate(random.pick::<Vec<_>>(corpus), others, &mut random),
        };
        seed += 1;
        let Some((text, tokens)) = mutation::placed(&tokens) else { continue };
        tried += 1;
        let expanded = catch_unwind(AssertUnwindSafe(|| expand(tokens.clone())));
        let checked = match expanded {
            Err(_) => Err("a panic".to_owned()),
            Ok(expanded) => check(&text, &tokens, expanded, target, &mut tally),
        };
        if let Err(failure) = checked {
            let kind = failure.split([':', '\n']).next().unwrap_or_default().to_owned();
            let input = format!("seed {}: {failure}\n{text}", seed - 1);
            tally.failures.entry(kind).or_insert((0, input)).0 += 1;
        }
    }
    say!(
        "{tried} mutated inputs from {} programs: {} sound, {} refused",
        corpus.len(),
        tally.sound,
        tally.refused
    );
    let codes: Vec<_> = tally.codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
    println!("{}", codes.join(", "));
    for (count, first) in tally.failures.values() {
        println!("FAILED {count} times, first\n{first}\n");
    }
    assert!(tally.failures.is_empty(), "failed: {:?}", tally.failures.keys());
    tally
}

/// Checks what holds for any input.
fn check(
    text: &str,
    tokens: &TokenStream,
    expanded: TokenStream,
    target: &Target<'_>,
    tally: &mut Tally,
) -> Result<(), String> {
    let errors = emitted::errors(expanded.clone());
    let file = syn::parse2::<syn::File>(expanded.clone());
    let file = file.map_err(|error| format!("what it expands to is no Rust: {error} in {expanded}"))?;
    if errors.is_empty() {
        tally.sound += 1;
        if target.defines && file.items.is_empty() {
            return Err("it expands to nothing, and does not say why".to_owned());
        }
    } else {
        tally.refused += 1;
    }
    for error in errors {
        let style = catch_unwind(|| emitted::in_style(&error.text));
        style.map_err(|_| format!("an error out of style: {}", error.text))?;
        *tally.codes.entry(emitted::code(&error.text).to_owned()).or_default() += 1;
        let inside =
            error.bytes.as_ref().is_some_and(|bytes| bytes.start < bytes.end && bytes.end <= text.len());
        let whole = error.bytes.is_none() && (target.of_the_whole)(&error.text, tokens);
        if !(inside || whole) {
            return Err(format!("an error at no place of the input: {}", error.text));
        }
    }
    for (code, span) in emitted::warnings(expanded) {
        *tally.codes.entry(format!("({code})")).or_default() += 1;
        let bytes = span.byte_range();
        if bytes.is_empty() || bytes.end > text.len() {
            return Err(format!("a warning at no place of the input: {code}"));
        }
    }
    Ok(())
}

fn ends_with_a_body(tokens: &TokenStream) -> bool {
    let last = tokens.clone().into_iter().last();
    matches!(last, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

#[test]
fn pipelines() {
    let corpus = corpus::read();
    assert!(corpus.pipelines.len() >= 100, "{} pipelines", corpus.pipelines.len());
    let count = setting("THALWEG_FUZZ", PIPELINES);
    let target = Target {
        corpus: &corpus.pipelines,
        others: corpus.pipelines.iter().chain(&corpus.kernels).cloned().collect(),
        expand: &thalweg_compiler::stream_pipeline,
        defines: true,
        // An empty input has no token to point at.
        of_the_whole: |_, tokens| tokens.is_empty(),
    };
    let tally = fuzz(count, &target);
    if count >= PIPELINES {
        // Otherwise all inputs would be refused for the same few reasons.
        assert!(tally.sound * 20 >= count && tally.codes.len() >= 40, "too much of the same");
    }
}

#[test]
fn kernels() {
    let corpus = corpus::read();
    assert!(corpus.kernels.len() >= 10, "{} blocks of kernels", corpus.kernels.len());
    let read = |path: &LitStr| {
        let path = path.value();
        let name = path.rsplit('/').next().unwrap_or_default();
        let source = corpus.sources.iter().find(|(known, _)| known == name);
        source.map(|(_, content)| content.clone()).ok_or_else(|| "no such file".to_owned())
    };
    let expand = |tokens: TokenStream| {
        let mut tokens = tokens.into_iter().peekable();
        let is_attribute = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        let attribute = match tokens.next_if(is_attribute) {
            Some(TokenTree::Group(group)) => group.stream(),
            _ => TokenStream::new(),
        };
        thalweg_compiler::kernels::expand(attribute, tokens.collect(), &read)
    };
    let target = Target {
        corpus: &corpus.kernels,
        others: corpus.kernels.iter().chain(&corpus.pipelines).cloned().collect(),
        expand: &expand,
        // A block may be empty.
        defines: false,
        // A missing argument of the attribute is also reported at the attribute as a whole.
        of_the_whole: |error, tokens| error.contains("#[kernels(") || !ends_with_a_body(tokens),
    };
    let count = setting("THALWEG_FUZZ", KERNELS);
    let tally = fuzz(count, &target);
    if count >= KERNELS {
        assert!(tally.sound * 20 >= count && tally.codes.len() >= 12, "too much of the same");
    }
}
