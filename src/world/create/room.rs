//! Room: empty rows for entities that come.

use crate::archetype::Row;
use crate::panics::{note, resume};
use crate::world::{World, WorldError};

impl World {
    /// The chunk of a group that is filled next, if it has one.
    #[inline(always)]
    pub(super) fn open_chunk(&self, archetype: u32, group: u32) -> Option<u32> {
        let data = &self.archetypes[archetype as usize];
        data.groups[group as usize].open.last().copied()
    }

    /// An empty row at the end of a chunk of the group.
    #[inline(always)]
    pub(crate) fn room(&mut self, archetype: u32, group: u32) -> Result<Row, WorldError> {
        self.room_for(archetype, group, 0)
    }

    /// [`room`](Self::room) for the first of so many entities: if there is none, a chunk comes that is long enough
    /// for many of them.
    #[inline(always)]
    pub(crate) fn room_for(
        &mut self,
        archetype: u32,
        group: u32,
        coming: usize,
    ) -> Result<Row, WorldError> {
        let Some(chunk) = self.open_chunk(archetype, group) else {
            return self.add_room(archetype, group, coming);
        };
        // SAFETY: what is open is there.
        let row = unsafe { self.archetypes[archetype as usize].chunks.at(chunk) }.len;
        Ok(Row { chunk, row })
    }

    /// Adds a chunk to a group, if it has none that is [ajar](crate::archetype::Archetype::ajar). If there is no memory
    /// for it, whatever has room is filled; if nothing has, or the `clone` of a template panics, a group that has no other
    /// chunk goes, and its shared values are let go.
    #[cold]
    #[inline(never)]
    pub(super) fn add_room(
        &mut self,
        archetype: u32,
        group: u32,
        coming: usize,
    ) -> Result<Row, WorldError> {
        let data = &mut self.archetypes[archetype as usize];
        if let Some(chunk) = data.open_or_ajar(group) {
            let row = data.chunks[chunk as usize].len;
            return Ok(Row { chunk, row });
        }
        self.keep_versions();
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        let mut panicked = None;
        let mut added = None;
        note(&mut panicked, || {
            added = Some(data.add_chunk(&self.universe, self.number, group, coming, version));
        });
        if let Some(Err(error)) = &added
            && error.is_shortage()
            && let Some(chunk) = data.open_ajar()
        {
            let row = data.chunks[chunk as usize].len;
            return Ok(Row { chunk, row });
        }
        if !matches!(added, Some(Ok(_))) {
            data.forget_group(group);
            self.settle_groups(archetype);
        }
        match added {
            Some(added) => Ok(Row {
                chunk: added?,
                row: 0,
            }),
            None => {
                resume(panicked);
                unreachable!("nothing was added, because of a panic")
            }
        }
    }

