//! The book's error index: each diagnostic code has a page, and the page is true.
//!
//! `book/src/errors/TWxxxx.md` says what the code means. It includes a wrong program with the compiler's
//! message, both from `ui/`, and the program mended, `TWxxxx.rs`. The `ui` test keeps the recorded messages
//! true; the mended programs are compiled here, without a warning, and run.

#![deny(warnings)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::TokenStream;
use quote::ToTokens;
use thalweg::__private::Detail;
use thalweg_compiler::rust_kernels::{self, Role};
use thalweg_tests::test_name;

/// Says what was tried, past the harness, which keeps what a test that passes prints.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}

/// Makes a module of each mended program, and a table of their `main`s.
macro_rules! mended {
    ($($module:ident: $path:literal,)+) => {
        $(#[path = $path] mod $module;)+

        const MENDED: &[(&str, fn() -> thalweg::Result<()>)] = &[$((stringify!($module), $module::main)),+];
    };
}

mended! {
    tw0101: "../../../book/src/errors/TW0101.rs",
    tw0201: "../../../book/src/errors/TW0201.rs",
    tw0202: "../../../book/src/errors/TW0202.rs",
    tw0203: "../../../book/src/errors/TW0203.rs",
    tw0204: "../../../book/src/errors/TW0204.rs",
    tw0205: "../../../book/src/errors/TW0205.rs",
    tw0206: "../../../book/src/errors/TW0206.rs",
    tw0207: "../../../book/src/errors/TW0207.rs",
    tw0208: "../../../book/src/errors/TW0208.rs",
    tw0209: "../../../book/src/errors/TW0209.rs",
    tw0210: "../../../book/src/errors/TW0210.rs",
    tw0211: "../../../book/src/errors/TW0211.rs",
    tw0212: "../../../book/src/errors/TW0212.rs",
    tw0213: "../../../book/src/errors/TW0213.rs",
    tw0301: "../../../book/src/errors/TW0301.rs",
    tw0302: "../../../book/src/errors/TW0302.rs",
    tw0303: "../../../book/src/errors/TW0303.rs",
    tw0304: "../../../book/src/errors/TW0304.rs",
    tw0305: "../../../book/src/errors/TW0305.rs",
    tw0306: "../../../book/src/errors/TW0306.rs",
    tw0401: "../../../book/src/errors/TW0401.rs",
    tw0402: "../../../book/src/errors/TW0402.rs",
    tw0403: "../../../book/src/errors/TW0403.rs",
    tw0404: "../../../book/src/errors/TW0404.rs",
    tw0405: "../../../book/src/errors/TW0405.rs",
    tw0406: "../../../book/src/errors/TW0406.rs",
    tw0407: "../../../book/src/errors/TW0407.rs",
    tw0408: "../../../book/src/errors/TW0408.rs",
    tw0409: "../../../book/src/errors/TW0409.rs",
    tw0410: "../../../book/src/errors/TW0410.rs",
    tw0411: "../../../book/src/errors/TW0411.rs",
    tw0412: "../../../book/src/errors/TW0412.rs",
    tw0413: "../../../book/src/errors/TW0413.rs",
    tw0414: "../../../book/src/errors/TW0414.rs",
    tw0415: "../../../book/src/errors/TW0415.rs",
    tw0416: "../../../book/src/errors/TW0416.rs",
    tw0417: "../../../book/src/errors/TW0417.rs",
    tw0418: "../../../book/src/errors/TW0418.rs",
    tw0419: "../../../book/src/errors/TW0419.rs",
    tw0420: "../../../book/src/errors/TW0420.rs",
    tw0421: "../../../book/src/errors/TW0421.rs",
    tw0422: "../../../book/src/errors/TW0422.rs",
    tw0423: "../../../book/src/errors/TW0423.rs",
    tw0424: "../../../book/src/errors/TW0424.rs",
    tw0501: "../../../book/src/errors/TW0501.rs",
    tw0502: "../../../book/src/errors/TW0502.rs",
    tw0503: "../../../book/src/errors/TW0503.rs",
    tw0504: "../../../book/src/errors/TW0504.rs",
    tw0505: "../../../book/src/errors/TW0505.rs",
    tw0506: "../../../book/src/errors/TW0506.rs",
    tw0507: "../../../book/src/errors/TW0507.rs",
    tw0508: "../../../book/src/errors/TW0508.rs",
    tw0509: "../../../book/src/errors/TW0509.rs",
    tw0510: "../../../book/src/errors/TW0510.rs",
    tw0511: "../../../book/src/errors/TW0511.rs",
    tw0512: "../../../book/src/errors/TW0512.rs",
    tw0514: "../../../book/src/errors/TW0514.rs",
    tw0515: "../../../book/src/errors/TW0515.rs",
    tw0516: "../../../book/src/errors/TW0516.rs",
    tw0517: "../../../book/src/errors/TW0517.rs",
    tw0601: "../../../book/src/errors/TW0601.rs",
    tw0602: "../../../book/src/errors/TW0602.rs",
    tw0603: "../../../book/src/errors/TW0603.rs",
    tw0604: "../../../book/src/errors/TW0604.rs",
    tw0605: "../../../book/src/errors/TW0605.rs",
    tw0606: "../../../book/src/errors/TW0606.rs",
    tw0607: "../../../book/src/errors/TW0607.rs",
    tw0608: "../../../book/src/errors/TW0608.rs",
    tw0609: "../../../book/src/errors/TW0609.rs",
    tw0610: "../../../book/src/errors/TW0610.rs",
    tw0701: "../../../book/src/errors/TW0701.rs",
    tw0702: "../../../book/src/errors/TW0702.rs",
    tw0703: "../../../book/src/errors/TW0703.rs",
    tw0704: "../../../book/src/errors/TW0704.rs",
    tw0705: "../../../book/src/errors/TW0705.rs",
    tw0706: "../../../book/src/errors/TW0706.rs",
    tw0707: "../../../book/src/errors/TW0707.rs",
    tw0708: "../../../book/src/errors/TW0708.rs",
    tw0709: "../../../book/src/errors/TW0709.rs",
    tw0710: "../../../book/src/errors/TW0710.rs",
    tw0711: "../../../book/src/errors/TW0711.rs",
    tw0712: "../../../book/src/errors/TW0712.rs",
    tw0713: "../../../book/src/errors/TW0713.rs",
    tw0714: "../../../book/src/errors/TW0714.rs",
    tw0715: "../../../book/src/errors/TW0715.rs",
    tw0801: "../../../book/src/errors/TW0801.rs",
    tw0802: "../../../book/src/errors/TW0802.rs",
    tw0803: "../../../book/src/errors/TW0803.rs",
    tw0804: "../../../book/src/errors/TW0804.rs",
    tw0805: "../../../book/src/errors/TW0805.rs",
    tw0806: "../../../book/src/errors/TW0806.rs",
    tw0807: "../../../book/src/errors/TW0807.rs",
    tw0808: "../../../book/src/errors/TW0808.rs",
    tw0809: "../../../book/src/errors/TW0809.rs",
    tw0810: "../../../book/src/errors/TW0810.rs",
    tw0811: "../../../book/src/errors/TW0811.rs",
    tw0901: "../../../book/src/errors/TW0901.rs",
    tw0902: "../../../book/src/errors/TW0902.rs",
    tw0903: "../../../book/src/errors/TW0903.rs",
    tw0904: "../../../book/src/errors/TW0904.rs",
    tw0905: "../../../book/src/errors/TW0905.rs",
    tw0907: "../../../book/src/errors/TW0907.rs",
    tw0908: "../../../book/src/errors/TW0908.rs",
    tw0909: "../../../book/src/errors/TW0909.rs",
    tw0910: "../../../book/src/errors/TW0910.rs",
    tw0911: "../../../book/src/errors/TW0911.rs",
    tw0912: "../../../book/src/errors/TW0912.rs",
    tw0913: "../../../book/src/errors/TW0913.rs",
    tw1001: "../../../book/src/errors/TW1001.rs",
    tw1002: "../../../book/src/errors/TW1002.rs",
    tw1003: "../../../book/src/errors/TW1003.rs",
    tw1004: "../../../book/src/errors/TW1004.rs",
    tw1005: "../../../book/src/errors/TW1005.rs",
    tw1006: "../../../book/src/errors/TW1006.rs",
    tw1007: "../../../book/src/errors/TW1007.rs",
    tw1008: "../../../book/src/errors/TW1008.rs",
}

/// The variable that says which device programs open.
const DEVICE: &str = "THALWEG_DEVICE";

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The codes in a text, `TW` and four digits, in their order.
fn codes(text: &str) -> Vec<String> {
    let is_code = |at: &str| at.len() >= 6 && at.as_bytes()[2..6].iter().all(u8::is_ascii_digit);
    let found = text.match_indices("TW").filter(|&(at, _)| is_code(&text[at..]));
    found.map(|(at, _)| text[at..at + 6].to_owned()).collect()
}

/// The codes that the compiler gives.
fn given() -> BTreeSet<String> {
    fn collect(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the sources can be listed") {
            let path = entry.expect("the sources can be listed").path();
            if path.is_dir() {
                collect(&path, found);
            } else {
                found.extend(codes(&read(&path)));
            }
        }
    }
    let mut found = BTreeSet::new();
    collect(&workspace("macros/compiler/src"), &mut found);
    assert!(found.len() >= 60, "only {found:?}");
    found
}

