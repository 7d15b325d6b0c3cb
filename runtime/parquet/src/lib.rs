#![deny(missing_debug_implementations, unreachable_pub)]
//! Columns of Parquet files as [sources](mod@source) and [sinks](mod@sink) of [`thalweg`]'s pipelines, with
//! the crate `parquet` 60.
//!
//! ```
//! use thalweg::prelude::*;
//!
//! stream_pipeline! {
//!     pipeline Through {
//!         input x: [f32];
//!         output z: [f32];
//!         chunk c = 4;
//!         stage there { copy x -> dx; }
//!         stage back { copy dx -> z; }
//!     }
//! }
//!
//! let file = tempfile::tempfile().expect("a file");
//! let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
//! through.run(&[0.5, 1.5, 2.5], thalweg_parquet::sink::parquet(&file, "x"))?;
//!
//! let mut z = Vec::new();
//! through.run(thalweg_parquet::source::parquet(file, "x"), sink::extend(&mut z))?;
//! assert_eq!(z, [0.5, 1.5, 2.5]);
//! # Ok::<(), Error>(())
//! ```

mod nesting;
mod pages;
mod read;
mod scalar;
pub mod sink;
pub mod source;
mod write;

use std::fs::File;
use std::io;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

pub use scalar::Scalar;

/// A run moves its sources and sinks to threads of their own.
const _: () = {
    const fn goes_to_threads<T: Send>() {}
    goes_to_threads::<source::ParquetReader<File, f32>>();
    goes_to_threads::<sink::ParquetWriter<File, f32>>();
};

/// The crate's own error, or that of the reader or writer below it.
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

/// The Rust name of the numbers that a column holds. Dates and times are the integers that they are stored
/// as. Decimals have no such name, because their integers are not their values.
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
        // Files from before logical types say it this way.
        (None, ConvertedType::UINT_8) => Some("u8"),
        (None, ConvertedType::UINT_16) => Some("u16"),
        (None, ConvertedType::UINT_32) => Some("u32"),
        (None, ConvertedType::UINT_64) => Some("u64"),
        (None, ConvertedType::INT_8) => Some("i8"),
        (None, ConvertedType::INT_16) => Some("i16"),
        _ => Some(stored),
    }
}
