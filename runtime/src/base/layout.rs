//! The checks that `#[kernels]` leaves to rustc: whether a Rust type has the layout of the source's type, and
//! whether elements are plain data.

use std::marker::PhantomData;

use bytemuck::Pod;

/// The bound that elements must meet: [`Pod`].
///
/// Generated code has the bound `for<'a> T: PlainData<'a>`. An element that is not `Pod` then causes no error
/// at each use in the bounded code. rustc rejects an unmet bound at once if no parameter occurs in it; the
/// lifetime is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    label = "elements are copied byte by byte",
    note = "write above the struct:\n#[repr(C)]\n#[derive(Clone, Copy, Pod, Zeroable)]\n#[bytemuck(crate = \"thalweg::bytemuck\")]",
    note = "without the last line rustc looks for a crate `bytemuck` that your own depends on"
)]
pub trait PlainData<'a>: Pod {}
#[diagnostic::do_not_recommend]
impl<T: Pod> PlainData<'_> for T {}

/// A mention of this type makes rustc check that the elements are plain data.
#[derive(Debug)]
pub struct PlainElements<T: for<'a> PlainData<'a>>(PhantomData<T>);

/// [`PlainData`] for an element that is written `f16`. Without an import, `f16` is rustc's own type and not a
/// struct of the user's.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    label = "this is the type `f16` of rustc, which is unstable",
    note = "import the type of the crate `half`: `use thalweg::half::f16;`"
)]
pub trait HalfData<'a>: Pod {}
#[diagnostic::do_not_recommend]
impl<T: Pod> HalfData<'_> for T {}

/// [`PlainElements`] for an element that is written `f16`.
#[derive(Debug)]
pub struct HalfElements<T: for<'a> HalfData<'a>>(PhantomData<T>);

/// Stops the compilation unless a value of `T` has one of these layouts. Each layout is a size, with an
/// alignment if it matters. The branches of an `#if` give several layouts.
///
/// `here`, which contains the error's code, and `there` are the message's names for the two types. `place` is
/// a line that says where the other type is, or it is empty.
#[track_caller]
pub const fn same_layout<T>(layouts: &[(usize, Option<usize>)], here: &str, there: &str, place: &str) {
    let (own_size, own_align) = (size_of::<T>(), align_of::<T>());
    let mut at = 0;
    while at < layouts.len() {
        let (size, align) = layouts[at];
        let is_aligned = match align {
            Some(align) => align == own_align,
            None => true,
        };
        if size == own_size && is_aligned {
            return;
        }
        at += 1;
    }
    let fact = Message::new().text(here);
    let (fact, help) = match *layouts {
        [(size, Some(align))] if own_size == size => {
            let fact = fact.text(" is aligned to ").bytes(own_align);
            let fact = fact.text(", but ").text(there).text(" to ").number(align).text(place);
            if own_align < align {
                (fact.text("\nhelp: write `#[repr(C, align(").number(align), "))]`")
            } else {
                (fact, "\nhelp: write `#[repr(C)]`, and give it no field that is aligned to more")
            }
        }
        [(size, _)] => {
            let fact = fact.text(" has ").bytes(own_size);
            let fact = fact.text(", but ").text(there).text(" has ").number(size).text(place);
            (fact, "\nhelp: give it the fields of the source, in their order, and `#[repr(C)]`")
        }
        _ => {
            let fact = fact.text(" has ").bytes(own_size).text(", aligned to ").number(own_align);
            let fact = fact.text(", but by the branches of its `#if`s ").text(there).text(" has ");
            let help = "\nhelp: give it the fields of one branch, in their order, and `#[repr(C)]`";
            (fact.each(layouts).text(place), help)
        }
    };
    fact.text(help).stop();
}

/// A text that is built while the crate is compiled. Whatever does not fit is left out.
pub(crate) struct Message {
    bytes: [u8; 2048],
    length: usize,
}

/// The position of the code in a text that begins with it.
const CODE: std::ops::Range<usize> = 1..7;

