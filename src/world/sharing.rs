//! Entities change to other shared values, and with them to other chunks: alone, or with the fragments that come.

use crate::archetype::{
    Archetype, Change, Chunk, Edge, Row, SharedId, copy_value, read_bit, write_bit,
};
use crate::entity::Entity;
use crate::fragment::{Bundle, FragmentId, FragmentKind, Given, Pile, SharedFragment, Value};
use crate::panics::{Panicked, first, refused};
use crate::world::change::{carry, end, two, write_bundle};
use crate::world::compose::EdgeRef;
use crate::world::{World, WorldError};

impl World {
    /// Where the shared value of a chunk's entities lies that is [at this position](Archetype::shared_at) among those of
    /// their archetype.
    #[inline]
    pub(crate) fn shared_at(&self, archetype: &Archetype, chunk: &Chunk, at: usize) -> *const u8 {
        let group = &archetype.groups[chunk.group as usize];
        self.shared.get(group.key[at])
    }

    /// The group of `target` that has the shared values of a chunk of `source`, as far as both know them.
    #[inline(always)]
    pub(crate) fn same_group(&mut self, source: u32, chunk: u32, target: u32) -> u32 {
        if self.archetypes[target as usize].shared.is_empty() {
            return 0;
        }
        self.shared_group(source, chunk, target, &[])
    }

    /// The group of `target` with the shared values of a chunk of `source`, but for those that are given.
    #[cold]
    pub(crate) fn shared_group(
        &mut self,
        source: u32,
        chunk: u32,
        target: u32,
        given: &[(FragmentId, SharedId)],
    ) -> u32 {
        let from = &self.archetypes[source as usize];
        let key_of = &from.groups[from.chunks[chunk as usize].group as usize].key;
        let ids = &self.archetypes[target as usize].shared;
        let key: Vec<SharedId> = ids
            .iter()
            .map(|id| {
                let given = given.iter().find(|(known, _)| known == id);
                match given {
                    Some(&(_, value)) => value,
                    None => match from.shared_at(*id) {
                        Some(at) => key_of[at],
                        None => unreachable!("a shared fragment comes with a value"),
                    },
                }
            })
            .collect();
        self.group_of(target, &key)
    }

    /// Gives an entity a bundle with values for chunks, or shared ones, on the change that `change` makes
    /// of the bundle's number.
    #[cold]
    pub(super) fn come_with_values<B: Bundle>(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        change: impl FnOnce(u32) -> Change,
        bundle: B,
    ) -> Result<(), WorldError> {
        let mut bundle = Given::new(bundle);
        let mut values: Pile<Value> = Pile::new();
        let registry = self.universe.registry();
        // SAFETY: the first time, of a bundle that was given to go into an entity.
        let taken = unsafe { bundle.take_values(registry, &mut |_, value| values.push(value)) };
        let change = match taken.and_then(|()| self.bundles.number::<B>(registry)) {
            Ok(number) => change(number),
            Err(error) => return Err(refused((bundle, values), error.into())),
        };
        // Before any of the values is the world's.
        if let Err(error) = self.check_change(archetype, change) {
            return Err(refused((bundle, values), error));
        }
        let taken = self.take_in(values);
        let result = self.sharing_told(taken, |world, shared| {
            let edge = world.edge_among(archetype, row, entity, change, shared)?;
            let write = |chunk: &Chunk, row| {
                if let Some(bundle) = bundle.take() {
                    // SAFETY: a row of the edge's target that holds no values there.
                    unsafe { write_bundle(bundle, chunk, &edge, row) }
                }
            };
            let panicked = world.add_shared(archetype, row, entity, &edge, shared, write)?;
            Ok(((), panicked))
        });
        result.map_err(|error| refused(bundle, error))
    }

    /// The edge for a change with which shared values come, if none of them is another than the entity has
    /// for ever.
    pub(super) fn edge_among(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        change: Change,
        shared: &[(FragmentId, SharedId)],
    ) -> Result<EdgeRef, WorldError> {
        self.check_const_shared(archetype, row, entity, shared)?;
        self.edge_for(archetype, change)
    }

