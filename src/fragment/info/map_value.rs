//! `MapValue`: how a value of a type comes to name other entities.

use core::fmt;
use std::sync::Arc;

use crate::entity::EntityMap;
use crate::fragment::Fragment;
use crate::fragment::info::functions::address;

/// How a value of a type comes to name other entities: a user's function, its type forgotten.
#[derive(Clone)]
pub(crate) struct MapValue(Arc<MapAt>);

/// Changes the value at an address.
type MapAt = dyn Fn(*mut u8, &EntityMap) + Send + Sync;

impl MapValue {
    pub(super) fn of<T: Fragment>(
        map: impl Fn(&mut T, &EntityMap) + Send + Sync + 'static,
    ) -> Self {
        let map = move |value: *mut u8, entities: &EntityMap| {
            // SAFETY: a value of this type, which nobody else has: see `apply`.
            map(unsafe { &mut *address::<T>(value) }, entities);
        };
        Self(Arc::new(map))
    }

    /// Changes the entities that a value names to those that they have become.
    ///
    /// # Safety
    /// `value` is one of the fragment that this is of, and nobody else has it.
    pub(crate) unsafe fn apply(&self, value: *mut u8, entities: &EntityMap) {
        (self.0)(value, entities);
    }
}

// Who holds one need not say in which state a closure of the user's is after a panic: that is theirs, as of all they share.
impl core::panic::UnwindSafe for MapValue {}

impl core::panic::RefUnwindSafe for MapValue {}

impl fmt::Debug for MapValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MapValue")
    }
}
