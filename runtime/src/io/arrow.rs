//! Arrow's arrays and record batches.

use std::borrow::Borrow;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::DataType;
use bytemuck::Pod;

use super::source::fill_from;
use super::{Scalar, Sink, Source};
use crate::base::chunk::Chunk;

/// What [`source::arrow`](super::source::arrow) takes: a [`RecordBatch`] or a reference to one, or a `Result` of it, as readers of
/// files give.
pub trait Batch: sealed::Batch {}

mod sealed {
    use arrow_array::RecordBatch;

    pub trait Batch {
        fn batch(self) -> std::io::Result<RecordBatch>;
    }
}

impl sealed::Batch for RecordBatch {
    fn batch(self) -> io::Result<Self> {
        Ok(self)
    }
}

impl sealed::Batch for &RecordBatch {
    fn batch(self) -> io::Result<RecordBatch> {
        Ok(self.clone())
    }
}

impl<B: Borrow<RecordBatch>, E: Into<Box<dyn Error + Send + Sync>>> sealed::Batch for Result<B, E> {
    fn batch(self) -> io::Result<RecordBatch> {
        self.map(|batch| batch.borrow().clone()).map_err(io::Error::other)
    }
}

impl<B: sealed::Batch> Batch for B {}

/// What [`source::arrow`](super::source::arrow) and [`source::arrays`](super::source::arrays) give.
pub struct Arrays<'a, T: Scalar> {
    rest: Box<dyn Iterator<Item = io::Result<PrimitiveArray<T::Arrow>>> + Send + 'a>,
    /// The one that elements were taken of last.
    current: Option<PrimitiveArray<T::Arrow>>,
    /// So many.
    taken: usize,
}

impl<'a, T: Scalar> Arrays<'a, T> {
    pub(super) fn of_batches<I>(batches: I, column: String) -> Self
    where
        I: IntoIterator<IntoIter: Send + 'a, Item: Batch>,
    {
        Self::new(batches.into_iter().map(move |batch| {
            let batch = sealed::Batch::batch(batch)?;
            let Some(array) = batch.column_by_name(&column) else {
                let names: Vec<_> =
                    batch.schema_ref().fields().iter().map(|field| format!("`{}`", field.name())).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let message = format!("there is no column `{column}`, but {names}");
                return Err(io::Error::new(ErrorKind::NotFound, message));
            };
            primitive::<T>(array, &format!("column `{column}`"))
        }))
    }

    pub(super) fn of_arrays<I>(arrays: I) -> Self
    where
        I: IntoIterator<IntoIter: Send + 'a, Item: Array>,
    {
        Self::new(arrays.into_iter().map(|array| primitive::<T>(&array, "the array")))
    }

    fn new(rest: impl Iterator<Item = io::Result<PrimitiveArray<T::Arrow>>> + Send + 'a) -> Self {
        Self { rest: Box::new(rest), current: None, taken: 0 }
    }
}

/// Its numbers, which it shares. Dates and times are the integers that they are stored as; a decimal's integers are not its value.
fn primitive<T: Scalar>(array: &dyn Array, name: &str) -> io::Result<PrimitiveArray<T::Arrow>> {
    let wrong = || {
        let held = rust_name(array.data_type()).map_or_else(|| array.data_type().to_string(), str::to_owned);
        let message = format!("{name} holds `{held}`, not `{}`", T::NAME);
        io::Error::new(ErrorKind::InvalidData, message)
    };
    let of_time = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => T::NAME == "i32",
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => {
            T::NAME == "i64"
        }
        _ => false,
    };
    let found = if of_time {
        let integers = array.to_data().into_builder().data_type(T::Arrow::DATA_TYPE).build();
        PrimitiveArray::from(integers.map_err(io::Error::other)?)
    } else {
        array.as_any().downcast_ref::<PrimitiveArray<T::Arrow>>().ok_or_else(wrong)?.clone()
    };
    without_nulls(&found, name)?;
    Ok(found)
}

fn without_nulls(array: &dyn Array, name: &str) -> io::Result<()> {
    match array.null_count() {
        0 => Ok(()),
        nulls => {
            let (values, are) = (array.len(), if nulls == 1 { "is" } else { "are" });
            let message = format!("{nulls} of the {values} values of {name} {are} null");
            Err(io::Error::new(ErrorKind::InvalidData, message))
        }
    }
}

fn rust_name(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Boolean => "bool",
        DataType::Float16 => "f16",
        DataType::Float32 => "f32",
        DataType::Float64 => "f64",
        DataType::Int8 => "i8",
        DataType::Int16 => "i16",
        DataType::Int32 => "i32",
        DataType::Int64 => "i64",
        DataType::UInt8 => "u8",
        DataType::UInt16 => "u16",
        DataType::UInt32 => "u32",
        DataType::UInt64 => "u64",
        _ => return None,
    })
}

pub(super) fn values<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> io::Result<&[P::Native]> {
    without_nulls(array, "the array")?;
    Ok(numbers(array))
}

/// `T` is `T::Arrow::Native`, but to rustc no native type of Arrow's.
fn numbers<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> &[P::Native] {
    array.values()
}

impl<T: Scalar> Source<T> for Arrays<'_, T> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let Self { rest, current, taken, .. } = self;
        fill_from(slot, (current, taken), numbers, || rest.next().transpose())
    }
}

/// What [`sink::arrays`](super::sink::arrays) gives.
pub struct EachArray<P, F> {
    function: F,
    arrays: PhantomData<fn(P)>,
}

impl<P, F> EachArray<P, F> {
    pub(super) fn new(function: F) -> Self {
        Self { function, arrays: PhantomData }
    }
}

impl<P, F> Sink<P::Native> for EachArray<P, F>
where
    P: ArrowPrimitiveType<Native: Pod>,
    F: FnMut(PrimitiveArray<P>) -> io::Result<()> + Send,
{
    fn write(&mut self, _: Chunk, data: &[P::Native]) -> io::Result<()> {
        (self.function)(PrimitiveArray::from_iter_values(data.iter().copied()))
    }
}

/// What [`sink::arrow`](super::sink::arrow) gives.
pub struct EachBatch<F> {
    function: F,
    column: String,
}

impl<F> EachBatch<F> {
    pub(super) fn new(column: String, function: F) -> Self {
        Self { function, column }
    }
}

impl<T: Scalar, F: FnMut(RecordBatch) -> io::Result<()> + Send> Sink<T> for EachBatch<F> {
    fn write(&mut self, _: Chunk, data: &[T]) -> io::Result<()> {
        let array: PrimitiveArray<T::Arrow> = PrimitiveArray::from_iter_values(data.iter().copied());
        let batch = RecordBatch::try_from_iter_with_nullable([(&self.column, Arc::new(array) as _, false)]);
        (self.function)(batch.map_err(io::Error::other)?)
    }
}

impl<T: Scalar> std::fmt::Debug for Arrays<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arrays").field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl<P, F> std::fmt::Debug for EachArray<P, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EachArray")
    }
}

impl<F> std::fmt::Debug for EachBatch<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EachBatch").field("column", &self.column).finish_non_exhaustive()
    }
}
