//! `black_scholes` on tables that this file writes, compared with the same numbers found another way.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{DoubleType, Int32Type};
use parquet::file::reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;

use super::{check, ended};

const TERMS: [&str; 7] = ["sign", "spot", "strike", "years", "rate", "dividend", "volatility"];
const GREEKS: [&str; 6] = ["price", "delta", "gamma", "vega", "theta", "rho"];

#[test]
fn prices_and_greeks_are_those_of_the_mean_payoff() {
    let options = concat!(env!("CARGO_MANIFEST_DIR"), "/data/dax_options.parquet");
    let greeks = concat!(env!("CARGO_TARGET_TMPDIR"), "/greeks.parquet");
    check("black_scholes", &[options, greeks]);
    let (options, values) = (rows(options.as_ref(), TERMS), rows(greeks.as_ref(), GREEKS));
    assert_eq!((options.len(), values.len()), (208, 208));
    for (option, found) in options.iter().zip(&values) {
        let (spot, expected) = (option[1], by_integrals(option));
        let tolerances = [1e-9 * spot, 1e-6, 1e-5 / spot, 1e-6 * spot, 1e-6 * spot, 1e-6 * spot];
        for i in 0..6 {
            let (found, expected) = (found[i], expected[i]);
            assert!((found - expected).abs() <= tolerances[i], "{option:?} {i}: {found}, not {expected}");
        }
    }
}

/// NaN stays NaN, and the run ends.
#[test]
fn expired_options_have_values() {
    const NAN: f64 = f64::NAN;
    let options = [
        // In the money, out of it and at it.
        [1.0, 110.0, 100.0, 0.0, 0.05, 0.0, 0.2],
        [-1.0, 110.0, 100.0, 0.0, 0.05, 0.0, 0.2],
        [-1.0, 90.0, 100.0, 0.0, 0.05, 0.0, 0.2],
        [1.0, 100.0, 100.0, 0.0, 0.05, 0.0, 0.2],
        // Expired longer ago, and with a hole in the row.
        [1.0, 100.0, 100.0, -0.5, 0.05, 0.0, 0.2],
        [1.0, 100.0, 100.0, 0.5, 0.05, 0.0, NAN],
        // At the forward price, without volatility.
        [1.0, 100.0, 100.0, 0.5, 0.0, 0.0, 0.0],
    ];
    let expected = [
        [10.0, 1.0, NAN, 0.0, NAN, 0.0],
        [0.0, 0.0, NAN, 0.0, NAN, 0.0],
        [10.0, -1.0, NAN, 0.0, NAN, 0.0],
        [NAN; 6],
        [NAN; 6],
        [NAN; 6],
        [NAN; 6],
    ];
    let found = valued("expired", &options);
    for (option, (found, expected)) in options.iter().zip(found.iter().zip(expected)) {
        let same = |(found, expected): (&f64, f64)| *found == expected || found.is_nan() && expected.is_nan();
        assert!(found.iter().zip(expected).all(same), "{option:?}: {found:?}");
    }
}

/// Options a day, an hour and a second before they expire, slightly below, at and above the strike.
#[test]
fn options_near_expiry_are_not_called_wrong() {
    let years = [1.0 / 365.0, 1.0 / 8760.0, 1.0 / 3.2e7];
    let near = |years: f64| [99.9, 100.0, 100.1].map(|spot| [1.0, spot, 100.0, years, 0.03, 0.0, 0.2]);
    let values = valued("near", &years.map(near).concat());
    for (value, spot) in values.iter().zip([99.9_f64, 100.0, 100.1].into_iter().cycle()) {
        assert!(value.iter().all(|number| number.is_finite()), "{value:?}");
        assert!(value[0] >= (spot - 100.0).max(0.0) && (0.0..=1.0).contains(&value[1]), "{value:?}");
    }
}

#[test]
fn no_table_is_lost() {
    let table = table("kept", &[[1.0, 110.0, 100.0, 0.5, 0.05, 0.0, 0.2]]);
    let before = std::fs::read(&table).expect("the table");
    let path = table.to_str().expect("UTF-8");
    // The same file by another name.
    let again = path.replace("kept.parquet", "./kept.parquet");
    let (code, text) = ended("black_scholes", &[path, &again]);
    assert!(code == Some(1) && text.contains("the values would overwrite the options"), "{text}");
    assert_eq!(std::fs::read(&table).expect("the table"), before);

    let values = concat!(env!("CARGO_TARGET_TMPDIR"), "/not-written.parquet");
    let _of_an_earlier_test = std::fs::remove_file(values);
    for options in ["nowhere.parquet", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
        let (code, text) = ended("black_scholes", &[options, values]);
        assert!(code == Some(1) && text.contains(options), "{text}");
        assert!(!Path::new(values).exists(), "{options} leaves an empty file");
        let (code, _) = ended("black_scholes", &[options, path]);
        assert_eq!((code, std::fs::read(&table).expect("the table")), (Some(1), before.clone()));
    }
}

