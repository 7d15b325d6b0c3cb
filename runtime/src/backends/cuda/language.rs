//! Headers in place of those of C and C++ that kernels use. NVRTC has none of them.
//!
//! They define names that are not built into NVRTC: types, limits, constants, and the names in `std`. A
//! header in a program's own folders comes before these, and these come before the toolkit's folders, which
//! may be a system's.

use crate::base::kernel::Header;

/// The folder of these headers in the tree that is written for NVRTC.
pub(super) const FOLDER: &str = "thalweg-language";

macro_rules! headers {
    ($($name:literal)*) => {
        [$(Header { path: $name, text: include_str!(concat!("language/", $name)) }),*]
    };
}

pub(super) static HEADERS: [Header; 20] = headers! {
    "assert.h" "float.h" "limits.h" "math.h" "stdbool.h" "stddef.h" "stdint.h" "stdio.h" "stdlib.h" "string.h"
    "cassert" "cfloat" "climits" "cmath" "cstdbool" "cstddef" "cstdint" "cstdio" "cstdlib" "cstring"
};

/// The headers to include, if the compiler does not know names that these headers define.
pub(super) fn explain(log: &str) -> Option<String> {
    let undefined = log.lines().filter_map(|line| {
        let (_, name) = line.split_once("identifier \"")?;
        name.split_once("\" is undefined").map(|(name, _)| name)
    });
    // The names by header, each once.
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for name in undefined {
        let Some(header) = HEADERS.iter().find(|header| header.path.ends_with(".h") && defines(header, name))
        else {
            continue;
        };
        let name = format!("`{name}`");
        match found.iter_mut().find(|(path, _)| *path == header.path) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => found.push((header.path, vec![name])),
        }
    }
    let helps =
        found.iter().map(|(path, names)| format!("help: `#include <{path}>` for {}", names.join(", ")));
    let helps: Vec<_> = helps.collect();
    (!helps.is_empty()).then(|| helps.join("\n"))
}

/// Whether a header defines a macro or a type of this name.
fn defines(header: &Header, name: &str) -> bool {
    header.text.lines().any(|line| {
        let line = line.trim();
        match (line.strip_prefix("#define "), line.strip_prefix("typedef ")) {
            (Some(rest), _) => rest.split([' ', '(']).next() == Some(name),
            (_, Some(rest)) => rest.trim_end_matches(';').split(' ').next_back() == Some(name),
            _ => false,
        }
    })
}

/// The header of this name.
pub(super) fn find(name: &str) -> Option<&'static Header> {
    HEADERS.iter().find(|header| header.path == name)
}
