//! The parts of `nccl.h` that are used: types, numbers, and the table of functions, named as there.
//!
//! They are those of NCCL 2.18, which later releases have kept. A test reads a header, if there is one, and
//! compares each of them with it.

#![allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "the names are those of the header"
)]

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

use crate::backends::cuda::sys::CUstream;
use crate::backends::cuda::table::symbol;

/// A communicator.
pub(super) enum ncclComm {}
pub(super) type ncclComm_t = *mut ncclComm;
/// The runtime's streams are the driver's.
pub(super) type cudaStream_t = CUstream;
/// A code. A newer library may have more of them, so it is no Rust enum.
pub(super) type ncclResult_t = c_uint;
pub(super) type ncclDataType_t = c_uint;
pub(super) type ncclRedOp_t = c_uint;

/// Declares numbers, and a list of them for the test.
macro_rules! numbers {
    ($( const $name:ident: $type:ty = $value:expr; )*) => {
        $( pub(super) const $name: $type = $value; )*

        #[cfg(test)]
        pub(super) const NUMBERS: &[(&str, u64)] = &[$( (stringify!($name), $name as u64) ),*];
    };
}

numbers! {
    const ncclSuccess: ncclResult_t = 0;
    const ncclUnhandledCudaError: ncclResult_t = 1;
    const ncclSystemError: ncclResult_t = 2;
    const ncclInternalError: ncclResult_t = 3;
    const ncclInvalidArgument: ncclResult_t = 4;
    const ncclInvalidUsage: ncclResult_t = 5;
    const ncclRemoteError: ncclResult_t = 6;
    const ncclInProgress: ncclResult_t = 7;
    const ncclSum: ncclRedOp_t = 0;
    const ncclProd: ncclRedOp_t = 1;
    const ncclMax: ncclRedOp_t = 2;
    const ncclMin: ncclRedOp_t = 3;
    const ncclAvg: ncclRedOp_t = 4;
    const ncclInt8: ncclDataType_t = 0;
    const ncclUint8: ncclDataType_t = 1;
    const ncclInt32: ncclDataType_t = 2;
    const ncclUint32: ncclDataType_t = 3;
    const ncclInt64: ncclDataType_t = 4;
    const ncclUint64: ncclDataType_t = 5;
    const ncclFloat16: ncclDataType_t = 6;
    const ncclFloat32: ncclDataType_t = 7;
    const ncclFloat64: ncclDataType_t = 8;
    const ncclBfloat16: ncclDataType_t = 9;
    const NCCL_UNIQUE_ID_BYTES: usize = 128;
    const NCCL_API_MAGIC: c_uint = 0xcafe_beef;
}

/// A field of the configuration that says nothing.
pub(super) const NCCL_CONFIG_UNDEF_INT: c_int = c_int::MIN;

/// The release whose configuration this is, and the oldest that is used, as `NCCL_VERSION(2, 18, 0)` makes
/// it.
pub(super) const OLDEST: c_int = 2 * 10_000 + 18 * 100;

/// What rank 0 gives to all others, so that they find each other.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ncclUniqueId {
    pub(super) internal: [c_char; NCCL_UNIQUE_ID_BYTES],
}

