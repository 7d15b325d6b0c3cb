//! What ranks say as bytes: numbers of 64 bits in little-endian order, and texts behind their length.

pub(super) fn number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

pub(super) fn text(bytes: &mut Vec<u8>, text: &[u8]) {
    number(bytes, text.len() as u64);
    bytes.extend(text);
}

/// Bytes that are yet to be read.
pub(super) struct Rest<'b>(pub(super) &'b [u8]);

impl<'b> Rest<'b> {
    pub(super) fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'b [u8]> {
        let bytes = usize::try_from(self.number()?).ok()?;
        self.take(bytes)
    }

    pub(super) fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }

    pub(super) fn list<T>(&mut self, mut next: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        // Nothing is reserved for a length that was not checked.
        (0..length).map(|_| next(self)).collect()
    }
}
