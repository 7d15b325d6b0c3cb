//! Fuzzes [`thalweg_fuzz::npy`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| thalweg_fuzz::run(thalweg_fuzz::npy, bytes));
