//! The headers of PTX, cubins and fatbins, as far as an error needs them, and a load must not run past the
//! end of the file.

use std::fmt;

/// `\x7fELF`: a cubin.
const ELF: &[u8] = b"\x7fELF";
/// The first bytes of a fatbin.
const FATBIN: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
/// `EM_CUDA`
const CUDA: u16 = 190;
/// `SHT_NOBITS`: a section of no bytes in the file.
const NO_BITS: u32 = 8;

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Image {
    /// PTX, as text.
    Ptx {
        /// Its `.version`, such as `8.8`.
        version: String,
        /// Its `.target`, such as 90 for `sm_90`.
        target: Option<u32>,
    },
    /// Code for one architecture, such as 90 for `sm_90`.
    Cubin(u32),
    /// Several images: the architecture of each, and whether it is PTX.
    Fatbin(Vec<(u32, bool)>),
}

impl Image {
    /// Reads the headers, and checks that all parts that they describe lie within the file, since the driver
    /// is not told its length.
    ///
    /// # Errors
    /// The description of the problem.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        const CUT_OFF: &str = "it is cut off";
        if bytes.is_empty() {
            Err("it is empty")
        } else if bytes.starts_with(ELF) {
            let elf = Elf::new(bytes).ok_or(CUT_OFF)?;
            match elf.machine {
                CUDA if elf.is_whole() => Ok(Self::Cubin(elf.architecture())),
                CUDA => Err(CUT_OFF),
                _ => Err("it is an object file, but not for a GPU"),
            }
        } else if bytes.starts_with(&FATBIN) {
            fatbin(bytes).map(Self::Fatbin).ok_or(CUT_OFF)
        } else {
            ptx(bytes).ok_or("it is neither PTX nor a cubin nor a fatbin")
        }
    }

    /// Whether no device of this compute capability can run it.
    pub(super) fn is_for_others(&self, (major, minor): (u32, u32)) -> bool {
        let own = major * 10 + minor;
        // Code runs on later devices of the same generation, PTX on all later ones.
        let runs =
            |architecture: u32, ptx: bool| architecture <= own && (ptx || architecture / 10 == own / 10);
        match self {
            Self::Ptx { target, .. } => target.is_some_and(|target| !runs(target, true)),
            Self::Cubin(architecture) => !runs(*architecture, false),
            Self::Fatbin(parts) => !parts.iter().any(|&(architecture, ptx)| runs(architecture, ptx)),
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |architecture: u32, ptx: bool| {
            let what = if ptx { "PTX" } else { "code" };
            format!("{what} for sm_{architecture}")
        };
        match self {
            Self::Ptx { version, target: None } => write!(f, "PTX {version}"),
            Self::Ptx { target: Some(target), .. } => f.write_str(&part(*target, true)),
            Self::Cubin(architecture) => f.write_str(&part(*architecture, false)),
            Self::Fatbin(parts) if parts.is_empty() => f.write_str("nothing"),
            Self::Fatbin(parts) => {
                let parts: Vec<_> =
                    parts.iter().map(|&(architecture, ptx)| part(architecture, ptx)).collect();
                f.write_str(&parts.join(", "))
            }
        }
    }
}

/// The content of an image, as an error states it.
///
/// # Errors
/// The description of the problem.
#[doc(hidden)]
pub fn held_by(image: &[u8]) -> Result<String, &'static str> {
    Image::read(image).map(|image| image.to_string())
}

/// The kernels of a cubin or of PTX, by the names that the driver knows.
#[doc(hidden)]
pub fn kernels_in(image: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match Elf::new(image) {
        Some(elf) => {
            let names = elf.names().unwrap_or_default().into_iter();
            names.filter_map(|name| name.strip_prefix(b".nv.info.")).map(text).collect()
        }
        None => {
            let image = text(image);
            let entries = image.split(".entry ").skip(1);
            entries.map(|entry| entry.split(['(', '\n', ' ']).next().unwrap_or("").to_owned()).collect()
        }
    }
}

fn ptx(bytes: &[u8]) -> Option<Image> {
    // A NUL ends the text. Anything after it is never read.
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
    let directive =
        |name: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(name)).map(str::trim);
    let version = directive(".version")?.split_whitespace().next()?.to_owned();
    let target = directive(".target").and_then(|target| target.strip_prefix("sm_"));
    let digits = |target: &str| target.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    (!text.contains('\0')).then(|| Image::Ptx { version, target: target.and_then(digits) })
}

