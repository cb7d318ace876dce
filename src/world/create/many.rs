//! Entities come in batches: all of them, or none.

use std::sync::Arc;

use crate::archetype::Fills;
use crate::entity::{EntityIndex, Full};
use crate::fragment::{Bundle, refused_bundle};
use crate::panics::refused;
use crate::world::compose::Unready;
use crate::world::create::columns;
use crate::world::create::unfinished::{Singles, Unfinished, Written};
use crate::world::watch::{CREATED, SET};
use crate::world::{Batch, World, WorldError};

impl World {
    /// Creates an entity for each bundle, in order. O(entities × fragments); handles are made a chunk at a
    /// time.
    ///
    /// All or none: if ids or memory run out, or if the iterator panics, those that were made are gone
    /// again. An iterator that [says](Iterator::size_hint) that it has more than there are ids is not asked for the first.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ants = world.create_batch((0..1_000).map(|n| (n as f32, [0_u8; 3])))?;
    /// assert_eq!(ants.len(), 1_000);
    /// let seventh = ants.iter(&world).nth(6).unwrap();
    /// assert_eq!(world.get::<f32>(seventh)?, &6.0);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    ///
    /// # Panics
    /// If the iterator panics, or what makes [`create`](Self::create) panic does; there is no new entity then. If an
    /// observer does; then all are there.
    #[doc(alias = "spawn_batch")]
    pub fn create_batch<I>(&mut self, bundles: I) -> Result<Batch, WorldError>
    where
        I: IntoIterator,
        I::Item: Bundle,
    {
        let bundles = bundles.into_iter();
        if self.is_watched(CREATED | SET) {
            return self.told(CREATED, Vec::new(), |world| world.create_all(bundles));
        }
        self.create_all(bundles)
    }

    #[inline]
    fn create_all<B: Bundle>(
        &mut self,
        mut bundles: impl Iterator<Item = B>,
    ) -> Result<Batch, WorldError> {
        // Not by trying: all others would find no id meanwhile.
        if bundles.size_hint().0 > EntityIndex::CAPACITY {
            let capacity = EntityIndex::CAPACITY;
            return Err(refused(bundles, Full { capacity }.into()));
        }
        self.keep_versions();
        if B::HAS_VALUES {
            return self.create_batch_with_values(bundles);
        }
        let (number, archetype, fills) = match self.batch_bundle::<B>() {
            Ok(bundle) => bundle,
            Err(error) => return Err(refused(bundles, error)),
        };
        let mut unfinished = Unfinished::new(self, archetype);
        loop {
            // Before there is a bundle, which would be dropped beside the panic if it panics.
            let coming = match bundles.size_hint() {
                (1, Some(1)) => 1,
                // Nobody knows whether there are others.
                (0 | 1, _) => 0,
                (coming, _) => coming,
            };
            // A chunk is taken only for an entity that comes.
            let Some(first) = bundles.next() else {
                // The iterator may panic once more.
                drop(bundles);
                return Ok(unfinished.finish());
            };
            let world = &mut *unfinished.world;
            let row = match world.room_for(archetype, 0, coming) {
                Ok(row) => row,
                Err(error) => return Err(refused_bundle(first, error)),
            };
            unfinished.begin(row.chunk);
            let world = &mut *unfinished.world;
            let data = &world.archetypes[archetype as usize];
            let chunk = &data.chunks[row.chunk as usize];
            let columns = columns::<B>(chunk, &world.bundles.infos[number].offsets);
            let mut written = Written::new(data, row, fills.as_deref());
            let (start, room) = (row.row as usize, chunk.capacity - row.row);
            // SAFETY: the columns have rows up to the capacity, empty from `start` on.
            unsafe { first.write(columns.as_ptr(), start) };
            written.count = 1;
            let is_all = loop {
                if written.count == room {
                    break false;
                }
                let Some(bundle) = bundles.next() else {
                    // It has said that this was all: it is not asked again.
                    break true;
                };
                // SAFETY: as above.
                unsafe { bundle.write(columns.as_ptr(), start + written.count as usize) };
                written.count += 1;
            };
            if is_all {
                // It may panic once more: while these have no ids.
                drop(bundles);
                written.fill();
                written.commit(&world.universe)?;
                let count = written.finish();
                return Ok(unfinished.finish_with(row, count));
            }
            written.fill();
            written.commit(&world.universe)?;
            let count = written.finish();
            unfinished.note(row, count, coming.saturating_sub(count as usize));
        }
    }

    /// The number of a bundle type, the archetype to which its entities come, and what they come with by default.
    #[inline]
    fn batch_bundle<B: Bundle>(&mut self) -> Result<(usize, u32, Option<Arc<Fills>>), WorldError> {
        match self.bundle::<B>() {
            Ok(number) => Ok((number, self.bundles.infos[number].archetype, None)),
            Err(Unready::Refused(error)) => Err(error),
            Err(Unready::Completed(completed)) => {
                let number = self.bundles.number::<B>(self.universe.registry())? as usize;
                Ok((number, completed.archetype, Some(completed.fills)))
            }
        }
    }

    /// Bundles whose shared values may differ: one by one.
    #[cold]
    fn create_batch_with_values<B: Bundle>(
        &mut self,
        mut bundles: impl Iterator<Item = B>,
    ) -> Result<Batch, WorldError> {
        let mut batch = Singles {
            before: Some(self.before()),
            world: self,
            entities: Vec::new(),
        };
        for bundle in &mut bundles {
            let Singles {
                world, entities, ..
            } = &mut batch;
            // Noted as soon as it has an id: what its template takes the place of may panic when it goes.
            let created = world.placing_values(bundle, |world, archetype, group| {
                let (entity, row) = world.create_row(archetype, group)?;
                entities.push(entity);
                Ok((entity, row))
            });
            if let Err(error) = created {
                return Err(refused((batch, bundles), error));
            }
        }
        // The iterator may panic once more.
        drop(bundles);
        Ok(batch.finish())
    }
}
