//! The errors and warnings for the user, collected within a phase.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Attribute;

/// Whether the pipeline is compiled all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The pipeline is not compiled.
    Error,
    /// The pipeline is compiled.
    Warning,
}

/// One problem: the fact, why it is one, and the edit.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    level: Level,
    code: &'static str,
    at: TokenStream,
    text: String,
}

impl Diagnostic {
    /// Adds a line that says why.
    pub fn note(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.line("note", text.as_ref())
    }

    /// Adds a line that says what to write.
    pub fn help(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.line("help", text.as_ref())
    }

    fn line(&mut self, kind: &str, text: &str) -> &mut Self {
        self.text.push_str(&format!("\n{kind}: {text}"));
        self
    }

    /// The text as rustc shows it after `error: `.
    pub fn message(&self) -> String {
        coded(self.code, &self.text)
    }

    /// The tokens it points at.
    pub fn at(&self) -> &TokenStream {
        &self.at
    }

    /// Line and column of the first token.
    fn place(&self) -> (usize, usize) {
        let first = self.at.clone().into_iter().next().map(|token| token.span().start());
        first.map_or((0, 0), |start| (start.line, start.column))
    }
}

/// Diagnostics in the order in which they were found.
#[derive(Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    /// The `#[allow(…)]` attributes of the pipeline.
    allowed: TokenStream,
}

impl Diagnostics {
    /// Warnings are emitted under these attributes.
    pub fn allow<'a>(&mut self, attributes: impl Iterator<Item = &'a Attribute>) {
        self.allowed.extend(attributes.map(ToTokens::to_token_stream));
    }

    /// Adds an error that points at `at`.
    pub fn error(
        &mut self,
        code: &'static str,
        at: impl ToTokens,
        fact: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Level::Error, code, at, fact.into())
    }

    /// Adds a warning that points at `at`.
    pub fn warning(
        &mut self,
        code: &'static str,
        at: impl ToTokens,
        fact: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Level::Warning, code, at, fact.into())
    }

    fn push(&mut self, level: Level, code: &'static str, at: impl ToTokens, text: String) -> &mut Diagnostic {
        self.found.push(Diagnostic { level, code, at: at.into_token_stream(), text });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// Adds a syntax error in the words of syn's parser.
    pub fn syntax(&mut self, error: syn::Error) {
        for error in error {
            let text = error.to_string();
            let span = Ident::new("_at", error.span()).into_token_stream();
            self.push(Level::Error, "TW0101", span, text);
        }
    }

    /// Whether there are errors: the barrier between two phases.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|diagnostic| diagnostic.level == Level::Error)
    }

    /// Whether one has this code.
    pub fn has(&self, code: &str) -> bool {
        self.found.iter().any(|diagnostic| diagnostic.code == code)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.found.iter()
    }

    /// The tokens by which rustc shows them, in the order of the source.
    pub fn emit(&self) -> TokenStream {
        self.ordered().into_iter().map(|diagnostic| self.tokens(diagnostic)).collect()
    }

    /// Like [`emit`](Self::emit), but gives the last error apart, as an expression.
    pub fn emit_with_expression(&self) -> (TokenStream, TokenStream) {
        let mut all = self.ordered();
        let last = all.iter().rposition(|diagnostic| diagnostic.level == Level::Error);
        let last = last.map(|last| self.tokens(all.remove(last)));
        (
            all.into_iter().map(|diagnostic| self.tokens(diagnostic)).collect(),
            last.unwrap_or_else(|| quote!(0)),
        )
    }

    fn ordered(&self) -> Vec<&Diagnostic> {
        // Beside an error, a warning is often its consequence, and its advice the opposite of the mend.
        let errors = self.has_errors();
        let shown = |diagnostic: &&Diagnostic| !errors || diagnostic.level == Level::Error;
        let mut all: Vec<_> = self.found.iter().filter(shown).collect();
        all.sort_by_key(|diagnostic| diagnostic.place());
        all
    }

    fn tokens(&self, diagnostic: &Diagnostic) -> TokenStream {
        let message = diagnostic.message();
        match diagnostic.level {
            Level::Error => syn::Error::new_spanned(&diagnostic.at, message).to_compile_error(),
            Level::Warning => {
                // A stable compiler takes no warnings from a macro, but it warns of each use of a deprecated
                // constant, at the span of the use.
                let first = diagnostic.at.clone().into_iter().next();
                let span = first.map_or_else(Span::call_site, |token| token.span());
                let name = Ident::new(diagnostic.code, Span::mixed_site().located_at(span));
                // The name already says the code: "use of deprecated constant `_::TW0205`: …".
                let message = format!("{}\n{}", diagnostic.text, page(diagnostic.code));
                let allowed = &self.allowed;
                quote_spanned! {Span::mixed_site()=>
                    #allowed
                    const _: () = {
                        #[deprecated(note = #message)]
                        const #name: () = ();
                        #name
                    };
                }
            }
        }
    }
}

/// A message with its code before it and the path of its page after it.
pub fn coded(code: &str, text: &str) -> String {
    format!("[{code}]: {text}\n{}", page(code))
}

/// An error at `at`: the fact, why it matters, and the edit that mends it.
pub(crate) fn error(
    at: impl ToTokens,
    code: &str,
    message: &str,
    notes: &[String],
    help: Option<String>,
) -> syn::Error {
    let mut text = message.to_owned();
    for note in notes {
        text += &format!("\nnote: {note}");
    }
    if let Some(help) = help {
        text += &format!("\nhelp: {help}");
    }
    syn::Error::new_spanned(at, coded(code, &text))
}

/// The last line of a message: the page of the book's error index.
pub fn page(code: &str) -> String {
    format!("see: book/src/errors/{code}.md")
}

/// How many of something there are: `1 byte`, `4 bytes`.
pub fn count<N: std::fmt::Display + PartialEq + From<u8>>(n: N, what: &str) -> String {
    format!("{n} {what}{}", if n == N::from(1) { "" } else { "s" })
}

/// The name in `candidates` that was probably meant by `name`, if one is near enough.
pub fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names of one or two letters are near many others.
    let limit = name.chars().count() / 3;
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance > 0 && distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn suggests_a_near_name_and_no_far_one() {
        assert_eq!(similar("d_imput", ["d_input", "d_output"]), Some("d_input"));
        assert_eq!(similar("dx", ["dy", "w"]), None);
        assert_eq!(similar("x", ["y"]), None);
        assert_eq!(similar("taht", ["that", "hat"]), Some("that"));
        assert_eq!(similar("weights", ["bias", "dx"]), None);
    }
}
