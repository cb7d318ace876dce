//! The peers' systems, and what runs them: each as its documentation does it.

pub(super) mod bevy;
pub(super) mod flecs;
pub(super) mod hecs;
pub(super) mod legion;
pub(super) mod shipyard;
pub(super) mod specs;
