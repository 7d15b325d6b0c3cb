//! [`Opened`]: what a device releases at its end.

use std::sync::Arc;

use super::api::Api;
use super::context::Context;
use super::ends::Ends;
use super::host::HostFunctions;
use super::module::Modules;
use super::nccl::Communicators;
use super::small_copy::Copier;
use crate::driver::DriverResult;

/// The resources that a device releases when its last handle is dropped.
pub(crate) struct Opened {
    // Fields are dropped in this order, since modules live in the context.
    pub(super) modules: Modules,
    pub(super) copier: Copier,
    pub(super) host: HostFunctions,
    pub(super) ends: Ends,
    pub(super) communicators: Communicators,
    /// Threads that wait for other ranks have it too.
    pub(super) context: Arc<Context>,
}

impl Opened {
    /// The resources of a device that has done nothing yet.
    pub(super) fn new(context: Context) -> Self {
        let (modules, host, ends) = (Modules::new(), HostFunctions::new(), Ends::new());
        Self {
            modules,
            copier: Copier::new(),
            host,
            ends,
            communicators: Communicators::new(),
            context: Arc::new(context),
        }
    }

    /// Makes the context current. It fails inside a job: another thread's call may occupy the driver until
    /// the device has nothing to do, and the job's stream waits for the job.
    #[inline]
    pub(super) fn enter(&self) -> DriverResult<&'static Api> {
        HostFunctions::may_call("cuCtxSetCurrent")?;
        self.context.enter()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // The modules, which are dropped next, need the current context as well. Without it they end with the
        // context.
        let api = self.enter().ok();
        self.host.close(api);
        self.ends.close(api);
        self.modules.close(api);
    }
}
