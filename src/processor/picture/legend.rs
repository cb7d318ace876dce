//! [`legend`]: what the signs of a drawing mean, of those that are in it.

use std::fmt::Write as _;

use crate::processor::picture::drawn::Drawn;
use crate::processor::picture::svg::{ARROW, NO_GROUP, arrow, shape_class, tie_class};
use crate::processor::picture::{Picture, Shape, Tie};

/// From one line to the next.
const LINE: f64 = 20.0;
/// How wide a sign is, and a letter.
const SIGN: f64 = 36.0;
const LETTER: f64 = 7.0;
const GAP: f64 = 14.0;

/// Signs and meanings between `left` and `right`, in as many lines as it takes, the first round the height `y`; and the
/// height of the last line.
pub(super) fn legend(
    (picture, drawn): (&Picture, &Drawn),
    (left, right): (f64, f64),
    mut y: f64,
) -> (String, f64) {
    let (mut body, mut x) = (String::new(), left);
    for (sign, meaning) in entries(picture, drawn) {
        let width = SIGN + LETTER * meaning.chars().count() as f64 + GAP;
        if x > left && x + width > right {
            (x, y) = (left, y + LINE);
        }
        let _ = writeln!(
            body,
            "<g transform=\"translate({x:.1} {y:.1})\">{sign}\
             <text x=\"{SIGN:.1}\" y=\"4\" class=\"l\">{meaning}</text></g>"
        );
        x += width;
    }
    (body, y)
}

/// Signs, drawn round the height 0, and what they mean.
fn entries(picture: &Picture, drawn: &Drawn) -> Vec<(String, &'static str)> {
    let ties = [
        (Tie::Order, "runs before"),
        (Tie::Flush, "runs before, commands flushed between"),
        (Tie::Conflict, "must not overlap"),
    ];
    let ties = ties.into_iter().filter_map(|(tie, meaning)| {
        let there = drawn.edges.iter().any(|edge| edge.tie == tie);
        let class = tie_class(tie);
        let head = arrow(class, 24.0 + ARROW, 0.0);
        let sign = format!("<path class=\"{class}\" d=\"M0 0h24\"/>{head}");
        there.then_some((sign, meaning))
    });
    let shapes = [
        (Shape::Exclusive, "nothing runs beside it"),
        (Shape::Idle, "does not run"),
        (Shape::Joint, "all before it come before all behind it"),
    ];
    let shapes = shapes.into_iter().filter_map(|(shape, meaning)| {
        let mut all = picture.vertices.iter().zip(&drawn.vertices);
        let there = all.any(|(vertex, &drawn)| drawn && vertex.shape == shape);
        let class = shape_class(shape);
        let sign = match shape {
            Shape::Joint => r#"<circle cx="14" cy="0" r="3"/>"#.into(),
            _ => format!(
                r#"<rect x="2" y="-6" width="26" height="12" rx="4" class="{class}" fill="{NO_GROUP}"/>"#
            ),
        };
        there.then_some((sign, meaning))
    });
    let flushes = picture.vertices.iter().any(|vertex| vertex.stage > 0);
    let flush = flushes.then(|| {
        let sign = r#"<rect x="13" y="-8" width="4" height="16" class="b"/>"#.into();
        (sign, "commands are flushed, as at the end of each phase")
    });
    ties.chain(shapes).chain(flush).collect()
}