/// The header has its own size at 6 and that of all parts at 8. Each part has a header: the kind (1 is PTX)
/// at 0, the header's size at 4, the part's at 8, the architecture at 28. A header is large enough for
/// everything that is read of it.
fn fatbin(bytes: &[u8]) -> Option<Vec<(u32, bool)>> {
    let size = usize::try_from(u64_at(bytes, 8)?).ok()?;
    let mut at = usize::from(u16_at(bytes, 6)?);
    let bytes = bytes.get(..at.checked_add(size)?).filter(|_| at >= 16)?;
    let mut parts = Vec::new();
    while at < bytes.len() {
        let part = &bytes[at..];
        let header = usize::try_from(u32_at(part, 4)?).ok()?;
        let payload = usize::try_from(u64_at(part, 8)?).ok()?;
        parts.push((u32_at(part, 28)?, u16_at(part, 0)? == 1));
        let next = header.checked_add(payload)?;
        if header < 32 || next > part.len() {
            return None;
        }
        at += next;
    }
    Some(parts)
}

/// A 64-bit little-endian ELF file, the format of cubins.
struct Elf<'a> {
    bytes: &'a [u8],
    machine: u16,
}

/// A section: its type, the place of its name, and its bytes in the file.
struct Section {
    kind: u32,
    name: u32,
    start: u64,
    size: u64,
}

