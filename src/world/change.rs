//! Entities change their composition: fragments come, go, are replaced.

use crate::archetype::{
    Archetype, Change, Chunk, Edge, Row, SharedId, copy_value, read_bit, write_bit,
};
use crate::entity::Entity;
use crate::fragment::panic::{Panicked, first, note, resume};
use crate::fragment::{Bundle, FragmentId, FragmentKind, SharedFragment, Value};
use crate::world::compose::EdgeRef;
use crate::world::create::columns;
use crate::world::watch::{ADDED, REMOVED};
use crate::world::{World, WorldError};

impl World {
    /// Gives an entity fragments, in one move. A fragment that it has already gets the new value, and if
    /// it has all of them the entity does not move. O(fragments of the entity).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1.0_f32,))?;
    /// world.add(ant, (2.0_f32, "busy"))?;
    /// assert_eq!((world.get::<f32>(ant)?, world.get::<&str>(ant)?), (&2.0, &"busy"));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; a fragment stands there twice or is too large; no memory is left. The
    /// bundle is dropped then.
    ///
    /// # Panics
    /// If the `drop` of a value that is replaced panics; the new values are in place then.
    #[inline]
    #[doc(alias = "insert")]
    pub fn add<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), WorldError> {
        let (archetype, row) = self.find(entity)?;
        if B::HAS_VALUES {
            return self.come_with_values(archetype, row, entity, Change::Add, bundle);
        }
        let number = self.bundles.number::<B>(self.universe.registry())?;
        let edge = self.edge_for(archetype, Change::Add(number))?;
        let panicked = if self.watches(edge.target, ADDED) {
            self.add_watched(archetype, row, entity, &edge, bundle)?
        } else {
            self.add_along(archetype, row, entity, &edge, bundle)?
        };
        resume(panicked);
        Ok(())
    }

    /// Adds a bundle along its edge; what replaced values' drops panicked with.
    #[inline(always)]
    fn add_along<B: Bundle>(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
        bundle: B,
    ) -> Result<Panicked, WorldError> {
        if edge.target == archetype {
            return Ok(self.replace(archetype, row, edge, bundle));
        }
        let group = self.same_group(archetype, row.chunk, edge.target);
        let to = self.room(edge.target, group)?;
        let version = self.version();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        let chunk = &target.chunks[to.chunk as usize];
        let columns = columns::<B>(chunk, &edge.offsets);
        // SAFETY: the columns have such a row, where nothing was carried to.
        unsafe { bundle.write(columns.as_ptr(), to.row as usize) };
        let panicked = end(source, row, edge);
        self.settle_move(archetype, row, edge, to, entity, version);
        Ok(panicked)
    }

    /// The same where somebody watches what comes or goes.
    #[cold]
    fn add_watched<B: Bundle>(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
        bundle: B,
    ) -> Result<Panicked, WorldError> {
        if edge.target == archetype {
            return Ok(self.replace(archetype, row, edge, bundle));
        }
        // Room first: what is shown as going does go.
        let group = self.same_group(archetype, row.chunk, edge.target);
        let to = self.room(edge.target, group)?;
        let told = self.leaves(archetype, row, edge.target);
        let panicked = first(told, self.add_along(archetype, row, entity, edge, bundle)?);
        Ok(first(panicked, self.has_come(archetype, edge.target, to)))
    }

    /// Gives an entity new values of fragments that it has.
    #[inline]
    fn replace<B: Bundle>(&mut self, archetype: u32, row: Row, edge: &Edge, bundle: B) -> Panicked {
        // SAFETY: a row of the edge's target, whose old values have just ended.
        let write = |chunk: &Chunk, row| unsafe { write_bundle(bundle, chunk, edge, row) };
        self.replace_by(archetype, row, edge, write)
    }

    /// The same, whatever the values are: `write` puts them into the row.
    #[inline]
    fn replace_by(
        &mut self,
        archetype: u32,
        row: Row,
        edge: &Edge,
        write: impl FnOnce(&Chunk, u32),
    ) -> Panicked {
        let version = self.version();
        let data = &self.archetypes[archetype as usize];
        let panicked = end(data, row, edge);
        let chunk = &data.chunks[row.chunk as usize];
        for column in &edge.ended {
            if let Some(at) = data.column_of(column.id) {
                chunk.touch(at, version);
            }
        }
        write(chunk, row.row);
        panicked
    }

    /// Takes fragments away from an entity, in one move, and drops them: those of `B` that it has. `false`
    /// if it has none of them. O(fragments of the entity).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1.0_f32, "busy"))?;
    /// assert!(world.remove::<(&str,)>(ant)?);
    /// assert!(!world.remove::<(&str,)>(ant)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused, or no memory is left.
    ///
    /// # Panics
    /// If the `drop` of a value panics; the fragments are gone then.
    #[inline]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let number = self.bundles.number::<B>(self.universe.registry())?;
        let edge = self.edge_for(archetype, Change::Remove(number))?;
        if edge.target == archetype {
            return Ok(false);
        }
        let panicked = if self.watches(archetype, REMOVED) {
            self.remove_watched(archetype, row, entity, &edge)?
        } else {
            self.remove_along(archetype, row, entity, &edge)?
        };
        resume(panicked);
        Ok(true)
    }

    /// Takes fragments away where somebody may watch that.
    #[cold]
    pub(super) fn remove_watched(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
    ) -> Result<Panicked, WorldError> {
        // As in `add_watched`.
        let group = self.same_group(archetype, row.chunk, edge.target);
        self.room(edge.target, group)?;
        let told = self.leaves(archetype, row, edge.target);
        Ok(first(
            told,
            self.remove_along(archetype, row, entity, edge)?,
        ))
    }

    #[inline(always)]
    fn remove_along(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
    ) -> Result<Panicked, WorldError> {
        let group = self.same_group(archetype, row.chunk, edge.target);
        let to = self.room(edge.target, group)?;
        let version = self.version();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        let panicked = end(source, row, edge);
        self.settle_move(archetype, row, edge, to, entity, version);
        Ok(panicked)
    }

    /// The second half of a move: the entity lies in its new row, and its old one closes.
    #[inline(always)]
    pub(super) fn settle_move(
        &mut self,
        archetype: u32,
        row: Row,
        edge: &Edge,
        to: Row,
        entity: Entity,
        version: u32,
    ) {
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        let chunk = &target.chunks[to.chunk as usize];
        // SAFETY: the row behind the last.
        unsafe { chunk.handles().add(to.row as usize).write(entity) };
        self.universe.place(entity, chunk.run, to.row);
        target.grown(to.chunk, 1, version);
        if !edge.bits.is_empty() {
            Self::carry_bits(source, target, row, edge, to);
        }
        source.close_row(&self.universe, self.number, row, version);
        if !source.retired_keys.is_empty() {
            self.settle_groups(archetype);
        }
    }

    #[cold]
    fn carry_bits(source: &Archetype, target: &Archetype, row: Row, edge: &Edge, to: Row) {
        let (from_chunk, to_chunk) = (
            &source.chunks[row.chunk as usize],
            &target.chunks[to.chunk as usize],
        );
        for &(from, there) in &edge.bits {
            // SAFETY: rows of both chunks.
            unsafe {
                let enabled = read_bit(from_chunk.array(from), row.row);
                write_bit(to_chunk.array(there), to.row, enabled);
            }
        }
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
    fn come_with_values<B: Bundle>(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        change: impl FnOnce(u32) -> Change,
        mut bundle: B,
    ) -> Result<(), WorldError> {
        let mut values: Vec<Value> = Vec::new();
        let registry = self.universe.registry();
        bundle.take_values(registry, &mut |_, value| values.push(value))?;
        let number = self.bundles.number::<B>(registry)?;
        let shared = self.take_in(values);
        let panicked = self.sharing(&shared, |world| {
            let edge = world.edge_among(archetype, row, entity, change(number), &shared)?;
            // SAFETY: a row of the edge's target that holds no values there.
            let write = |chunk: &Chunk, row| unsafe { write_bundle(bundle, chunk, &edge, row) };
            world.add_shared(archetype, row, entity, &edge, &shared, write)
        })?;
        resume(panicked);
        Ok(())
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
        let group = if self.archetypes[edge.target as usize].shared.is_empty() {
            0
        } else {
            self.shared_group(archetype, row.chunk, edge.target, shared)
        };
        if edge.target == archetype {
            let to = self.room_elsewhere(archetype, row, group)?;
            let panicked = self.replace_by(archetype, row, edge, write);
            if let Some(to) = to {
                self.move_within(archetype, row, entity, to);
            }
            return Ok(panicked);
        }
        let to = self.room(edge.target, group)?;
        let told = self.leaves(archetype, row, edge.target);
        let version = self.version();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        write(&target.chunks[to.chunk as usize], to.row);
        let panicked = first(told, end(source, row, edge));
        self.settle_move(archetype, row, edge, to, entity, version);
        Ok(first(panicked, self.has_come(archetype, edge.target, to)))
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
        let version = self.version();
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
    /// entity gets the fragment if it does not have it.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn set_shared<T: SharedFragment>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), WorldError> {
        self.add(entity, ().shared(value))
    }

    /// Takes the fragments of `Gone` away and gives `Come`, in one move. What swapping tags is.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn swap<Gone: Bundle, Come: Bundle>(
        &mut self,
        entity: Entity,
        come: Come,
    ) -> Result<(), WorldError> {
        let (archetype, row) = self.find(entity)?;
        if Come::HAS_VALUES {
            let gone = self.bundles.number::<Gone>(self.universe.registry())?;
            let change = |come| Change::Swap(gone, come);
            return self.come_with_values(archetype, row, entity, change, come);
        }
        let edge = self.swap_edge::<Gone, Come>(archetype)?;
        let watched = self.watches(archetype, REMOVED) || self.watches(edge.target, ADDED);
        let panicked = if watched {
            self.add_watched(archetype, row, entity, &edge, come)?
        } else {
            self.add_along(archetype, row, entity, &edge, come)?
        };
        resume(panicked);
        Ok(())
    }

    pub(crate) fn swap_edge<Gone: Bundle, Come: Bundle>(
        &mut self,
        archetype: u32,
    ) -> Result<EdgeRef, WorldError> {
        let registry = self.universe.registry();
        let gone = self.bundles.number::<Gone>(registry)?;
        let come = self.bundles.number::<Come>(registry)?;
        let change = Change::Swap(gone, come);
        self.edge_for(archetype, change)
    }
}

