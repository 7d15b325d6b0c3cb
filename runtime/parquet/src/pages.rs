//! The pages of a column, as far as the crate `parquet` does not check them itself.

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Pages whose dictionaries have the values that they say: room for all of them is made before the first is
/// read, so that a small file might take any memory.
pub(crate) struct Checked(pub(crate) Box<dyn PageReader>);

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && buf.len() < *num_values as usize
        {
            // Each value of a number has two bytes at least.
            let message = format!("a dictionary has {} bytes, which are not {num_values} values", buf.len());
            return Err(ParquetError::General(message));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
