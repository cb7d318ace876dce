//! Plots as SVG text.

use core::fmt;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::Section;
use crate::cli::measure::Figures;

/// A plot could not be drawn.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a plot could not be drawn: {0}")]
pub struct PlotError(String);

impl PlotError {
    fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// One bar of a [`bars`] plot.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// What stands beside it.
    pub label: String,
    /// Its length is the median; the whisker goes from the least to the most.
    pub figures: Figures,
    /// That of its contender: see [`colours`].
    pub colour: usize,
    /// Whether it is drawn pale, because it says nothing.
    pub pale: bool,
}

/// Pixels of a bar and the gap below it.
const BAR: u32 = 18;
/// Pixels for the labels.
const LABELS: u32 = 210;
/// Pixels for all the rest of a plot's height.
const FRAME: u32 = 58;
const WIDTH: u32 = 580;
/// Pixels for the figures behind the bars.
const VALUES: u32 = 52;
const FONT: &str = "sans-serif";

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

/// Horizontal bars on a logarithmic axis, with a line at `mark`.
pub(super) fn bars(
    title: &str,
    axis: &str,
    bars: &[Bar],
    mark: Option<f64>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    let height = FRAME + BAR * bars.len() as u32;
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    draw_bars(&area, title, axis, bars, mark).map_err(PlotError::because)?;
    area.present().map_err(PlotError::because)?;
    drop(area);
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawingError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn draw_bars<'a>(
    area: &Area<'a>,
    title: &str,
    axis: &str,
    bars: &[Bar],
    mark: Option<f64>,
) -> Result<(), DrawingError<'a>> {
    let ends = bars
        .iter()
        .flat_map(|bar| [bar.figures.min, bar.figures.max]);
    let (low, high) = decades(ends.chain(mark));
    let count = bars.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 15))
        .margin_right(VALUES)
        .margin_top(2)
        .x_label_area_size(30)
        .y_label_area_size(LABELS)
        .build_cartesian_2d((low..high).log_scale(), 0.0..count)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(8)
        .x_desc(axis)
        .x_label_formatter(&|value| number(*value))
        .label_style((FONT, 11))
        .light_line_style(RGBColor(235, 235, 235))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    let black = BLACK.to_rgba();
    for (position, bar) in bars.iter().enumerate() {
        let middle = count - position as f64 - 0.5;
        let Figures { min, median, max } = bar.figures;
        // Nothing, or less, lies nowhere on a logarithmic axis.
        let min = min.max(low);
        let colour = COLOURS[bar.colour].mix(if bar.pale { 0.3 } else { 1.0 });
        chart.draw_series([Rectangle::new(
            [(low, middle - 0.36), (median, middle + 0.36)],
            colour.filled(),
        )])?;
        chart.draw_series([PathElement::new(
            vec![(min, middle), (max, middle)],
            black.stroke_width(1),
        )])?;
        let (_, y) = chart.backend_coord(&(low, middle));
        let place = text_style(plotters::style::text_anchor::HPos::Right);
        area.draw_text(&bar.label, &place, (LABELS as i32 - 6, y))?;
        let place = text_style(plotters::style::text_anchor::HPos::Left);
        let right = (WIDTH - VALUES) as i32 + 6;
        area.draw_text(&number(median), &place, (right, y))?;
    }
    if let Some(mark) = mark {
        let line = vec![(mark, 0.0), (mark, count)];
        chart.draw_series([PathElement::new(line, BLACK.stroke_width(1))])?;
    }
    Ok(())
}

fn text_style(side: plotters::style::text_anchor::HPos) -> TextStyle<'static> {
    use plotters::style::text_anchor::{Pos, VPos};
    TextStyle::from((FONT, 12).into_font()).pos(Pos::new(side, VPos::Center))
}

/// One line of a [`lines`] plot.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// That of its contender: see [`colours`].
    pub colour: usize,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Lines on two logarithmic axes.
pub(super) fn lines(
    title: &str,
    across: &str,
    up: &str,
    lines: &[Line],
) -> Result<String, PlotError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, 300)).into_drawing_area();
    draw_lines(&area, title, across, up, lines).map_err(PlotError::because)?;
    area.present().map_err(PlotError::because)?;
    drop(area);
    Ok(svg)
}

fn draw_lines<'a>(
    area: &Area<'a>,
    title: &str,
    across: &str,
    up: &str,
    lines: &[Line],
) -> Result<(), DrawingError<'a>> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (left, right) = decades(points().map(|point| point.0));
    let (low, high) = decades(points().map(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 15))
        .margin_right(14)
        .margin_top(2)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d((left..right).log_scale(), (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(across)
        .y_desc(up)
        .x_label_formatter(&|value| number(*value))
        .y_label_formatter(&|value| number(*value))
        .label_style((FONT, 11))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    for line in lines {
        let colour = COLOURS[line.colour];
        chart.draw_series(LineSeries::new(
            line.points.iter().copied(),
            colour.stroke_width(2),
        ))?;
        let dots = line
            .points
            .iter()
            .map(|&point| Circle::new(point, 3, colour.filled()));
        chart.draw_series(dots)?;
    }
    Ok(())
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
