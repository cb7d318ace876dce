//! The picture of a world as SVG: what a cell or a composition is stands in its title.

use std::fmt::Write as _;

use super::strip::{Cell, Filled, Room, Strips};
use super::{Composition, WorldMap, label, size, span};
use crate::cli::map::svg::Drawing;
use crate::cli::output::{grouped, plural};
use crate::markup::escaped;

/// Compositions that are drawn one by one.
const MOST: usize = 60;
const ROOM: Room = Room {
    width: 94,
    beside: 0,
    lines: 240,
};
/// The side of a cell, with what keeps it from the next.
const CELL: usize = 12;
const LEFT: usize = 20;
/// Letters of a caption for which there is room besides its figures.
const NAMES: usize = 90;

/// The whole picture.
pub(super) fn draw(map: &WorldMap) -> String {
    let (listed, rest) = map.listed(MOST);
    let all = listed.iter().chain(rest.as_ref());
    let strips = Strips::fit(all.clone(), ROOM);
    let mut drawing = Drawing::default();
    drawing.heading(&map.title);
    for total in map.totals() {
        drawing.line(&total);
    }
    if !strips.strips.is_empty() {
        let bounds = match strips.has_bounds() {
            true => "; behind a bar are other shared values",
            false => "",
        };
        drawing.line(&(strips.cell() + bounds));
        drawing.occupancy_legend();
    }
    for (one, cells) in all.zip(&strips.strips) {
        composition(&mut drawing, one, cells);
    }
    if let Some(idle) = map.idle() {
        drawing.line(&idle);
    }
    let shows = format!(
        "A line of cells for each composition, darker the more of their rows are in use. {}.",
        map.totals().join(". ")
    );
    drawing.finish(&map.title, &shows)
}

fn composition(drawing: &mut Drawing, one: &Composition, cells: &[Cell]) {
    let (name, whole) = match one.compositions {
        1 => (label::joined(&one.names, NAMES), one.names.join(", ")),
        more => {
            let name = format!("… and {} more compositions", grouped(more));
            (name.clone(), name)
        }
    };
    let _ = writeln!(drawing.body, "<g><title>{}</title>", escaped(&whole));
    drawing.caption(&name, &caption(one));
    drawing.body.push_str("</g>\n");
    for line in cells.chunks(ROOM.width) {
        for (column, cell) in line.iter().enumerate() {
            let x = LEFT + column * CELL;
            match cell {
                Cell::Chunks(filled) => square(drawing, x, filled),
                Cell::Bound => bar(drawing, x),
            }
        }
        drawing.bottom += CELL;
    }
}

fn caption(one: &Composition) -> String {
    let groups = match one.groups.len() {
        1 => String::new(),
        groups => format!(" in {groups} groups"),
    };
    format!(
        "{} entities of {} bytes, {} of {} KiB{groups}, {:.1} % full",
        grouped(one.entities),
        span(&one.entity_bytes),
        plural(one.chunks().count(), "chunk"),
        span(&one.lengths()),
        100.0 * one.occupancy(),
    )
}

fn square(drawing: &mut Drawing, x: usize, filled: &Filled) {
    let Some(fill) = filled.shade().svg() else {
        return;
    };
    let path = fill.rectangle([x, drawing.bottom], [CELL - 1, CELL - 1]);
    let _ = writeln!(
        drawing.body,
        "<path {fill} d=\"{path}\"><title>{}: {} of {} rows in use, {}</title></path>",
        plural(filled.chunks, "chunk"),
        grouped(filled.entities),
        grouped(filled.capacity),
        size(filled.bytes),
    );
}

/// In the middle of a cell.
fn bar(drawing: &mut Drawing, x: usize) {
    let (x, y, high) = (x + CELL / 2 - 1, drawing.bottom, CELL - 1);
    let _ = writeln!(
        drawing.body,
        "<path fill=\"#555\" d=\"M{x} {y}h1v{high}h-1z\"/>"
    );
}
