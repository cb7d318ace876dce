//! `WorldMap`: the compositions of a world, and how full their chunks are.
//!
//! All of it is what a world says of itself in public: [`World::stats`] and [`World::chunk_rows`].

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use super::terminal::Canvas;
use crate::cli::output::{grouped, plural};
use crate::world::{World, WorldStats};

mod composition;
mod json;
mod label;
mod made;
mod strip;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;

pub(super) use made::{MadeWorld, STREETS};

use composition::Composition;

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

    /// What the picture shows, as JSON.
    pub(super) fn json(&self) -> String {
        json::draw(self)
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