/// Writes a bundle to a row that an edge leads to.
///
/// # Safety
/// The chunk is one of the edge's target, and the row holds no values where the bundle's go.
#[inline(always)]
unsafe fn write_bundle<B: Bundle>(bundle: B, chunk: &Chunk, edge: &Edge, row: u32) {
    let columns = columns::<B>(chunk, &edge.offsets);
    // SAFETY: the caller's.
    unsafe { bundle.write(columns.as_ptr(), row as usize) };
}

/// Two archetypes at once.
#[inline(always)]
pub(crate) fn two(
    archetypes: &mut [Archetype],
    a: u32,
    b: u32,
) -> (&mut Archetype, &mut Archetype) {
    match archetypes.get_disjoint_mut([a as usize, b as usize]) {
        Ok([a, b]) => (a, b),
        Err(_) => unreachable!("two archetypes that there are, and that differ"),
    }
}

/// Moves the values that both archetypes have from one row to another.
#[inline(always)]
pub(super) fn carry(source: &Archetype, row: Row, target: &Archetype, to: Row, edge: &Edge) {
    let from_chunk = &source.chunks[row.chunk as usize];
    let to_chunk = &target.chunks[to.chunk as usize];
    // SAFETY: rows of two chunks; the source's row will be closed.
    unsafe {
        match (from_chunk.arrays(), to_chunk.arrays()) {
            (Some(from), Some(to_arrays)) => {
                carry_values(edge, |at| from.at(at), row, |at| to_arrays.at(at), to);
            }
            _ => carry_refit(edge, from_chunk, row, to_chunk, to),
        }
    }
}

