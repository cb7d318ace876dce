//! Room: empty rows for entities that come.

use crate::archetype::Row;
use crate::fragment::panic::{note, resume};
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
    /// for it, or the `clone` of a template panics, a group that has no other goes, and its shared values are let go.
    #[cold]
    #[inline(never)]
    pub(super) fn add_room(
        &mut self,
        archetype: u32,
        group: u32,
        coming: usize,
    ) -> Result<Row, WorldError> {
        let data = &mut self.archetypes[archetype as usize];
        if let Some(chunk) = data.ajar(group) {
            data.open(chunk);
            let row = data.chunks[chunk as usize].len;
            return Ok(Row { chunk, row });
        }
        self.keep_versions();
        let version = self.version();
        let data = &mut self.archetypes[archetype as usize];
        let mut panicked = None;
        let mut added = None;
        note(&mut panicked, || {
            added = Some(data.add_chunk(&self.universe, self.number, group, coming, version));
        });
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
