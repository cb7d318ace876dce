//! `WorldStats`: how a world uses its memory.

use core::fmt;

use crate::archetype::{Archetype, Chunk, Refit};
use crate::chunk::CHUNK_BYTES;
use crate::entity::Entity;
use crate::world::World;

/// How a world uses its memory.
///
/// Sums are over [`archetypes`](Self::archetypes). Bytes are those of chunks, of which an entity also has 8.6
/// in the universe's index.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct WorldStats {
    /// Entities that live in it, without reserved ones.
    pub entities: usize,
    /// Chunks, of whatever size.
    pub chunks: usize,
    /// Chunks without entities.
    pub empty_chunks: usize,
    /// Memory of all chunks, in bytes.
    pub chunk_bytes: usize,
    /// Memory of the records of chunks, beside them, in bytes.
    pub record_bytes: usize,
    /// What the entities themselves take: handles and values, in bytes.
    pub entity_bytes: usize,
    /// Entities that the chunks could hold.
    pub capacity: usize,
    /// Entities with a name, those among them that have gone since the last sweep.
    pub names: usize,
    /// The compositions that have been met, in the order in which they were.
    pub archetypes: Vec<ArchetypeStats>,
}

/// How one composition stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct ArchetypeStats {
    /// The names of the fragments, in order.
    pub fragments: Vec<String>,
    /// Entities that have exactly these.
    pub entities: usize,
    /// Chunks.
    pub chunks: usize,
    /// Chunks without entities.
    pub empty_chunks: usize,
    /// Combinations of shared values.
    pub groups: usize,
    /// Memory of its chunks, which may differ in length, in bytes.
    pub chunk_bytes: usize,
    /// Entities that they could hold.
    pub capacity: usize,
    /// What an entity takes: handle and values, in bytes.
    pub entity_bytes: usize,
}

impl WorldStats {
    /// Entities against those that the chunks could hold, 0 to 1; 1 for an empty world.
    #[must_use]
    pub fn occupancy(&self) -> f64 {
        match self.capacity {
            0 => 1.0,
            capacity => self.entities as f64 / capacity as f64,
        }
    }

    /// Memory of chunks and their records an entity, in bytes; 0 for an empty world.
    #[must_use]
    pub fn bytes_per_entity(&self) -> f64 {
        match self.entities {
            0 => 0.0,
            entities => (self.chunk_bytes + self.record_bytes) as f64 / entities as f64,
        }
    }
}

/// A line of sums, and a table of the compositions that have entities.
impl fmt::Display for WorldStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.archetypes.iter().filter(|data| data.entities > 0);
        writeln!(
            f,
            "entities: {}; compositions that have some: {}, that have none: {}",
            self.entities,
            used.clone().count(),
            self.archetypes.len() - used.clone().count(),
        )?;
        writeln!(
            f,
            "{} chunks ({} empty), {:.1} KiB, {:.0} % full, {:.1} bytes an entity",
            self.chunks,
            self.empty_chunks,
            self.chunk_bytes as f64 / 1_024.0,
            100.0 * self.occupancy(),
            self.bytes_per_entity(),
        )?;
        write!(
            f,
            "{:>10} {:>7} {:>9} {:>6}  fragments",
            "entities", "chunks", "room for", "bytes"
        )?;
        for data in used {
            write!(
                f,
                "\n{:>10} {:>7} {:>9} {:>6}  {}",
                data.entities,
                data.chunks,
                data.capacity,
                data.entity_bytes,
                data.fragments.join(", ")
            )?;
        }
        Ok(())
    }
}

impl World {
    /// How the world uses its memory. O(archetypes + chunks). ([`chunk_rows`](Self::chunk_rows) says how full each chunk
    /// is.)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..100_000_u64).map(|n| (n, n as f64)))?;
    /// let stats = world.stats();
    /// assert!(stats.bytes_per_entity() < 1.05 * 24.0);
    /// println!("{stats}");
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> WorldStats {
        let mut stats = WorldStats {
            entities: 0,
            chunks: 0,
            empty_chunks: 0,
            chunk_bytes: 0,
            record_bytes: 0,
            entity_bytes: 0,
            capacity: 0,
            names: self.names.len(),
            archetypes: Vec::with_capacity(self.archetypes.len()),
        };
        for data in &self.archetypes {
            let one = self.archetype_stats(data);
            stats.entities += one.entities;
            stats.chunks += one.chunks;
            stats.empty_chunks += one.empty_chunks;
            stats.chunk_bytes += one.chunk_bytes;
            stats.record_bytes += data.chunks.capacity() * size_of::<Chunk>();
            let refits = data.chunks.iter().filter_map(Chunk::refit);
            stats.record_bytes += refits.map(Refit::outside_bytes).sum::<usize>();
            stats.entity_bytes += one.entities * one.entity_bytes;
            stats.capacity += one.capacity;
            stats.archetypes.push(one);
        }
        stats
    }

    fn archetype_stats(&self, data: &Archetype) -> ArchetypeStats {
        let values = data.columns.iter().map(|column| column.size as usize);
        let chunks = data.chunks.iter();
        let infos = data.ids.iter().filter_map(|&id| self.registry().get(id));
        let mut fragments: Vec<_> = infos.map(|info| info.name().into()).collect();
        // The order of their numbers may be another each time.
        fragments.sort_unstable();
        ArchetypeStats {
            fragments,
            entities: data.entities,
            chunks: data.chunks.len(),
            empty_chunks: chunks.clone().filter(|chunk| chunk.len == 0).count(),
            groups: data.groups.len() - data.idle_groups.len(),
            chunk_bytes: chunks
                .clone()
                .map(|c| c.run.len() as usize * CHUNK_BYTES)
                .sum(),
            capacity: chunks
                .map(|chunk| data.unfolded_capacity(chunk) as usize)
                .sum(),
            entity_bytes: size_of::<Entity>() + values.sum::<usize>(),
        }
    }
}
