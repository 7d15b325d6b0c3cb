//! The values of a module's variables, given before a launch.

use std::sync::Arc;

use crate::base::error::{Detail, Result};
use crate::base::plan::BufferKind;
use crate::device::function::{Function, OwnModule};
use crate::device::stream::Stream;
use crate::driver::{Access, Command, DriverResult, RawSymbol, Tag};
use crate::engine::arguments::shape::BufferPlace;
use crate::engine::run::Run;
use crate::engine::run::operation::Operation;
use crate::engine::run::resources::Resources;
use crate::engine::targets::what::HostPart;

impl Operation<'_> {
    /// Ensures that the variables of the kernel's module hold `values` when it is launched.
    ///
    /// This waits for the copies here and now: launches on any stream, and in any graph, come after them. The
    /// source of the copies is complete: a resident is uploaded and waited for before the first chunk, or is
    /// an argument on the device.
    #[inline]
    pub(crate) fn give_symbols(&self, function: &Function, values: &[Access]) -> Result<()> {
        if values.len() != function.symbols.len() {
            return self.fail(Detail::Skipped);
        }
        match &function.own {
            Some(module) if !values.is_empty() && !self.works_out(HostPart::Variables)? => {
                self.give_to(module, function, values)
            }
            _ => Ok(()),
        }
    }

    fn give_to(&self, module: &Arc<OwnModule>, function: &Function, values: &[Access]) -> Result<()> {
        let kernel = function.name;
        for (access, symbol) in values.iter().zip(function.symbols) {
            if !self.is_resident(access) {
                return self.fail(Detail::SymbolNotResident { kernel, symbol });
            }
        }
        let mut symbols = self.run.taken.symbols.borrow_mut();
        let bound = symbols.bound(module);
        if let Some(holds) = &bound.holds {
            let differs =
                |(held, value): (&Access, &Access)| (held.ptr, held.bytes) != (value.ptr, value.bytes);
            return match holds.iter().zip(values).position(differs) {
                Some(index) => self.fail(Detail::SymbolChanged { kernel, symbol: function.symbols[index] }),
                None => Ok(()),
            };
        }
        for (index, (access, symbol)) in values.iter().zip(function.symbols).enumerate() {
            let bytes = access.bytes;
            if let Some(size) = function.symbol_size(index).filter(|&size| bytes > size) {
                return self.fail(Detail::SymbolSize { kernel, symbol, bytes, size });
            }
        }
        if !module.claim() {
            // Another pipeline's run has the variables: a function was cloned, and a module serves one run at
            // a time.
            return self.fail(Detail::SymbolChanged { kernel, symbol: function.symbols[0] });
        }
        bound.holds = Some(values.to_vec());
        if let Some(stream) = &module.stream {
            bound.copying = true;
            self.check(self.copy_symbols(module.symbols(), values, stream))?;
            bound.copying = false;
        }
        Ok(())
    }

    fn copy_symbols(&self, to: &[RawSymbol], from: &[Access], stream: &Stream) -> DriverResult<()> {
        let Tag { operation, chunk, .. } = self.tag();
        for (to, from) in to.iter().zip(from) {
            // SAFETY: the variable lives as long as its module, which the run holds, and has room for these
            // bytes; the resident lives as long as the run. The stream is waited for below, and by the run's
            // drain if that fails.
            unsafe {
                let driver = self.device().driver();
                let copy = Command::CopyOnDevice { to: to.ptr, from: from.ptr, bytes: from.bytes };
                driver.enqueue(copy, stream.raw, self.tag())?;
            }
        }
        stream.synchronize().map_err(|mut error| {
            error.tag.get_or_insert((operation, chunk));
            error
        })
    }

    /// Whether all of it lies in one of the run's residents, which nothing changes.
    fn is_resident(&self, access: &Access) -> bool {
        let Run { resources: Resources { plan, ring, .. }, arguments, .. } = self.run;
        plan.buffers.iter().zip(&arguments.buffers).enumerate().any(|(index, (declared, buffer))| {
            let place = match (declared.kind, buffer.place) {
                (
                    BufferKind::Resident,
                    BufferPlace::SharedInPlace(start, _) | BufferPlace::SharedHost(start, _),
                ) => Some((start, buffer.bytes(self.chunk.len))),
                (BufferKind::Resident, _) => ring.slot(index, 0),
                _ => None,
            };
            place.is_some_and(|(start, bytes)| access.is_within(start, bytes))
        })
    }
}
