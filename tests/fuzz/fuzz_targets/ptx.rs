//! Fuzzes [`thalweg_fuzz::ptx`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| thalweg_fuzz::run(thalweg_fuzz::ptx, bytes));
