//! Entities go: one by one, in slices, all of them.

use core::fmt;

use crate::archetype::{Ends, FromLast, Row};
use crate::entity::{DestroyReport, Entity, Place};
use crate::first_few::{FirstFew, write_first};
use crate::panics::{Panicked, first, resume};
use crate::sync::atomic::Ordering;
use crate::world::watch::DESTROYED;
use crate::world::{World, WorldError};

/// How many rows ahead the memory is asked for where entities leave one after the other.
const AHEAD: usize = 32;

/// What became of each handle of a slice.
///
/// # Handles that stand there twice
/// They are no mistake of the slice as a whole. What the second of them comes to is what the call comes to if it is
/// made for each handle in turn, but where an entity is lent:
///
/// | call | of the second |
/// |---|---|
/// | [`destroy_slice`](World::destroy_slice) | is refused: the entity is dead |
/// | [`add_slice`](World::add_slice), [`swap_slice`](World::swap_slice) | the closure is called again, the new bundle takes the place of the first; is counted again |
/// | [`add_slice_dynamic`](World::add_slice_dynamic), [`swap_slice_dynamic`](World::swap_slice_dynamic) | new clones take the place of the first; is counted again |
/// | [`remove_slice`](World::remove_slice), [`remove_slice_dynamic`](World::remove_slice_dynamic) | is neither counted nor refused: nothing is left to be taken away |
/// | [`move_slice_to`](World::move_slice_to) | is refused, as [`Elsewhere`](WorldError::Elsewhere): the entity has moved |
/// | [`for_each_in`](crate::query::QueryRun::for_each_in) and its like | the entity is lent, and counted, once |
/// | [`get_disjoint_mut`](World::get_disjoint_mut) (no slice, and no report) | refuses the call, as [`Twice`](WorldError::Twice) |
///
/// # Panics of users' code
/// Calls that take away or destroy go on when a `drop` panics, and panic when all is done. Calls for which users' code
/// makes values (a closure, a `clone`) end with the first panic, whoever's it is. In both cases there is no report.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a slice may hold stale handles; the report says which"]
pub struct SliceReport {
    /// How many entities were changed or destroyed.
    pub done: usize,
    /// The handles that were refused, each with its position in the slice, in order.
    pub refused: Vec<(usize, WorldError)>,
}

impl SliceReport {
    /// Whether no handle was refused.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.refused.is_empty()
    }

    /// How many were done, or the first refusal.
    ///
    /// # Errors
    /// Why the first handle was refused.
    pub fn into_result(self) -> Result<usize, WorldError> {
        match self.refused.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(self.done),
        }
    }
}

/// How many were done and refused; of these, why the first was.
impl fmt::Display for SliceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} done, {} refused", self.done, self.refused.len())?;
        write_first(f, &self.refused)
    }
}

/// How many were done, and of those that were refused the first five.
impl fmt::Debug for SliceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, refused } = self;
        f.debug_struct("SliceReport")
            .field("done", done)
            .field("refused", &FirstFew(refused))
            .finish()
    }
}

/// Which row is likely to be asked for soon, when an entity leaves one: that one, or, where the one
/// before it was left just now, one further on. So who goes through a chunk finds what is needed in
/// the caches. (Where entities leave in no order, rows further on would only be in the way.)
#[inline(always)]
fn next_hole(row: Row, in_order: bool) -> usize {
    row.row as usize + if in_order { AHEAD } else { 0 }
}

impl World {
    /// Destroys an entity and drops its fragments. O(fragments). A reserved entity is released. (One that is to come back by
    /// "undo" is not destroyed, but [moved](Self::move_to) to a world of its own.)
    ///
    /// # Errors
    /// [`WorldError::Entity`] if it does not live, [`WorldError::Elsewhere`], [`WorldError::Pending`].
    ///
    /// # Panics
    /// If a fragment's `drop` panics; the entity is gone then, and its other fragments are dropped.
    #[inline(always)]
    #[doc(alias = "despawn")]
    pub fn destroy(&mut self, entity: Entity) -> Result<(), WorldError> {
        let Some((archetype, row, place)) = self.finder().find_place(entity) else {
            return self.destroy_unbuilt(entity);
        };
        // SAFETY: the directory names archetypes that there are.
        let data = unsafe { self.archetypes.get_unchecked(archetype as usize) };
        if data.ends != Ends::Quietly {
            return self.destroy_otherwise((archetype, row, place), entity);
        }
        // SAFETY: it was found, in this row; there is nothing to be dropped.
        unsafe { self.close_found((archetype, row, place), entity) };
        Ok(())
    }

