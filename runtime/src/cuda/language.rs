//! Headers that stand for those of C and C++ that kernels use. NVRTC has none of them.
//!
//! They define names that NVRTC does not have built in: types, limits, constants, and the names in `std`. A
//! header in a program's own folders comes before these, and these come before the toolkit's folders, which
//! may be a system's.

use crate::kernel::Header;

/// Where they are in the tree that is written for NVRTC.
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

/// The header that is included by this name.
pub(super) fn find(name: &str) -> Option<&'static Header> {
    HEADERS.iter().find(|header| header.path == name)
}
