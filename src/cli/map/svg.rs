//! The picture as SVG: one file, no script, no network.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Picture;
use super::chunks::{ChunkMap, Megachunk};
use super::index::IndexMap;
use super::shade::{Fill, RUNS, Shade, run_kind};
use crate::cli::output::{grouped, plural};
use crate::markup::escaped;

const WIDTH: usize = 1_180;
const LEFT: usize = 100;
/// Cells of a row, and their size.
const COLUMNS: usize = 128;
const CELL: usize = 8;
const MOST_ROWS: usize = 64;
/// Mega-chunks of a row; the side of a chunk's square; the distance from one to the next.
const ACROSS: usize = 20;
const CHUNK: usize = 5;
const STRIDE: usize = 8 * CHUNK + 12;
const MOST_MEGACHUNKS: usize = 50 * ACROSS;

/// The whole picture.
pub(super) fn draw(picture: &Picture) -> String {
    let mut drawing = Drawing::default();
    drawing.heading(&picture.title);
    drawing.occupancy_legend();
    for map in &picture.indices {
        drawing.index(map);
    }
    if let (Some(title), false) = (&picture.chunk_title, picture.chunks.is_empty()) {
        drawing.heading(title);
        drawing.run_legend();
        for map in &picture.chunks {
            drawing.chunks(map);
        }
    }
    let captions = picture.indices.iter().map(|map| {
        let caption = super::index_caption(&map.figures());
        format!("{}: {caption}.", map.name)
    });
    let chunks = picture.chunks.iter().map(|map| {
        let caption = super::chunk_caption(&map.figures());
        format!("{}: {caption}.", map.name)
    });
    let captions: Vec<String> = captions.chain(chunks).collect();
    drawing.finish(&picture.title, &captions.join(" "))
}

/// Grows downwards.
#[derive(Default)]
pub(super) struct Drawing {
    pub(super) body: String,
    pub(super) bottom: usize,
}

