//! The book builds, and every link of the built pages leads to a page, a heading or a file that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;
use scraper::{Html, Selector};

/// Builds the book into `target/tmp/book`.
fn built() -> PathBuf {
    let mut book = MDBook::load(env!("CARGO_MANIFEST_DIR")).expect("the book");
    book.config.build.build_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    book.build().expect("the book builds");
    book.config.build.build_dir
}

/// A page's headings and other places that a link may name, and where its links lead.
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
}

impl Page {
    fn read(path: &Path) -> Self {
        let html = Html::parse_document(&fs::read_to_string(path).expect("a page"));
        let all = |selector: &str, attribute: &str| -> Vec<String> {
            let selector = Selector::parse(selector).expect("a selector");
            html.select(&selector).filter_map(|element| element.attr(attribute)).map(str::to_owned).collect()
        };
        let links = [("a[href]", "href"), ("img[src]", "src"), ("source[srcset]", "srcset")];
        Self {
            ids: all("[id]", "id").into_iter().collect(),
            links: links.iter().flat_map(|(selector, attribute)| all(selector, attribute)).collect(),
        }
    }
}

/// The files below a folder that end so.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension() == Some(OsStr::new(extension)) {
            found.push(path);
        }
    }
    found
}

/// The pages have a search box, and what it looks in has the error index too.
fn is_searched(folder: &Path) {
    let page = fs::read_to_string(folder.join("introduction.html")).expect("a page");
    assert!(page.contains("mdbook-searchbar"), "no search box");
    let is_index = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("searchindex"))
    };
    let indexes = files(folder, "js");
    let index = indexes.iter().find(is_index).expect("the index of the search");
    let index = fs::read_to_string(index).expect("the index");
    assert!(index.contains("TW0201"), "the error index is not searched");
}

#[test]
fn every_link_leads_somewhere() {
    let folder = built();
    is_searched(&folder);
    let pages: BTreeMap<PathBuf, Page> =
        files(&folder, "html").into_iter().map(|path| (path.clone(), Page::read(&path))).collect();
    let (mut followed, mut broken) = (0, Vec::new());
    for (path, page) in &pages {
        // All pages in one, the list of pages, and the page of a server for a wrong address are made of the
        // others.
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if ["print.html", "toc.html", "404.html"].contains(&name) {
            continue;
        }
        for link in &page.links {
            if link.starts_with("https://") {
                continue;
            }
            followed += 1;
            let (target, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match target {
                "" => path.clone(),
                relative => path.parent().expect("a folder").join(relative),
            };
            let there = match target.canonicalize() {
                Ok(target) => match pages.get(&target) {
                    Some(page) => place.is_empty() || page.ids.contains(place),
                    None => target.is_file(),
                },
                Err(_) => false,
            };
            if !there {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(followed > 1000, "{followed} links");
}