impl<'a> Elf<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let is_elf = bytes.len() >= 64 && bytes.starts_with(ELF) && bytes[4] == 2 && bytes[5] == 1;
        is_elf.then(|| u16_at(bytes, 18).map(|machine| Self { bytes, machine }))?
    }

    /// The architecture. Since version 8 of CUDA's binary interface it is in the second byte of the flags,
    /// before in the first.
    fn architecture(&self) -> u32 {
        let flags = u32_at(self.bytes, 48).unwrap_or(0);
        if self.bytes[8] >= 8 { flags >> 8 & 0xff } else { flags & 0xff }
    }

    fn sections(&self) -> Option<Vec<Section>> {
        let headers =
            self.table::<64>(u64_at(self.bytes, 40)?, u16_at(self.bytes, 58)?, u16_at(self.bytes, 60)?);
        headers?
            .into_iter()
            .map(|header| {
                Some(Section {
                    name: u32_at(header, 0)?,
                    kind: u32_at(header, 4)?,
                    start: u64_at(header, 24)?,
                    size: u64_at(header, 32)?,
                })
            })
            .collect()
    }

    /// `count` headers of `LEN` bytes from `start` on, one every `step` bytes; `None` if they are not whole.
    /// Headers do not overlap.
    fn table<const LEN: usize>(&self, start: u64, step: u16, count: u16) -> Option<Vec<&'a [u8; LEN]>> {
        let start = usize::try_from(start).ok()?;
        if count > 0 && usize::from(step) < LEN {
            return None;
        }
        let header = |index: usize| {
            let from = start.checked_add(index * usize::from(step))?;
            self.bytes.get(from..)?.first_chunk()
        };
        (0..usize::from(count)).map(header).collect()
    }

    /// The names of the sections that have one.
    fn names(&self) -> Option<Vec<&'a [u8]>> {
        let sections = self.sections()?;
        let names = sections.get(usize::from(u16_at(self.bytes, 62)?))?;
        let name = |section: &Section| {
            let start = usize::try_from(names.start.checked_add(section.name.into())?).ok()?;
            let name = self.bytes.get(start..)?;
            Some(&name[..name.iter().position(|&byte| byte == 0)?])
        };
        Some(sections.iter().filter_map(name).collect())
    }

    /// Whether every section and segment lies within the file.
    fn is_whole(&self) -> bool {
        let bytes = self.bytes;
        let within =
            |start: u64, size: u64| start.checked_add(size).is_some_and(|end| end <= bytes.len() as u64);
        let segments = || {
            let headers = self.table::<56>(u64_at(bytes, 32)?, u16_at(bytes, 54)?, u16_at(bytes, 56)?)?;
            let ranges = headers.into_iter().map(|header| Some((u64_at(header, 8)?, u64_at(header, 32)?)));
            ranges.collect::<Option<Vec<_>>>()
        };
        let sections = self.sections().is_some_and(|sections| {
            sections.iter().all(|section| section.kind == NO_BITS || within(section.start, section.size))
        });
        sections
            && segments()
                .is_some_and(|segments| segments.into_iter().all(|(start, size)| within(start, size)))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fatbin with the layout of CUDA's `fatbinary`, of parts `(kind, architecture)` with a payload of 24
    /// bytes each.
    fn fatbin_of(parts: &[(u16, u32)]) -> Vec<u8> {
        let mut body = Vec::new();
        for &(kind, architecture) in parts {
            let mut header = [0_u8; 64];
            header[..2].copy_from_slice(&kind.to_le_bytes());
            header[4..8].copy_from_slice(&64_u32.to_le_bytes());
            header[8..16].copy_from_slice(&24_u64.to_le_bytes());
            header[28..32].copy_from_slice(&architecture.to_le_bytes());
            body.extend_from_slice(&header);
            body.extend_from_slice(&[0; 24]);
        }
        let mut bytes = FATBIN.to_vec();
        bytes.extend_from_slice(&1_u16.to_le_bytes());
        bytes.extend_from_slice(&16_u16.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    #[test]
    fn a_fatbin_says_what_it_holds() {
        let bytes = fatbin_of(&[(2, 80), (2, 90), (1, 80)]);
        let image = Image::read(&bytes).expect("it is whole");
        assert_eq!(image.to_string(), "code for sm_80, code for sm_90, PTX for sm_80");
        assert!(image.is_for_others((7, 5)) && !image.is_for_others((8, 6)) && !image.is_for_others((12, 0)));
        for cut in 0..bytes.len() {
            assert!(Image::read(&bytes[..cut]).is_err(), "{cut} bytes");
        }
        let mut endless = bytes;
        // The part has no bytes.
        endless[20..24].copy_from_slice(&[0; 4]);
        endless[24..32].copy_from_slice(&[0; 8]);
        assert_eq!(Image::read(&endless), Err("it is cut off"));
    }

    #[test]
    fn headers_of_a_fatbin_are_whole() {
        let mut headless = fatbin_of(&[]);
        headless[6..8].copy_from_slice(&[0; 2]);
        assert_eq!(Image::read(&headless), Err("it is cut off"));
        // The architecture of each of the first parts would be in the next part.
        let mut short = fatbin_of(&[]);
        for header in [16_u32, 16, 32] {
            short.extend([[0; 4], header.to_le_bytes(), [0; 4], [0; 4]].concat());
        }
        short.extend([0; 16]);
        short[8..16].copy_from_slice(&64_u64.to_le_bytes());
        assert_eq!(Image::read(&short), Err("it is cut off"));
    }

    /// Two sections and a segment, whose headers come last.
    #[test]
    fn a_cubin_that_is_cut_off_anywhere_is_refused() {
        let mut bytes = ELF.to_vec();
        bytes.resize(64, 0);
        (bytes[4], bytes[5], bytes[8]) = (2, 1, 8);
        bytes[18..20].copy_from_slice(&CUDA.to_le_bytes());
        bytes[48..52].copy_from_slice(&(90_u32 << 8).to_le_bytes());
        for (at, size, count, table) in [(54, 56_u16, 1_u16, 64_u64), (58, 64, 2, 120)] {
            bytes[at..at + 2].copy_from_slice(&size.to_le_bytes());
            bytes[at + 2..at + 4].copy_from_slice(&count.to_le_bytes());
            let place = if at == 54 { 32 } else { 40 };
            bytes[place..place + 8].copy_from_slice(&table.to_le_bytes());
        }
        bytes.resize(120 + 2 * 64, 0);
        assert_eq!(Image::read(&bytes), Ok(Image::Cubin(90)));
        for cut in 4..bytes.len() {
            assert_eq!(Image::read(&bytes[..cut]), Err("it is cut off"), "{cut} bytes");
        }
        // These headers claim to be shorter than they are.
        for (place, size) in [(54, 55_u16), (58, 63)] {
            let mut lie = bytes.clone();
            lie[place..place + 2].copy_from_slice(&size.to_le_bytes());
            assert_eq!(Image::read(&lie), Err("it is cut off"));
        }
    }

    #[test]
    fn code_is_for_its_generation_and_ptx_for_later_ones() {
        let cubin = Image::Cubin(80);
        assert!(!cubin.is_for_others((8, 9)) && cubin.is_for_others((9, 0)) && cubin.is_for_others((7, 5)));
        let ptx = Image::read(b"//\n.version 8.0\n.target sm_90a, debug\n").expect("PTX");
        assert_eq!(ptx, Image::Ptx { version: "8.0".to_owned(), target: Some(90) });
        assert!(!ptx.is_for_others((10, 0)) && ptx.is_for_others((8, 9)));
    }
}
