//! Which fragments of a registry can be switched off: how they are numbered and counted.
//!
//! First a fragment is written beside the count as the next one, then its number into itself, then the count goes up:
//! whoever comes between does the rest. So all that are counted have their numbers, and none is counted twice.

use crate::fragment::{FragmentError, FragmentId, FragmentInfo, FragmentKind, FragmentRegistry};
use crate::sync::atomic::Ordering;
use crate::sync::mutant;

/// How many fragments can be switched off, and which one is the next, if one is: `count 32 | number + 1 32`, the lower
/// half zero if none is. A word never comes back.
#[derive(Clone, Copy)]
struct Switches(u64);

impl Switches {
    const fn count(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The fragment that is the next.
    const fn next(self) -> Option<FragmentId> {
        match (self.0 as u32).checked_sub(1) {
            Some(number) => Some(FragmentId::from_number(number as u16)),
            None => None,
        }
    }

    const fn with_next(self, id: FragmentId) -> Self {
        Self(self.0 | (id.number() as u64 + 1))
    }

    /// The next one counted.
    const fn counted(self) -> Self {
        Self((self.count() as u64 + 1) << 32)
    }
}

impl FragmentRegistry {
    /// How many fragments can be switched off: those that [are among so
    /// many](FragmentInfo::is_enableable_among). Lock-free.
    #[inline]
    pub(crate) fn enableable(&self) -> u32 {
        // Ordering: Acquire pairs with the Release in `count_next`: who sees the count finds the numbers of all that
        // are counted.
        let switches = Switches(self.switches.load(Ordering::Acquire));
        match switches.next() {
            None => switches.count(),
            Some(next) => self.count_next(switches, next).count(),
        }
    }

    /// Gives a fragment the next number of those that can be switched off, unless it has one. Lock-free: nobody waits
    /// for who has begun, but ends it for them.
    pub(super) fn enable(&self, info: &FragmentInfo) {
        // Ordering: Acquire, here and below: as in `enableable`.
        let mut switches = Switches(self.switches.load(Ordering::Acquire));
        loop {
            if let Some(next) = switches.next() {
                switches = self.count_next(switches, next);
            } else if info.is_enableable() {
                // It was counted: none is the next.
                return;
            } else {
                let begun = switches.with_next(info.id());
                // Ordering: Release: who ends it for this thread finds the fragment by its number.
                switches = match self.switches.compare_exchange(
                    switches.0,
                    begun.0,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                ) {
                    Ok(_) => begun,
                    Err(now) => Switches(now),
                };
            }
        }
    }

    /// Gives the next fragment its number, and then counts it; what stands there then.
    #[cold]
    #[inline(never)]
    fn count_next(&self, switches: Switches, next: FragmentId) -> Switches {
        let counted = switches.counted();
        let number = || {
            if let Some(info) = self.get(next) {
                // Who comes late gives it the number that it has.
                info.set_enableable(counted.count());
            }
        };
        if !mutant::active("switch_counted_first") {
            number();
        }
        // Ordering: Release: who sees the count sees the number.
        let order = mutant::ordering("switch_relaxed", Ordering::AcqRel);
        let changed =
            self.switches
                .compare_exchange(switches.0, counted.0, order, Ordering::Acquire);
        if mutant::active("switch_counted_first") {
            number();
        }
        match changed {
            Ok(_) => counted,
            Err(now) => Switches(now),
        }
    }

    /// Lets a fragment or tag be switched off and on for each entity, as
    /// [`register_enableable`](Self::register_enableable) does, by its number: one that was defined at run time.
    ///
    /// # Errors
    /// [`FragmentError::Unknown`]; [`FragmentError::WrongKind`] if entities do not have it one by one.
    pub fn make_enableable(&self, id: FragmentId) -> Result<&FragmentInfo, FragmentError> {
        let info = self.get(id).ok_or(FragmentError::Unknown { id })?;
        match info.kind() {
            FragmentKind::Fragment | FragmentKind::Tag => {
                self.enable(info);
                Ok(info)
            }
            is => Err(FragmentError::WrongKind {
                name: info.name().into(),
                is,
                wanted: FragmentKind::Fragment,
            }),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
