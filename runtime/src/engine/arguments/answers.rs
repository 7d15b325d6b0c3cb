//! What other ranks are told of arguments: [`Uniform`] parameters, and [`Answers`] where some were refused.

use bytemuck::NoUninit;

use crate::world::World;

/// A parameter that has the same value on all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uniform {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// The value for messages.
    pub(crate) shown: String,
}

impl Uniform {
    pub(crate) fn new<T: NoUninit>(name: &str, value: &T) -> Self {
        let bytes = bytemuck::bytes_of(value).to_vec();
        let shown = shown(std::any::type_name::<T>(), &bytes);
        Self { name: name.to_owned(), bytes, shown }
    }
}

/// A number as it is written, and anything else by its bytes.
fn shown(name: &str, bytes: &[u8]) -> String {
    macro_rules! number {
        ($($number:ident)+) => {
            match name {
                "bool" => (bytes != [0]).to_string(),
                $(stringify!($number) => match bytes.try_into() {
                    Ok(bytes) => $number::from_ne_bytes(bytes).to_string(),
                    Err(_) => format!("{bytes:?}"),
                },)+
                _ => format!("of the bytes {bytes:?}"),
            }
        };
    }
    number!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 isize usize f32 f64)
}

/// Comes to the agreement of a run if it is dropped, so that the other ranks do not wait for a rank whose arguments were
/// refused.
pub(crate) struct Answers {
    world: World,
    /// What the agreement is about.
    what: String,
    /// What this rank says of it.
    refusal: Vec<u8>,
    is_settled: bool,
}

impl Answers {
    pub(crate) fn new(world: World, what: String, refusal: Vec<u8>) -> Self {
        Self { world, what, refusal, is_settled: false }
    }

    /// Says something else than that the arguments were refused.
    pub(crate) fn say(&mut self, refusal: Vec<u8>) {
        self.refusal = refusal;
    }

    /// The run comes to the agreement itself.
    pub(crate) fn settle(mut self) {
        self.is_settled = true;
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if !self.is_settled {
            self.world.answer(&self.what, &self.refusal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_they_are_written() {
        assert_eq!(Uniform::new("rate", &0.5_f32).shown, "0.5");
        assert_eq!(Uniform::new("steps", &-7_i64).shown, "-7");
        assert_eq!(Uniform::new("is_on", &true).shown, "true");
        assert_eq!(Uniform::new("both", &[1_u8, 2]).shown, "of the bytes [1, 2]");
    }
}
