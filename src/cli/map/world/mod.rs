//! `WorldMap`: the compositions of a world, and how full their chunks are.
//!
//! All of it is what a world says of itself in public: [`World::stats`] and [`World::chunk_rows`].

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use super::terminal::Canvas;
use crate::cli::output::{grouped, plural};
use crate::world::{ArchetypeStats, ChunkRows, World, WorldStats};

mod label;
mod made;
mod strip;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;

pub(super) use made::{MadeWorld, STREETS};

/// A world at one moment.
#[derive(Debug)]
pub(super) struct WorldMap {
    title: String,
    stats: WorldStats,
    committed_megachunks: usize,
    /// Those with chunks, that with the most memory first.
    compositions: Vec<Composition>,
    /// How many have none.
    idle: usize,
}

/// A composition and its chunks, or many compositions as one.
#[derive(Clone, Debug, PartialEq)]
struct Composition {
    /// How many these are.
    compositions: usize,
    /// The names of its fragments, without their paths; none where these are many.
    names: Vec<String>,
    entities: usize,
    capacity: usize,
    /// Memory of its chunks, in bytes.
    bytes: usize,
    /// What an entity takes, in bytes.
    entity_bytes: RangeInclusive<usize>,
    /// Its chunks, those apart whose entities have other shared values.
    groups: Vec<Vec<ChunkRows>>,
}

impl Composition {
    fn new(stats: &ArchetypeStats, mut chunks: Vec<ChunkRows>) -> Self {
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
    fn together(many: &[Self]) -> Self {
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

    fn chunks(&self) -> impl Iterator<Item = &ChunkRows> {
        self.groups.iter().flatten()
    }

    /// How long its chunks are, in KiB.
    fn lengths(&self) -> RangeInclusive<usize> {
        let lengths = || self.chunks().map(|chunk| chunk.bytes >> 10);
        lengths().min().unwrap_or(0)..=lengths().max().unwrap_or(0)
    }

    /// Entities against those that its chunks can hold.
    fn occupancy(&self) -> f64 {
        self.entities as f64 / self.capacity.max(1) as f64
    }
}

impl WorldMap {
    /// What `world` is like now.
    pub(super) fn of(name: &str, world: &World) -> Self {
        let stats = world.stats();
        let mut chunks = vec![Vec::new(); stats.archetypes.len()];
        for chunk in world.chunk_rows() {
            chunks[chunk.archetype].push(chunk);
        }
        let all = stats.archetypes.iter().zip(chunks);
        let mut compositions: Vec<_> = all
            .filter(|(_, chunks)| !chunks.is_empty())
            .map(|(stats, chunks)| Composition::new(stats, chunks))
            .collect();
        // Equal ones stay in the order in which they were met.
        compositions.sort_by_key(|one| Reverse((one.bytes, one.entities)));
        Self {
            title: format!(
                "{name}: {} of {} in {}",
                counted(stats.entities, "entity", "entities"),
                plural(compositions.len(), "composition"),
                plural(stats.chunks, "chunk"),
            ),
            idle: stats.archetypes.len() - compositions.len(),
            committed_megachunks: world.universe().chunk_stats().committed_megachunks,
            stats,
            compositions,
        }
    }

    /// The picture as text.
    pub(super) fn text(&self, canvas: Canvas) -> String {
        terminal::draw(self, canvas)
    }

    /// The picture as SVG.
    pub(super) fn svg(&self) -> String {
        svg::draw(self)
    }

    /// The first compositions, and those that are left as one; all, if one alone would be left.
    fn listed(&self, most: usize) -> (&[Composition], Option<Composition>) {
        match self.compositions.split_at_checked(most) {
            Some((listed, rest)) if rest.len() > 1 => (listed, Some(Composition::together(rest))),
            _ => (&self.compositions, None),
        }
    }

    fn totals(&self) -> [String; 2] {
        let stats = &self.stats;
        let empty = match stats.empty_chunks {
            0 => String::new(),
            empty => format!(", {} without entities", plural(empty, "chunk")),
        };
        [
            format!(
                "{:.1} % of the rows in use{empty}; {:.1} bytes an entity",
                100.0 * stats.occupancy(),
                stats.bytes_per_entity(),
            ),
            format!(
                "{} of chunks; {} of 1 MiB committed",
                size(stats.chunk_bytes),
                plural(self.committed_megachunks, "mega-chunk"),
            ),
        ]
    }

    /// Of the compositions that are not drawn; `None` if all are.
    fn idle(&self) -> Option<String> {
        let idle = || plural(self.idle, "composition");
        (self.idle > 0).then(|| format!("{} without entities and chunks", idle()))
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// `7`, or `1–64` where they differ.
fn span(range: &RangeInclusive<usize>) -> String {
    let (least, most) = (range.start(), range.end());
    if least == most {
        least.to_string()
    } else {
        format!("{least}–{most}")
    }
}

/// Bytes in KiB, or in MiB.
fn size(bytes: usize) -> String {
    match bytes >> 10 {
        kib @ 0..1_024 => format!("{kib} KiB"),
        kib => format!("{:.1} MiB", kib as f64 / 1_024.0),
    }
}
