//! The programs to start from: all inputs of the two macros in the repository.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

#[derive(Default)]
pub struct Corpus {
    /// The tokens in `stream_pipeline! { … }`.
    pub pipelines: Vec<Vec<TokenTree>>,
    /// `(attribute) item` of `#[kernels(attribute)] item`.
    pub kernels: Vec<Vec<TokenTree>>,
    /// Name and content of each kernel source and each file that one includes.
    pub sources: Vec<(String, Vec<u8>)>,
}

/// Reads the repository's tests, examples, crates and book.
pub fn read() -> Corpus {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    for folder in ["tests", "examples", "book/src", "runtime", "kernels"] {
        list(&root.join(folder), &mut files);
    }
    files.sort();
    let mut corpus = Corpus::default();
    for path in files {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let text = || std::fs::read_to_string(&path).unwrap_or_default();
        match extension {
            Some("rs") => corpus.take(&text()),
            Some("md") => text().split("```").skip(1).step_by(2).for_each(|block| {
                corpus.take(block.split_once('\n').map_or("", |(_, code)| code));
            }),
            Some("cu" | "cuh" | "ptx" | "cubin" | "fatbin") => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                corpus.sources.push((name, std::fs::read(&path).unwrap_or_default()));
            }
            _ => {}
        }
    }
    corpus
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path);
        }
    }
}

impl Corpus {
    fn take(&mut self, text: &str) {
        // Recorded expansions have their pipeline in comments.
        if let Ok(tokens) = TokenStream::from_str(text) {
            self.search(&tokens.into_iter().collect::<Vec<_>>());
        }
    }

    fn search(&mut self, tokens: &[TokenTree]) {
        for (at, token) in tokens.iter().enumerate() {
            match (token, &tokens[at + 1..]) {
                (TokenTree::Ident(name), [TokenTree::Punct(bang), TokenTree::Group(body), ..])
                    if name == "stream_pipeline" && bang.as_char() == '!' =>
                {
                    self.pipelines.push(body.stream().into_iter().collect());
                }
                (TokenTree::Group(group), rest) if group.delimiter() == Delimiter::Bracket => {
                    let mut inner = group.stream().into_iter();
                    let (name, argument) = (inner.next(), inner.next());
                    let Some(argument @ TokenTree::Group(_)) = argument else { continue };
                    if !matches!(name, Some(TokenTree::Ident(name)) if name == "kernels") {
                        continue;
                    }
                    let is_block = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
                    let end = rest.iter().position(is_block).map_or(rest.len(), |end| end + 1);
                    self.kernels.push([&[argument], &rest[..end]].concat());
                }
                (TokenTree::Group(group), _) => {
                    self.search(&group.stream().into_iter().collect::<Vec<_>>());
                }
                _ => {}
            }
        }
    }
}
