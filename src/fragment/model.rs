//! What loom models need of the registry and an ordinary user does not: which fragments can be switched off. Exists
//! under `cfg(loom)` only.

use crate::fragment::{FragmentInfo, FragmentRegistry};

/// How many fragments can be switched off, as a recorder asks when it is opened.
#[must_use]
pub fn switches(registry: &FragmentRegistry) -> u32 {
    registry.enableable()
}

/// Whether a fragment is one of the first `count` that can be, as a recorder asks later.
#[must_use]
pub fn is_among(info: &FragmentInfo, count: u32) -> bool {
    info.is_enableable_among(count)
}
