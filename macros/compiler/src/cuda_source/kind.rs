//! The kind of a source file, by its name and by its bytes.

use super::{cubin, ptx};

/// A kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Cuda,
    Ptx,
    Cubin,
    Fatbin,
}

impl Kind {
    /// The kind by the ending of a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        match ending {
            "cu" | "cuh" => Some(Self::Cuda),
            "ptx" => Some(Self::Ptx),
            "cubin" => Some(Self::Cubin),
            "fatbin" => Some(Self::Fatbin),
            _ => None,
        }
    }

    /// The ending of such a file, with its dot.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Cuda => ".cu",
            Self::Ptx => ".ptx",
            Self::Cubin => ".cubin",
            Self::Fatbin => ".fatbin",
        }
    }

    /// The kind by a file's contents; none for bytes that are neither text nor a known format.
    pub(crate) fn in_bytes(bytes: &[u8]) -> Option<Self> {
        const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
        if cubin::is_cubin(bytes) {
            Some(Self::Cubin)
        } else if bytes.starts_with(&FATBIN) {
            Some(Self::Fatbin)
        } else if bytes.starts_with(b"\x7fELF") {
            None
        } else {
            let text = std::str::from_utf8(bytes).ok()?;
            // PTX that a program wrote may end in NUL characters; no other text has them.
            match text.trim_end_matches('\0') {
                inside if inside.contains('\0') => None,
                inside if ptx::is_ptx(inside) => Some(Self::Ptx),
                inside => (inside.len() == text.len()).then_some(Self::Cuda),
            }
        }
    }
}

/// The line, from 1, where a text in another encoding is not UTF-8.
pub(crate) fn not_utf8(bytes: &[u8]) -> Option<usize> {
    let utf16 = [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| bytes.starts_with(*mark));
    let is_text = utf16 || !(bytes.contains(&0) || cubin::is_cubin(bytes));
    let valid = std::str::from_utf8(bytes).err().filter(|_| is_text)?.valid_up_to();
    Some(1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count())
}
