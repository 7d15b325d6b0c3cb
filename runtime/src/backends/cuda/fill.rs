//! Fills of device memory with a pattern, by CUDA's memsets of 1, 2 and 4 bytes.

use super::api::Api;
use super::sys::{CUdeviceptr, CUstream};
use crate::driver::{DriverResult, fill_word};

/// The value that one memset repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Byte(u8),
    Half(u16),
    Full(u32),
}

impl Word {
    pub(super) fn value(self) -> u32 {
        match self {
            Self::Byte(value) => value.into(),
            Self::Half(value) => value.into(),
            Self::Full(value) => value,
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Half(_) => 2,
            Self::Full(_) => 4,
        }
    }
}

/// The words of a pattern, and the number of words that one place takes. If all are the same, there is only
/// one word.
pub(super) fn distinct(pattern: &[u8]) -> (Vec<Word>, usize) {
    let mut words = words(pattern);
    let Some(&first) = words.first() else { return (words, 0) };
    if words.iter().all(|&word| word == first) {
        let count = words.len();
        words.truncate(1);
        (words, count)
    } else {
        (words, 1)
    }
}

/// The pattern in the largest words that divide it.
fn words(pattern: &[u8]) -> Vec<Word> {
    let word = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => Word::Full(u32::from_ne_bytes([a, b, c, d])),
        [a, b] => Word::Half(u16::from_ne_bytes([a, b])),
        [a, ..] => Word::Byte(a),
        [] => Word::Byte(0),
    };
    pattern.chunks_exact(fill_word(pattern.len())).map(word).collect()
}

/// Writes the pattern `count` times. If all its words are the same, this takes one memset. Otherwise it takes
/// one for each word, which writes every place of that word.
///
/// # Safety
/// Those of `cuMemsetD32Async`: `to` is aligned to the pattern's [word](fill_word) and has room, and the
/// stream is live.
pub(super) unsafe fn fill(
    api: &Api,
    to: CUdeviceptr,
    pattern: &[u8],
    count: usize,
    stream: CUstream,
) -> DriverResult<()> {
    let (words, repeated) = distinct(pattern);
    if let [first] = words[..] {
        let count = count * repeated;
        // SAFETY: the caller's promise.
        return unsafe {
            match first {
                Word::Byte(value) => api.cuMemsetD8Async(to, value, count, stream),
                Word::Half(value) => api.cuMemsetD16Async(to, value, count, stream),
                Word::Full(value) => api.cuMemsetD32Async(to, value, count, stream),
            }
        };
    }
    let pitch = pattern.len();
    for (index, word) in words.into_iter().enumerate() {
        let to = to + (index * word.bytes()) as CUdeviceptr;
        // SAFETY: the caller's promise; a row of one word at every `pitch` bytes stays within the pattern's
        // places.
        unsafe {
            match word {
                Word::Byte(value) => api.cuMemsetD2D8Async(to, pitch, value, 1, count, stream),
                Word::Half(value) => api.cuMemsetD2D16Async(to, pitch, value, 1, count, stream),
                Word::Full(value) => api.cuMemsetD2D32Async(to, pitch, value, 1, count, stream),
            }
        }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_cut_into_the_largest_words() {
        assert_eq!(words(&[7]), [Word::Byte(7)]);
        assert_eq!(words(&1.0_f32.to_ne_bytes()), [Word::Full(1.0_f32.to_bits())]);
        assert_eq!(words(&[1, 2, 3]), [Word::Byte(1), Word::Byte(2), Word::Byte(3)]);
        assert_eq!(words(&[0; 6]), [Word::Half(0); 3]);
        assert_eq!(words(&[0; 16]), [Word::Full(0); 4]);
    }
}