/// Moves the values along an edge from one row to another.
///
/// # Safety
/// `from` and `into` say where the arrays of two chunks are, which have these rows.
#[inline(always)]
unsafe fn carry_values(
    edge: &Edge,
    from: impl Fn(u32) -> *mut u8,
    row: Row,
    into: impl Fn(u32) -> *mut u8,
    to: Row,
) {
    for carry in &edge.carried {
        let size = carry.size as usize;
        // SAFETY: the caller's.
        unsafe {
            copy_value(
                from(carry.from).add(row.row as usize * size),
                into(carry.to).add(to.row as usize * size),
                carry.size,
            );
        }
    }
}

/// [`carry_values`] of chunks whose arrays do not lie where the archetypes say.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn carry_refit(edge: &Edge, from: &Chunk, row: Row, into: &Chunk, to: Row) {
    // SAFETY: the caller's.
    unsafe { carry_values(edge, |at| from.array(at), row, |at| into.array(at), to) };
}

/// Drops the values of a row that do not go along an edge.
#[inline(always)]
pub(super) fn end(source: &Archetype, row: Row, edge: &Edge) -> Panicked {
    let mut panicked = None;
    if edge.ends_drop {
        let chunk = &source.chunks[row.chunk as usize];
        for column in &edge.ended {
            if let Some(drop) = column.drop {
                let value = chunk
                    .array(column.offset)
                    .wrapping_add(row.row as usize * column.size as usize);
                // SAFETY: a value of the row, which is replaced or goes with it.
                note(&mut panicked, || unsafe { drop(value, 1) });
            }
        }
    }
    first(panicked, None)
}
