//! The book's grammar is the parser's: every sentence derived from `grammar.ebnf` parses.

use crate::{emitted, random};

use std::collections::{BTreeMap, BTreeSet};

use emitted::{code, errors};
use random::{Random, setting};

const GRAMMAR: &str = include_str!("../../../../book/src/grammar.ebnf");

/// How deep blocks are in each other.
const DEPTH: usize = 6;

/// The texts for rules that are Rust's own.
const RUST: [(&str, &str); 8] = [
    ("attribute", "#[doc = \"one\"]"),
    ("visibility", "pub(crate)"),
    ("generics", "<T: Pod, const N: usize>"),
    ("where", "where T: Send"),
    ("type", "f32"),
    ("integer", "3"),
    ("path", "kernels::work"),
    ("closure", "|c| tell(c)"),
];

/// Expressions where one may stand: with a block, a cast, a comparison, angles.
const EXPRESSIONS: [&str; 6] =
    ["1", "n as usize * 2", "{ 3 }", "f(c.len, [1, 2])", "a.b << 2", "blocks(c.len, 256)"];

/// A production, or a part of one.
enum Rule {
    Word(String),
    Name(String),
    All(Vec<Rule>),
    One(Vec<Rule>),
    Maybe(Box<Rule>),
    Many(Box<Rule>),
}

/// The tokens of the grammar's text.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => rest[1..].find('"').expect("the word ends") + 2,
            'a'..='z' => rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len()),
            _ => 1,
        };
        tokens.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    tokens
}

/// Reads alternatives up to a closing token.
fn alternatives(tokens: &mut std::slice::Iter<'_, String>, closing: &str) -> Rule {
    let mut all = vec![Vec::new()];
    loop {
        let token = tokens.next().expect("the production ends");
        let current = all.last_mut().expect("there is one");
        match token.as_str() {
            token if token == closing => break,
            "|" => all.push(Vec::new()),
            "," if closing == ";" => (),
            "[" => current.push(Rule::Maybe(alternatives(tokens, "]").into())),
            "{" => current.push(Rule::Many(alternatives(tokens, "}").into())),
            "(" => current.push(alternatives(tokens, ")")),
            word if word.starts_with('"') => current.push(Rule::Word(word.trim_matches('"').to_owned())),
            name => current.push(Rule::Name(name.to_owned())),
        }
    }
    Rule::One(all.into_iter().map(Rule::All).collect())
}

/// The productions by name.
fn grammar() -> BTreeMap<String, Rule> {
    let tokens = tokens(GRAMMAR);
    let mut tokens = tokens.iter();
    let mut rules = BTreeMap::new();
    while let Some(name) = tokens.next() {
        assert_eq!(tokens.next().map(String::as_str), Some("="), "a production of `{name}`");
        rules.insert(name.clone(), alternatives(&mut tokens, ";"));
    }
    rules
}

/// A sentence that is being derived. Nothing optional is taken below a certain depth, so that it ends.
struct Derivation<'g> {
    rules: &'g BTreeMap<String, Rule>,
    random: Random,
    names: usize,
    words: BTreeSet<String>,
    text: String,
}

impl Derivation<'_> {
    fn say(&mut self, text: &str) {
        self.text.push(' ');
        self.text += text;
    }

    fn derive(&mut self, rule: &Rule, depth: usize) {
        match rule {
            Rule::Word(word) => {
                self.words.insert(word.clone());
                self.say(word);
            }
            Rule::Name(name) if name == "name" => {
                self.names += 1;
                self.say(&format!("name_{}", self.names));
            }
            Rule::Name(name) if name == "expression" => {
                let expression = *self.random.pick(&EXPRESSIONS);
                self.say(expression);
            }
            Rule::Name(name) => match RUST.iter().find(|(rule, _)| rule == name) {
                Some((_, text)) => self.say(text),
                None => {
                    let rules = self.rules;
                    let rule = rules.get(name).unwrap_or_else(|| panic!("no production of `{name}`"));
                    self.derive(rule, depth + 1);
                }
            },
            Rule::All(parts) => parts.iter().for_each(|part| self.derive(part, depth)),
            Rule::One(choices) => {
                let which = self.random.below(choices.len());
                self.derive(&choices[which], depth);
            }
            Rule::Maybe(part) => {
                if depth < DEPTH && self.random.chance(50) {
                    self.derive(part, depth);
                }
            }
            Rule::Many(part) => {
                let most = if depth == 0 { 12 } else { 3 };
                let times = if depth < DEPTH { self.random.below(most + 1) } else { 0 };
                (0..times).for_each(|_| self.derive(part, depth));
            }
        }
    }
}

/// Only the form of a sentence is tested, not its meaning.
#[test]
fn whatever_the_grammar_derives_parses() {
    let rules = grammar();
    let (first, mut words) = (setting("THALWEG_SEED", 0), BTreeSet::new());
    for seed in first..first + 2000 {
        let random = Random::new(seed);
        let mut sentence =
            Derivation { rules: &rules, random, names: 0, words: BTreeSet::new(), text: String::new() };
        sentence.derive(&rules["pipeline"], 0);
        let tokens = sentence.text.parse().unwrap_or_else(|error| panic!("{error}: {}", sentence.text));
        let errors = errors(thalweg_compiler::stream_pipeline(tokens));
        let form = errors.iter().find(|error| code(&error.text) == "TW0101");
        let form = form.map(|error| &error.text);
        assert_eq!(form, None, "THALWEG_SEED={seed} derives\n{}", sentence.text);
        words.append(&mut sentence.words);
    }
    assert!(words.len() > 60, "every word of the grammar was tried: {words:?}");
}
