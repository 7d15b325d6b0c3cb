//! Sizes of arrays with several dimensions.

/// The elements of an array with these dimensions; `usize::MAX`, which no slice has, if they do not fit.
pub(crate) fn product<const N: usize>(dimensions: [u32; N]) -> usize {
    if dimensions.contains(&0) {
        return 0;
    }
    dimensions.into_iter().fold(1, |elements, dimension| elements.saturating_mul(dimension as usize))
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn a_product_saturates_unless_it_is_empty() {
        assert_eq!(product([2, 3, 5]), 30);
        assert_eq!(product([u32::MAX, u32::MAX]), u32::MAX as usize * u32::MAX as usize);
        assert_eq!(product([u32::MAX; 3]), usize::MAX);
        assert_eq!(product([u32::MAX, u32::MAX, u32::MAX, 0]), 0);
    }
}
