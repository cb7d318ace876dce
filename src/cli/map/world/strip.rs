//! `Strips`: the chunks of compositions as lines of cells, each of as many chunks, whatever composition they are of.

use super::Composition;
use crate::cli::map::shade::Shade;
use crate::world::ChunkRows;

/// A cell of a strip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Chunks(Filled),
    /// What follows has other shared values than what stands before.
    Bound,
}

/// Neighbouring chunks, and what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Filled {
    pub(super) chunks: usize,
    pub(super) entities: usize,
    pub(super) capacity: usize,
    pub(super) bytes: usize,
}

impl Filled {
    fn of(chunks: &[ChunkRows]) -> Self {
        let sum = |of: fn(&ChunkRows) -> usize| chunks.iter().map(of).sum();
        Self {
            chunks: chunks.len(),
            entities: sum(|chunk| chunk.entities),
            capacity: sum(|chunk| chunk.capacity),
            bytes: sum(|chunk| chunk.bytes),
        }
    }

    pub(super) fn shade(&self) -> Shade {
        Shade::of(Some(self.entities as u32), self.capacity)
    }
}

/// What the strips of a picture have room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Cells of a line.
    pub(super) width: usize,
    /// A strip of so few cells needs no line of its own.
    pub(super) beside: usize,
    /// Lines of all strips together. Not fewer than there are strips: each may need one.
    pub(super) lines: usize,
}

/// The strips of compositions, in their order.
#[derive(Debug, PartialEq)]
pub(super) struct Strips {
    /// Chunks of a cell, a power of two: fewer only where a composition's, or a group's, end.
    pub(super) cell_chunks: usize,
    pub(super) strips: Vec<Vec<Cell>>,
}

impl Strips {
    /// As fine as the room allows.
    pub(super) fn fit<'a>(
        compositions: impl Iterator<Item = &'a Composition> + Clone,
        room: Room,
    ) -> Self {
        debug_assert!(compositions.clone().count() <= room.lines && room.width > 0);
        let mut cell_chunks = 1;
        loop {
            let strips: Vec<_> = compositions
                .clone()
                .map(|one| cells(one, cell_chunks, room.width))
                .collect();
            let own = strips.iter().filter(|strip| strip.len() > room.beside);
            let lines: usize = own.map(|strip| strip.len().div_ceil(room.width)).sum();
            if lines <= room.lines {
                return Self {
                    cell_chunks,
                    strips,
                };
            }
            cell_chunks *= 2;
        }
    }

    /// What a cell is, in words.
    pub(super) fn cell(&self) -> String {
        match self.cell_chunks {
            1 => "a cell is a chunk".to_owned(),
            most => format!("a cell is up to {most} chunks"),
        }
    }

    /// Whether groups are told apart somewhere.
    pub(super) fn has_bounds(&self) -> bool {
        self.strips
            .iter()
            .flatten()
            .any(|cell| *cell == Cell::Bound)
    }
}

/// The cells of a composition; groups are apart unless they are more than a line could show so.
fn cells(composition: &Composition, cell_chunks: usize, width: usize) -> Vec<Cell> {
    let all;
    let groups = match &composition.groups[..] {
        groups if 2 * groups.len() <= width + 1 => groups,
        groups => {
            all = [groups.concat()];
            &all
        }
    };
    let mut cells = Vec::new();
    for group in groups {
        if !cells.is_empty() {
            cells.push(Cell::Bound);
        }
        let filled = group.chunks(cell_chunks).map(Filled::of);
        cells.extend(filled.map(Cell::Chunks));
    }
    cells
}
