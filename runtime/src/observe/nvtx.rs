//! NVTX ranges, for Nsight Systems and other tools: one for each run, and one around the enqueuing of each
//! operation.
//!
//! Without an attached tool there are no ranges.

mod injection;
mod sys;

use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use self::sys::{nvtxDomainHandle_t, nvtxEventAttributes_t};

use crate::base::plan::Plan;
use injection::Tool;

/// The version of the attributes' structure, the one that tools of NVTX 3 read.
const VERSION: u16 = 3;

/// The colours that stages take in turn, the same as in the timelines' pictures, as `0xAARRGGBB`.
const COLORS: [u32; 8] =
    [0xFF4E_79A7, 0xFFF2_8E2B, 0xFF59_A14F, 0xFFE1_5759, 0xFFB0_7AA1, 0xFF76_B7B2, 0xFFED_C948, 0xFF9C_755F];

/// The colour of a run as a whole.
const GRAY: u32 = 0xFF9D_9D9D;

/// The tool, and the domain to which ranges belong.
struct Domain {
    tool: Tool,
    handle: nvtxDomainHandle_t,
}

// SAFETY: the handle is the tool's, which takes it on any thread: NVTX's functions may be called from all of
// them.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

/// This process's tool, if one is attached.
fn domain() -> Option<&'static Domain> {
    static DOMAIN: OnceLock<Option<Domain>> = OnceLock::new();
    let attach = || {
        let tool = Tool::attach()?;
        // SAFETY: the name ends in NUL.
        let handle = unsafe { (tool.create_domain)(c"thalweg".as_ptr()) };
        Some(Domain { tool, handle })
    };
    DOMAIN.get_or_init(attach).as_ref()
}

/// A range of this thread, pushed until this is dropped. Ranges are dropped in the opposite order, as guards
/// are.
pub(crate) struct Range {
    domain: &'static Domain,
    /// Ranges nest by thread.
    thread: PhantomData<*const ()>,
}

impl Range {
    /// `Saxpy`, on this thread. `None` if no tool is attached.
    pub(crate) fn of_run(plan: &Plan) -> Option<Self> {
        let domain = domain()?;
        Some(Self::push(domain, plan.pipeline.to_owned(), GRAY, None))
    }

    /// `Saxpy load 3: copy x -> dx`, for chunk 3, whose number is also the range's payload. Within a
    /// [run's](Self::of_run).
    pub(crate) fn of_operation(&self, plan: &Plan, index: usize, chunk: usize) -> Self {
        let operation = &plan.operations[index];
        let (pipeline, stage) = (plan.pipeline, plan.stages[operation.stage]);
        let message = format!("{pipeline} {stage} {chunk}: {}", operation.text);
        Self::push(self.domain, message, COLORS[operation.stage % COLORS.len()], Some(chunk as u64))
    }

    fn push(domain: &'static Domain, message: String, color: u32, payload: Option<u64>) -> Self {
        // A name in source code has no NUL.
        let message = CString::new(message).unwrap_or_default();
        let attributes = nvtxEventAttributes_t {
            version: VERSION,
            size: size_of::<nvtxEventAttributes_t>() as u16,
            category: 0,
            colorType: sys::nvtxColorType_t::NVTX_COLOR_ARGB as i32,
            color,
            payloadType: match payload {
                Some(_) => sys::nvtxPayloadType_t::NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 as i32,
                None => 0,
            },
            reserved0: 0,
            payload: sys::nvtxEventAttributes_v2_payload_t { ullValue: payload.unwrap_or(0) },
            messageType: sys::nvtxMessageType_t::NVTX_MESSAGE_TYPE_ASCII as i32,
            message: sys::nvtxMessageValue_t { ascii: message.as_ptr() },
        };
        // SAFETY: the domain is the tool's; attributes and message live until the call returns, and tools
        // keep copies.
        unsafe { (domain.tool.push)(domain.handle, &raw const attributes) };
        Self { domain, thread: PhantomData }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: the domain is the tool's. This thread has pushed a range, and popped those that it has
        // pushed since.
        unsafe { (self.domain.tool.pop)(self.domain.handle) };
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Range")
    }
}
