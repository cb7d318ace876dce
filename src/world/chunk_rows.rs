//! `ChunkRows`: how full one chunk of a world is.

use crate::archetype::{Archetype, Chunk};
use crate::chunk::CHUNK_BYTES;
use crate::world::World;

/// How full one chunk of a world is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct ChunkRows {
    /// Its composition: a position in [`WorldStats::archetypes`](crate::world::WorldStats::archetypes).
    pub archetype: usize,
    /// Which combination of shared values its entities have: a number in the composition, the same for all chunks of
    /// that combination. It may be another's after all its chunks have gone, and the combination may have another after
    /// [`World::trim`] or [`World::compact`]; 0 where nothing is shared.
    pub group: usize,
    /// Entities in it: rows in use, the first ones. None in a chunk that is kept for whoever comes next.
    pub entities: usize,
    /// Entities that it can hold.
    pub capacity: usize,
    /// Its memory, in bytes: 16 KiB, or a multiple up to 1 MiB.
    pub bytes: usize,
}

impl ChunkRows {
    /// Entities against those that it can hold, 0 to 1.
    #[must_use]
    pub fn occupancy(&self) -> f64 {
        // A chunk without rows would have no use, and is not there.
        self.entities as f64 / self.capacity.max(1) as f64
    }

    fn of(archetype: usize, data: &Archetype, chunk: &Chunk) -> Self {
        Self {
            archetype,
            group: chunk.group as usize,
            entities: chunk.len as usize,
            capacity: data.unfolded_capacity(chunk) as usize,
            bytes: chunk.run.len() as usize * CHUNK_BYTES,
        }
    }
}

impl World {
    /// How full each chunk is, composition by composition, in the order in which queries walk the chunks of one. Their sums
    /// are what [`stats`](Self::stats) says.
    ///
    /// O(1) for each chunk and composition that the iterator comes to; it allocates nothing.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..10_000_u64).map(|n| (n,)))?;
    /// let all = batch.to_vec(&world);
    /// for &entity in &all[..5_000] {
    ///     world.destroy(entity)?;
    /// }
    /// for chunk in world.chunk_rows() {
    ///     println!("{} of {} rows", chunk.entities, chunk.capacity);
    /// }
    /// let sparse = world.chunk_rows().filter(|chunk| chunk.occupancy() < 0.25);
    /// println!("{} chunks are less than a quarter full", sparse.count());
    /// assert_eq!(world.chunk_rows().count(), world.stats().chunks);
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn chunk_rows(&self) -> impl Iterator<Item = ChunkRows> + '_ {
        let archetypes = self.archetypes.iter().enumerate();
        archetypes.flat_map(|(number, data)| {
            let chunks = data.chunks.iter();
            chunks.map(move |chunk| ChunkRows::of(number, data, chunk))
        })
    }
}
