//! [`Key`]: the name under which a compiled source is kept.

/// The bytes with which files begin.
pub(super) const MAGIC: &[u8; 16] = b"thalweg kernels\n";

/// The version of the files, and of how a key is made.
pub(super) const VERSION: u32 = 1;

/// Hashes everything that a compiler's result depends on.
///
/// Each part is hashed with its length, so that no two lists of parts are the same bytes.
#[derive(Debug)]
pub(super) struct Key(blake3::Hasher);

impl Key {
    pub(super) fn new() -> Self {
        let mut key = Self(blake3::Hasher::new());
        key.bytes(MAGIC).number(VERSION.into());
        key
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).0.update(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn list<'a>(&mut self, texts: impl Iterator<Item = &'a str> + Clone) -> &mut Self {
        self.number(texts.clone().count() as u64);
        for text in texts {
            self.text(text);
        }
        self
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }

    /// The key in hexadecimal digits.
    pub(super) fn name(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}
