//! The picture of a world as text: a line of figures for each composition, and its strip.

use std::fmt::Write as _;

use super::strip::{Cell, Room, Strips};
use super::{Composition, WorldMap, label, span};
use crate::cli::map::shade;
use crate::cli::map::terminal::Canvas;
use crate::cli::output::grouped;

/// Compositions that are drawn one by one.
const MOST: usize = 30;
/// Lines that all strips have together.
const MOST_LINES: usize = 48;
/// Cells for which there is room in the line of figures, if it is as long as [`LONG`].
const BESIDE: usize = 8;
const LONG: usize = 80;
/// What a line begins with that is a strip.
const INDENT: usize = 2;
/// Letters of the figures, with what keeps them apart and from what follows.
const FIGURES: usize = INDENT + 9 + 4 * 8 + 2;

/// The whole picture.
pub(super) fn draw(map: &WorldMap, canvas: Canvas) -> String {
    let (listed, rest) = map.listed(MOST);
    let all = listed.iter().chain(rest.as_ref());
    let room = Room {
        width: canvas.width.saturating_sub(INDENT).max(16),
        beside: if canvas.width < LONG { 0 } else { BESIDE },
        lines: MOST_LINES,
    };
    let strips = Strips::fit(all.clone(), room);
    let mut text = format!("{}\n{}\n\n", map.title, map.totals().join("\n"));
    if !strips.strips.is_empty() {
        legend(&mut text, &strips, canvas.colour);
        let header = ["entities", "chunks", "KiB", "bytes", "full"].map(String::from);
        line(&mut text, &header, &beside(&[], &[], room), "composition");
    }
    let names_room = canvas.width.saturating_sub(FIGURES + gap(room));
    for (one, cells) in all.zip(&strips.strips) {
        let drawn: Vec<String> = cells.iter().map(|cell| cell_text(cell, canvas)).collect();
        let names = named(one, names_room.max(8));
        line(
            &mut text,
            &figures(one),
            &beside(cells, &drawn, room),
            &names,
        );
        if cells.len() > room.beside {
            for cells in drawn.chunks(room.width) {
                let _ = writeln!(text, "{:INDENT$}{}", "", cells.concat());
            }
        }
    }
    if let Some(idle) = map.idle() {
        let _ = writeln!(text, "{:INDENT$}{idle}", "");
    }
    text
}

fn legend(text: &mut String, strips: &Strips, colour: bool) {
    let bounds = match strips.has_bounds() {
        true => "; │ other shared values",
        false => "",
    };
    let _ = writeln!(
        text,
        "{:INDENT$}{}: {}{bounds}\n{:INDENT$}KiB: of a chunk; bytes: of an entity\n",
        "",
        strips.cell(),
        shade::legend(colour),
        "",
    );
}

fn line(text: &mut String, figures: &[String; 5], beside: &str, names: &str) {
    let [entities, chunks, lengths, bytes, full] = figures;
    let _ = writeln!(
        text,
        "{:INDENT$}{entities:>9} {chunks:>7} {lengths:>7} {bytes:>7} {full:>7}  {beside}{names}",
        ""
    );
}

fn figures(one: &Composition) -> [String; 5] {
    [
        grouped(one.entities),
        grouped(one.chunks().count()),
        span(&one.lengths()),
        span(&one.entity_bytes),
        format!("{:.1} %", 100.0 * one.occupancy()),
    ]
}

/// What it is called; of how many groups it is, if not of one.
fn named(one: &Composition, room: usize) -> String {
    let groups = match one.groups.len() {
        1 => String::new(),
        groups => format!(" ({groups} groups)"),
    };
    match one.compositions {
        1 => label::joined(&one.names, room.saturating_sub(groups.len())) + &groups,
        more => format!("… and {} more", grouped(more)),
    }
}

/// The cells that stand in the line of figures, or as much of nothing where they are too many.
fn beside(cells: &[Cell], drawn: &[String], room: Room) -> String {
    match cells.len() <= room.beside {
        true => drawn.concat() + &" ".repeat(gap(room) - cells.len()),
        false => " ".repeat(gap(room)),
    }
}

/// Letters for those cells, and what keeps them from the names.
fn gap(room: Room) -> usize {
    match room.beside {
        0 => 0,
        beside => beside + 2,
    }
}

fn cell_text(cell: &Cell, canvas: Canvas) -> String {
    match cell {
        Cell::Chunks(filled) => shade::cell(filled.shade(), canvas.colour),
        Cell::Bound => "│".to_owned(),
    }
}
