//! The picture as JSON, for programs: what its captions say, and what its cells show.

use serde::Serialize;

use super::Picture;
use super::chunks::{ChunkFigures, ChunkMap};
use super::index::{IndexFigures, IndexMap};

/// Cells of a row, and rows at most: as in an SVG.
const COLUMNS: usize = 128;
const MOST_ROWS: usize = 64;

/// What a file of the format begins with.
pub(super) const FORMAT: &str = "megachunk-map 1";

#[derive(Serialize)]
struct File<'a> {
    format: &'static str,
    title: &'a str,
    indices: Vec<Index>,
    chunk_title: Option<&'a str>,
    chunks: Vec<Chunks>,
}

/// Where an entity allocator has placed what is alive.
#[derive(Serialize)]
struct Index {
    allocator: &'static str,
    figures: IndexFigures,
    /// Slots of a cell.
    cell_slots: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    first_slot: usize,
    /// Live ids in each cell; `null` where no id was ever handed out.
    cells: Vec<Option<u32>>,
}

/// Where a chunk allocator has placed what is in use.
#[derive(Serialize)]
struct Chunks {
    allocator: &'static str,
    figures: ChunkFigures,
    /// The first chunk of each, and how many it has.
    runs: Vec<[u32; 2]>,
}

/// The picture in the format `megachunk-map 1`.
pub(super) fn draw(picture: &Picture) -> String {
    written(&File {
        format: FORMAT,
        title: &picture.title,
        indices: picture.indices.iter().map(index).collect(),
        chunk_title: picture.chunk_title.as_deref(),
        chunks: picture.chunks.iter().map(chunks).collect(),
    })
}

/// A picture as text: a line, for its cells are many.
pub(super) fn written(picture: &impl Serialize) -> String {
    let text = serde_json::to_string(picture);
    text.expect("strings, numbers and lists of them can always be written") + "\n"
}

fn index(map: &IndexMap) -> Index {
    let grid = map.grid(COLUMNS, MOST_ROWS);
    let rows = grid.rows.into_iter().map(|row| Row {
        first_slot: row.first_slot,
        cells: row.cells,
    });
    Index {
        allocator: map.name,
        figures: map.figures(),
        cell_slots: grid.cell_slots,
        rows: rows.collect(),
    }
}

fn chunks(map: &ChunkMap) -> Chunks {
    let runs = map.runs().iter().map(|run| [run.first(), run.len()]);
    Chunks {
        allocator: map.name,
        figures: map.figures(),
        runs: runs.collect(),
    }
}
