//! The picture as text: block characters, coloured where the terminal shows colours.

use std::fmt::Write as _;

use super::Picture;
use super::chunks::{ChunkMap, Megachunk};
use super::index::{Grid, IndexMap};
use super::shade::{self, Shade};
use crate::cli::output::{grouped, plural};

/// How text is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Canvas {
    /// Characters of a line.
    pub(super) width: usize,
    /// Whether colours, told apart by their lightness, stand for what the characters' shapes say without them.
    pub(super) colour: bool,
}

/// Lines that a picture of one allocator may have.
const MOST_ROWS: usize = 24;
/// What stands left and right of the cells: a slot's number and a percentage.
const MARGIN: usize = 20;

/// The whole picture.
pub(super) fn draw(picture: &Picture, canvas: Canvas) -> String {
    let mut text = format!("{}\n\n", picture.title);
    for map in &picture.indices {
        index(&mut text, map, canvas);
    }
    if let (Some(title), false) = (&picture.chunk_title, picture.chunks.is_empty()) {
        let _ = writeln!(text, "{title}\n");
        for map in &picture.chunks {
            chunks(&mut text, map, canvas);
        }
    }
    text
}

fn index(text: &mut String, map: &IndexMap, canvas: Canvas) {
    let room = canvas.width.saturating_sub(MARGIN).clamp(16, 128);
    let columns = 1 << room.ilog2();
    let grid = map.grid(columns, MOST_ROWS);
    let _ = writeln!(
        text,
        "{}: {}",
        map.name,
        super::index_caption(&map.figures())
    );
    let _ = writeln!(
        text,
        "  a cell is {}; {}",
        plural(grid.cell_slots, "slot"),
        shade::legend(canvas.colour)
    );
    for row in &grid.rows {
        if row.after_gap {
            let _ = writeln!(text, "  {:>11} …", "");
        }
        let _ = write!(text, "  {:>11} ", grouped(row.first_slot));
        for &cell in &row.cells {
            text.push_str(&shade::cell(
                Shade::of(cell, grid.cell_slots),
                canvas.colour,
            ));
        }
        let _ = writeln!(text, " {:>3.0} %", 100.0 * occupancy(&grid, row));
    }
    text.push('\n');
}

/// How much of the row's touched cells is alive.
fn occupancy(grid: &Grid, row: &super::index::Row) -> f64 {
    let touched = row.cells.iter().flatten();
    let (cells, live) = touched.fold((0, 0), |(cells, live), &cell| (cells + 1, live + cell));
    f64::from(live) / (cells * grid.cell_slots).max(1) as f64
}

fn chunks(text: &mut String, map: &ChunkMap, canvas: Canvas) {
    let megachunks = map.megachunks();
    let _ = writeln!(
        text,
        "{}: {}",
        map.name,
        super::chunk_caption(&map.figures())
    );
    let _ = writeln!(
        text,
        "  a character is a chunk, {}",
        shade::run_legend(canvas.colour)
    );
    // As many mega-chunks side by side as fit, each with its number.
    let across = ((canvas.width.saturating_sub(1)) / 72).max(1);
    let shown = &megachunks[..megachunks.len().min(MOST_ROWS * across)];
    for line in shown.chunks(across) {
        for megachunk in line {
            let _ = write!(
                text,
                " {:>6} {}",
                megachunk.number,
                strip(megachunk, canvas.colour)
            );
        }
        text.push('\n');
    }
    if shown.len() < megachunks.len() {
        let _ = writeln!(
            text,
            "  … and {} more mega-chunks",
            megachunks.len() - shown.len()
        );
    }
    text.push('\n');
}

fn strip(megachunk: &Megachunk, colour: bool) -> String {
    megachunk
        .chunks
        .iter()
        .map(|&len| shade::chunk(len, colour))
        .collect()
}
