//! The handles of the entities in a file.
//!
//! Must hold: each entity that lives has one row. (Of a file without versions: no slot has two.)

use crate::entity::{Entity, EntityIndex};
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::format::Header;
use crate::world::snapshot::read::{Saved, SavedChunk};

impl<'f> Saved<'f> {
    /// Whether each entity that lives has one row.
    pub(super) fn check_handles(&mut self) -> Result<(), SnapshotError> {
        let Some(versions) = self.versions.take() else {
            self.read_handles(|entity| {
                let is_slot = (entity.index() as usize) < EntityIndex::CAPACITY;
                is_slot && EntityIndex::is_version(entity.version())
            })?;
            return self.check_slots();
        };
        let mut missing: Vec<bool> = versions.iter().map(|version| version % 2 == 1).collect();
        let living = missing.iter().filter(|&&lives| lives).count();
        self.handles.reserve_exact(living);
        self.read_handles(|entity| {
            let slot = entity.index() as usize;
            versions.get(slot) == Some(&entity.version()) && core::mem::take(&mut missing[slot])
        })?;
        self.versions = Some(versions);
        match missing.iter().position(|&missing| missing) {
            None => Ok(()),
            Some(slot) => Err(SnapshotError::Damaged {
                what: "an entity lives and has no row",
                at: (Header::BYTES + 4 * slot) as u64,
            }),
        }
    }

    /// The handles of a chunk.
    pub(in crate::world::snapshot) fn handles(&self, chunk: &SavedChunk) -> &[Entity] {
        &self.handles[chunk.handles..][..chunk.len as usize]
    }

    /// Reads the handles of all chunks, of whom each must live.
    fn read_handles(&mut self, mut lives: impl FnMut(Entity) -> bool) -> Result<(), SnapshotError> {
        let archetypes = self
            .worlds
            .iter_mut()
            .flat_map(|world| &mut world.archetypes);
        for chunk in archetypes.flat_map(|data| &mut data.chunks) {
            chunk.handles = self.handles.len();
            let (handles, _) = self.file[chunk.at..][..8 * chunk.len as usize].as_chunks::<8>();
            for (row, &[a, b, c, d, e, f, g, h]) in handles.iter().enumerate() {
                let index = u32::from_ne_bytes([a, b, c, d]);
                let entity = Entity::new(index, u32::from_ne_bytes([e, f, g, h]));
                let Some(entity) = entity.filter(|&entity| lives(entity)) else {
                    return Err(dead_or_twice(chunk.at + 8 * row));
                };
                self.handles.push(entity);
            }
        }
        Ok(())
    }

    /// Whether no two entities are of one slot.
    fn check_slots(&self) -> Result<(), SnapshotError> {
        let mut slots: Vec<u32> = self.handles.iter().map(|entity| entity.index()).collect();
        slots.sort_unstable();
        let twice = slots.windows(2).find(|pair| pair[0] == pair[1]);
        let Some(&[slot, _]) = twice else {
            return Ok(());
        };
        let of_slot = self.handles.iter().map(|entity| entity.index() == slot);
        let second = of_slot.enumerate().filter(|&(_, is_it)| is_it).nth(1);
        let second = second.map_or(0, |(at, _)| at);
        let chunks = self.worlds.iter().flat_map(|world| &world.archetypes);
        let chunk = chunks
            .flat_map(|data| &data.chunks)
            .find(|chunk| (chunk.handles..chunk.handles + chunk.len as usize).contains(&second));
        Err(dead_or_twice(
            chunk.map_or(0, |chunk| chunk.at + 8 * (second - chunk.handles)),
        ))
    }
}

fn dead_or_twice(at: usize) -> SnapshotError {
    SnapshotError::Damaged {
        what: "a handle is dead, or stands there twice",
        at: at as u64,
    }
}