    /// Ends an entity that was found in a row, at a place, and closes the row, if nothing more is to be done.
    ///
    /// (Inlined although it is long: saving registers and giving a result back takes an eighth of all instructions.)
    ///
    /// # Safety
    /// The entity was just found there; the row's values are gone, or need not be dropped; nothing in it can be switched
    /// off.
    #[inline(always)]
    unsafe fn close_found(&mut self, (archetype, row, place): (u32, Row, Place), entity: Entity) {
        let in_order = place.is_behind(core::mem::replace(&mut self.left, place));
        let next = next_hole(row, in_order);
        // Ordering: as in `version`.
        let version = self.version.load(Ordering::Relaxed).wrapping_add(1);
        // SAFETY: the caller's; the directory names archetypes that there are.
        let has_room = unsafe {
            let data = self.archetypes.get_unchecked_mut(archetype as usize);
            self.universe.index().destroy_found(entity);
            data.fill_hole(&self.universe, row, place, next, version)
        };
        if has_room {
            self.has_room(archetype, row.chunk);
        }
    }

    /// Destroys an entity that was found in a row where more is to be done than to close it.
    #[inline(never)]
    fn destroy_otherwise(
        &mut self,
        (archetype, row, place): (u32, Row, Place),
        entity: Entity,
    ) -> Result<(), WorldError> {
        let data = &self.archetypes[archetype as usize];
        if data.ends != Ends::WithDrops {
            self.destroy_told(archetype, row, entity);
            return Ok(());
        }
        // SAFETY: the row's values end with its entity, which was found there; nothing of it is looked at meanwhile: a
        // `drop` knows no world. Nothing can be switched off.
        let panicked = unsafe {
            let panicked = data.drop_row(row);
            self.close_found((archetype, row, place), entity);
            panicked
        };
        resume(panicked);
        Ok(())
    }

    /// Which row is likely to be asked for soon, now that an entity leaves one.
    #[inline(always)]
    pub(super) fn next_hole(&mut self, place: Place, row: Row) -> usize {
        next_hole(
            row,
            place.is_behind(core::mem::replace(&mut self.left, place)),
        )
    }

    /// After a row was closed: the chunk may be filled again, or is empty now.
    #[cold]
    #[inline(never)]
    pub(super) fn has_room(&mut self, archetype: u32, chunk: u32) {
        self.archetypes[archetype as usize].has_room(&self.universe, self.number, chunk);
        self.settle_groups(archetype);
    }

    /// Releases an entity that is reserved, or says why it cannot be destroyed here.
    #[cold]
    #[inline(never)]
    fn destroy_unbuilt(&mut self, entity: Entity) -> Result<(), WorldError> {
        match self.refuse(entity) {
            WorldError::NotBuilt { .. } => self.release(entity),
            error => Err(error),
        }
    }

    /// Destroys the entity of a row where more is to be done than to close it: somebody hears of it, observers or the
    /// values' own drops; what can be switched off; ids that do not depend on threads.
    #[inline(never)]
    fn destroy_told(&mut self, archetype: u32, row: Row, entity: Entity) {
        let told = if self.watches(archetype, DESTROYED) {
            self.tell_destroyed(archetype, row)
        } else {
            None
        };
        resume(first(told, self.destroy_row(archetype, row, entity)));
    }

    /// Destroys an entity of which all who want to hear have heard, if it lies in this world; whether it does.
    pub(super) fn destroy_unheard(&mut self, entity: Entity, panicked: &mut Panicked) -> bool {
        let Some((archetype, row, place)) = self.finder().find_place(entity) else {
            return false;
        };
        // SAFETY: it was found in this row, where its values end with it; nothing of it is looked at meanwhile: a `drop`
        // knows no world. Where an end is quiet, or with drops, nothing can be switched off.
        let more = unsafe {
            match self.archetypes[archetype as usize].ends {
                Ends::Told => self.destroy_row(archetype, row, entity),
                ends => {
                    let drops = ends == Ends::WithDrops;
                    let data = &mut self.archetypes[archetype as usize];
                    let more = drops.then(|| data.drop_row(row)).flatten();
                    self.close_found((archetype, row, place), entity);
                    more
                }
            }
        };
        *panicked = first(panicked.take(), more);
        true
    }

    /// Destroys the entity of a row; what its values' drops panicked with.
    pub(crate) fn destroy_row(&mut self, archetype: u32, row: Row, entity: Entity) -> Panicked {
        // SAFETY: the row's values end with its entity.
        let panicked = unsafe { self.archetypes[archetype as usize].drop_row(row) };
        self.forget_row(archetype, row, entity);
        panicked
    }

    /// Destroys the entity of a row whose values are gone, or need not be dropped.
    #[inline(always)]
    fn forget_row(&mut self, archetype: u32, row: Row, entity: Entity) {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        self.universe.kill(entity);
        data.close_row(&self.universe, self.number, row, version);
        self.settle_groups(archetype);
    }

