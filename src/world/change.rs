//! Entities change their composition: fragments come, go, are replaced.

use crate::archetype::{
    Archetype, Change, Chunk, Edge, Row, Stock, copy_row, place, read_bit, write_bit,
};
use crate::entity::{Entity, Place};
use crate::fragment::{Bundle, Given, refused_bundle};
use crate::panics::{Panicked, first, note, refused, resume};
use crate::world::compose::EdgeRef;
use crate::world::create::columns;
use crate::world::watch::{ADDED, REMOVED, SET};
use crate::world::{World, WorldError};

/// Puts values that come into a row, once.
type WriteRow<'a> = dyn FnMut(&Chunk, u32) + 'a;

impl World {
    /// Gives an entity fragments, in one move. A fragment that it has already gets the new value, and if
    /// it has all of them the entity does not move. O(fragments of the entity).
    ///
    /// The first time that a kind of bundle comes to a composition, the way from there is found and
    /// remembered, until compositions are [collected](Self::collect_archetypes): O(fragments × log
    /// fragments) of the entity and the bundle together, also where it leads to a composition that
    /// is new.
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
    /// The handle is refused; a fragment stands there twice or is too large; [`WorldError::ConstShared`]; no memory is
    /// left. The bundle is dropped then.
    ///
    /// # Panics
    /// If the `drop` of a value, or of a [template](Bundle::per_chunk), that is replaced panics; the new values are in place
    /// then. If the `clone` of a chunk fragment panics, with which a new chunk was to begin, the `eq` or `hash` of a
    /// shared value, or what makes a value that is
    /// [required](crate::fragment::FragmentRegistry::require_with); nothing has changed then.
    #[inline]
    #[doc(alias = "insert")]
    pub fn add<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), WorldError> {
        let Some((archetype, row, place)) = self.finder().find_place(entity) else {
            return Err(refused_bundle(bundle, self.refuse(entity)));
        };
        if B::HAS_VALUES {
            return self.come_with_values(archetype, row, entity, Change::Add, bundle);
        }
        let edge = match self.edge_to_add::<B>(archetype) {
            Ok(edge) => edge,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        let watched = self.watches(edge.target, ADDED | SET);
        if !edge.is_plain || watched {
            let panicked = match edge.target == archetype && !watched {
                true => self.replace(archetype, row, &edge, bundle),
                false => self.add_told(archetype, row, entity, (&edge, watched), bundle)?,
            };
            resume(panicked);
            return Ok(());
        }
        let to = match self.room_on(archetype, row, &edge) {
            Ok(to) => to,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        // SAFETY: found in this row, from which the edge leads to that one. Its columns have it, where nothing is
        // carried to.
        unsafe {
            self.move_plainly((archetype, row, place), entity, &edge, to, |chunk| {
                write_bundle(bundle, chunk, &edge, to.row);
            });
        }
        Ok(())
    }

    /// The edge for a bundle that comes.
    #[inline(always)]
    fn edge_to_add<B: Bundle>(&mut self, archetype: u32) -> Result<EdgeRef, WorldError> {
        let number = self.bundles.number::<B>(self.universe.registry())?;
        self.edge_for(archetype, Change::Add(number))
    }

    /// Adds a bundle where more is to be done than to move values: somebody watches, or see [`Edge::is_plain`]. What others'
    /// code has panicked with.
    #[inline(never)]
    fn add_told<B: Bundle>(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        (edge, watched): (&Edge, bool),
        bundle: B,
    ) -> Result<Panicked, WorldError> {
        let mut given = Given::new(bundle);
        let mut write = |chunk: &Chunk, row| match given.take() {
            // SAFETY: a row of the edge's target that has no values there.
            Some(bundle) => unsafe { write_bundle(bundle, chunk, edge, row) },
            None => unreachable!("values are written once"),
        };
        let added = self.add_written(archetype, row, entity, (edge, watched), &mut write);
        added.map_err(|error| refused(given, error))
    }

    /// The same, whatever the values are: `write` puts them into a row, once. (So it is compiled once, and not for each
    /// bundle type.)
    #[inline(never)]
    fn add_written(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        (edge, watched): (&Edge, bool),
        write: &mut WriteRow<'_>,
    ) -> Result<Panicked, WorldError> {
        // Users' code: before anything changes.
        let stock = edge.fills.stock(1);
        if watched {
            self.add_watched(archetype, row, entity, edge, (write, stock))
        } else {
            self.add_along(archetype, row, entity, edge, (write, stock))
        }
    }

    /// An empty row at the other end of an edge, among entities with the same shared values.
    #[inline(always)]
    pub(super) fn room_on(
        &mut self,
        archetype: u32,
        row: Row,
        edge: &Edge,
    ) -> Result<Row, WorldError> {
        let group = self.same_group(archetype, row.chunk, edge.target);
        self.room(edge.target, group)
    }

    /// Moves an entity from a row, which is at a place, along an edge that is plain and leads elsewhere, to the row
    /// behind the last of a chunk there. `write` puts the values there that come.
    ///
    /// # Safety
    /// The entity lies in the row, in the edge's source, and that chunk is one of its target. `write` writes all that
    /// is not carried.
    #[inline(always)]
    unsafe fn move_plainly(
        &mut self,
        (archetype, row, from): (u32, Row, Place),
        entity: Entity,
        edge: &Edge,
        to: Row,
        write: impl FnOnce(&Chunk),
    ) {
        let version = self.stamp();
        let next = self.next_hole(from, row);
        let archetypes = self.archetypes.as_mut_ptr();
        // SAFETY: an edge leads between two archetypes that there are; a plain one, between two that differ.
        let (source, target) = unsafe {
            let source = &mut *archetypes.add(archetype as usize);
            (source, &mut *archetypes.add(edge.target as usize))
        };
        // SAFETY: the caller's: the entity moves, and its old row is closed.
        let (has_room, is_full) = unsafe {
            let chunk = target.chunks.at_mut(to.chunk);
            carry_row(source.chunks.at(row.chunk), row.row, chunk, to.row, edge);
            write(chunk);
            chunk.handles().add(to.row as usize).write(entity);
            let index = self.universe.index();
            index.replace_place(entity, place(chunk.run, to.row));
            chunk.len += 1;
            chunk.filled(version);
            let is_full = chunk.is_full();
            target.entities += 1;
            (
                source.fill_hole(&self.universe, row, from, next, version),
                is_full,
            )
        };
        if is_full {
            self.is_full(edge.target, to.chunk);
        }
        if has_room {
            self.has_room(archetype, row.chunk);
        }
    }

    /// After a row was filled: the chunk was open, and is full.
    #[cold]
    #[inline(never)]
    fn is_full(&mut self, archetype: u32, chunk: u32) {
        self.archetypes[archetype as usize].filled_up(chunk);
    }

    /// Adds values along an edge; what replaced values' drops panicked with.
    fn add_along(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
        (write, stock): (&mut WriteRow<'_>, Stock),
    ) -> Result<Panicked, WorldError> {
        if edge.target == archetype {
            return Ok(self.replace_by(archetype, row, edge, write));
        }
        let to = match self.room_on(archetype, row, edge) {
            Ok(to) => to,
            Err(error) => return Err(refused(stock, error)),
        };
        let version = self.stamp();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        let chunk = &target.chunks[to.chunk as usize];
        // SAFETY: the columns have such a row, where nothing was carried to.
        unsafe { stock.put(|offset| chunk.array(offset), to.row) };
        write(chunk, to.row);
        let panicked = end(source, row, edge);
        self.settle_move(archetype, row, edge, to, entity, version);
        Ok(panicked)
    }

    /// The same where somebody watches what comes or goes, or is set.
    #[cold]
    fn add_watched(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
        (write, stock): (&mut WriteRow<'_>, Stock),
    ) -> Result<Panicked, WorldError> {
        if edge.target == archetype {
            let panicked = self.replace_by(archetype, row, edge, write);
            return Ok(first(panicked, self.has_got(archetype, entity, edge)));
        }
        // Room first: what is shown as going does go.
        let to = match self.room_on(archetype, row, edge) {
            Ok(to) => to,
            Err(error) => return Err(refused(stock, error)),
        };
        let told = self.leaves(archetype, row, edge.target);
        let along = self.add_along(archetype, row, entity, edge, (write, stock))?;
        let panicked = first(told, along);
        let told = self.has_come(archetype, edge.target, to, edge);
        Ok(first(panicked, told))
    }

    /// Gives an entity new values of fragments that it has.
    #[inline(never)]
    fn replace<B: Bundle>(&mut self, archetype: u32, row: Row, edge: &Edge, bundle: B) -> Panicked {
        // SAFETY: a row of the edge's target, whose old values have just ended.
        let write = |chunk: &Chunk, row| unsafe { write_bundle(bundle, chunk, edge, row) };
        self.replace_by(archetype, row, edge, write)
    }

    /// The same, whatever the values are: `write` puts them into the row, whose old values have just ended.
    #[inline]
    pub(super) fn replace_by(
        &mut self,
        archetype: u32,
        row: Row,
        edge: &Edge,
        write: impl FnOnce(&Chunk, u32),
    ) -> Panicked {
        self.keep_versions();
        let version = self.stamp();
        let data = &self.archetypes[archetype as usize];
        let panicked = end(data, row, edge);
        let chunk = &data.chunks[row.chunk as usize];
        for at in data.positions_of(&edge.ended) {
            chunk.touch(at, version);
        }
        write(chunk, row.row);
        panicked
    }

    /// Takes fragments away from an entity, in one move, and drops them: those of `B` that it has. `false`
    /// if it has none of them. O(fragments of the entity); the first time from a composition as for [`add`](Self::add).
    ///
    /// What is shared, or the chunk's, goes by its role, alone, or with others by the bundle that would give it: the entity moves
    /// to those that have none. To have the values: [`take`](Self::take).
    ///
    /// ```
    /// use megachunk::fragment::WithConstShared;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1.0_f32, "busy").shared("red").const_shared("worker").per_chunk(7_u64))?;
    /// assert!(world.remove::<(&str,)>(ant)?);
    /// assert!(!world.remove::<(&str,)>(ant)?);
    /// assert!(world.remove::<Shared<&str>>(ant)? && world.remove::<PerChunk<u64>>(ant)?);
    /// assert!(world.remove::<WithConstShared<(f32,), &str>>(ant)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; a fragment stands there twice; there are too many fragments, or archetypes; no memory is left.
    ///
    /// # Panics
    /// If the `drop` of a value panics; the fragments are gone then. If the `clone` of what a new chunk begins with does;
    /// they are not, then.
    #[inline]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, WorldError> {
        let Some(found) = self.finder().find_place(entity) else {
            return Err(self.refuse(entity));
        };
        let number = self.bundles.number::<B>(self.universe.registry())?;
        self.remove_found(found, entity, number, resume)
    }

    /// Takes the fragments of a bundle with this number away from an entity that was found. `settle` gets what users'
    /// `drop`s have panicked with, and observers, when the entity has moved.
    #[inline(always)]
    pub(super) fn remove_found(
        &mut self,
        (archetype, row, place): (u32, Row, Place),
        entity: Entity,
        number: u32,
        settle: impl FnOnce(Panicked),
    ) -> Result<bool, WorldError> {
        let edge = self.edge_for(archetype, Change::Remove(number))?;
        if !edge.is_plain || self.watches(archetype, REMOVED) {
            let (removed, panicked) = self.remove_told(archetype, row, entity, &edge)?;
            settle(panicked);
            return Ok(removed);
        }
        let to = self.room_on(archetype, row, &edge)?;
        // SAFETY: found in this row, from which the edge leads to that one. All that is there is carried there.
        unsafe { self.move_plainly((archetype, row, place), entity, &edge, to, |_| {}) };
        Ok(true)
    }

    /// Takes fragments away where more is to be done than to move values: somebody watches, or see [`Edge::is_plain`].
    /// Whether there were any, and what users' code has panicked with.
    #[inline(never)]
    fn remove_told(
        &mut self,
        archetype: u32,
        row: Row,
        entity: Entity,
        edge: &Edge,
    ) -> Result<(bool, Panicked), WorldError> {
        if edge.target == archetype {
            return Ok((false, None));
        }
        let panicked = if self.watches(archetype, REMOVED) {
            self.remove_watched(archetype, row, entity, edge)?
        } else {
            self.remove_along(archetype, row, entity, edge)?
        };
        Ok((true, panicked))
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
        self.room_on(archetype, row, edge)?;
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
        let to = self.room_on(archetype, row, edge)?;
        let version = self.stamp();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, edge);
        let panicked = end(source, row, edge);
        self.settle_move(archetype, row, edge, to, entity, version);
        Ok(panicked)
    }

    /// The second half of a move: the entity lies in its new row, and its old one closes.
    #[inline(always)]
    pub(crate) fn settle_move(
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
        self.settle_groups(archetype);
    }

    #[cold]
    pub(crate) fn carry_bits(
        source: &Archetype,
        target: &Archetype,
        row: Row,
        edge: &Edge,
        to: Row,
    ) {
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

    /// Takes the fragments of `Gone` away and gives `Come`, in one move. What swapping tags is.
    /// O(fragments of the entity); the first time from a composition as for [`add`](Self::add).
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    ///
    /// # Panics
    /// As for [`add`](Self::add), and [`remove`](Self::remove).
    pub fn swap<Gone: Bundle, Come: Bundle>(
        &mut self,
        entity: Entity,
        come: Come,
    ) -> Result<(), WorldError> {
        let Some((archetype, row, place)) = self.finder().find_place(entity) else {
            return Err(refused_bundle(come, self.refuse(entity)));
        };
        if Come::HAS_VALUES {
            let gone = match self.bundles.number::<Gone>(self.universe.registry()) {
                Ok(gone) => gone,
                Err(error) => return Err(refused_bundle(come, error.into())),
            };
            let change = |come| Change::Swap(gone, come);
            return self.come_with_values(archetype, row, entity, change, come);
        }
        let edge = match self.swap_edge::<Gone, Come>(archetype) {
            Ok(edge) => edge,
            Err(error) => return Err(refused_bundle(come, error)),
        };
        let watched = self.watches(archetype, REMOVED) || self.watches(edge.target, ADDED | SET);
        if !edge.is_plain || watched {
            resume(self.add_told(archetype, row, entity, (&edge, watched), come)?);
            return Ok(());
        }
        let to = match self.room_on(archetype, row, &edge) {
            Ok(to) => to,
            Err(error) => return Err(refused_bundle(come, error)),
        };
        // SAFETY: as in `add`.
        unsafe {
            self.move_plainly((archetype, row, place), entity, &edge, to, |chunk| {
                write_bundle(come, chunk, &edge, to.row);
            });
        }
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
pub(super) unsafe fn write_bundle<B: Bundle>(bundle: B, chunk: &Chunk, edge: &Edge, row: u32) {
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
pub(crate) fn carry(source: &Archetype, row: Row, target: &Archetype, to: Row, edge: &Edge) {
    let from_chunk = &source.chunks[row.chunk as usize];
    let to_chunk = &target.chunks[to.chunk as usize];
    // SAFETY: rows of two chunks; the source's row will be closed.
    unsafe { carry_row(from_chunk, row.row, to_chunk, to.row, edge) };
}

/// Moves the values of a row along an edge.
///
/// # Safety
/// The chunks are of the edge's archetypes, and have these rows: one that will be closed, and an empty one.
#[inline(always)]
unsafe fn carry_row(from_chunk: &Chunk, row: u32, to_chunk: &Chunk, to: u32, edge: &Edge) {
    // SAFETY: the caller's.
    unsafe {
        match (from_chunk.arrays(), to_chunk.arrays()) {
            (Some(from), Some(into)) => match &*edge.carriers {
                [carrier] => carrier.carry(from, row as usize, into, to as usize),
                [] => carry_values(edge, |at| from.at(at), row, |at| into.at(at), to),
                carriers => {
                    for carrier in carriers {
                        carrier.carry(from, row as usize, into, to as usize);
                    }
                }
            },
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
    row: u32,
    into: impl Fn(u32) -> *mut u8,
    to: u32,
) {
    for carry in &edge.carried {
        let (row, there) = (row as usize, to as usize);
        // SAFETY: the caller's.
        unsafe { copy_row(from(carry.from), row, into(carry.to), there, carry.size) };
    }
}

/// [`carry_values`] of chunks whose arrays do not lie where the archetypes say.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn carry_refit(edge: &Edge, from: &Chunk, row: u32, into: &Chunk, to: u32) {
    // SAFETY: the caller's.
    unsafe { carry_values(edge, |at| from.array(at), row, |at| into.array(at), to) };
}

/// Drops the values of a row that do not go along an edge.
#[inline(always)]
pub(crate) fn end(source: &Archetype, row: Row, edge: &Edge) -> Panicked {
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
