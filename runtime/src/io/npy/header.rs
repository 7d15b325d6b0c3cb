//! The header of a `.npy` file:
//! `magic, version, length, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
//!
//! Source: NumPy, `numpy.lib.format`. The parser knows no Python, only the three keys and their possible
//! values: nothing is nested, so there is no depth, and only the text and the dimensions are allocated.

use std::io::{self, ErrorKind, Read};

use super::super::Scalar;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
// Note 32: three keys need no parser of Python.
/// The longest header that is read, in bytes. Longer ones describe records, which no pipeline reads.
const LONGEST: usize = 1 << 20;
/// The number of digits that NumPy leaves room for in the first dimension.
const DIGITS: usize = 21;
/// The alignment of the data, in bytes.
const ALIGNED: usize = 64;

pub(super) const TOO_LARGE: &str = "its shape is larger than any file";

const ORDER: char = if cfg!(target_endian = "big") { '>' } else { '<' };

/// The contents of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) elements: u64,
    /// The offset of the data, in bytes.
    pub(super) data: usize,
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message.into())
}

impl Header {
    /// Reads up to the data. Data other than `T`s in C order are an error.
    pub(super) fn read<T: Scalar>(reader: &mut impl Read) -> io::Result<Self> {
        let (text, data) = text(reader)?;
        let fields = fields(&text)?;
        check_type::<T>(fields.descr)?;
        if fields.fortran && fields.shape.iter().filter(|&&len| len != 1).count() > 1 {
            return Err(invalid("it is in Fortran order: `numpy.ascontiguousarray` gives the order of C"));
        }
        let elements = if fields.shape.contains(&0) {
            Some(0)
        } else {
            fields.shape.iter().try_fold(1_u64, |product, &len| product.checked_mul(len))
        };
        let fits = |&elements: &u64| elements.checked_mul(size_of::<T>() as u64).is_some();
        let elements = elements.filter(fits).ok_or_else(|| invalid(TOO_LARGE))?;
        Ok(Self { elements, data })
    }
}

/// The shape of an array of any type, in either order.
pub(super) fn shape(reader: &mut impl Read) -> io::Result<Vec<usize>> {
    let (text, _) = text(reader)?;
    let fields = fields(&text)?;
    if fields.descr.is_none() {
        return Err(invalid("its elements are records, which no pipeline reads"));
    }
    let len = |&len: &u64| usize::try_from(len).map_err(|_| invalid(TOO_LARGE));
    fields.shape.iter().map(len).collect()
}

/// The text of a header, and the offset of the data behind it, in bytes.
fn text(reader: &mut impl Read) -> io::Result<(Vec<u8>, usize)> {
    let mut start = [0; 8];
    exact(reader, &mut start)?;
    if start[..6] != *MAGIC {
        return Err(invalid("it is no `.npy` file, or one that was not finished"));
    }
    let mut length = [0; 4];
    let bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => {
            return Err(invalid(format!("it is a `.npy` file of version {version}, not of 1 to 3")));
        }
    };
    exact(reader, &mut length[..bytes])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(invalid(format!("its header is {length} bytes long")));
    }
    let mut text = vec![0; length];
    exact(reader, &mut text)?;
    Ok((text, 8 + bytes + length))
}

fn fields(text: &[u8]) -> io::Result<Fields<'_>> {
    Fields::parse(text).ok_or_else(|| invalid("its header is not that of a `.npy` file"))
}

fn exact(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<()> {
    reader.read_exact(bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "it ended within the header of a `.npy` file")
        }
        _ => error,
    })
}