    /// Destroys all entities of this world; compositions and reserved entities stay. O(entities), chunk by
    /// chunk; how many there were.
    ///
    /// # Panics
    /// If a fragment's `drop` panics; all entities are gone then.
    pub fn clear(&mut self) -> usize {
        let count = self.count();
        let mut told = None;
        if self.is_watched(DESTROYED) {
            let mut going = Vec::new();
            (0..self.archetypes.len() as u32).for_each(|data| self.all_going(data, &mut going));
            told = self.tell(DESTROYED, going);
        }
        resume(first(told, self.clear_quietly()));
        count
    }

    /// Destroys all entities; what their fragments' drops panicked with.
    pub(crate) fn clear_quietly(&mut self) -> Panicked {
        let mut panicked = None;
        for archetype in 0..self.archetypes.len() as u32 {
            panicked = first(panicked, self.clear_archetype(archetype));
        }
        panicked
    }

    /// Drops the values of all entities, whose ids end with the universe; what that panicked with.
    pub(crate) fn drop_values(&mut self) -> Panicked {
        let mut panicked = None;
        for data in &mut self.archetypes {
            for position in 0..data.chunks.len() as u32 {
                let count = core::mem::take(&mut data.chunks[position as usize].len);
                data.entities -= count as usize;
                // SAFETY: all rows, whose values end with their entities.
                let more = unsafe { data.drop_rows(position, 0, count) };
                panicked = first(panicked, more);
            }
        }
        panicked
    }

    /// Destroys all entities of an archetype.
    pub(crate) fn clear_archetype(&mut self, archetype: u32) -> Panicked {
        let mut panicked = None;
        let mut chunks = FromLast::of(&self.archetypes[archetype as usize]);
        while let Some(rows) = chunks.next_of(&self.archetypes[archetype as usize]) {
            panicked = first(panicked, self.clear_chunk(archetype, rows.chunk));
        }
        self.settle_groups(archetype);
        panicked
    }

    /// Destroys all entities of a chunk, and gives it back unless it is wanted.
    pub(crate) fn clear_chunk(&mut self, archetype: u32, chunk: u32) -> Panicked {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        let count = data.chunks[chunk as usize].len;
        if count == 0 {
            return None;
        }
        // SAFETY: all rows, whose values end with their entities.
        let panicked = unsafe { data.drop_rows(chunk, 0, count) };
        self.universe
            .kill_slice(data.chunks[chunk as usize].entities());
        let record = &mut data.chunks[chunk as usize];
        record.len = 0;
        record.order_version = version;
        data.entities -= count as usize;
        data.reopen(chunk);
        data.emptied(&self.universe, self.number, chunk);
        panicked
    }

    /// Gives the memory of empty chunks back, those among them that recorders have kept for what
    /// they create next, and the room for the records of chunks that are gone; how many chunks. The
    /// memory of recorders and flushes in which nothing waits goes, too, and room for more signals
    /// than wait: that of senders and of the world at once, that of each reader when it runs next.
    /// So do the names of entities that are gone, and the room for combinations of shared values that are gone. What was
    /// learned of the types that are recorded is learned anew, and what [`query`](Self::query) and [`read`](Self::read)
    /// remember is forgotten.
    ///
    /// Some room stays as it was at its peak:
    ///
    /// * *Mega-chunks:* one chunk in use keeps the whole of its mega-chunk, 1 MiB, and of those that are empty the universe
    ///   keeps some for later: [`Universe::trim`](crate::world::Universe::trim) gives the memory of both back.
    /// * *The entity index:* 8.6 bytes a slot, of blocks that were ever used.
    /// * *Shared values:* 24 bytes each, up to the last one, by number, that is in use.
    /// * *Compositions,* their records and ways to others, until [`collect_archetypes`](Self::collect_archetypes).
    ///
    /// O(compositions + chunks of those with shared values that have gone + what goes).
    pub fn trim(&mut self) -> usize {
        self.release_left();
        self.asked.clear();
        self.trim_names();
        let mut trimmed = self.attached.trim();
        for data in &mut self.archetypes {
            trimmed += data.trim(&self.universe, self.number);
            data.chunks.shrink();
            data.forget_idle_groups();
        }
        for archetype in 0..self.archetypes.len() as u32 {
            self.settle_groups(archetype);
        }
        self.shared.shrink();
        trimmed
    }
}

impl From<DestroyReport> for SliceReport {
    fn from(report: DestroyReport) -> Self {
        let refused = report.refused.into_iter();
        Self {
            done: report.destroyed,
            refused: refused.map(|(at, error)| (at, error.into())).collect(),
        }
    }
}
