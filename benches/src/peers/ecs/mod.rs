//! Other entity component stores as contenders on worlds: each in the way that its documentation
//! recommends for speed, through safe calls, with its checks on.

use megachunk::cli::workload::Registry;

mod bevy;
mod components;
mod flecs;
mod hecs;
mod legion;
mod shipyard;
mod specs;
mod systems;

/// Adds all of them.
pub(super) fn add_to(registry: &mut Registry) {
    registry
        .add_ecs_contender::<bevy::Bevy>()
        .add_ecs_contender::<hecs::Hecs>()
        .add_ecs_contender::<flecs::Flecs>()
        .add_ecs_contender::<shipyard::Shipyard>()
        .add_ecs_contender::<legion::Legion>()
        .add_ecs_contender::<specs::Specs>();
}