/// The stems of the index's files.
fn stems(extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(workspace("book/src/errors")).expect("the pages can be listed");
    let paths = entries.map(|entry| entry.expect("the pages can be listed").path());
    let stem = |path: PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.filter(|path| path.extension() == Some(OsStr::new(extension))).map(stem).collect()
}

/// A page of the index.
struct Page {
    code: String,
    /// The programs and texts that the page includes, in their order.
    wrong: Vec<PathBuf>,
    right: Vec<PathBuf>,
}

impl Page {
    /// Reads a page, which must have its parts in their order.
    fn of(code: &str) -> Self {
        let text = read(&workspace("book/src/errors").join(code).with_extension("md"));
        let gist = text.lines().next().and_then(|line| line.strip_prefix(&format!("# {code}: ")));
        assert!(gist.is_some_and(|gist| !gist.is_empty()), "{code} begins with `# {code}: ` and the gist");
        let (why, rest) =
            text.split_once("\n## Wrong\n").unwrap_or_else(|| panic!("{code} has no `## Wrong`"));
        let (wrong, right) =
            rest.split_once("\n## Right\n").unwrap_or_else(|| panic!("{code} has no `## Right`"));
        let headings = text.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(headings, 3, "{code} has the headings of the others");
        let words = |part: &str| prose(part).split_whitespace().count();
        assert!(words(why) >= 40, "{code} explains too little");
        assert!(words(right) > 0, "{code} does not say what was mended");
        assert_eq!(includes(code, why), Vec::<PathBuf>::new(), "{code} explains before it shows");
        Self { code: code.to_owned(), wrong: includes(code, wrong), right: includes(code, right) }
    }

