//! Arrow's arrays and record batches.

use std::io;
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, DurationSecondArray,
    Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch,
    StringArray, Time32SecondArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::ArrowError;
use thalweg::half::f16;
use thalweg::prelude::*;
use thalweg_arrow::{sink, source};

use super::{CHUNKS, Number, refused, refuses, taken, through};

fn batch(column: impl Array + 'static) -> RecordBatch {
    let other: ArrayRef = Arc::new(StringArray::from(vec!["text"; column.len()]));
    RecordBatch::try_from_iter([("other", other), ("x", Arc::new(column) as _)]).expect("a batch")
}

#[test]
fn every_type_both_ways() {
    macro_rules! check {
        ($($type:ident $array:ident),* $(,)?) => {$(
            let x = $array::from($type::expected());
            for len in CHUNKS {
                let pieces = [x.slice(0, 3), x.slice(3, 0), x.slice(3, 7), x.slice(10, 2)];
                let refs = pieces.iter().map(|piece| Arc::new(piece.clone()) as ArrayRef);
                assert_eq!(taken::<$type>(len, source::arrays(refs)).unwrap(), $type::expected());
                assert_eq!(taken::<$type>(len, source::arrays(&pieces)).unwrap(), $type::expected());
                let batches = || pieces.iter().map(|piece| batch(piece.clone()));
                assert_eq!(taken::<$type>(len, source::arrow(batches(), "x")).unwrap(), $type::expected());
                let read = batches().map(Ok::<_, ArrowError>);
                assert_eq!(taken::<$type>(len, source::arrow(read, "x")).unwrap(), $type::expected());
                let batches: Vec<_> = batches().collect();
                assert_eq!(taken::<$type>(len, source::arrow(&batches, "x")).unwrap(), $type::expected());

                let (mut arrays, mut batches) = (Vec::new(), Vec::new());
                let each = sink::arrays(|array: $array| { arrays.push(array); Ok(()) });
                through(len, source::arrays([&x]), each).unwrap();
                let each = sink::arrow("z", |batch: RecordBatch| { batches.push(batch); Ok(()) });
                through::<$type>(len, source::arrays([&x]), each).unwrap();
                for (i, (array, batch)) in arrays.iter().zip(&batches).enumerate() {
                    assert_eq!(array, &x.slice(i * len, len.min(12 - i * len)));
                    assert_eq!(batch.column_by_name("z").unwrap().as_ref(), array);
                    assert!(!batch.schema().field(0).is_nullable());
                }
                assert_eq!((arrays.len(), batches.len()), (12_usize.div_ceil(len), 12_usize.div_ceil(len)));
            }
        )*};
    }
    check!(
        f16 Float16Array, f32 Float32Array, f64 Float64Array, i8 Int8Array, i16 Int16Array, i32 Int32Array,
        i64 Int64Array, u8 UInt8Array, u16 UInt16Array, u32 UInt32Array, u64 UInt64Array,
    );
}

#[test]
fn nothing_is_nothing() {
    assert!(taken::<f32>(5, source::arrow(Vec::<RecordBatch>::new(), "x")).unwrap().is_empty());
    assert!(taken::<f32>(5, source::arrays([Float32Array::from(Vec::<f32>::new())])).unwrap().is_empty());
    assert_eq!(taken::<f32>(5, source::arrays([Float32Array::from(vec![2.5])])).unwrap(), [2.5]);
    let each = sink::arrays(|_: Float32Array| panic!("there is nothing"));
    through(5, thalweg::io::source::batches([[0.0_f32; 0]]), each).unwrap();
}