/// The prices and greeks that the example computes.
fn valued(name: &str, options: &[[f64; 7]]) -> Vec<[f64; 6]> {
    let options = table(name, options);
    let values = options.with_extension("values");
    let paths = [&options, &values].map(|path| path.to_str().expect("UTF-8"));
    assert_eq!(ended("black_scholes", &paths).0, Some(0));
    rows(&values, GREEKS)
}

fn table(name: &str, options: &[[f64; 7]]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("parquet");
    let doubles = TERMS[1..].iter().map(|name| format!("required double {name};")).collect::<String>();
    let schema = format!("message options {{ required int32 sign (INTEGER(8, true)); {doubles} }}");
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let file = File::create(&path).expect("a file");
    let mut table = SerializedFileWriter::new(file, schema, Arc::default()).expect("a table");
    let mut group = table.next_row_group().expect("a row group");
    for i in 0..TERMS.len() {
        let numbers: Vec<f64> = options.iter().map(|option| option[i]).collect();
        let mut column = group.next_column().expect("no error").expect("a column");
        if i == 0 {
            let signs: Vec<i32> = numbers.iter().map(|&sign| sign as i32).collect();
            column.typed::<Int32Type>().write_batch(&signs, None, None).expect("signs are written");
        } else {
            column.typed::<DoubleType>().write_batch(&numbers, None, None).expect("numbers are written");
        }
        column.close().expect("the column ends");
    }
    group.close().expect("the row group ends");
    table.close().expect("the table ends");
    path
}

/// The numbers of a table: in each row, those of some columns.
fn rows<const N: usize>(path: &Path, names: [&str; N]) -> Vec<[f64; N]> {
    let table = SerializedFileReader::new(File::open(path).expect("a file")).expect("a table");
    let numbers = table.into_iter().map(|row| {
        let row = row.expect("a row");
        names.map(|name| match row.get_column_iter().find(|(known, _)| *known == name) {
            Some((_, Field::Byte(number))) => f64::from(*number),
            Some((_, Field::Double(number))) => *number,
            other => panic!("{name}: {other:?}"),
        })
    });
    numbers.collect()
}

/// Prices and greeks without the formula: the mean payoff as an integral over all prices at expiry, and its
/// differences.
fn by_integrals(option: &[f64; 7]) -> [f64; 6] {
    let at = |term: usize, step: f64| {
        let mut option = *option;
        option[term] += step;
        mean_payoff(option)
    };
    let slope = |term, step| (at(term, step) - at(term, -step)) / (2.0 * step);
    let [_, spot, _, years, ..] = option;
    let (price, ds) = (at(0, 0.0), 1e-4 * spot);
    let gamma = (at(1, ds) - 2.0 * price + at(1, -ds)) / (ds * ds);
    [price, slope(1, ds), gamma, slope(6, 1e-4), -slope(3, 1e-4 * years), slope(4, 1e-4)]
}

/// Discounted, by Simpson's rule from where the option begins to pay.
fn mean_payoff([phi, spot, strike, years, rate, dividend, volatility]: [f64; 7]) -> f64 {
    const STEPS: usize = 1000;
    let deviation = volatility * years.sqrt();
    let drift = (rate - dividend) * years - 0.5 * deviation * deviation;
    let from = (((strike / spot).ln() - drift) / deviation).clamp(-12.0, 12.0);
    let step = (phi * 12.0 - from) / STEPS as f64;
    let payoff = |z: f64| density(z) * phi * (spot * (drift + deviation * z).exp() - strike);
    let weight = |i| if i % STEPS == 0 { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    let sum: f64 = (0..=STEPS).map(|i| weight(i) * payoff(from + step * i as f64)).sum();
    (-rate * years).exp() * sum * step.abs() / 3.0
}

fn density(x: f64) -> f64 {
    0.398_942_280_401_432_7 * (-0.5 * x * x).exp()
}
