//! Clones of entities.

use crate::archetype::{Row, read_bit, write_bit};
use crate::chunk::Run;
use crate::entity::Entity;
use crate::fragment::{CloneValue, DropValues, FragmentError, FragmentKind};
use crate::panics::{Panicked, note, resume};
use crate::world::watch::{CREATED, SET};
use crate::world::{World, WorldError};

/// How the values of a column are cloned.
struct ColumnClone {
    offset: u32,
    size: u32,
    clone: CloneValue,
    drop: Option<DropValues>,
}

impl World {
    /// Clones an entity: a new one with clones of all fragments, the same shared values, the same ones switched on, and no
    /// name. O(values). Many clones of one: [`Prototype::of`](crate::world::Prototype::of); to an id that is reserved:
    /// [`build_clone`](Self::build_clone).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_clone::<String>()?;
    /// let ant = world.create((String::from("ant"),).shared("red"))?;
    /// let twin = world.clone_entity(ant)?;
    /// world.get_mut::<String>(ant)?.push('s');
    /// assert_eq!(world.get::<String>(twin)?, "ant");
    /// assert_eq!(world.shared::<&str>(twin)?, &"red");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::NotCloneable`] names the fragment or tag for which
    /// [`register_clone`](crate::fragment::FragmentRegistry::register_clone) was not called; no id or
    /// memory is left.
    ///
    /// # Panics
    /// If a `clone` panics; then there is no new entity. If an observer does, which is told of it; then it is there.
    #[doc(alias = "instantiate")]
    #[doc(alias = "duplicate")]
    pub fn clone_entity(&mut self, entity: Entity) -> Result<Entity, WorldError> {
        let create = |world: &mut Self, run, row| Ok(world.universe.create_in(run, row)?);
        self.clone_with(entity, create)
    }

    /// Makes a reserved entity a clone of another one: [`build`](Self::build), and [`clone_entity`](Self::clone_entity).
    /// O(values), and one read-modify-write on the entity's slot.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_clone::<String>()?;
    /// let ant = world.create((String::from("ant"),))?;
    /// // Others can name it before it is there.
    /// let twin = world.reserve()?;
    /// let nest = world.create((twin,))?;
    /// world.build_clone(twin, ant)?;
    /// assert_eq!(world.get::<String>(*world.get::<Entity>(nest)?)?, "ant");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`clone_entity`](Self::clone_entity) and [`build`](Self::build). The entity is reserved then as before.
    ///
    /// # Panics
    /// If a `clone` does: the entity is reserved then as before. If an observer does, which is told of it: it is built.
    pub fn build_clone(&mut self, entity: Entity, of: Entity) -> Result<(), WorldError> {
        // Before users' code runs for it.
        if self.universe.index().locate(entity)?.is_some() {
            return Err(WorldError::AlreadyBuilt { entity });
        }
        self.clone_with(of, |world, run, row| {
            world.place_reserved(entity, run, row)?;
            world.births += 1;
            Ok(entity)
        })?;
        Ok(())
    }

    /// Clones an entity. When its values are there, `create` gives the row an entity.
    fn clone_with(
        &mut self,
        entity: Entity,
        create: impl FnOnce(&mut Self, Run, u32) -> Result<Entity, WorldError>,
    ) -> Result<Entity, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let clones = self.clones(archetype)?;
        let group = self.archetypes[archetype as usize].chunks[row.chunk as usize].group;
        let to = self.room(archetype, group)?;
        let mut panicked = None;
        let made = self.clone_values(archetype, row, to, &clones, &mut panicked);
        let run = self.archetypes[archetype as usize].chunks[to.chunk as usize].run;
        let created = match panicked {
            None => Some(create(self, run, to.row)),
            Some(_) => None,
        };
        if let Some(Ok(new)) = created {
            self.settle_clone(archetype, row, to, new);
            if self.watches(archetype, CREATED | SET) {
                self.tell_created(archetype, to);
            }
            return Ok(new);
        }
        self.drop_clones(archetype, to, made, &mut panicked);
        resume(panicked);
        match created {
            Some(created) => created,
            None => unreachable!("a clone has panicked"),
        }
    }

    /// How the columns of an archetype are cloned, if all can be.
    fn clones(&self, archetype: u32) -> Result<Vec<ColumnClone>, WorldError> {
        let registry = self.universe.registry();
        let data = &self.archetypes[archetype as usize];
        let infos = data.ids.iter().filter_map(|&id| registry.get(id));
        // They may have no column.
        let mut tags = infos.filter(|info| info.kind() == FragmentKind::Tag);
        if let Some(tag) = tags.find(|tag| !tag.may_be_doubled()) {
            let name = tag.name().into();
            return Err(WorldError::NotCloneable { name });
        }
        let clones = data.columns.iter().map(|column| {
            let info = registry
                .get(column.id)
                .ok_or(FragmentError::Unknown { id: column.id })?;
            let clone = info.clone_value().ok_or_else(|| WorldError::NotCloneable {
                name: info.name().into(),
            })?;
            Ok(ColumnClone {
                offset: column.offset,
                size: column.size,
                clone,
                drop: column.drop,
            })
        });
        clones.collect()
    }

    /// Clones the values of a row to an empty one; those that were made before one panicked.
    fn clone_values<'a>(
        &self,
        archetype: u32,
        row: Row,
        to: Row,
        clones: &'a [ColumnClone],
        panicked: &mut Panicked,
    ) -> &'a [ColumnClone] {
        let chunks = &self.archetypes[archetype as usize].chunks;
        let (from_chunk, to_chunk) = (&chunks[row.chunk as usize], &chunks[to.chunk as usize]);
        let mut made = 0;
        note(panicked, || {
            for &ColumnClone {
                offset,
                size,
                clone,
                ..
            } in clones
            {
                let size = size as usize;
                let from = from_chunk
                    .array(offset)
                    .wrapping_add(row.row as usize * size);
                let there = to_chunk.array(offset).wrapping_add(to.row as usize * size);
                // SAFETY: a value, and an empty row for its clone.
                unsafe { clone(from, there, size) };
                made += 1;
            }
        });
        &clones[..made]
    }

    /// Drops clones that no entity has, and lets the chunk go that was taken for them. Whatever stopped the
    /// cloning goes on: the first panic is kept.
    fn drop_clones(
        &mut self,
        archetype: u32,
        to: Row,
        made: &[ColumnClone],
        panicked: &mut Panicked,
    ) {
        let chunk = &self.archetypes[archetype as usize].chunks[to.chunk as usize];
        for clone in made {
            let size = clone.size as usize;
            let value = chunk
                .array(clone.offset)
                .wrapping_add(to.row as usize * size);
            if let Some(drop) = clone.drop {
                // SAFETY: a clone that no entity has.
                note(panicked, || unsafe { drop(value, 1) });
            }
        }
        self.abandon(archetype, to.chunk);
    }

    /// The clones are those of a new entity.
    fn settle_clone(&mut self, archetype: u32, row: Row, to: Row, new: Entity) {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        let to_chunk = &data.chunks[to.chunk as usize];
        // SAFETY: the row behind the last.
        unsafe { to_chunk.handles().add(to.row as usize).write(new) };
        data.grown(to.chunk, 1, version);
        let (from_chunk, to_chunk) = (
            &data.chunks[row.chunk as usize],
            &data.chunks[to.chunk as usize],
        );
        for bits in &data.enabled {
            // SAFETY: rows of both chunks.
            unsafe {
                let enabled = read_bit(from_chunk.array(bits.offset), row.row);
                write_bit(to_chunk.array(bits.offset), to.row, enabled);
            }
        }
    }
}