    /// The wrong program and the compiler's message.
    fn misuse(&self) -> (&Path, &Path) {
        let shown: Vec<&Path> = self.wrong.iter().map(PathBuf::as_path).filter(is_no_kernel_source).collect();
        let [program, said] = shown[..] else {
            panic!("{} shows a wrong program and what is said: {shown:?}", self.code)
        };
        assert!(program.starts_with(workspace("tests/ui")), "{} is a case of `ui/`", program.display());
        assert_eq!(program.extension(), Some(OsStr::new("rs")));
        assert_eq!(said, program.with_extension("stderr"), "{} shows what is said of its program", self.code);
        (program, said)
    }

    /// The mended program.
    fn mended(&self) -> &Path {
        let shown: Vec<&Path> = self.right.iter().map(PathBuf::as_path).filter(is_no_kernel_source).collect();
        let [program] = shown[..] else { panic!("{} shows the program mended: {shown:?}", self.code) };
        program
    }
}

fn is_no_kernel_source(path: &&Path) -> bool {
    path.extension() != Some(OsStr::new("cu"))
}

/// The text outside code blocks, without headings.
fn prose(part: &str) -> String {
    let outside = part.split("```").step_by(2).flat_map(str::lines);
    outside.filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// The files that the code blocks include. A block holds nothing else.
fn includes(code: &str, part: &str) -> Vec<PathBuf> {
    let blocks = part.split("```").skip(1).step_by(2);
    let file = |block: &str| {
        let mut lines = block.lines().skip(1);
        let file = lines.next().and_then(|line| line.strip_prefix("{{#include ")?.strip_suffix("}}"));
        let file = file.unwrap_or_else(|| panic!("a block of {code} includes no file: {block}"));
        assert_eq!(lines.next(), None, "a block of {code} has more than a file");
        let (path, lines) = file.split_once(':').unwrap_or((file, ""));
        // The first line of a case says what is misused, for the tests' readers, and the second is empty.
        let expected = if path.contains("/ui/") && path.ends_with(".rs") { "3:" } else { "" };
        assert_eq!(lines, expected, "{file} in {code}");
        workspace("").join(relative(path, code))
    };
    blocks.map(file).collect()
}

/// The path from the workspace's folder of a file that a page includes.
fn relative(path: &str, code: &str) -> PathBuf {
    let mut from_root: Vec<&str> = vec!["book", "src", "errors"];
    for part in path.split('/') {
        match part {
            ".." => assert!(from_root.pop().is_some(), "{path} in {code} leaves the workspace"),
            _ => from_root.push(part),
        }
    }
    from_root.iter().collect()
}

/// The codes in what the macros of a program expand to.
fn expanded(program: &Path) -> BTreeSet<String> {
    let file =
        syn::parse_file(&read(program)).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let source = |path: &syn::LitStr| {
        let path = program.with_file_name(path.value());
        std::fs::read(&path).map_err(|error| error.to_string())
    };
    let mut found = BTreeSet::new();
    for item in file.items {
        let tokens = match item {
            syn::Item::Macro(call) if call.mac.path.is_ident("stream_pipeline") => {
                thalweg_compiler::stream_pipeline(call.mac.tokens)
            }
            syn::Item::ForeignMod(mut block) => {
                let at = block.attrs.iter().position(|attribute| attribute.path().is_ident("kernels"));
                let Some(at) = at else { continue };
                let arguments = match block.attrs.remove(at).meta {
                    syn::Meta::List(list) => list.tokens,
                    _ => TokenStream::new(),
                };
                thalweg_compiler::kernels::expand(arguments, block.into_token_stream(), &source)
            }
            syn::Item::Fn(mut function) => {
                let roles = [("kernel", Role::Kernel), ("device", Role::Device)];
                let attribute = roles.into_iter().find_map(|(name, role)| {
                    let of = |attribute: &syn::Attribute| attribute.path().is_ident(name);
                    Some((function.attrs.iter().position(of)?, role))
                });
                let Some((at, role)) = attribute else { continue };
                let arguments = match function.attrs.remove(at).meta {
                    syn::Meta::List(list) => list.tokens,
                    _ => TokenStream::new(),
                };
                rust_kernels::expand(role, arguments, function.into_token_stream())
            }
            _ => continue,
        };
        found.extend(codes(&tokens.to_string()));
    }
    found
}

/// Checks that a list holds the expected entries, in that order, and says how it differs.
#[track_caller]
fn same<'a>(what: &str, found: impl IntoIterator<Item = &'a str>, wanted: impl IntoIterator<Item = &'a str>) {
    let (found, wanted): (Vec<_>, Vec<_>) = (found.into_iter().collect(), wanted.into_iter().collect());
    let missing: Vec<_> = wanted.iter().filter(|one| !found.contains(one)).collect();
    let stale: Vec<_> = found.iter().filter(|one| !wanted.contains(one)).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "{what}: {missing:?} are missing, {stale:?} are too many"
    );
    assert_eq!(found, wanted, "{what}: one stands twice, or the order is another");
}

