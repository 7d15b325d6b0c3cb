//! Arrow's arrays and record batches.

use std::borrow::Borrow;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use thalweg::Pod;
use thalweg::io::{Sink, Source};
use thalweg::plan::Chunk;

use crate::Scalar;
use crate::scalar::sealed::Number;

/// An item of [`source::arrow`](crate::source::arrow): a [`RecordBatch`], a reference to one, or a `Result`
/// of either, as readers of files return.
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
        self.map(|batch| batch.borrow().clone()).map_err(|error| failed(error.into()))
    }
}

/// A reader's error, of the kind of the error below it.
fn failed(error: Box<dyn Error + Send + Sync>) -> io::Error {
    match error.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => match error.downcast_ref() {
            Some(ArrowError::IoError(_, below)) => io::Error::new(below.kind(), error),
            _ => io::Error::other(error),
        },
    }
}

impl<B: sealed::Batch> Batch for B {}

/// The source that [`source::arrow`](crate::source::arrow) and [`source::arrays`](crate::source::arrays)
/// make.
pub struct Arrays<'a, T: Scalar> {
    /// The arrays that follow; `None` once one has failed.
    rest: Option<Rest<'a, T>>,
    /// The rest of the array that elements were taken from last.
    left: Option<PrimitiveArray<T::Arrow>>,
}

type Rest<'a, T> = Box<dyn Iterator<Item = io::Result<PrimitiveArray<<T as Number>::Arrow>>> + Send + 'a>;

impl<'a, T: Scalar> Arrays<'a, T> {
    pub(crate) fn of_batches<I>(batches: I, column: String) -> Self
    where
        I: IntoIterator<IntoIter: Send + 'a, Item: Batch>,
    {
        Self::new(batches.into_iter().map(move |batch| {
            let batch = sealed::Batch::batch(batch)?;
            let named = batch.schema_ref().fields().iter().filter(|field| *field.name() == column).count();
            if named > 1 {
                let message = format!("there are {named} columns `{column}`");
                return Err(io::Error::new(ErrorKind::InvalidData, message));
            }
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

    pub(crate) fn of_arrays<I>(arrays: I) -> Self
    where
        I: IntoIterator<IntoIter: Send + 'a, Item: Array>,
    {
        Self::new(arrays.into_iter().map(|array| primitive::<T>(&array, "the array")))
    }

    fn new(rest: impl Iterator<Item = io::Result<PrimitiveArray<T::Arrow>>> + Send + 'a) -> Self {
        Self { rest: Some(Box::new(rest)), left: None }
    }
}

/// The numbers of an array, which share its memory. Dates and times are the integers that they are stored as.
/// A decimal is refused, because its integer is not its value.
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

/// Decimals are stored as integers that are not their values.
fn no_decimals(held: &DataType) -> io::Result<()> {
    if !held.is_decimal() {
        return Ok(());
    }
    let message = format!("the array holds `{held}`, whose integers are not its values");
    Err(io::Error::new(ErrorKind::InvalidData, message))
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

pub(crate) fn values<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> io::Result<&[P::Native]> {
    no_decimals(array.data_type())?;
    without_nulls(array, "the array")?;
    Ok(numbers(array))
}

/// This is a function of its own because rustc knows that `T` is `T::Arrow::Native`, but not that `T` is a
/// native type of Arrow.
fn numbers<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> &[P::Native] {
    array.values()
}

impl<T: Scalar> Source<T> for Arrays<'_, T> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        // An error or a panic leaves nothing, since the arrays after it would be taken for those asked for.
        let mut rest = self
            .rest
            .take()
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has failed before"))?;
        let mut filled = 0;
        while filled < slot.len() {
            let Some(array) = self.left.take().filter(|left| !left.is_empty()) else {
                match rest.next() {
                    Some(array) => self.left = Some(array?),
                    None => break,
                }
                continue;
            };
            let len = array.len().min(slot.len() - filled);
            slot[filled..filled + len].copy_from_slice(&numbers(&array)[..len]);
            self.left = Some(array.slice(len, array.len() - len));
            filled += len;
        }
        self.rest = Some(rest);
        Ok(filled)
    }
}

/// The sink that [`sink::arrays`](crate::sink::arrays) makes.
pub struct EachArray<P, F> {
    function: F,
    arrays: PhantomData<fn(P)>,
}

impl<P, F> EachArray<P, F> {
    pub(crate) fn new(function: F) -> Self {
        Self { function, arrays: PhantomData }
    }
}

impl<P, F> Sink<P::Native> for EachArray<P, F>
where
    P: ArrowPrimitiveType<Native: Pod>,
    F: FnMut(PrimitiveArray<P>) -> io::Result<()> + Send,
{
    fn write(&mut self, _: Chunk, data: &[P::Native]) -> io::Result<()> {
        no_decimals(&P::DATA_TYPE)?;
        (self.function)(PrimitiveArray::from_iter_values(data.iter().copied()))
    }
}

/// The sink that [`sink::arrow`](crate::sink::arrow) makes.
pub struct EachBatch<F> {
    function: F,
    column: String,
}

impl<F> EachBatch<F> {
    pub(crate) fn new(column: String, function: F) -> Self {
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
        f.debug_struct("Arrays").field("left", &self.left.as_ref().map(Array::len)).finish_non_exhaustive()
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
