//! [`Shared`]: the state that all handles of a device share.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::pending::Registry;
use crate::backends::forked::Forked;
use crate::base::fork;
use crate::base::model::DeviceModel;
use crate::driver::{Driver, Link};

/// The state that all handles of one device share. It ends with the last of them.
pub(super) struct Shared {
    parts: ManuallyDrop<Parts>,
}

struct Parts {
    driver: Arc<dyn Driver>,
    registry: Registry,
    model: OnceLock<DeviceModel>,
    links: Mutex<Links>,
}

/// The devices whose way to this one is known.
type Links = Vec<(Weak<Shared>, Link)>;

impl Shared {
    pub(super) fn new(driver: Arc<dyn Driver>) -> Self {
        let model = driver.model().map_or_else(OnceLock::new, |model| OnceLock::from(model.clone()));
        Self {
            parts: ManuallyDrop::new(Parts {
                driver,
                registry: Registry::default(),
                model,
                links: Mutex::default(),
            }),
        }
    }

    /// Stands in for the state of every device in a forked process. No thread of the other process has locked
    /// any of it.
    #[cold]
    pub(super) fn of_another_process() -> &'static Self {
        static SHARED: OnceLock<Shared> = OnceLock::new();
        SHARED.get_or_init(|| Self::new(Arc::new(Forked::new())))
    }

    #[inline]
    pub(super) fn driver(&self) -> &dyn Driver {
        &*self.parts.driver
    }

    #[inline]
    pub(super) fn registry(&self) -> &Registry {
        &self.parts.registry
    }

    /// The way to another device, once it is known.
    pub(super) fn link(&self, other: &Arc<Self>) -> Option<Link> {
        let links = self.parts.links.lock().unwrap_or_else(PoisonError::into_inner);
        let known = links.iter().find(|(known, _)| ptr::eq(known.as_ptr(), Arc::as_ptr(other)));
        known.map(|(_, link)| *link)
    }

    /// Notes the way to another device.
    pub(super) fn note_link(&self, other: &Arc<Self>, link: Link) {
        let mut links = self.parts.links.lock().unwrap_or_else(PoisonError::into_inner);
        // The address of a device that is gone may be another's one day, but not while it is in the list.
        links.retain(|(known, _)| known.strong_count() > 0);
        links.push((Arc::downgrade(other), link));
    }

    /// The device's model, once it is known.
    pub(super) fn model(&self) -> &OnceLock<DeviceModel> {
        &self.parts.model
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if fork::is_child() {
            // The device belongs to the other process, so nothing is released here.
            return;
        }
        // SAFETY: it is dropped here only, and nothing uses it afterwards.
        unsafe { ManuallyDrop::drop(&mut self.parts) };
    }
}
