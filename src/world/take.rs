//! Values leave the world for who asks for them.

use smallvec::SmallVec;

use crate::archetype::{Change, Chunk, Edge, Row};
use crate::entity::Entity;
use crate::fragment::{
    AboutFragment, DynamicBundle, Fragment, FragmentError, FragmentId, FragmentKind,
    FragmentRegistry, Pile, TakeBundle, Value,
};
use crate::panics::{Panicked, note, resume};
use crate::world::change::{carry, two};
use crate::world::create::columns;
use crate::world::watch::REMOVED;
use crate::world::{Lack, World, WorldError};

impl World {
    /// Takes fragments away from an entity, in one move, and gives their values: all of `B`, or none,
    /// if one of them is not there. Who listens to what goes is told, as by [`remove`](Self::remove),
    /// while the values are still in their place. O(fragments of the entity); the first time from a
    /// composition as for [`add`](Self::add).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Purse(String);
    ///
    /// let mut world = World::new();
    /// let traveller = world.create((Purse("ten coins".into()), 3_u32))?;
    /// let (Purse(loot),) = world.take::<(Purse,)>(traveller)?;
    /// assert_eq!(loot, "ten coins");
    /// let error = world.take::<(u32, Purse)>(traveller).err().expect("the purse has gone");
    /// assert!(error.to_string().ends_with("Purse"), "{error}");
    /// assert_eq!(world.get::<u32>(traveller)?, &3);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`]; a fragment stands there twice; no memory is
    /// left. Nothing has changed then.
    ///
    /// # Panics
    /// If somebody who listens panics; the fragments are gone then, and their values dropped. If the
    /// `clone` of a chunk fragment panics, with which a new chunk was to begin; nothing has changed
    /// then.
    pub fn take<B: TakeBundle>(&mut self, entity: Entity) -> Result<B, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let number = self.bundles.number::<B>(self.universe.registry())?;
        let lacks = Lacks {
            world: self,
            archetype,
            entity,
        };
        if let Some(error) = B::first(&lacks) {
            return Err(error);
        }
        let edge = self.edge_for(archetype, Change::Remove(number))?;
        let ids = &self.bundles.infos[number as usize].ids;
        let offsets: SmallVec<[u32; 16]> = self.archetypes[archetype as usize].offsets_of(ids);
        let (taken, mut panicked) =
            self.taking(entity, (archetype, row), &edge, |_, chunk, row| {
                let columns = columns::<B>(chunk, &offsets);
                // SAFETY: the columns of these fragments, all of which are there, with a value in the row; the edge does
                // not carry it, and nobody else ends it.
                unsafe { B::read(columns.as_ptr(), row as usize) }
            })?;
        if panicked.is_some() {
            taken.end_each(&mut panicked);
            resume(panicked);
            unreachable!("it has panicked");
        }
        Ok(taken)
    }

    /// Takes fragments away from an entity, in one move, and gives their values: [`take`](Self::take) of those that are known
    /// at run time only, fragments and tags. All of them, or none, if one is not there; their order does not matter.
    /// O(fragments of the entity, and those named, which are sorted); the first time that a set of fragments goes from a
    /// composition as for [`add`](Self::add).
    ///
    /// What an editor does to take something away in a way that can be undone: the bundle goes back by
    /// [`add_dynamic`](Self::add_dynamic). (Where it is switched off, that is not in its value:
    /// [`is_enabled_dynamic`](Self::is_enabled_dynamic).)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Purse(String);
    ///
    /// let mut world = World::new();
    /// let traveller = world.create((Purse("ten coins".into()), 3_u32))?;
    /// let purse = world.registry().register::<Purse>()?.id();
    /// let taken = world.take_dynamic(traveller, &[purse])?;
    /// assert!(!world.has::<Purse>(traveller)?);
    /// world.add_dynamic(traveller, taken)?;
    /// assert_eq!(world.get::<Purse>(traveller)?.0, "ten coins");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`]; [`FragmentError::Unknown`], [`FragmentError::Twice`];
    /// [`FragmentError::WrongKind`] of a shared value or a chunk's, which others have, too
    /// ([`get_dynamic`](Self::get_dynamic) and [`to_value`](crate::fragment::Values::to_value) have a clone of it, if it can be
    /// cloned); no memory is left. Nothing has changed then.
    ///
    /// # Panics
    /// As for [`take`](Self::take).
    pub fn take_dynamic(
        &mut self,
        entity: Entity,
        fragments: &[FragmentId],
    ) -> Result<DynamicBundle, WorldError> {
        let (archetype, row) = self.find(entity)?;
        for &id in fragments {
            self.check_its_own(entity, archetype, id)?;
        }
        let number = self.number_of_gone(fragments)?;
        let edge = self.edge_for(archetype, Change::Remove(number))?;
        if edge.target == archetype {
            return Ok(DynamicBundle::new());
        }
        let ids = self.bundles.infos[number as usize].ids.clone();
        let offsets: SmallVec<[u32; 16]> = self.archetypes[archetype as usize].offsets_of(&ids);
        let (values, mut panicked) =
            self.taking(entity, (archetype, row), &edge, |registry, chunk, row| {
                let mut values = Pile::with_capacity(ids.len());
                for (info, &offset) in ids.iter().filter_map(|&id| registry.get(id)).zip(&offsets) {
                    let from = chunk
                        .array(offset)
                        .wrapping_add(row as usize * info.layout().size());
                    // SAFETY: the column of this fragment, which is there, with a value in the row, or a tag, which is
                    // anywhere; the edge does not carry it, and nobody else ends it.
                    values.push(unsafe { Value::take(info, from) });
                }
                values
            })?;
        let bundle = DynamicBundle { values };
        if panicked.is_some() {
            note(&mut panicked, || drop(bundle));
            resume(panicked);
            unreachable!("it has panicked");
        }
        Ok(bundle)
    }

    /// Whether an entity of an archetype has a fragment, and nobody else has the same.
    fn check_its_own(
        &self,
        entity: Entity,
        archetype: u32,
        id: FragmentId,
    ) -> Result<(), WorldError> {
        let info = self.registry().get(id);
        let info = info.ok_or(FragmentError::Unknown { id })?;
        if !matches!(info.kind(), FragmentKind::Fragment | FragmentKind::Tag) {
            return Err(FragmentError::WrongKind {
                name: info.name().into(),
                is: info.kind(),
                wanted: FragmentKind::Fragment,
            }
            .into());
        }
        if self.archetypes[archetype as usize].set.contains(id) {
            return Ok(());
        }
        Err(WorldError::Missing {
            entity,
            name: info.name().into(),
            lack: Lack::Fragment,
        })
    }

    /// Moves an entity along an edge that fragments do not come along: `read` takes their values out of a row of a chunk,
    /// and ends none. What who listens has panicked with.
    #[inline(always)]
    fn taking<R>(
        &mut self,
        entity: Entity,
        (archetype, row): (u32, Row),
        edge: &Edge,
        read: impl FnOnce(&FragmentRegistry, &Chunk, u32) -> R,
    ) -> Result<(R, Panicked), WorldError> {
        let mut panicked = None;
        if self.watches(archetype, REMOVED) {
            // Room first: what is shown as going does go.
            self.room_on(archetype, row, edge)?;
            panicked = self.leaves(archetype, row, edge.target);
        }
        let to = self.room_on(archetype, row, edge)?;
        let version = self.stamp();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        let chunk = &source.chunks[row.chunk as usize];
        let taken = read(self.universe.registry(), chunk, row.row);
        self.settle_move(archetype, row, edge, to, entity, version);
        Ok((taken, panicked))
    }
}

/// Says of a fragment that an entity does not have it.
struct Lacks<'w> {
    world: &'w World,
    archetype: u32,
    entity: Entity,
}

impl AboutFragment for Lacks<'_> {
    type Said = WorldError;

    fn say<T: Fragment>(&self) -> Option<WorldError> {
        let set = &self.world.archetypes[self.archetype as usize].set;
        let info = self.world.registry().of_role::<T>();
        match info {
            Some(info) if set.contains(info.id()) => None,
            _ => Some(self.world.missing::<T>(self.archetype, self.entity)),
        }
    }
}
