//! Entities come: one by one, in batches, reserved first.

mod batch;
mod handles;
mod many;
mod placing;
mod reserved;
mod room;
mod unfinished;

use crate::archetype::{Row, Universe};
use crate::chunk::Run;
use crate::entity::Entity;
use crate::fragment::{Bundle, NO_COLUMN_LEFT, refused_bundle};
use crate::world::compose::Unready;
use crate::world::watch::{CREATED, SET};
use crate::world::{World, WorldError};

pub use batch::Batch;
pub(crate) use handles::Handles;

pub(crate) use crate::fragment::COLUMNS;

impl World {
    /// Creates an entity with these fragments. O(fragments).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let entity = world.create(("ant", 0.5_f32))?;
    /// assert_eq!(world.get::<f32>(entity)?, &0.5);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// A fragment that stands there twice or is too large, no id or no memory left. The bundle is dropped then.
    ///
    /// # Panics
    /// If the `eq` or `hash` of a shared value panics, the `clone` of a chunk fragment with which a new chunk was to
    /// begin, or what makes a value that is [required](crate::fragment::FragmentRegistry::require_with);
    /// then there is no new entity. If a value of the bundle [takes the place](Bundle::per_chunk) of a template, and
    /// the `drop` of that template panics; the entity is there then.
    #[inline]
    #[doc(alias = "spawn")]
    pub fn create<B: Bundle>(&mut self, bundle: B) -> Result<Entity, WorldError> {
        if B::HAS_VALUES {
            return self.create_with_values(bundle);
        }
        let number = match self.bundle::<B>() {
            Ok(number) => number,
            Err(Unready::Refused(error)) => return Err(refused_bundle(bundle, error)),
            Err(Unready::Completed(_)) => return self.create_with_values(bundle),
        };
        let archetype = self.bundles.infos[number].archetype;
        // No `Result` where there is room: it would go through memory.
        let chunk = match self.open_chunk(archetype, 0) {
            Some(chunk) => chunk,
            None => match self.add_room(archetype, 0, 0) {
                Ok(row) => row.chunk,
                Err(error) => return Err(refused_bundle(bundle, error)),
            },
        };
        // SAFETY: the chunk has room, and the offsets are the archetype's.
        let created = unsafe { self.push(archetype, chunk, number, bundle, Universe::create_in) };
        created.map_err(WorldError::from)
    }

    /// Fills the row behind a chunk's last, for the entity that `entity` gives it.
    ///
    /// # Safety
    /// There is such a chunk, it has room, and the bundle's offsets are this archetype's.
    #[inline(always)]
    unsafe fn push<B: Bundle, E>(
        &mut self,
        number_of_archetype: u32,
        position: u32,
        number: usize,
        bundle: B,
        entity: impl FnOnce(&Universe, Run, u32) -> Result<Entity, E>,
    ) -> Result<Entity, E> {
        let version = self.stamp();
        let archetype = &mut self.archetypes[number_of_archetype as usize];
        // SAFETY: the caller's.
        let chunk = unsafe { archetype.chunks.at_mut(position) };
        let row = chunk.len;
        let entity = match entity(&self.universe, chunk.run, row) {
            Ok(entity) => entity,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        let columns = columns::<B>(chunk, &self.bundles.infos[number].offsets);
        // SAFETY: the columns have such a row, which is empty.
        unsafe {
            bundle.write(columns.as_ptr(), row as usize);
            chunk.handles().add(row as usize).write(entity);
        }
        chunk.grow(&archetype.enabled, 1, version);
        archetype.entities += 1;
        if chunk.is_full() {
            archetype.filled_up(position);
        }
        if archetype.watched & (CREATED | SET) != 0 {
            let chunk = position;
            self.tell_created(number_of_archetype, Row { chunk, row });
        }
        Ok(entity)
    }

    #[cold]
    #[inline(never)]
    fn create_with_values<B: Bundle>(&mut self, bundle: B) -> Result<Entity, WorldError> {
        self.placing_values(bundle, Self::create_row)
    }

    /// A new entity in an empty row of a group.
    pub(super) fn create_row(
        &mut self,
        archetype: u32,
        group: u32,
    ) -> Result<(Entity, Row), WorldError> {
        let row = self.room(archetype, group)?;
        let run = self.archetypes[archetype as usize].chunks[row.chunk as usize].run;
        match self.universe.create_in(run, row.row) {
            Ok(entity) => Ok((entity, row)),
            Err(full) => {
                self.abandon(archetype, row.chunk);
                Err(full.into())
            }
        }
    }
}

/// The columns of a chunk that a bundle's values go to.
#[inline(always)]
pub(crate) fn columns<B: Bundle>(
    chunk: &crate::archetype::Chunk,
    offsets: &[u32],
) -> [*mut u8; COLUMNS] {
    const { assert!(B::LEN <= COLUMNS, "{}", NO_COLUMN_LEFT) };
    let mut columns = [core::ptr::null_mut(); COLUMNS];
    for (column, &offset) in columns.iter_mut().zip(offsets).take(B::LEN) {
        *column = chunk.array(offset);
    }
    columns
}