    /// Gives an entity shared values, and others along an edge, which `write` puts into a row of its target.
    pub(super) fn add_shared(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
        shared: &[(FragmentId, SharedId)],
        write: impl FnOnce(&Chunk, u32),
    ) -> Result<Panicked, WorldError> {
        // Users' code: before anything changes.
        let stock = edge.fills.stock(1);
        let group = if self.archetypes[edge.target as usize].shared.is_empty() {
            0
        } else {
            self.shared_group(archetype, row.chunk, edge.target, shared)
        };
        if edge.target == archetype {
            let to = match self.room_elsewhere(archetype, row, group) {
                Ok(to) => to,
                Err(error) => return Err(refused(stock, error)),
            };
            let panicked = self.replace_by(archetype, row, edge, write);
            if let Some(to) = to {
                self.move_within(archetype, row, entity, to);
            }
            return Ok(first(panicked, self.has_got(archetype, entity, edge)));
        }
        let to = match self.room(edge.target, group) {
            Ok(to) => to,
            Err(error) => return Err(refused(stock, error)),
        };
        let told = self.leaves(archetype, row, edge.target);
        let version = self.stamp();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        let chunk = &target.chunks[to.chunk as usize];
        // SAFETY: an empty row of the edge's target, where nothing was carried to.
        unsafe { stock.put(|offset| chunk.array(offset), to.row) };
        write(chunk, to.row);
        let panicked = first(told, end(source, row, edge));
        self.settle_move(archetype, row, edge, to, entity, version);
        let told = self.has_come(archetype, edge.target, to, edge);
        Ok(first(panicked, told))
    }

    /// Whether all const shared values among those that come are the ones that the entity has, if it has
    /// any.
    pub(crate) fn check_const_shared(
        &self,
        archetype: u32,
        row: Row,
        entity: Entity,
        shared: &[(FragmentId, SharedId)],
    ) -> Result<(), WorldError> {
        let data = &self.archetypes[archetype as usize];
        let key = &data.groups[data.chunks[row.chunk as usize].group as usize].key;
        for &(id, value) in shared {
            let other = data.shared_at(id).is_some_and(|at| key[at] != value);
            let info = self.universe.registry().get(id);
            let info = info.filter(|info| info.kind() == FragmentKind::ConstShared);
            if let Some(info) = info.filter(|_| other) {
                return Err(WorldError::ConstShared {
                    entity,
                    name: info.name().into(),
                });
            }
        }
        Ok(())
    }

    /// An empty row of another group of an entity's archetype; `None` if the entity is in that group. Asked
    /// for before anything changes, because memory can run out and a template's `clone` panic.
    pub(super) fn room_elsewhere(
        &mut self,
        archetype: u32,
        row: Row,
        group: u32,
    ) -> Result<Option<Row>, WorldError> {
        let here = self.archetypes[archetype as usize].chunks[row.chunk as usize].group;
        (group != here)
            .then(|| self.room(archetype, group))
            .transpose()
    }

    /// Moves an entity to an empty row of another group of its archetype.
    pub(super) fn move_within(&mut self, archetype: u32, row: Row, entity: Entity, to: Row) {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        let (from_chunk, to_chunk) = (
            &data.chunks[row.chunk as usize],
            &data.chunks[to.chunk as usize],
        );
        for column in &data.columns {
            let size = column.size as usize;
            // SAFETY: rows of two chunks; the value moves.
            unsafe {
                copy_value(
                    from_chunk.array(column.offset).add(row.row as usize * size),
                    to_chunk.array(column.offset).add(to.row as usize * size),
                    column.size,
                );
            }
        }
        // SAFETY: the row behind the last.
        unsafe { to_chunk.handles().add(to.row as usize).write(entity) };
        self.universe.place(entity, to_chunk.run, to.row);
        data.grown(to.chunk, 1, version);
        for bits in &data.enabled {
            let (from_chunk, to_chunk) = (
                &data.chunks[row.chunk as usize],
                &data.chunks[to.chunk as usize],
            );
            // SAFETY: rows of both chunks.
            unsafe {
                let enabled = read_bit(from_chunk.array(bits.offset), row.row);
                write_bit(to_chunk.array(bits.offset), to.row, enabled);
            }
        }
        data.close_row(&self.universe, self.number, row, version);
        self.settle_groups(archetype);
    }

    /// Changes a shared value of an entity: it moves to a chunk of those that have an equal one. The
    /// entity gets the fragment if it does not have it; [`remove::<Shared<T>>`](Self::remove) takes it away. O(fragments of the
    /// entity), and a hash of the value.
    ///
    /// Many get one by [`add_slice`](Self::add_slice), neighbours together:
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u8);
    /// let mut world = World::new();
    /// let ants = world.create_batch((0..1_000).map(|n| (n,)))?;
    /// let ants = ants.to_vec(&world);
    /// world.set_shared(ants[0], Team(1))?;
    /// let report = world.add_slice(&ants[1..], |_| ().shared(Team(2)));
    /// assert_eq!(report.done, 999);
    /// assert_eq!(world.shared::<Team>(ants[7])?, &Team(2));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    ///
    /// # Panics
    /// As for that.
    pub fn set_shared<T: SharedFragment>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), WorldError> {
        self.add(entity, ().shared(value))
    }
}
