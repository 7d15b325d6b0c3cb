//! [`Recent`]: the values of the keys that were used last.

use thalweg::Result;

/// The values of the keys that were asked for last, at most `MOST` of them.
#[derive(Debug)]
pub(crate) struct Recent<K, V, const MOST: usize> {
    /// The entries in the order of their last use, the latest at the end.
    entries: Vec<(K, V)>,
}

impl<K: PartialEq, V, const MOST: usize> Recent<K, V, MOST> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The value of `key`; if there is none, `make` makes it.
    ///
    /// If there is no room for it, the half of the values that was not used for longest is dropped first.
    /// These are dropped together, so that `before_drop`, which may have to wait for the device, is called
    /// once for all of them.
    ///
    /// # Errors
    /// Those of `before_drop`, after which all values are still there, and of `make`.
    pub(crate) fn get_or_make(
        &mut self,
        key: K,
        before_drop: impl FnOnce() -> Result<()>,
        make: impl FnOnce() -> Result<V>,
    ) -> Result<&mut V> {
        let entry = match self.entries.iter().position(|(known, _)| *known == key) {
            Some(at) => self.entries.remove(at),
            None => {
                if self.entries.len() >= MOST {
                    before_drop()?;
                    self.entries.drain(..MOST.div_ceil(2));
                }
                (key, make()?)
            }
        };
        let last = self.entries.len();
        self.entries.push(entry);
        Ok(&mut self.entries[last].1)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use thalweg::Error;

    #[test]
    fn what_was_used_last_stays() -> Result<()> {
        let (mut recent, drops) = (Recent::<u32, u32, 4>::new(), Cell::new(0));
        let mut get = |key| {
            let mut made = false;
            let dropped = || {
                drops.set(drops.get() + 1);
                Ok(())
            };
            let value = recent.get_or_make(key, dropped, || {
                made = true;
                Ok(10 * key)
            })?;
            assert_eq!(*value, 10 * key);
            Ok::<_, Error>(made)
        };
        for key in 1..=4 {
            assert!(get(key)?, "{key} is new");
        }
        assert!(!get(1)?, "it is there, and now the last");
        assert_eq!(drops.get(), 0, "there is room for four");
        assert!(get(5)?);
        assert_eq!(drops.get(), 1, "once for 2 and 3");
        assert_eq!([get(4)?, get(1)?, get(5)?, get(2)?, get(3)?], [false, false, false, true, true]);
        assert_eq!(drops.get(), 2, "4 and 1 went for 3");
        Ok(())
    }

    #[test]
    fn what_may_not_go_stays() {
        let mut recent = Recent::<u32, (), 1>::new();
        let busy = || Err(Error::routine("wait", "busy"));
        recent.get_or_make(1, busy, || Ok(())).expect("there is room");
        recent.get_or_make(2, busy, || unreachable!("there is no room")).expect_err("it may not go");
        recent.get_or_make(1, busy, || unreachable!("it is there")).expect("it has stayed");
        recent.get_or_make(2, || Ok(()), || Err(Error::routine("make", "no"))).expect_err("none is made");
        recent.get_or_make(2, busy, || Ok(())).expect("there is room now");
    }
}
