//! [`Handles`]: values under numbers that are never reused.

/// A table of values, each under a handle that stays invalid once the value is removed.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Handles<T> {
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, value: None });
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 handles fit memory")
        });
        let slot = &mut self.slots[index as usize];
        // Generations begin at 1, so that a handle of all zeros is never valid.
        slot.generation += 1;
        slot.value = Some(value);
        u64::from(slot.generation) << 32 | u64::from(index)
    }

    pub(crate) fn get(&self, handle: u64) -> Option<&T> {
        let slot = self.slots.get(handle as u32 as usize)?;
        slot.value.as_ref().filter(|_| u64::from(slot.generation) == handle >> 32)
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let slot = self.slots.get_mut(handle as u32 as usize)?;
        slot.value.as_mut().filter(|_| u64::from(slot.generation) == handle >> 32)
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        self.get(handle)?;
        let index = handle as u32;
        let slot = &mut self.slots[index as usize];
        // A slot whose generations are used up is retired.
        if slot.generation < u32::MAX {
            self.free.push(index);
        }
        slot.value.take()
    }

    /// Everything in the table, in the order of the slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let handle = u64::from(slot.generation) << 32 | index as u64;
            slot.value.as_ref().map(|value| (handle, value))
        })
    }

    /// The same as [`iter`](Self::iter), with mutable values.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, slot)| {
            let handle = u64::from(slot.generation) << 32 | index as u64;
            slot.value.as_mut().map(|value| (handle, value))
        })
    }
}
