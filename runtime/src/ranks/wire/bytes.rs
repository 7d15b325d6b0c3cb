//! [`Writer`] and [`Reader`]: numbers and texts as bytes, in little-endian order.

/// Bytes of a message.
#[derive(Debug, Default)]
pub(in crate::ranks) struct Writer(pub(in crate::ranks) Vec<u8>);

impl Writer {
    pub(in crate::ranks) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(in crate::ranks) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(in crate::ranks) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A rank or a number of ranks, which have 32 bits.
    pub(in crate::ranks) fn rank(self, rank: usize) -> Self {
        self.u32(u32::try_from(rank).unwrap_or(u32::MAX))
    }

    pub(in crate::ranks) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Bytes behind their number.
    pub(in crate::ranks) fn bytes(self, bytes: &[u8]) -> Self {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.u32(length).raw(&bytes[..bytes.len().min(length as usize)])
    }
}

/// The rest of a message's bytes. Each method returns `None` if they do not suffice.
#[derive(Debug)]
pub(in crate::ranks) struct Reader<'a>(pub(in crate::ranks) &'a [u8]);

impl<'a> Reader<'a> {
    pub(in crate::ranks) fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(in crate::ranks) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.try_into().ok()
    }

    pub(in crate::ranks) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(in crate::ranks) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(in crate::ranks) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(in crate::ranks) fn rank(&mut self) -> Option<usize> {
        self.u32().map(|rank| rank as usize)
    }

    pub(in crate::ranks) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.raw(length as usize)
    }

    pub(in crate::ranks) fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Several of the same, behind their number. Nothing is allocated for more than there are bytes.
    pub(in crate::ranks) fn list<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        (0..count).map(|_| each(self)).collect()
    }

    /// Nothing may be left at the end.
    pub(in crate::ranks) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