/// Dates and times are integers.
#[test]
fn dates_and_times() {
    let days = [3, -1, 7];
    let arrays: [ArrayRef; 2] = [
        Arc::new(Date32Array::from(days.to_vec()).slice(1, 2)),
        Arc::new(Time32SecondArray::from(days.to_vec())),
    ];
    assert_eq!(taken::<i32>(2, source::arrays(arrays)).unwrap(), [-1, 7, 3, -1, 7]);
    let times = [1 << 40, 0, -5];
    let zone = TimestampMicrosecondArray::from(times.to_vec()).with_timezone("+01:00");
    let arrays: [ArrayRef; 2] = [Arc::new(zone), Arc::new(DurationSecondArray::from(times.to_vec()))];
    assert_eq!(taken::<i64>(2, source::arrays(arrays)).unwrap(), [times, times].concat());
    assert_eq!(
        refused::<f32>(2, source::arrays([Date32Array::from(days.to_vec())])).0,
        "the array holds `Date32`, not `f32`"
    );
    // The way back, by the type of the array.
    let mut out = Vec::new();
    let each = sink::arrays(|array: Date32Array| {
        out.push(array);
        Ok(())
    });
    through(5, thalweg::io::source::batches([days]), each).unwrap();
    assert_eq!(out, [Date32Array::from(days.to_vec())]);
}

/// An array is passed as a slice, where it lies.
#[test]
fn values_are_a_slice() {
    let x = Float32Array::from(f32::expected());
    let slice = source::values(&x).expect("no nulls");
    assert!(std::ptr::eq(slice.as_ptr(), x.values().as_ptr()));
    let mut z = vec![0.0; 12];
    let device = Device::simulated(Simulation::default());
    super::Through::<f32>::new(&device).unwrap().run(5, slice, &mut z).unwrap();
    assert_eq!(z, f32::expected());
    let nulls = Float32Array::from(vec![Some(1.0), None, Some(2.0), None]);
    let error = source::values(&nulls).unwrap_err();
    assert_eq!(error.to_string(), "2 of the 4 values of the array are null");
    // Nulls outside of the part do not count.
    assert_eq!(source::values(&nulls.slice(2, 1)).unwrap(), [2.0]);
}

#[test]
fn refusals_say_why() {
    let good = || Float32Array::from(vec![1.0; 6]);
    let nulls = Float32Array::from(vec![Some(1.0), None, Some(3.0)]);
    let after = |bad: RecordBatch| [batch(good()), bad];
    let wrong: [(ArrayRef, &str); 6] = [
        (Arc::new(Float64Array::from(vec![1.0])), "f64"),
        (Arc::new(BooleanArray::from(vec![true])), "bool"),
        (Arc::new(StringArray::from(vec!["a"])), "Utf8"),
        (
            Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(5, 2).unwrap()),
            "Decimal128(5, 2)",
        ),
        (Arc::new(DictionaryArray::<Int32Type>::from_iter(["a"])), "Dictionary(Int32, Utf8)"),
        (Arc::new(arrow_array::PrimitiveArray::<Int64Type>::from(vec![1])), "i64"),
    ];
    for (array, held) in wrong {
        let bad = RecordBatch::try_from_iter([("x", array.clone())]).unwrap();
        let said = refused::<f32>(4, source::arrow(after(bad), "x"));
        assert_eq!(said, (format!("column `x` holds `{held}`, not `f32`"), 1));
        assert_eq!(
            refused::<f32>(4, source::arrays([array])).0,
            format!("the array holds `{held}`, not `f32`")
        );
    }
    let said = refused::<f32>(4, source::arrow(after(batch(nulls.clone())), "x"));
    assert_eq!(said, ("1 of the 3 values of column `x` is null".to_owned(), 1));
    assert_eq!(refused::<f32>(4, source::arrays([nulls])).0, "1 of the 3 values of the array is null");
    let said = refused::<f32>(4, source::arrow([batch(good())], "y"));
    assert_eq!(said, ("there is no column `y`, but `other`, `x`".to_owned(), 0));
    let fails = [Ok(batch(good())), Err(ArrowError::ParseError("a line is no number".to_owned()))];
    let said = refused::<f32>(4, source::arrow(fails, "x"));
    assert_eq!(said, ("Parser error: a line is no number".to_owned(), 1));
}

#[test]
fn a_function_that_refuses() {
    let mut left = 1;
    let each = sink::arrow("z", move |_| {
        left -= 1;
        if left < 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    });
    let (kind, _, chunk) = refuses(5, &f32::expected(), each);
    assert_eq!((kind, chunk), (io::ErrorKind::StorageFull, Some(1)));
}
