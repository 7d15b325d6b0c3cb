//! [`Said`]: what a rank says of a run before it begins.

use super::bytes::{Rest, number, text};
use crate::engine::arguments::answers::Uniform;

/// What a rank says of a run before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// The name of the pipeline, for messages.
    pub(super) pipeline: String,
    /// What tells the pipeline from others.
    pub(super) plan: [u8; 32],
    /// The number of the run.
    pub(super) run: u64,
    /// Why the rank does not take part, if it does not.
    pub(super) refused: Option<String>,
    /// Items in a chunk, and whether the rank leaves them to rank 0.
    pub(super) chunk: u64,
    pub(super) is_auto: bool,
    pub(super) items: u64,
    /// The `uniform` parameters.
    pub(super) uniform: Vec<Uniform>,
    /// The buffers that collectives use.
    pub(super) buffers: Vec<Length>,
}

/// The length of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) name: String,
    /// Whether the bytes are those of an item, and not of all.
    pub(super) by_item: bool,
    pub(super) bytes: u64,
}

impl Said {
    /// As bytes, which [`read`](Self::read) takes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        text(&mut bytes, self.pipeline.as_bytes());
        bytes.extend(self.plan);
        number(&mut bytes, self.run);
        number(&mut bytes, u64::from(self.refused.is_some()));
        text(&mut bytes, self.refused.as_deref().unwrap_or_default().as_bytes());
        number(&mut bytes, self.chunk);
        number(&mut bytes, u64::from(self.is_auto));
        number(&mut bytes, self.items);
        number(&mut bytes, self.uniform.len() as u64);
        for Uniform { name, bytes: value, shown } in &self.uniform {
            text(&mut bytes, name.as_bytes());
            text(&mut bytes, value);
            text(&mut bytes, shown.as_bytes());
        }
        number(&mut bytes, self.buffers.len() as u64);
        for Length { name, by_item, bytes: length } in &self.buffers {
            text(&mut bytes, name.as_bytes());
            number(&mut bytes, u64::from(*by_item));
            number(&mut bytes, *length);
        }
        bytes
    }

    /// `None` for bytes that [`write`](Self::write) did not make.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let pipeline = rest.string()?;
        let plan = rest.take(32)?.try_into().ok()?;
        let run = rest.number()?;
        let (is_refused, refused) = (rest.number()? == 1, rest.string()?);
        let (chunk, is_auto, items) = (rest.number()?, rest.number()? == 1, rest.number()?);
        let uniform = rest.list(|rest| {
            let (name, bytes) = (rest.string()?, rest.text()?.to_vec());
            Some(Uniform { name, bytes, shown: rest.string()? })
        })?;
        let buffers = rest.list(|rest| {
            let (name, by_item) = (rest.string()?, rest.number()? == 1);
            Some(Length { name, by_item, bytes: rest.number()? })
        })?;
        let refused = is_refused.then_some(refused);
        rest.0.is_empty().then_some(Self {
            pipeline,
            plan,
            run,
            refused,
            chunk,
            is_auto,
            items,
            uniform,
            buffers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Said {
        Said {
            pipeline: "Train".to_owned(),
            plan: [7; 32],
            run: 3,
            refused: None,
            chunk: 100,
            is_auto: true,
            items: 1000,
            uniform: vec![Uniform::new("rate", &0.5_f32), Uniform::new("steps", &3_u8)],
            buffers: vec![
                Length { name: "g".to_owned(), by_item: false, bytes: 4096 },
                Length { name: "d".to_owned(), by_item: true, bytes: 12 },
            ],
        }
    }

    #[test]
    fn what_is_said_is_heard() {
        for said in [said(), Said { refused: Some("no memory".to_owned()), buffers: vec![], ..said() }] {
            assert_eq!(Said::read(&said.write()), Some(said));
        }
    }

    #[test]
    fn what_nobody_said_is_not_heard() {
        let bytes = said().write();
        for end in 0..bytes.len() {
            assert_eq!(Said::read(&bytes[..end]), None, "{end} bytes");
        }
        assert_eq!(Said::read(&[bytes.as_slice(), &[0]].concat()), None, "a byte more");
        let mut long = bytes.clone();
        long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(Said::read(&long), None, "a length that is not there");
    }
}
