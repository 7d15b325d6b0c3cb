//! The book's table of the methods of numbers that kernels in Rust may call is the compiler's own list.

use thalweg_compiler::rust_kernels::methods_of_numbers;
use thalweg_tests::book::recorded;

#[test]
fn the_book_lists_every_method_of_numbers() {
    let mut table = "| of | methods |\n| --- | --- |\n".to_owned();
    for (numbers, methods) in methods_of_numbers() {
        assert!(!methods.is_empty(), "{numbers}");
        let methods: Vec<_> = methods.iter().map(|method| format!("`{method}`")).collect();
        table += &format!("| {numbers} | {} |\n", methods.join(", "));
    }
    recorded("rust-kernels-methods.txt", &table);
}