impl Message {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; 2048], length: 0 }
    }

    pub(crate) const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        if text.len() <= self.bytes.len() - self.length {
            let mut at = 0;
            while at < text.len() {
                self.bytes[self.length] = text[at];
                self.length += 1;
                at += 1;
            }
        }
        self
    }

    pub(crate) const fn number(self, number: usize) -> Self {
        let message = if number >= 10 { self.number(number / 10) } else { self };
        message.text(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"][number % 10])
    }

    pub(crate) const fn bytes(self, number: usize) -> Self {
        self.number(number).text(if number == 1 { " byte" } else { " bytes" })
    }

    /// `4, aligned to 4 or 8, aligned to 8`
    const fn each(mut self, layouts: &[(usize, Option<usize>)]) -> Self {
        let mut at = 0;
        while at < layouts.len() {
            let (size, align) = layouts[at];
            self = self.text(if at > 0 { " or " } else { "" }).number(size);
            if let Some(align) = align {
                self = self.text(", aligned to ").number(align);
            }
            at += 1;
        }
        self
    }

    /// Stops with the text. If the text begins with a code, `[TW0417]`, the code's page follows at its end.
    #[track_caller]
    pub(crate) const fn stop(self) -> ! {
        let said = self.bytes;
        let message = match str::from_utf8(said.split_at(CODE.end).0.split_at(CODE.start).1) {
            Ok(code) if said[0] == b'[' && said[CODE.end] == b']' => {
                self.text("\nsee: book/src/errors/").text(code).text(".md")
            }
            _ => self,
        };
        match str::from_utf8(message.bytes.split_at(message.length).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => unreachable!(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::same_layout;

    #[track_caller]
    fn assert_stops(check: impl FnOnce() + std::panic::UnwindSafe, expected: &str) {
        let said = std::panic::catch_unwind(check).unwrap_err();
        let said = said.downcast::<String>().unwrap();
        assert_eq!(*said, format!("`T` {expected}"));
    }

    #[test]
    fn what_differs_is_said() {
        same_layout::<[u32; 3]>(&[(12, Some(4))], "`T`", "`U` of k.cu", "");
        same_layout::<[u32; 3]>(&[(12, None)], "`T`", "`U` of k.cu", "");
        assert_stops(
            || same_layout::<u8>(&[(2000, Some(1))], "`T`", "`U` of k.cu", "\nnote: k.cu:1"),
            "has 1 byte, but `U` of k.cu has 2000\nnote: k.cu:1\n\
             help: give it the fields of the source, in their order, and `#[repr(C)]`",
        );
        assert_stops(
            || same_layout::<[f32; 4]>(&[(16, Some(16))], "`T`", "`U` of k.cu", ""),
            "is aligned to 4 bytes, but `U` of k.cu to 16\nhelp: write `#[repr(C, align(16))]`",
        );
        assert_stops(
            || same_layout::<u64>(&[(8, Some(4))], "`T`", "`U` of k.cu", ""),
            "is aligned to 8 bytes, but `U` of k.cu to 4\nhelp: write `#[repr(C)]`, and give it no field that is aligned to more",
        );
    }

    #[test]
    fn one_of_several_is_enough() {
        let layouts = [(4, Some(4)), (8, Some(8))];
        same_layout::<f32>(&layouts, "`T`", "`U` of k.cu", "");
        same_layout::<f64>(&layouts, "`T`", "`U` of k.cu", "");
        same_layout::<[f32; 2]>(&[(8, None), (4, Some(2))], "`T`", "`U` of k.cu", "");
        assert_stops(
            || same_layout::<[f32; 2]>(&layouts, "`T`", "`U` of k.cu", "\nnote: k.cu:1"),
            "has 8 bytes, aligned to 4, but by the branches of its `#if`s `U` of k.cu has 4, aligned to 4 or 8, \
             aligned to 8\nnote: k.cu:1\n\
             help: give it the fields of one branch, in their order, and `#[repr(C)]`",
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let long = "é".repeat(2000);
        assert_stops(
            || same_layout::<u8>(&[(2, None)], "`T`", &long, ""),
            "has 1 byte, but  has 2\nhelp: give it the fields of the source, in their order, and `#[repr(C)]`",
        );
    }
}
