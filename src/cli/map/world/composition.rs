//! `Composition`: what is drawn of one, or of many that are drawn as one.

use std::ops::RangeInclusive;

use super::label;
use crate::world::{ArchetypeStats, ChunkRows};

/// A composition and its chunks, or many compositions as one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Composition {
    /// How many these are.
    pub(super) compositions: usize,
    /// The names of its fragments, without their paths; none where these are many.
    pub(super) names: Vec<String>,
    pub(super) entities: usize,
    pub(super) capacity: usize,
    /// Memory of its chunks, in bytes.
    pub(super) bytes: usize,
    /// What an entity takes, in bytes.
    pub(super) entity_bytes: RangeInclusive<usize>,
    /// Its chunks, those apart whose entities have other shared values.
    pub(super) groups: Vec<Vec<ChunkRows>>,
}

impl Composition {
    pub(super) fn new(stats: &ArchetypeStats, mut chunks: Vec<ChunkRows>) -> Self {
        // In a group they stay in their order.
        chunks.sort_by_key(|chunk| chunk.group);
        let groups = chunks.chunk_by(|one, other| one.group == other.group);
        let names = stats.fragments.iter().map(|name| label::base(name));
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Self {
            compositions: 1,
            names,
            entities: stats.entities,
            capacity: stats.capacity,
            bytes: stats.chunk_bytes,
            entity_bytes: stats.entity_bytes..=stats.entity_bytes,
            groups: groups.map(<[ChunkRows]>::to_vec).collect(),
        }
    }

    /// Many as one, whose chunks are one group.
    pub(super) fn together(many: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> usize| many.iter().map(of).sum();
        let bytes = |of: fn(&RangeInclusive<usize>) -> &usize| {
            many.iter().map(move |one| *of(&one.entity_bytes))
        };
        let least = bytes(RangeInclusive::start).min().unwrap_or(0);
        let most = bytes(RangeInclusive::end).max().unwrap_or(0);
        Self {
            compositions: many.len(),
            names: Vec::new(),
            entities: sum(|one| one.entities),
            capacity: sum(|one| one.capacity),
            bytes: sum(|one| one.bytes),
            entity_bytes: least..=most,
            groups: vec![many.iter().flat_map(Self::chunks).copied().collect()],
        }
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = &ChunkRows> {
        self.groups.iter().flatten()
    }

    /// How long its chunks are, in KiB.
    pub(super) fn lengths(&self) -> RangeInclusive<usize> {
        let lengths = || self.chunks().map(|chunk| chunk.bytes >> 10);
        lengths().min().unwrap_or(0)..=lengths().max().unwrap_or(0)
    }

    /// Entities against those that its chunks can hold.
    pub(super) fn occupancy(&self) -> f64 {
        self.entities as f64 / self.capacity.max(1) as f64
    }
}