    /// Lets an empty chunk of a group go that nothing came into after all.
    pub(crate) fn abandon(&mut self, archetype: u32, chunk: u32) {
        let data = &mut self.archetypes[archetype as usize];
        if data.chunks[chunk as usize].len == 0 {
            data.emptied(&self.universe, self.number, chunk);
        }
        self.settle_groups(archetype);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archetype::scarce::Scarce;
    use crate::entity::Entity;
    use crate::fragment::Bundle;

    #[test]
    fn without_memory_for_a_chunk_whatever_has_room_is_filled() {
        let mut scarce = Scarce::new();
        let mut world = World::of(&scarce.universe).unwrap();
        world.set_chunk_size(1);
        scarce.leave(10);
        let mut all: Vec<Entity> = Vec::new();
        let full = loop {
            match world.create(([0_u64; 4],)) {
                Ok(entity) => all.push(entity),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, WorldError::Chunk(_)), "{full}");
        assert_eq!(world.stats().chunks, 10);
        // One of each chunk, and none of them is filled again for that.
        let rows = all.len() / 10;
        let gone = |world: &mut World, all: &[Entity]| {
            for &entity in all.iter().step_by(rows) {
                world.destroy(entity).unwrap();
            }
        };
        gone(&mut world, &all);
        assert!(world.open_chunk(0, 0).is_none());
        let batch = world.create_batch([(); 6].map(|()| ([1_u64; 4],))).unwrap();
        assert_eq!(batch.len(), 6);
        for _ in 0..4 {
            world.create(([1_u64; 4],)).unwrap();
        }
        assert!(world.create(([1_u64; 4],)).is_err());
        world.check().unwrap();
        assert_eq!((world.count(), world.stats().chunks), (all.len(), 10));
        // As many that a recorder has created before there was none left.
        gone(&mut world, &all[1..]);
        assert!(world.open_chunk(0, 0).is_some(), "as soon as a row is free");
        scarce.leave(1);
        let mut commands = world.commands();
        let created = [(); 10].map(|()| commands.create(([2_u64; 4],)).unwrap());
        drop(commands);
        scarce.leave(0);
        let report = world.flush();
        assert!(report.is_clean(), "{report:?}");
        assert!(created.iter().all(|&entity| world.is_built(entity)));
        world.check().unwrap();
    }

    #[test]
    fn what_lies_in_chunks_already_joins_without_memory_though_other_groups_have_room() {
        #[derive(Clone, Copy)]
        struct Bulk([u64; 1]);
        let mut scarce = Scarce::new();
        let mut world = World::of(&scarce.universe).unwrap();
        world.set_chunk_size(1);
        scarce.leave(2);
        world.create((Bulk([0]),).shared('a')).unwrap();
        world.create((Bulk([0]),).shared('b')).unwrap();
        let least = world.archetypes[0].least_capacity;
        // A quarter of its chunk: there is room for some of those that come, and for many of them with the other's.
        for n in 0..u64::from(least) / 4 {
            world.create((Bulk([n]),).shared('b')).unwrap();
        }
        // Half a chunk beside those of other recorders, and a chunk of its own.
        let coming = least + least.div_ceil(2);
        scarce.leave(2);
        let mut commands = world.commands();
        let created: Vec<Entity> = (0..coming)
            .map(|n| {
                let bulk = Bulk([n.into()]);
                commands.create((bulk,).shared('b')).unwrap()
            })
            .collect();
        drop(commands);
        scarce.leave(0);
        let report = world.flush();
        assert!(report.is_clean(), "{report:?}");
        for (n, &entity) in (0..).zip(&created) {
            assert_eq!(world.get::<Bulk>(entity).unwrap().0, [n]);
        }
        world.check().unwrap();
    }

    #[test]
    fn a_chunk_whose_rows_fill_others_is_there_for_who_joins_next() {
        let mut scarce = Scarce::new();
        let mut world = World::of(&scarce.universe).unwrap();
        world.set_chunk_size(1);
        scarce.leave(10);
        let mut all = Vec::new();
        while let Ok(entity) = world.create(([0_u64; 4],)) {
            all.push(entity);
        }
        let least = all.len() / 10;
        // Room for two chunks' entities, in four of them.
        for chunk in all.chunks(least).take(4) {
            for &entity in &chunk[least / 2..] {
                world.destroy(entity).unwrap();
            }
        }
        let room = all.len() - world.count();
        let first = least + least.div_ceil(2);
        let second = room - first;
        scarce.leave(5);
        let commands = world.parallel_commands();
        // Those of the first fill the most of it, also those in a chunk of their own; those of the second the rest. For
        // the third there is nothing but that chunk.
        let mut created = Vec::new();
        for (key, count) in (0..).zip([first, second, least / 4]) {
            let mut open = commands.open_at(key);
            created.extend((0..count).map(|_| open.create(([0_u64; 4],)).unwrap()));
        }
        scarce.leave(0);
        let report = world.flush();
        assert!(report.is_clean(), "{report:?}");
        assert!(created.iter().all(|&entity| world.is_built(entity)));
        world.check().unwrap();
        assert_eq!(world.stats().chunks, 11);
    }
}
