//! [`Symbols`]: the variables of modules to which launches give values, each once a run.

use std::sync::Arc;

use crate::device::function::OwnModule;
use crate::device::stream::Stream;
use crate::driver::Access;

/// The modules to whose variables launches of this pipeline have given values.
///
/// They stay as long as the pipeline, whose graphs refer to their kernels.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    modules: Vec<Bound>,
}

#[derive(Debug)]
pub(crate) struct Bound {
    module: Arc<OwnModule>,
    /// The values that the run has copied into the variables; `None` before its first launch.
    pub(crate) holds: Option<Vec<Access>>,
    /// Whether a copy may be under way.
    pub(crate) copying: bool,
}

impl Symbols {
    /// The streams on which a copy may be under way.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.modules.iter().filter(|bound| bound.copying).filter_map(|bound| bound.module.stream.as_ref())
    }

    /// Whether any launch gives values to variables.
    pub(crate) fn is_any(&self) -> bool {
        !self.modules.is_empty()
    }

    /// Ends a run that has drained.
    pub(crate) fn rest(&mut self) {
        for bound in &mut self.modules {
            if bound.holds.take().is_some() {
                bound.module.release();
            }
            bound.copying = false;
        }
    }

    /// Leaves the modules to the device.
    pub(crate) fn leak(self) {
        self.modules.into_iter().for_each(|bound| std::mem::forget(bound.module));
    }

    pub(crate) fn bound(&mut self, module: &Arc<OwnModule>) -> &mut Bound {
        let index = self.modules.iter().position(|bound| Arc::ptr_eq(&bound.module, module));
        let index = index.unwrap_or_else(|| {
            self.modules.push(Bound { module: Arc::clone(module), holds: None, copying: false });
            self.modules.len() - 1
        });
        &mut self.modules[index]
    }
}