fn check_type<T: Scalar>(descr: Option<&str>) -> io::Result<()> {
    let Some(descr) = descr else {
        return Err(invalid(format!("its elements are records, not `{}`", T::NAME)));
    };
    let (order, kind) =
        descr.split_at(descr.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(descr.len()));
    let native = match order {
        "" | "|" | "=" => true,
        order => order.starts_with(ORDER) || size_of::<T>() == 1,
    };
    // A `bool` is a byte that is 0 or 1.
    if kind == T::NPY || kind == "b1" && T::NPY == "u1" {
        return if native {
            Ok(())
        } else {
            Err(invalid(format!("its elements are big-endian (`{descr}`)")))
        };
    }
    let rust = match kind {
        "f2" => "f16",
        "f4" => "f32",
        "f8" => "f64",
        "i1" => "i8",
        "i2" => "i16",
        "i4" => "i32",
        "i8" => "i64",
        "u1" => "u8",
        "u2" => "u16",
        "u4" => "u32",
        "u8" => "u64",
        "b1" => "bool",
        _ => return Err(invalid(format!("its elements are `{descr}`, not `{}`", T::NAME))),
    };
    Err(invalid(format!("its elements are `{rust}` (`{descr}`), not `{}`", T::NAME)))
}

/// A whole header, in the bytes that NumPy would write. Its length does not depend on `items`.
pub(super) fn written<T: Scalar>(items: u64, shape: &[usize]) -> Vec<u8> {
    let order = if size_of::<T>() == 1 { '|' } else { ORDER };
    let rest = shape.iter().map(|len| format!(" {len}")).collect::<Vec<_>>().join(",");
    let text =
        format!("{{'descr': '{order}{}', 'fortran_order': False, 'shape': ({items},{rest}), }}", T::NPY);
    let longest = text.len() + DIGITS - items.to_string().len();
    // Version 1 suffices as long as the header's length fits into 16 bits.
    let total = |start: usize| (start + longest + 1).next_multiple_of(ALIGNED);
    let (start, version) = if total(10) - 10 <= usize::from(u16::MAX) { (10, 1) } else { (12, 2) };
    let length = total(start) - start;
    let mut header = MAGIC.to_vec();
    header.extend([version, 0]);
    header.extend(&(length as u32).to_le_bytes()[..start - 8]);
    header.extend(text.into_bytes());
    header.resize(total(start) - 1, b' ');
    header.push(b'\n');
    header
}

struct Fields<'a> {
    /// `None` for a record.
    descr: Option<&'a str>,
    fortran: bool,
    shape: Vec<u64>,
}

impl<'a> Fields<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        let mut text = Text(std::str::from_utf8(text).ok()?);
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        text.eat("{")?;
        while text.eat("}").is_none() {
            let key = text.string()?;
            text.eat(":")?;
            match key {
                // A list of fields may hold anything, so the rest is not parsed.
                "descr" if text.eat("[").is_some() => {
                    return Some(Self { descr: None, fortran: false, shape: Vec::new() });
                }
                "descr" => descr = Some(text.string()?),
                "fortran_order" => fortran = Some(text.boolean()?),
                "shape" => shape = Some(text.shape()?),
                _ => return None,
            }
            if text.eat(",").is_none() {
                text.eat("}")?;
                break;
            }
        }
        let ended = text.0.trim_ascii().is_empty();
        ended.then_some(Self { descr: Some(descr?), fortran: fortran?, shape: shape? })
    }
}

struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn eat(&mut self, token: &str) -> Option<()> {
        self.0 = self.0.trim_ascii_start().strip_prefix(token)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let text = self.0.trim_ascii_start();
        let quote = text.chars().next().filter(|quote| "'\"".contains(*quote))?;
        let (string, rest) = text[1..].split_once(quote)?;
        self.0 = rest;
        Some(string)
    }

    fn boolean(&mut self) -> Option<bool> {
        self.eat("True").map(|()| true).or_else(|| self.eat("False").map(|()| false))
    }

    fn shape(&mut self) -> Option<Vec<u64>> {
        let mut shape = Vec::new();
        self.eat("(")?;
        while self.eat(")").is_none() {
            let text = self.0.trim_ascii_start();
            let digits = text.find(|c: char| !c.is_ascii_digit())?;
            shape.push(text[..digits].parse().ok()?);
            // The suffix that Python 2 wrote.
            self.0 = text[digits..].strip_prefix('L').unwrap_or(&text[digits..]);
            if self.eat(",").is_none() {
                self.eat(")")?;
                break;
            }
        }
        Some(shape)
    }
}
