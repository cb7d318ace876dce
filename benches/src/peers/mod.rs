//! Other crates as contenders on ids, and in [`ecs`] on worlds: each in the way that its documentation
//! recommends, and only on workloads where it does the same work as everybody.

use megachunk::cli::workload::Registry;

mod bevy;
mod concurrent_slotmap;
mod ecs;
mod hecs;
mod sharded_slab;
mod slotmap;

/// Adds all of them.
pub(crate) fn add_to(registry: &mut Registry) {
    registry
        .add_id_contender::<sharded_slab::ShardedSlab>()
        .add_id_contender::<concurrent_slotmap::ConcurrentSlotmap>()
        .add_id_contender::<slotmap::SlotmapMutex>()
        .add_id_contender::<bevy::Bevy>()
        .add_id_contender::<hecs::Hecs>();
    ecs::add_to(registry);
}
