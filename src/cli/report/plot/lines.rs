//! Lines on two logarithmic axes, told apart by colours, by the marks of their points, and by the names at their ends.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Area, COLOURS, DrawingError, FONT, GAP, PlotError, SMALL};
use super::{cut, decades, drawn, number, px, room, text_style};
use crate::cli::report::ns_text;

/// One line of a [`lines`] plot.
#[derive(Clone, Debug)]
pub(in crate::cli::report) struct Line<'a> {
    /// What stands at its end.
    pub name: &'a str,
    /// That of its contender: see [`colours`](super::colours).
    pub colour: usize,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl Line<'_> {
    /// Its points for ears.
    fn spoken(&self) -> String {
        let points = self.points.iter();
        let points = points.map(|&(across, up)| format!("{} at {}", ns_text(up), number(across)));
        let points: Vec<String> = points.collect();
        format!("{} {}", self.name, points.join(", "))
    }
}

const HEIGHT: u32 = 300;
/// Pixels for the axis below the lines.
const AXIS: u32 = 40;
/// Pixels of the mark of a point, from its middle.
const MARK: u32 = 4;
/// Letters of a name.
const MOST_LETTERS: usize = 24;
/// Pixels from a name to the one below it, at least.
const STEP: i32 = 14;

/// Lines on two logarithmic axes.
pub(in crate::cli::report) fn lines(
    title: &str,
    across: &str,
    up: &str,
    lines: &[Line<'_>],
) -> Result<String, PlotError> {
    let spoken: Vec<String> = lines.iter().map(Line::spoken).collect();
    let label = format!("{title}, {up} by {across}, medians: {}", spoken.join("; "));
    drawn(HEIGHT, &label, |area| {
        draw(area, across, up, lines).map_err(|error| error.to_string())
    })
}

fn draw<'a>(
    area: &Area<'a>,
    across: &str,
    up: &str,
    lines: &[Line<'_>],
) -> Result<(), DrawingError<'a>> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (left, right) = decades(points().map(|point| point.0));
    let (low, high) = decades(points().map(|point| point.1));
    let names: Vec<String> = lines
        .iter()
        .map(|line| cut(line.name, MOST_LETTERS))
        .collect();
    let mut chart = ChartBuilder::on(area)
        .margin_right(room(names.iter().map(String::as_str)) + 3 * MARK)
        .margin_top(2)
        .x_label_area_size(AXIS)
        .y_label_area_size(56)
        .build_cartesian_2d((left..right).log_scale(), (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(across)
        .y_desc(up)
        .x_label_formatter(&|value| number(*value))
        .y_label_formatter(&|value| number(*value))
        .label_style((FONT, px(SMALL)))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    let mut ends = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        chart.draw_series(LineSeries::new(
            line.points.iter().copied(),
            COLOURS[line.colour].stroke_width(2),
        ))?;
        let places: Vec<(i32, i32)> = line
            .points
            .iter()
            .map(|point| chart.backend_coord(point))
            .collect();
        for &place in &places {
            mark(area, line.colour, place)?;
        }
        ends.extend(places.last().map(|&(x, y)| (number, x, y)));
    }
    ends.sort_by_key(|&(_, _, y)| y);
    let mut heights: Vec<i32> = ends.iter().map(|&(_, _, y)| y).collect();
    set_apart(&mut heights, (HEIGHT - AXIS) as i32);
    for (&(number, x, _), y) in ends.iter().zip(heights) {
        // With its mark, for it may have been moved from its line.
        let x = x + (GAP + 2 * MARK) as i32;
        mark(area, lines[number].colour, (x, y))?;
        let place = (x + (GAP + MARK) as i32, y);
        area.draw_text(&names[number], &text_style(HPos::Left), place)?;
    }
    Ok(())
}

/// The mark of a point, at a place in pixels: another one for neighbouring colours.
fn mark<'a>(area: &Area<'a>, colour: usize, place: (i32, i32)) -> Result<(), DrawingError<'a>> {
    let style = COLOURS[colour];
    match colour % 3 {
        0 => area.draw(&Circle::new(place, MARK, style.filled())),
        1 => area.draw(&TriangleMarker::new(place, MARK + 1, style.filled())),
        _ => area.draw(&Cross::new(place, MARK, style.stroke_width(2))),
    }
}

/// Moves ascending heights until each is a [`STEP`] from the next, and none below `bottom`, where there is room.
fn set_apart(heights: &mut [i32], bottom: i32) {
    for at in 1..heights.len() {
        heights[at] = heights[at].max(heights[at - 1] + STEP);
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = most.min(*height);
        most = *height - STEP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_meet_are_moved_apart_and_stay_above_the_axis() {
        for (heights, expected) in [
            (vec![], vec![]),
            (vec![10, 100], vec![10, 100]),
            (vec![10, 10, 12], vec![10, 24, 38]),
            (vec![100, 100, 250], vec![100, 114, 250]),
            (vec![250, 250, 259], vec![232, 246, 260]),
        ] {
            let mut moved = heights.clone();
            set_apart(&mut moved, 260);
            assert_eq!(moved, expected, "{heights:?}");
        }
    }
}
