//! Atomics: their types, their methods, and the orders that each may have.

use syn::Type;

use super::types::Number;
use crate::groups::peel;

/// The types, and the number that each holds. CUDA has atomics of 32 and of 64 bits.
const TYPES: [(&str, Number); 6] = [
    ("AtomicU32", Number::U32),
    ("AtomicI32", Number::I32),
    ("AtomicU64", Number::U64),
    ("AtomicI64", Number::I64),
    ("AtomicF32", Number::F32),
    ("AtomicF64", Number::F64),
];

/// The atomic of this name, and the number in it.
pub(super) fn named(name: &str) -> Option<(&'static str, Number)> {
    TYPES.iter().find(|(known, _)| *known == name).copied()
}

/// The atomic of a number.
pub(super) fn of(number: Number) -> Option<&'static str> {
    TYPES.iter().find(|(_, held)| *held == number).map(|(name, _)| *name)
}

/// Whether the type is an atomic, or an array of them.
pub(super) fn is_made_of(ty: &Type) -> bool {
    match peel(ty) {
        Type::Array(array) => is_made_of(&array.elem),
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| named(&last.ident.to_string()).is_some())
        }
        _ => false,
    }
}

/// An order of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Relaxed, "Relaxed"),
        (Self::Acquire, "Acquire"),
        (Self::Release, "Release"),
        (Self::AcqRel, "AcqRel"),
        (Self::SeqCst, "SeqCst"),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(order, _)| *order)
    }

    /// The name in Rust, which is that of the C++ type too.
    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(order, _)| *order == self).map_or("", |(_, name)| name)
    }
}

/// A method of an atomic.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The numbers that it takes, before its orders.
    pub(super) values: usize,
    /// The kind of access of each order, as its limits are.
    pub(super) orders: &'static [Access],
    /// Floats have it, too.
    of_floats: bool,
    pub(super) gives: Gives,
    /// Whether doing it again, with the same numbers, changes nothing.
    pub(super) is_idempotent: bool,
}

/// What an order orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
    Both,
    /// The load of an exchange that fails.
    Failure,
}

impl Access {
    pub(super) fn may_have(self, order: Order) -> bool {
        match self {
            Self::Load | Self::Failure => !matches!(order, Order::Release | Order::AcqRel),
            Self::Store => !matches!(order, Order::Acquire | Order::AcqRel),
            Self::Both => true,
        }
    }
}

/// What a method gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    Nothing,
    /// The number that is there, or that was there before.
    Number,
    /// A `Result` of it.
    Exchanged,
}

/// The method of this name of an atomic that holds such a number.
pub(super) fn operation(name: &str, of: Number) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|known| known.name == name && (known.of_floats || !of.is_float()))
}

/// Whether a name is that of a method which atomics alone have.
pub(super) fn have_alone(name: &str) -> bool {
    name != "swap" && OPERATIONS.iter().any(|known| known.name == name)
}

/// The names of the methods, for "did you mean".
pub(super) fn names(of: Number) -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().filter(move |known| known.of_floats || !of.is_float()).map(|known| known.name)
}

static OPERATIONS: [Operation; 11] = {
    const fn changes(name: &'static str, of_floats: bool, is_idempotent: bool) -> Operation {
        Operation { name, values: 1, orders: &[Access::Both], of_floats, gives: Gives::Number, is_idempotent }
    }
    [
        Operation { values: 0, orders: &[Access::Load], ..changes("load", true, true) },
        Operation { orders: &[Access::Store], gives: Gives::Nothing, ..changes("store", true, false) },
        Operation {
            values: 2,
            orders: &[Access::Both, Access::Failure],
            gives: Gives::Exchanged,
            ..changes("compare_exchange", true, true)
        },
        changes("swap", true, true),
        changes("fetch_add", true, false),
        changes("fetch_sub", true, false),
        changes("fetch_min", true, true),
        changes("fetch_max", true, true),
        changes("fetch_and", false, true),
        changes("fetch_or", false, true),
        changes("fetch_xor", false, false),
    ]
};
