//! What loom models need of the registry and an ordinary user does not: which fragments can be switched off, and what they
//! require. Exists under `cfg(loom)` only.

use crate::fragment::{FragmentId, FragmentInfo, FragmentRegistry};

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

/// Says that a fragment requires another; whether it was in time.
#[must_use]
pub fn require(owner: &FragmentInfo, needed: FragmentId) -> bool {
    owner.required().add(needed, ()).is_ok()
}

/// What a fragment requires, settled from now on, as whoever works out what comes with it asks.
#[must_use]
pub fn settled(owner: &FragmentInfo) -> Vec<FragmentId> {
    let entries = owner.required().settle();
    entries.map(|entry| entry.needed).collect()
}

/// What a fragment requires at this moment.
#[must_use]
pub fn required(owner: &FragmentInfo) -> Vec<FragmentId> {
    let entries = owner.required().iter();
    entries.map(|entry| entry.needed).collect()
}
