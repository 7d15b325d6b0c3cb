//! The table, the numbers and the configuration, held against `nccl.h`.

use std::collections::BTreeMap;
use std::fs;

use super::sys::{FIELDS, NUMBERS, SIGNATURES};

/// A header without its comments, on one line.
fn without_comments(header: &str) -> String {
    let mut text = String::new();
    let mut rest = header;
    while let Some(start) = rest.find("/*") {
        text.push_str(&rest[..start]);
        rest = rest[start..].find("*/").map_or("", |end| &rest[start + end + 2..]);
    }
    text.push_str(rest);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The type of a parameter or a field in Rust, without its name.
fn in_rust(declaration: &str) -> String {
    let declaration = declaration.trim();
    let stars = declaration.matches('*').count();
    let words: Vec<_> =
        declaration.split(|c: char| c.is_whitespace() || c == '*').filter(|word| !word.is_empty()).collect();
    let (is_const, words) = match words.split_first() {
        Some((&"const", rest)) => (true, rest),
        _ => (false, &words[..]),
    };
    let is_unsigned = words.first() == Some(&"unsigned");
    let name = match (words[usize::from(is_unsigned)], is_unsigned) {
        ("int", true) => "c_uint",
        ("int", false) => "c_int",
        ("char", false) => "c_char",
        ("void", false) => "c_void",
        ("size_t", false) => "usize",
        (other, _) => other,
    };
    match (stars, is_const) {
        (0, _) => name.to_owned(),
        (1, true) => format!("*const {name}"),
        (1, false) => format!("*mut {name}"),
        _ => format!("{stars} stars of {name}"),
    }
}

/// The parameters of each function.
fn functions(header: &str) -> BTreeMap<&str, Vec<String>> {
    let mut found = BTreeMap::new();
    for declaration in header.split(';') {
        // Lines of the preprocessor, and what is not of this kind, may come before it.
        let Some(start) = declaration.find("\nncclResult_t ") else { continue };
        let declaration = &declaration[start + "\nncclResult_t ".len()..];
        let Some((name, parameters)) = declaration.split_once('(') else { continue };
        let Some((parameters, _)) = parameters.split_once(')') else { continue };
        let parameters = parameters.split(',').filter(|parameter| !["", "void"].contains(&parameter.trim()));
        found.insert(name.trim(), parameters.map(in_rust).collect());
    }
    found
}

/// The value of an enumerator or a definition.
fn value(header: &str, name: &str) -> Option<u64> {
    let mut words =
        header.split(|c: char| c.is_whitespace() || "{},=".contains(c)).filter(|word| !word.is_empty());
    words.find(|word| *word == name)?;
    let value = words.next()?;
    value.strip_prefix("0x").map_or_else(|| value.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

/// The fields of the configuration, in order.
fn fields(header: &str) -> Vec<(String, String)> {
    let start = header.find("typedef struct ncclConfig").expect("the configuration");
    let body = header[start..].split_once('{').expect("its body").1.split_once('}').expect("its end").0;
    let field = |declaration: &str| {
        let name = declaration.rsplit(|c: char| c.is_whitespace() || c == '*').next()?;
        (!name.is_empty()).then(|| (name.to_owned(), in_rust(declaration)))
    };
    body.split(';').map(str::trim).filter_map(field).collect()
}

fn compare(header: &str) {
    let header = without_comments(header);
    let theirs = functions(&header);
    for (name, parameters) in SIGNATURES {
        let theirs = theirs.get(name).unwrap_or_else(|| panic!("the header has no `{name}`"));
        assert_eq!(theirs, parameters, "{name}");
    }
    for (name, own) in NUMBERS {
        // Before 2.29 this number had no name.
        let named = value(&header, name).or_else(|| header.contains("0xcafebeef").then_some(0xcafe_beef));
        assert_eq!(named, Some(*own), "{name}");
    }
    let own: Vec<_> = FIELDS.iter().map(|(name, field)| ((*name).to_owned(), (*field).to_owned())).collect();
    let theirs = fields(&header);
    assert!(theirs.starts_with(&own), "{own:?} is not the beginning of {theirs:?}");
}

#[test]
#[ignore = "needs nccl.h"]
fn the_table_is_that_of_the_header() {
    let header = std::env::var_os("NCCL_HEADER").expect("`NCCL_HEADER` names the file `nccl.h`");
    compare(&fs::read_to_string(header).expect("the header"));
}

#[test]
fn a_header_is_read() {
    let header = "/* nothing; */\ntypedef enum { ncclSum = 0,\n  ncclMax  = 2 } ncclRedOp_t;\n#define MAGIC 0xcafe\n\
                  typedef struct ncclConfig_v3 {\n size_t size;\n // no field;\n const char *name;\n unsigned int magic;\n} c;\n\
                  ncclResult_t  ncclA(const void* from, ncclComm_t* comm,\n    size_t count);\nncclResult_t pncclA();\n\
                  ncclResult_t ncclB(void);";
    let header = without_comments(header);
    let found = functions(&header);
    assert_eq!(found["ncclA"], ["*const c_void", "*mut ncclComm_t", "usize"]);
    assert!(found["ncclB"].is_empty());
    assert_eq!(
        ["ncclMax", "MAGIC", "ncclSum", "none"].map(|name| value(&header, name)),
        [Some(2), Some(0xcafe), Some(0), None]
    );
    let names: Vec<_> = fields(&header).into_iter().map(|(name, field)| format!("{name}: {field}")).collect();
    assert_eq!(names, ["size: usize", "name: *const c_char", "magic: c_uint"]);
}
