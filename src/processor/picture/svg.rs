//! [`to_svg`]: a picture as one file, without script or network.
//!
//! Each phase is a band in which time goes to the right. What stands in one column may overlap, as far as no edge
//! says otherwise. Commands are flushed at the bars, and at the end of each band.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::markup::escaped;
use crate::processor::picture::columns::Item;
use crate::processor::picture::drawn::Drawn;
use crate::processor::picture::legend::legend;
use crate::processor::picture::place::{Placed, Rectangle, shown};
use crate::processor::picture::{Picture, Shape, Tie};

/// What it shows, for who cannot see it.
const SHOWS: &str = "A band for each phase, in which time goes to the right. A box is a processor; a line from one to \
                     another says which of them waits, and why. At a bar commands are flushed.";
/// Round everything; between a band's edge and what is in it; room for the name of a phase.
const MARGIN: f64 = 16.0;
const INSET: f64 = 14.0;
const HEAD: f64 = 30.0;
/// The first line of the legend, under the title.
const LEGEND: f64 = 46.0;
const LEAST_WIDTH: f64 = 700.0;
/// How long the head of an arrow is.
pub(super) const ARROW: f64 = 6.0;
/// Between edges that leave or reach a box one above the other.
const PORT: f64 = 6.0;
/// Fillings for the groups that are in no other, in the order in which they come; then again from the first one.
const FILLS: [&str; 8] = [
    "#dbe7f8", "#fbe3d0", "#dcf0dc", "#f3dcee", "#fbf2c9", "#d5efee", "#e6dff7", "#ece4d8",
];
pub(super) const NO_GROUP: &str = "#f4f4f6";

/// The picture, to be seen in a browser.
pub(crate) fn to_svg(picture: &Picture) -> String {
    let drawn = Drawn::new(picture);
    let bands = bands(picture, &drawn);
    let width = bands
        .iter()
        .map(|(_, band)| band.width + 2.0 * (MARGIN + INSET));
    let width = width.fold(LEAST_WIDTH, f64::max);
    let (legend, bottom) = legend((picture, &drawn), (MARGIN, width - MARGIN), LEGEND);
    let mut drawing = Drawing {
        picture,
        fills: fills(picture),
        width,
        bottom: bottom + 20.0,
        body: legend,
    };
    drawing.text((MARGIN, 26.0), "h", &picture.title);
    for (phase, band) in &bands {
        drawing.band(*phase, band);
    }
    drawing.finish()
}

/// The phases that have vertices to be drawn, and where these are.
pub(super) fn bands(picture: &Picture, drawn: &Drawn) -> Vec<(u8, Placed)> {
    let phases = 0..picture.phases.len() as u8;
    let placed = phases.map(|phase| (phase, Placed::new(picture, drawn, phase)));
    placed.filter(|(_, band)| !band.items.is_empty()).collect()
}

/// A filling for each group that is in no other.
fn fills(picture: &Picture) -> BTreeMap<&str, &'static str> {
    let mut fills = BTreeMap::new();
    for vertex in &picture.vertices {
        let next = FILLS[fills.len() % FILLS.len()];
        if let Some(group) = outermost(&vertex.group) {
            fills.entry(group).or_insert(next);
        }
    }
    fills
}

fn outermost(path: &str) -> Option<&str> {
    path.split('.').next().filter(|group| !group.is_empty())
}

pub(super) fn tie_class(tie: Tie) -> &'static str {
    match tie {
        Tie::Order => "o",
        Tie::Flush => "f",
        Tie::Conflict => "c",
    }
}

/// Grows downwards.
struct Drawing<'a> {
    picture: &'a Picture,
    fills: BTreeMap<&'a str, &'static str>,
    width: f64,
    bottom: f64,
    body: String,
}

