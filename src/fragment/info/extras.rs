//! `Extras`: what is said of a fragment after it was registered.
//!
//! Must hold: the first that is said stays, whoever says it; who is refused changes nothing.

use core::fmt;
use std::sync::OnceLock;

#[cfg(not(loom))]
use crate::entity::EntityMap;
#[cfg(not(loom))]
use crate::fragment::Fragment;
use crate::fragment::info::functions::{CloneValue, DebugValue, clone_value, debug_value};
#[cfg(not(loom))]
use crate::fragment::info::map_value::MapValue;
use crate::fragment::info::saved_as::{PlainOps, SavedAs};
use crate::fragment::{FragmentError, FragmentInfo, Plain, Required};
use crate::sync::atomic::{AtomicU32, Ordering};

/// What can be asked for later than at the registration.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) clone: OnceLock<CloneValue>,
    pub(super) debug: OnceLock<DebugValue>,
    #[cfg(not(loom))]
    pub(super) fill: OnceLock<crate::fragment::FillValues>,
    /// What leads over the entities that a value names which is not plain.
    #[cfg(not(loom))]
    pub(super) map: OnceLock<MapValue>,
    /// What is known of how values are saved and hashed; the first that is said.
    pub(super) saved: OnceLock<SavedAs>,
    /// Which one it is of those that can be switched off, from 1 on, in the order of that being said.
    /// 0: none. Changes once.
    pub(super) enableable: AtomicU32,
    /// What comes with it.
    pub(super) required: Required,
}

impl FragmentInfo {
    pub(crate) fn set_clone<T: Clone>(&self) {
        let _ = self.extras.clone.set(clone_value::<T>);
        #[cfg(not(loom))]
        let _ = self
            .extras
            .fill
            .set(crate::fragment::fill::fill_values::<T>);
    }

    /// Values, which are `T`s, are written by its `Debug` from now on, if nobody has said otherwise.
    pub(crate) fn set_debug<T: fmt::Debug>(&self) {
        let _ = self.extras.debug.set(debug_value::<T>);
    }

    /// Values, which are `T`s, come to name others by `map`, if nobody has said otherwise.
    #[cfg(not(loom))]
    pub(crate) fn set_map<T: Fragment>(
        &self,
        map: impl Fn(&mut T, &EntityMap) + Send + Sync + 'static,
    ) {
        let _ = self.extras.map.set(MapValue::of(map));
    }

    /// Its values, which are `T`s, are plain data from now on, unless something else was said of how they are saved.
    pub(crate) fn set_plain<T: Plain>(&self) -> Result<&Self, FragmentError> {
        let _ = self.extras.saved.set(SavedAs::Plain(PlainOps::of::<T>()));
        self.expect_saved(self.is_plain())
    }

    /// Its values are written and read in this form from now on, unless something else was said of how they are saved.
    #[cfg(not(loom))]
    pub(crate) fn set_written(
        &self,
        form: crate::fragment::WrittenForm,
    ) -> Result<&Self, FragmentError> {
        let _ = self.extras.saved.set(SavedAs::Written(form));
        self.expect_saved(self.is_written())
    }

    pub(crate) fn set_enableable(&self, number: u32) {
        // Ordering: Release, see `is_enableable`.
        self.extras.enableable.store(number, Ordering::Release);
    }

    fn expect_saved(&self, so: bool) -> Result<&Self, FragmentError> {
        match so {
            true => Ok(self),
            false => Err(FragmentError::SavedOtherwise {
                name: (&*self.name).into(),
                is_plain: self.is_plain(),
            }),
        }
    }
}