impl Drawing {
    fn text(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            r#"<text x="{x}" y="{y}" class="{class}">{text}</text>"#
        );
    }

    pub(super) fn heading(&mut self, title: &str) {
        self.bottom += 34;
        self.text(20, self.bottom, "h", title);
        self.bottom += 8;
    }

    /// A line of text.
    pub(super) fn line(&mut self, text: &str) {
        self.bottom += 18;
        self.text(20, self.bottom, "c", text);
    }

    pub(super) fn caption(&mut self, name: &str, caption: &str) {
        self.bottom += 26;
        let (name, caption) = (escaped(name), escaped(caption));
        let _ = writeln!(
            self.body,
            r#"<text x="20" y="{}" class="c"><tspan class="n">{name}</tspan> {caption}</text>"#,
            self.bottom
        );
        self.bottom += 8;
    }

    fn legend(&mut self, entries: &[(Fill, String)]) {
        self.bottom += 18;
        let mut x = 20;
        for (fill, meaning) in entries {
            let path = fill.rectangle([x, self.bottom - 9], [10, 10]);
            let _ = writeln!(self.body, r#"<path {fill} d="{path}"/>"#);
            self.text(x + 15, self.bottom, "l", meaning);
            x += 40 + 7 * meaning.chars().count();
        }
    }

    pub(super) fn occupancy_legend(&mut self) {
        let few = [
            Shade::Empty,
            Shade::Eighths(1),
            Shade::Eighths(4),
            Shade::Eighths(8),
        ];
        let meanings = ["nothing alive", "an eighth of the cell", "half", "all"];
        let entries: Vec<_> = few
            .into_iter()
            .zip(meanings)
            .filter_map(|(shade, meaning)| Some((shade.svg()?, meaning.to_owned())))
            .collect();
        self.legend(&entries);
    }

    fn run_legend(&mut self) {
        let mut entries = vec![(Fill::Colour("#e9e6ee"), "free".to_owned())];
        entries.extend(RUNS.map(|(longest, colour, ..)| {
            (Fill::Colour(colour), format!("in a run of up to {longest}"))
        }));
        self.legend(&entries);
    }

    fn index(&mut self, map: &IndexMap) {
        let grid = map.grid(COLUMNS, MOST_ROWS);
        let caption = format!(
            "{}; a cell is {}",
            super::index_caption(&map.figures()),
            plural(grid.cell_slots, "slot")
        );
        self.caption(map.name, &caption);
        // One path a colour, neighbours of one colour joined: a tenth of the size of a
        // rectangle each.
        let mut paths: BTreeMap<Shade, String> = BTreeMap::new();
        for row in &grid.rows {
            if row.after_gap {
                self.bottom += 6;
            }
            let label = grouped(row.first_slot);
            let y = self.bottom + CELL - 1;
            let _ = writeln!(
                self.body,
                r#"<text x="{}" y="{y}" class="s" text-anchor="end">{label}</text>"#,
                LEFT - 6
            );
            let shades: Vec<Shade> = row
                .cells
                .iter()
                .map(|&cell| Shade::of(cell, grid.cell_slots))
                .collect();
            let mut column = 0;
            for same in shades.chunk_by(|one, other| one == other) {
                if let Some(fill) = same[0].svg() {
                    let (x, width) = (LEFT + column * CELL, same.len() * CELL);
                    let path = fill.rectangle([x, self.bottom], [width, CELL - 1]);
                    paths.entry(same[0]).or_default().push_str(&path);
                }
                column += same.len();
            }
            self.bottom += CELL;
        }
        for (shade, path) in paths {
            if let Some(fill) = shade.svg() {
                let _ = writeln!(self.body, r#"<path {fill} d="{path}"/>"#);
            }
        }
    }

    fn chunks(&mut self, map: &ChunkMap) {
        let megachunks = map.megachunks();
        self.caption(map.name, &super::chunk_caption(&map.figures()));
        self.bottom += 12;
        let shown = &megachunks[..megachunks.len().min(MOST_MEGACHUNKS)];
        for line in shown.chunks(ACROSS) {
            for (position, megachunk) in line.iter().enumerate() {
                self.megachunk(20 + position * (STRIDE + 4), megachunk);
            }
            self.bottom += STRIDE + 6;
        }
        if shown.len() < megachunks.len() {
            let more = megachunks.len() - shown.len();
            self.bottom += 6;
            self.text(
                20,
                self.bottom,
                "l",
                &format!("… and {more} more mega-chunks"),
            );
        }
    }

    fn megachunk(&mut self, x: usize, megachunk: &Megachunk) {
        let (number, in_use) = (megachunk.number, megachunk.in_use());
        let side = 8 * CHUNK;
        let _ = writeln!(
            self.body,
            "<g><title>mega-chunk {number}: {in_use} of 64 chunks in use</title>\
             <text x=\"{x}\" y=\"{}\" class=\"s\">{number}</text>\
             <rect x=\"{x}\" y=\"{}\" width=\"{side}\" height=\"{side}\" fill=\"#e9e6ee\"/>",
            self.bottom - 2,
            self.bottom
        );
        let mut paths = [const { String::new() }; RUNS.len()];
        for (row, chunks) in megachunk.chunks.chunks(8).enumerate() {
            let mut column = 0;
            for same in chunks.chunk_by(|one, other| one == other) {
                if same[0] > 0 {
                    let (x, y) = (x + column * CHUNK, self.bottom + row * CHUNK);
                    let width = same.len() * CHUNK;
                    let path = &mut paths[run_kind(same[0])];
                    let _ = write!(path, "M{x} {y}h{width}v{}h-{width}z", CHUNK - 1);
                }
                column += same.len();
            }
        }
        for (path, (_, colour, ..)) in paths.iter().zip(RUNS) {
            if !path.is_empty() {
                let _ = write!(self.body, r#"<path fill="{colour}" d="{path}"/>"#);
            }
        }
        self.body.push_str("</g>\n");
    }

    /// The picture; for who cannot see it, it is called `title`, and what it shows is said.
    pub(super) fn finish(self, title: &str, shows: &str) -> String {
        let (title, shows) = (escaped(title), escaped(shows));
        let height = self.bottom + 24;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" font-family=\"system-ui, sans-serif\" role=\"img\">\n\
             <title>{title}</title>\n<desc>{shows}</desc>\n\
             <style>.h{{font-size:17px;font-weight:600}}.c{{font-size:13px}}.n{{font-weight:600}}\
             .l{{font-size:12px}}.s{{font-size:8px;fill:#555}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}