impl Drawing<'_> {
    fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" class="{class}">{text}</text>"#
        );
    }

    fn band(&mut self, phase: u8, band: &Placed) {
        let (top, height) = (self.bottom, band.height + HEAD + INSET);
        let width = self.width - 2.0 * MARGIN;
        let _ = writeln!(
            self.body,
            r##"<rect x="{MARGIN:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" rx="8" class="p"/>"##
        );
        let name = &self.picture.phases[usize::from(phase)];
        self.text((MARGIN + INSET, top + 19.0), "n", name);
        let _ = writeln!(
            self.body,
            r#"<g transform="translate({:.1} {:.1})">"#,
            MARGIN + INSET,
            top + HEAD
        );
        for &x in &band.flushes {
            let height = band.height + 8.0;
            let _ = writeln!(
                self.body,
                r#"<rect x="{:.1}" y="-4" width="4" height="{height:.1}" class="b"/>"#,
                x - 2.0
            );
        }
        let mut arrows = String::new();
        self.edges(band, &mut arrows);
        for (item, &place) in band.columns.items.iter().zip(&band.items) {
            if let Item::Vertex(vertex) = *item {
                self.vertex(vertex, place);
            }
        }
        self.body.push_str(&arrows);
        self.body.push_str("</g>\n");
        self.bottom = top + height + 10.0;
    }

    fn vertex(&mut self, number: usize, place: Rectangle) {
        let vertex = &self.picture.vertices[number];
        let Rectangle {
            x,
            y,
            width,
            height,
        } = place;
        let title = match vertex.group.as_str() {
            "" => vertex.label.clone(),
            group => format!("{} ({group})", vertex.label),
        };
        let _ = write!(self.body, "<g><title>{}</title>", escaped(&title));
        if vertex.shape == Shape::Joint {
            let _ = write!(
                self.body,
                r#"<circle cx="{:.1}" cy="{:.1}" r="3"/>"#,
                x + width / 2.0,
                place.middle()
            );
        } else {
            let fill = outermost(&vertex.group).map_or(NO_GROUP, |group| self.fills[group]);
            let _ = writeln!(
                self.body,
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="5" class="{}" fill="{fill}"/>"#,
                shape_class(vertex.shape)
            );
            let class = if vertex.shape == Shape::Idle {
                "t i"
            } else {
                "t"
            };
            self.text((x + 9.0, y + 16.0), class, &shown(&vertex.label));
            if !vertex.group.is_empty() {
                self.text((x + 9.0, y + 29.0), "s", &shown(&vertex.group));
            }
        }
        self.body.push_str("</g>\n");
    }

    /// Draws the edges; their heads are to come above the boxes.
    fn edges(&mut self, band: &Placed, arrows: &mut String) {
        let ports = Ports::new(band);
        for (number, bundle) in band.columns.bundles.iter().enumerate() {
            let class = tie_class(bundle.tie);
            let mut path = String::new();
            for &(from, to) in &bundle.links {
                let (begin, end) = (band.items[from], band.items[to]);
                let (x, y) = (begin.right(), ports.leaves(from, number, begin));
                let mut to_y = ports.reaches(from, to, number, end);
                let mut to_x = end.x;
                match band.columns.items[to] {
                    Item::Vertex(vertex) if self.picture.vertices[vertex].shape != Shape::Joint => {
                        to_x -= ARROW;
                        arrows.push_str(&arrow(class, end.x, to_y));
                    }
                    _ => to_y = end.middle(),
                }
                let middle = (x + to_x) / 2.0;
                let _ = write!(
                    path,
                    "M{x:.1} {y:.1}C{middle:.1} {y:.1} {middle:.1} {to_y:.1} {to_x:.1} {to_y:.1}"
                );
                // Straight on between the boxes of the column.
                match band.columns.items[to] {
                    Item::Pass => drop(write!(path, "H{:.1}", end.right())),
                    Item::Vertex(vertex) if self.picture.vertices[vertex].shape == Shape::Joint => {
                        let _ = write!(path, "H{:.1}", end.right());
                    }
                    Item::Vertex(_) => {}
                }
            }
            let reason = match bundle.reason.as_str() {
                "" => String::new(),
                reason => format!("<title>{}</title>", escaped(reason)),
            };
            let _ = writeln!(
                self.body,
                r#"<path class="{class}" d="{path}">{reason}</path>"#
            );
        }
    }

    fn finish(self) -> String {
        let (width, height) = (self.width, self.bottom + MARGIN - 10.0);
        let order = "#4a4a55";
        let title = escaped(&self.picture.title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"system-ui, sans-serif\" role=\"img\">\n\
             <title>{title}</title>\n<desc>{SHOWS}</desc>\n\
             <style>.h{{font-size:17px;font-weight:600}}.l{{font-size:12px}}.n{{font-size:13px;font-weight:600;fill:#444}}\
             .t{{font-size:12px}}.i{{fill:#555}}.s{{font-size:9.5px;fill:#555}}\
             .o,.f,.c{{fill:none;stroke:{order};stroke-width:1.2}}.f{{stroke:#2563a8;stroke-width:1.8}}\
             .c{{stroke:#c2571a;stroke-dasharray:5 3}}.a{{stroke:none}}.o.a{{fill:{order}}}.f.a{{fill:#2563a8}}.c.a{{fill:#c2571a}}\
             .v{{stroke:#777}}.x{{stroke:#222;stroke-width:2.4}}.d{{stroke:#999;stroke-dasharray:3 2}}\
             .b{{fill:#2563a8;fill-opacity:.35}}.p{{fill:#fafafc;stroke:#d8d8de}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

pub(super) fn shape_class(shape: Shape) -> &'static str {
    match shape {
        Shape::Exclusive => "x",
        Shape::Idle => "d",
        Shape::Processor | Shape::Joint => "v",
    }
}

/// The head of an arrow, with its point there.
pub(super) fn arrow(class: &str, x: f64, y: f64) -> String {
    let x = x - ARROW;
    format!(
        "<path class=\"{class} a\" d=\"M{x:.1} {:.1}l{ARROW} 3.5l-{ARROW} 3.5z\"/>\n",
        y - 3.5
    )
}

/// How high edges leave boxes and reach them: one above the other, in the order in which they come or go, so that they
/// do not cross at the box.
struct Ports {
    /// By item and bundle.
    leaves: BTreeMap<(usize, usize), f64>,
    /// By where it comes from, item and bundle.
    reaches: BTreeMap<(usize, usize, usize), f64>,
}

/// The item that an edge comes from, and its bundle.
type Whence = (usize, usize);

impl Ports {
    fn new(band: &Placed) -> Self {
        let mut leaving: BTreeMap<usize, Vec<(f64, usize)>> = BTreeMap::new();
        let mut reaching: BTreeMap<usize, Vec<(f64, Whence)>> = BTreeMap::new();
        for (number, bundle) in band.columns.bundles.iter().enumerate() {
            let middle = |item: usize| band.items[item].middle();
            for &(from, to) in &bundle.links {
                reaching
                    .entry(to)
                    .or_default()
                    .push((middle(from), (from, number)));
            }
            if let Some(&(from, _)) = bundle.links.first() {
                let near = bundle.links.iter().filter(|link| link.0 == from);
                let (sum, count) = near.fold((0.0, 0.0), |(sum, count), link| {
                    (sum + middle(link.1), count + 1.0)
                });
                leaving.entry(from).or_default().push((sum / count, number));
            }
        }
        let mut ports = Self {
            leaves: BTreeMap::new(),
            reaches: BTreeMap::new(),
        };
        for (item, mut bundles) in leaving {
            bundles.sort_by(|one, other| one.0.total_cmp(&other.0));
            let offsets = offsets(bundles.len(), band.items[item].height);
            for ((_, bundle), offset) in bundles.into_iter().zip(offsets) {
                ports.leaves.insert((item, bundle), offset);
            }
        }
        for (item, mut links) in reaching {
            links.sort_by(|one, other| one.0.total_cmp(&other.0));
            let offsets = offsets(links.len(), band.items[item].height);
            for ((_, (from, bundle)), offset) in links.into_iter().zip(offsets) {
                ports.reaches.insert((from, item, bundle), offset);
            }
        }
        ports
    }

    fn leaves(&self, item: usize, bundle: usize, place: Rectangle) -> f64 {
        place.middle() + self.leaves.get(&(item, bundle)).copied().unwrap_or(0.0)
    }

    fn reaches(&self, from: usize, item: usize, bundle: usize, place: Rectangle) -> f64 {
        place.middle()
            + self
                .reaches
                .get(&(from, item, bundle))
                .copied()
                .unwrap_or(0.0)
    }
}

/// So many places on the side of a box, from the middle.
fn offsets(count: usize, height: f64) -> impl Iterator<Item = f64> {
    let step = PORT.min((height - 10.0).max(0.0) / count as f64);
    (0..count).map(move |number| (number as f64 - (count as f64 - 1.0) / 2.0) * step)
}
