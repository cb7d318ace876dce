//! The picture of a world as JSON: what its lines say, and how full each chunk is.

use serde::Serialize;

use super::{Composition, WorldMap};
use crate::cli::map::json::{FORMAT, written};

#[derive(Serialize)]
struct File<'a> {
    format: &'static str,
    title: &'a str,
    entities: usize,
    chunk_bytes: usize,
    committed_megachunks: usize,
    /// All that have chunks, that with the most memory first.
    compositions: Vec<Listed<'a>>,
    /// How many have none.
    idle_compositions: usize,
}

#[derive(Serialize)]
struct Listed<'a> {
    /// The names of its fragments, without their paths.
    names: &'a [String],
    entities: usize,
    /// For how many there is room in its chunks.
    capacity: usize,
    entity_bytes: usize,
    /// Its chunks, those apart whose entities have other shared values.
    groups: Vec<Vec<Chunk>>,
}

#[derive(Serialize)]
struct Chunk {
    entities: usize,
    capacity: usize,
    bytes: usize,
}

/// The picture in the format `megachunk-map 1`.
pub(super) fn draw(map: &WorldMap) -> String {
    written(&File {
        format: FORMAT,
        title: &map.title,
        entities: map.stats.entities,
        chunk_bytes: map.stats.chunk_bytes,
        committed_megachunks: map.committed_megachunks,
        compositions: map.compositions.iter().map(listed).collect(),
        idle_compositions: map.idle,
    })
}

fn listed(composition: &Composition) -> Listed<'_> {
    let chunk = |chunk: &crate::world::ChunkRows| Chunk {
        entities: chunk.entities,
        capacity: chunk.capacity,
        bytes: chunk.bytes,
    };
    let groups = composition.groups.iter();
    Listed {
        names: &composition.names,
        entities: composition.entities,
        capacity: composition.capacity,
        entity_bytes: *composition.entity_bytes.start(),
        groups: groups
            .map(|group| group.iter().map(chunk).collect())
            .collect(),
    }
}
