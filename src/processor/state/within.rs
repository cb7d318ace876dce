//! `WithinState`: entities that live within a state.

use crate::entity::Entity;
use crate::fragment::{
    ConstShared, IsValue, MapEntities, PerChunk, Plain, PlainField, PlainVariant, Shared,
    TypeInRole,
};
use crate::processor::States;
use crate::query::{ChunkView, QueryError, With};
use crate::world::World;

/// Says of an entity that it lives within a state: when that is left, [`state_transition`](super::state_transition) destroys
/// it.
///
/// In whichever role: as a shared value (`bundle.shared(WithinState(Screen::Playing))`) the entities of each state lie in
/// chunks of their own, which go as a whole, O(chunks) to find; right for a level of many. As a fragment it is a value of
/// each entity, and all who have one are looked at, whatever their state; right for a few of many kinds, which would fill no
/// chunk. One whose value is changed lives within the other state, and one whose fragment is [switched
/// off](World::set_enabled) within none.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.init_state("playing");
/// let _ = world.create_batch((0..1_000).map(|tree| (tree,).shared(WithinState("playing"))))?;
/// world.create((WithinState("playing"), 'p'))?;
/// world.create((WithinState("menu"), 'm'))?;
/// let mut schedule = Schedule::new();
/// schedule.add_composite(state_transition::<&str>("screen"));
/// schedule.run(&mut world)?;
/// assert_eq!(world.count(), 1_002);
/// world.resources_mut().get_mut::<NextState<&str>>().unwrap().set("menu");
/// schedule.run(&mut world)?;
/// assert_eq!(world.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Observers are told, as whenever somebody is destroyed. What they create then within the state that is left stays, until that
/// is left again. Children stay, too, as with each destruction: give them one of these as well, or
/// [record orphans](crate::index::RelationshipIndex::record_orphans) behind the transition. Who has none of these pays nothing.
///
/// If a run is broken off between the two parts of a transition, the next makes up for the destruction where it comes by; then
/// all go who live within the state that was left at that moment, also who came since. Where a state was
/// [entered again](super::NextState::reenter), these may be those of whom it was to be made anew: so that transition
/// [stands](super::State::transition) once more from then on, and who [builds the
/// state](crate::processor::ProcessorBuilder::run_if_entered) has another turn; what is asked for meanwhile waits for the next run.
///
/// Source: Bevy's `DespawnOnExit`, which was `StateScoped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "StateScoped")]
#[doc(alias = "DespawnOnExit")]
pub struct WithinState<S>(pub S);

// SAFETY: its only field is plain, and it is nothing else.
unsafe impl<S: Plain> Plain for WithinState<S> {
    const IS_VALUE: Option<IsValue> = S::IS_VALUE;
    const MAP_ENTITIES: Option<MapEntities> = S::MAP_ENTITIES;
    const SHAPE: u64 = S::SHAPE;
    const FIELDS: &'static [PlainField] = S::FIELDS;
    const VARIANTS: &'static [PlainVariant] = S::VARIANTS;
    const ELEMENTS: Option<(usize, &'static PlainField)> = S::ELEMENTS;
    const SAYS_VARIANTS: bool = true;
}

/// Destroys all who live within a state.
pub(super) fn destroy_within<S: States>(world: &mut World, state: S) -> Result<(), QueryError> {
    let within = WithinState(state);
    let shares = |chunk: &ChunkView<'_>| chunk.shares(&within);
    destroy_in::<Shared<WithinState<S>>>(world, shares)?;
    destroy_in::<ConstShared<WithinState<S>>>(world, shares)?;
    destroy_in::<PerChunk<WithinState<S>>>(world, |chunk| chunk.chunk_fragment() == Some(&within))?;
    if world.registry().of::<WithinState<S>>().is_none() {
        return Ok(());
    }
    let mut going: Vec<Entity> = Vec::new();
    world
        .query::<(Entity, &WithinState<S>), ()>()?
        .for_each(|(entity, of)| {
            if *of == within {
                going.push(entity);
            }
        });
    // All of them live here: the query has just seen them.
    let _ = world.destroy_slice(&going);
    Ok(())
}

/// Destroys those in chunks for which `filter` is true, of all who have something in a role.
fn destroy_in<R: TypeInRole>(
    world: &mut World,
    filter: impl Fn(&ChunkView<'_>) -> bool + Send + Sync,
) -> Result<(), QueryError> {
    // Not known: nobody has it. To look for it would make it known.
    if world.registry().of::<R>().is_some() {
        let all = world.matching::<With<R>>()?;
        all.filter_chunks(filter).destroy();
    }
    Ok(())
}