#[test]
fn every_code_has_a_page() {
    let given = given();
    say!("{} diagnostic codes, each with a page", given.len());
    same(
        "the pages in `book/src/errors`",
        stems("md").iter().map(String::as_str),
        given.iter().map(String::as_str),
    );

    let pages: Vec<String> = given.iter().map(|code| format!("[{code}](errors/{code}.md)")).collect();
    let pages = || pages.iter().map(String::as_str);
    let table = read(&workspace("book/src/diagnostics.md"));
    let first_cells =
        table.lines().filter_map(|row| row.strip_prefix("| ")?.split_once(" | ")).map(|(cell, _)| cell);
    same("the rows of `diagnostics.md`", first_cells.filter(|cell| !codes(cell).is_empty()), pages());

    let summary = read(&workspace("book/src/SUMMARY.md"));
    let (_, after) = summary.split_once("- [Diagnostics](diagnostics.md)\n").expect("the chapter");
    let children: Vec<_> = after.lines().map_while(|line| line.strip_prefix("  - ")).collect();
    // `[TW0201 unordered access](errors/TW0201.md)`: the sidebar says what a code means, in a few words.
    let unnamed = |child: &&str| {
        let name = child.split_once(' ').and_then(|(_, after)| after.split_once(']'));
        name.is_none_or(|(name, _)| name.is_empty() || name.len() > 32)
    };
    assert_eq!(children.iter().find(|child| unnamed(child)), None);
    let without_names: Vec<_> = children
        .iter()
        .map(|child| match (child.split_once(' '), child.split_once(']')) {
            (Some((code, _)), Some((_, target))) => format!("{code}]{target}"),
            _ => (*child).to_owned(),
        })
        .collect();
    let children = without_names.iter().map(String::as_str);
    same("what is below `Diagnostics` in `SUMMARY.md`", children, pages());
}