/// Declares a structure, and a list of its fields for the test.
macro_rules! structure {
    ($(#[$attribute:meta])* struct $Struct:ident { $( $field:ident: $type:ty, )* }) => {
        $(#[$attribute])*
        #[repr(C)]
        pub(super) struct $Struct { $( pub(super) $field: $type, )* }

        #[cfg(test)]
        pub(super) const FIELDS: &[(&str, &str)] = &[$( (stringify!($field), stringify!($type)) ),*];
    };
}

structure! {
    /// The configuration of a communicator, with the fields that 2.18 has. A newer library copies as many
    /// bytes as `size` says, and gives the fields that `version` did not have yet their defaults.
    struct ncclConfig_t {
        size: usize,
        magic: c_uint,
        version: c_uint,
        blocking: c_int,
        cgaClusterSize: c_int,
        minCTAs: c_int,
        maxCTAs: c_int,
        netName: *const c_char,
        splitShare: c_int,
    }
}

impl ncclConfig_t {
    /// All calls return at once, and [`ncclCommGetAsyncError`](Functions::ncclCommGetAsyncError) says when
    /// they are over. What is split off shares its resources, and with them the flag that ends everything.
    pub(super) fn of_guard() -> Self {
        Self { blocking: 0, splitShare: 1, ..Self::unsaid() }
    }

    /// All calls wait until what they ask for is enqueued.
    pub(super) fn of_worker() -> Self {
        Self { blocking: 1, ..Self::unsaid() }
    }

    /// Nothing is said.
    fn unsaid() -> Self {
        let unsaid = NCCL_CONFIG_UNDEF_INT;
        Self {
            size: size_of::<Self>(),
            magic: NCCL_API_MAGIC,
            version: OLDEST.unsigned_abs(),
            blocking: unsaid,
            cgaClusterSize: unsaid,
            minCTAs: unsaid,
            maxCTAs: unsaid,
            netName: std::ptr::null(),
            splitShare: unsaid,
        }
    }
}

/// Declares the table. Each function becomes an unsafe method of the same name, whose contract is the C
/// function's, and which returns the code.
macro_rules! functions {
    ($( fn $name:ident($( $argument:ident: $type:ty ),* $(,)?); )*) => {
        /// The functions that every NCCL since 2.18 has.
        pub(super) struct Functions {
            $( $name: unsafe extern "C" fn($( $type ),*) -> ncclResult_t, )*
        }

        impl Functions {
            /// Looks all functions up; the error is the name of the first that is missing.
            pub(super) fn find(library: &'static Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the library's function of this name has this type, which a test compares
                        // with the header's; codes are C's enums there and their integers here.
                        $name: unsafe { symbol(library, stringify!($name)) }.ok_or(stringify!($name))?,
                    )*
                })
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the functions keep the library's parameters")]
        impl Functions {
            $(
                #[inline]
                pub(super) unsafe fn $name(&self, $( $argument: $type ),*) -> ncclResult_t {
                    // SAFETY: the pointer is this function's, and the library is never unloaded. The caller
                    // keeps the function's contract.
                    unsafe { (self.$name)($( $argument ),*) }
                }
            )*
        }

        #[cfg(test)]
        pub(super) const SIGNATURES: &[(&str, &[&str])] =
            &[$( (stringify!($name), &[$( stringify!($type) ),*]) ),*];
    };
}

functions! {
    fn ncclGetUniqueId(id: *mut ncclUniqueId);
    fn ncclCommInitRankConfig(
        comm: *mut ncclComm_t,
        ranks: c_int,
        id: ncclUniqueId,
        rank: c_int,
        config: *mut ncclConfig_t,
    );
    fn ncclCommSplit(
        comm: ncclComm_t,
        color: c_int,
        key: c_int,
        made: *mut ncclComm_t,
        config: *mut ncclConfig_t,
    );
    fn ncclCommFinalize(comm: ncclComm_t);
    fn ncclCommDestroy(comm: ncclComm_t);
    fn ncclCommAbort(comm: ncclComm_t);
    fn ncclCommGetAsyncError(comm: ncclComm_t, error: *mut ncclResult_t);
    fn ncclGroupStart();
    fn ncclGroupEnd();
    fn ncclAllReduce(
        from: *const c_void,
        to: *mut c_void,
        count: usize,
        element: ncclDataType_t,
        reduction: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
    fn ncclReduce(
        from: *const c_void,
        to: *mut c_void,
        count: usize,
        element: ncclDataType_t,
        reduction: ncclRedOp_t,
        root: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
    fn ncclBroadcast(
        from: *const c_void,
        to: *mut c_void,
        count: usize,
        element: ncclDataType_t,
        root: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
    fn ncclAllGather(
        from: *const c_void,
        to: *mut c_void,
        count: usize,
        element: ncclDataType_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
    fn ncclReduceScatter(
        from: *const c_void,
        to: *mut c_void,
        count: usize,
        element: ncclDataType_t,
        reduction: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
    fn ncclSend(
        from: *const c_void,
        count: usize,
        element: ncclDataType_t,
        peer: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
    fn ncclRecv(
        to: *mut c_void,
        count: usize,
        element: ncclDataType_t,
        peer: c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    );
}
