//! Columns of Parquet files.

mod read;
mod write;

use std::io;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

pub use self::read::ParquetReader;
pub use self::write::ParquetWriter;
pub(super) use self::write::properties;

/// Its own words, or those of the reader or writer below it.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        ParquetError::EOF(message) => io::Error::new(io::ErrorKind::UnexpectedEof, message),
        ParquetError::General(message) => io::Error::new(io::ErrorKind::InvalidData, message),
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

/// The numbers that a column holds, as Rust calls them. Dates and times are the integers that they are stored as; a decimal's
/// integers are not its value.
fn numbers(column: &ColumnDescriptor) -> Option<&'static str> {
    let integer = |bits, signed, otherwise| match (bits, signed) {
        (8, true) => "i8",
        (16, true) => "i16",
        (32, true) => "i32",
        (64, true) => "i64",
        (8, false) => "u8",
        (16, false) => "u16",
        (32, false) => "u32",
        (64, false) => "u64",
        _ => otherwise,
    };
    let stored = match (column.physical_type(), column.type_length()) {
        (Type::FLOAT, _) => return Some("f32"),
        (Type::DOUBLE, _) => return Some("f64"),
        (Type::FIXED_LEN_BYTE_ARRAY, 2) => {
            return (column.logical_type_ref() == Some(&LogicalType::Float16)).then_some("f16");
        }
        (Type::INT32, _) => "i32",
        (Type::INT64, _) => "i64",
        _ => return None,
    };
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(kind)), _) => Some(integer(kind.bit_width, kind.is_signed, stored)),
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => None,
        // As files from before logical types say it.
        (None, ConvertedType::UINT_8) => Some("u8"),
        (None, ConvertedType::UINT_16) => Some("u16"),
        (None, ConvertedType::UINT_32) => Some("u32"),
        (None, ConvertedType::UINT_64) => Some("u64"),
        (None, ConvertedType::INT_8) => Some("i8"),
        (None, ConvertedType::INT_16) => Some("i16"),
        _ => Some(stored),
    }
}