#[test]
fn every_page_has_its_parts() {
    for code in given() {
        let page = Page::of(&code);
        for file in page.wrong.iter().chain(&page.right) {
            assert!(file.is_file(), "{code} includes {}", file.display());
        }
        let (program, _) = page.misuse();
        assert_eq!(read(program).lines().nth(1), Some(""), "the second line of {}", program.display());
        assert_eq!(page.mended(), workspace("book/src/errors").join(&code).with_extension("rs"));
    }
}

#[test]
fn every_wrong_program_gives_its_code() {
    for code in given() {
        let page = Page::of(&code);
        let (program, said) = page.misuse();
        let only = BTreeSet::from([code]);
        assert_eq!(codes(&read(said)).into_iter().collect::<BTreeSet<_>>(), only, "{}", said.display());
        assert_eq!(expanded(program), only, "the expansion of {}", program.display());
    }
}

#[test]
fn every_mended_program_is_compiled() {
    let compiled: Vec<String> = MENDED.iter().map(|(module, _)| module.to_uppercase()).collect();
    same("`mended!` above", compiled.iter().map(String::as_str), stems("rs").iter().map(String::as_str));
}

#[test]
fn every_mended_program_runs() {
    if std::env::var_os(DEVICE).is_none_or(|device| device != "sim") {
        // Only another process can be told to open another device.
        let program = std::env::current_exe().expect("this program");
        let again = ["--exact", &test_name(module_path!(), "every_mended_program_runs"), "--nocapture"];
        let status =
            Command::new(program).args(again).env(DEVICE, "sim").status().expect("this program starts");
        assert!(status.success());
        return;
    }
    let mut ran = 0;
    for (module, main) in MENDED {
        let code = module.to_uppercase();
        let source = read(&workspace("book/src/errors").join(&code).with_extension("rs"));
        match main() {
            Ok(()) => ran += 1,
            // Pages about the declaration of a kernel leave its host body out.
            Err(error) if matches!(error.detail(), Detail::NoHostBody { .. }) => {
                assert!(source.contains("#[kernels(") && !source.contains("#[host("), "{code}: {error}");
            }
            Err(error) => panic!("{code}: {error}"),
        }
    }
    println!("{ran} of {} programs ran; the others' kernels have no host body", MENDED.len());
    assert!(ran >= 45, "only {ran}");
}
