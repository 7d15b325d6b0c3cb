//! Reads kernels and variables from a cubin, which is an ELF file of 64 bits.

use std::collections::BTreeMap;

use super::image::{Image, ImageKernel, ImageParameter, ImageVariable};

const MACHINE: u16 = 190;
const SYMBOLS: u32 = 2;
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;
/// `STO_CUDA_ENTRY` in a symbol's `st_other`.
const ENTRY: u8 = 0x10;
/// `EIATTR_KPARAM_INFO`: one parameter.
const PARAMETER: u8 = 0x17;
/// `EIATTR_KPARAM_INFO_V2`: one parameter of a kernel that takes more than 4 KiB.
const LARGE_PARAMETER: u8 = 0x45;
/// `EIATTR_CTA_PER_CLUSTER`: `__cluster_dims__`.
const CLUSTER: u8 = 0x3d;
/// `EIATTR_MAX_THREADS`: `__launch_bounds__`.
const MAX_THREADS: u8 = 0x05;
/// Bytes of a section's header.
const HEADER: usize = 64;
/// `EIFMT_SVAL`: as many bytes follow as the entry says; others have none.
const SIZED: u8 = 4;

/// Whether the bytes are an ELF file for NVIDIA's machines.
pub(super) fn is_cubin(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF\x02") && u16_at(bytes, 18) == Some(MACHINE)
}

/// Reads a cubin; none where it is cut short or nonsense.
pub(crate) fn read(bytes: &[u8]) -> Option<Image> {
    let table = usize::try_from(u64_at(bytes, 40)?).ok()?;
    let (size, count) = (usize::from(u16_at(bytes, 58)?), usize::from(u16_at(bytes, 60)?));
    // Headers do not overlap.
    if count > 0 && size < HEADER {
        return None;
    }
    let sections = (0..count).map(|at| Section::read(bytes, table.checked_add(at.checked_mul(size)?)?));
    let sections: Vec<Section<'_>> = sections.collect::<Option<_>>()?;
    let names = sections.get(usize::from(u16_at(bytes, 62)?))?.bytes;
    let by_name: BTreeMap<&str, &[u8]> =
        sections.iter().filter_map(|section| Some((text_at(names, section.name)?, section.bytes))).collect();
    let mut image = Image::default();
    // There is one table of symbols at most.
    if let Some(table) = sections.iter().find(|section| section.kind == SYMBOLS) {
        let strings = sections.get(table.link)?.bytes;
        for symbol in table.bytes.chunks_exact(24) {
            let name = text_at(strings, u32_at(symbol, 0)?)?;
            let kind = symbol[4] & 0xf;
            // Section 0 stands for no section: the symbol is another file's.
            if name.is_empty() || u16_at(symbol, 6)? == 0 {
                continue;
            }
            if kind == FUNCTION && symbol[5] & ENTRY != 0 {
                let info = by_name.get(format!(".nv.info.{name}").as_str()).copied().unwrap_or_default();
                image.kernels.push(kernel(name, info));
            } else if kind == OBJECT {
                let size = Some(u64_at(symbol, 16)?);
                image.variables.push(ImageVariable { name: name.to_owned(), size, line: None });
            }
        }
    }
    Some(image)
}

struct Section<'a> {
    name: u32,
    kind: u32,
    link: usize,
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    fn read(file: &'a [u8], at: usize) -> Option<Self> {
        const NO_BITS: u32 = 8;
        let header = file.get(at..at.checked_add(HEADER)?)?;
        let kind = u32_at(header, 4)?;
        let offset = usize::try_from(u64_at(header, 24)?).ok()?;
        let size = if kind == NO_BITS { 0 } else { usize::try_from(u64_at(header, 32)?).ok()? };
        let bytes = if size == 0 { &[] } else { file.get(offset..offset.checked_add(size)?)? };
        Some(Self { name: u32_at(header, 0)?, kind, link: u32_at(header, 40)? as usize, bytes })
    }
}

/// The kernel that the entries of `.nv.info.<kernel>` describe.
fn kernel(name: &str, info: &[u8]) -> ImageKernel {
    let mut kernel = ImageKernel { name: name.to_owned(), ..ImageKernel::default() };
    let mut sizes = BTreeMap::new();
    let mut rest = info;
    while let [format, attribute, tail @ ..] = rest {
        let Some(length) = u16_at(tail, 0).map(usize::from) else { break };
        let (value, behind) = match (*format, tail.get(2..)) {
            (SIZED, Some(tail)) if tail.len() >= length => tail.split_at(length),
            (SIZED, _) => break,
            (_, tail) => (&[][..], tail.unwrap_or_default()),
        };
        let dims = || Some([u32_at(value, 0)?, u32_at(value, 4)?, u32_at(value, 8)?]);
        match (*attribute, u16_at(value, 4)) {
            // The last word has the size above 18 bits of other things.
            (PARAMETER, Some(ordinal)) => {
                sizes.extend(u32_at(value, 8).map(|packed| (ordinal, u64::from(packed >> 18))));
            }
            (LARGE_PARAMETER, Some(ordinal)) => {
                sizes.extend(u16_at(value, 8).map(|size| (ordinal, u64::from(size))));
            }
            (MAX_THREADS, _) => {
                let product = |[x, y, z]: [u32; 3]| x.checked_mul(y)?.checked_mul(z);
                kernel.max_threads_per_block = dims().and_then(product).filter(|&threads| threads > 0);
            }
            (CLUSTER, _) => kernel.cluster = dims(),
            _ => {}
        }
        rest = behind;
    }
    // If one of them is missing, nothing is known.
    let in_order = sizes.keys().map(|&ordinal| usize::from(ordinal)).eq(0..sizes.len());
    let parameters = sizes.values().map(|&size| ImageParameter { size, line: None });
    kernel.parameters = (in_order && !sizes.is_empty()).then(|| parameters.collect());
    kernel
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

fn text_at(strings: &[u8], at: u32) -> Option<&str> {
    let bytes = strings.get(usize::try_from(at).ok()?..)?;
    let end = bytes.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&bytes[..end]).ok()
}
