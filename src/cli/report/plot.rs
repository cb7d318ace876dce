//! Plots as SVG text.

use core::fmt;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Section;
use crate::markup::escaped;

mod bars;
mod lines;

pub(super) use bars::{Bar, Mark, bars};
pub(super) use lines::{Line, lines};

/// A plot could not be drawn.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a plot could not be drawn: {0}")]
pub struct PlotError(String);

impl PlotError {
    fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

const WIDTH: u32 = 580;
const FONT: &str = "sans-serif";
/// The size of labels and figures, and of what stands at the axes, in pixels. (Of the latter plotters takes a part away.)
const TEXT: u32 = 12;
const SMALL: u32 = 12;
/// Pixels for a letter of a label, and between a label and what it stands beside.
const LETTER: u32 = 7;
const GAP: u32 = 6;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawingError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The size with which plotters writes letters of so many pixels: it divides by this number.
const fn px(pixels: u32) -> f64 {
    pixels as f64 * 1.24
}

/// A plot that `draw` draws, on white whatever lies behind it; for who cannot see it, a picture that is called `label`.
fn drawn(
    height: u32,
    label: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), String>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE).map_err(PlotError::because)?;
    draw(&area).map_err(PlotError)?;
    area.present().map_err(PlotError::because)?;
    drop(area);
    let root = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(label));
    Ok(svg.replacen("<svg ", &root, 1))
}

fn text_style(side: HPos) -> TextStyle<'static> {
    TextStyle::from((FONT, px(TEXT)).into_font()).pos(Pos::new(side, VPos::Center))
}

/// Pixels that the longest of some labels takes, with what is left free beside it.
fn room<'a>(labels: impl Iterator<Item = &'a str>) -> u32 {
    let letters = labels.map(|label| label.chars().count()).max();
    LETTER * letters.unwrap_or(0) as u32 + 2 * GAP
}

/// A label of so many letters at most: one that is longer is cut at its end.
fn cut(label: &str, most: usize) -> String {
    if label.chars().count() <= most {
        return label.to_owned();
    }
    let kept = label.chars().take(most.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// The product blue, the two references grey and orange, and then whoever else there is.
const COLOURS: [RGBColor; 14] = [
    RGBColor(30, 100, 200),
    RGBColor(130, 130, 130),
    RGBColor(224, 140, 50),
    RGBColor(110, 170, 235),
    RGBColor(60, 160, 90),
    RGBColor(170, 90, 180),
    RGBColor(200, 70, 70),
    RGBColor(120, 110, 40),
    RGBColor(40, 150, 160),
    RGBColor(235, 150, 190),
    RGBColor(100, 60, 30),
    RGBColor(160, 200, 80),
    RGBColor(50, 50, 110),
    RGBColor(215, 190, 60),
];

/// The colours of `contenders`, as numbers: the product's and the references' are always theirs, whoever comes first.
pub(super) fn colours(section: Section, contenders: &[&str]) -> Vec<usize> {
    let [one, two] = section.references();
    let roles = [section.product(), one, two];
    let mut others = (roles.len()..COLOURS.len()).cycle();
    let colours = contenders.iter().map(|name| {
        let role = roles.iter().position(|role| role == name);
        role.or_else(|| others.next()).unwrap_or(0)
    });
    colours.collect()
}

/// A colour as style sheets write it.
pub(super) fn css(colour: usize) -> String {
    let RGBColor(red, green, blue) = COLOURS[colour];
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// From a little below the least to a little above the most.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values = values.filter(|value| *value > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high {
        return (0.1, 10.0);
    }
    (low / 2.0, high * 1.3)
}

fn number(value: f64) -> String {
    match value {
        1e6.. => format!("{} M", (value / 1e5).round() / 10.0),
        1e4.. => format!("{} k", (value / 1e3).round()),
        100.0.. => format!("{}", value.round()),
        10.0.. => format!("{}", (value * 10.0).round() / 10.0),
        _ => format!("{}", (value * 100.0).round() / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_keeps_its_beginning() {
        assert_eq!(cut("spawn_1m", 8), "spawn_1m");
        assert_eq!(cut("spawn_10m", 8), "spawn_1…");
        assert_eq!(room(["a", "größer"].into_iter()), 6 * LETTER + 2 * GAP);
    }

    #[test]
    fn product_and_references_have_their_colours_whoever_comes_first() {
        let all = ["limit", "megachunk", "a", "hecs", "b"];
        assert_eq!(colours(Section::Worlds, &all), [2, 0, 3, 1, 4]);
        let many = ["x"; COLOURS.len()];
        let given = colours(Section::Ids, &many);
        assert_eq!((given[0], given.last()), (3, Some(&5)), "in a round");
        let mut distinct = COLOURS.map(|RGBColor(red, green, blue)| (red, green, blue));
        distinct.sort_unstable();
        assert!(distinct.windows(2).all(|two| two[0] != two[1]));
    }
}
